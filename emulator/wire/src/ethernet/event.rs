//! Events of frames under way in an Ethernet.

use std::cmp::Ordering;

use super::frame::Frame;
use emulator_base::time::SimTime;
use emulator_observe::capture::Note;
use emulator_state::value_enum;
use emulator_state::{Reader, StateError, Value, Writer};

/// The next step of a frame under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    /// The header is in at the switch at the line's end.
    Header,
    /// The frame is in as a whole at that switch, which has chosen the egress port already, or not.
    Whole(Option<usize>),
    /// The frame is announced to the node at the line's end, [`ANNOUNCED_AHEAD`](super::segment::ANNOUNCED_AHEAD) before it leaves.
    Announce,
    /// The frame reaches the line's fault layer of this number, or after the last one the wire.
    Layer(usize),
}

value_enum!(Step {
    Header {},
    Whole { 0: port },
    Announce {},
    Layer { 0: layer }
});

/// A pending event of a frame under way.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) time: SimTime,
    /// The line on which it happens, in the network.
    pub(super) line: usize,
    pub(super) step: Step,
    /// Number of the event among those that this line's lane has scheduled.
    pub(super) sequence: u64,
    /// Number of switches that the frame has passed.
    pub(super) switches: u8,
    pub(super) frame: Frame,
    /// Remarks of this line's fault layers, if the frame is to be captured.
    pub(super) notes: Vec<Note>,
}

impl Value for Event {
    fn write(&self, out: &mut Writer) {
        self.write_as(self.sequence, out);
    }

    /// The remarks are not part of the state.
    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let (time, line, step) = Value::read(from)?;
        let (sequence, switches) = Value::read(from)?;
        Ok(Self {
            time,
            line,
            step,
            sequence,
            switches,
            frame: Value::read(from)?,
            notes: Vec::new(),
        })
    }
}

impl Event {
    /// Writes it with another sequence number.
    pub(super) fn write_as(&self, sequence: u64, out: &mut Writer) {
        (self.time, self.line, self.step).write(out);
        (sequence, self.switches).write(out);
        self.frame.write(out);
    }

    /// Position in the total order. At equal times line and step decide before the order of scheduling, which is that of a line's own
    /// frames.
    const fn key(&self) -> (SimTime, usize, Step, u64) {
        (self.time, self.line, self.step, self.sequence)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    /// The earliest is the greatest: a heap gives it first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
