//! Parts: segments of which each process of a run carries out its own switches.
//!
//! Every node and every switch belongs to a process. A unit on a cable between two of them passes to the other process when it is on the
//! wire. In turn, either every process carries out events of its part, or every process runs its nodes; between any two of these the
//! processes exchange what passed, and the earliest times of all of them (`sim/ranks/parts.rs`).

use super::network::Segment;
use crate::sim::time::SimTime;
use crate::state::{Reader, StateError, Writer};

/// The part of a segment that this process carries out. Its medium has no controls. Ranks are the processes by their numbers.
pub trait Part: Segment {
    /// The other ranks to which a cable leads from a node or switch of this one.
    fn neighbours(&self) -> &[usize];

    /// Before that time every process can carry out the events of its part, if no unit leaves any node before `unit`, and the earliest
    /// event of any part is at `event`.
    fn events_until(&self, unit: SimTime, event: SimTime) -> SimTime;

    /// As far as the nodes can run then, as [`Segment::horizon`] says of a segment.
    fn nodes_until(&self, unit: SimTime, event: SimTime) -> SimTime;

    /// Carries out the events of this part that are due before `until`.
    fn run_events(&mut self, until: SimTime);

    /// The earliest event of this part, or of a unit that passes to another one.
    fn next_event(&self) -> SimTime;

    /// The nodes of other ranks that are to hear of a unit, and when it can matter there.
    fn told_abroad(&self) -> Vec<(usize, SimTime)>;

    /// Writes what passes to another rank, and forgets it.
    fn write_crossing(&mut self, rank: usize, out: &mut Writer);

    /// Reads what passes to this rank from another one.
    ///
    /// # Errors
    /// If it is not what passes between such parts.
    fn read_crossing(&mut self, from: &mut Reader<'_>) -> Result<(), StateError>;

    /// Saves the links, switches and events of this rank, for the others' reports and snapshots.
    fn save_part(&self, out: &mut Writer);

    /// Loads those of another rank. Its events are left out of the next run.
    ///
    /// # Errors
    /// If it is not the state of that rank's part.
    fn load_part(&mut self, rank: usize, from: &mut Reader<'_>) -> Result<(), StateError>;
}
