//! Parts: segments of which each process of a run carries out its own switches.
//!
//! Every node and every switch belongs to a process. A unit on a cable between two of them passes to the other process when it is on the
//! wire. In turn, either every process carries out events of its part, or every process runs its nodes; between any two of these the
//! processes exchange what passed, and the earliest times of all of them (`sim/ranks/parts.rs`).

use super::network::Segment;
use emulator_base::time::SimTime;
use emulator_state::{Reader, StateError, Writer};

/// The part of a segment that this process carries out. Its medium has no controls. Ranks are the processes by their numbers.
pub trait Part: Segment {
    /// The other ranks to which a cable leads from a node or switch of this one.
    fn neighbours(&self) -> &[usize];

    /// Before that time every process can carry out the events of its part, if no unit leaves any node before `unit`, and the earliest
    /// event of any part is at `event`.
    fn events_until(&self, unit: SimTime, event: SimTime) -> SimTime;

    /// The time up to which the nodes can run then, as [`Segment::horizon`] says of a segment.
    fn nodes_until(&self, unit: SimTime, event: SimTime) -> SimTime;

    /// Carries out the events of this part that are due before `until`.
    fn run_events(&mut self, until: SimTime);

    /// The earliest event of this part, or of a unit that passes to another one.
    fn next_event(&self) -> SimTime;

    /// The nodes of other ranks that a unit will reach, and the earliest time at which it can have an effect there.
    fn outgoing_arrivals(&self) -> Vec<(usize, SimTime)>;

    /// Writes the units that pass to another rank, and removes them here.
    fn write_outgoing(&mut self, rank: usize, out: &mut Writer);

    /// Reads the units that pass to this rank from another one.
    ///
    /// # Errors
    /// If the message has no such units, or they are not for this part.
    fn read_incoming(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;

    /// Saves the links, switches and events of this rank, for the others' reports and snapshots.
    fn save_part(&self, out: &mut Writer);

    /// Loads those of another rank. Its events are left out of the next run.
    ///
    /// # Errors
    /// If it is not the state of that rank's part.
    fn load_part(&mut self, rank: usize, from: &mut Reader<'_>) -> Result<(), StateError>;
}
