//! Units: frames and packets, which travel forward on a medium.

use std::fmt::Debug;
use std::sync::Arc;

use crate::time::SimTime;
use emulator_state::{Reader, StateError, Value, Writer};

/// A unit that travels: an Ethernet frame, a packet. Fault layers, captures and traces need no more of it than this.
pub trait Unit: Value + Clone + PartialEq + Debug + Send + 'static {
    /// Bytes of the check sequence that follows a unit.
    const CHECK_BYTES: usize;

    /// The bytes, as they go on the wire, without the check sequence.
    fn bytes(&self) -> &Arc<[u8]>;

    /// The check sequence that follows them, right or wrong.
    fn check(&self) -> u32;

    /// A unit with other bytes and the check sequence of this one, as damage on the way leaves it.
    #[must_use]
    fn with_bytes(&self, bytes: Vec<u8>) -> Self;

    /// A unit with these bytes and this check sequence, right or wrong.
    #[must_use]
    fn with_check(bytes: Vec<u8>, check: u32) -> Self;

    /// The defects that a receiver can see.
    fn defects(&self) -> Defects;

    /// Length in bytes with the check sequence.
    fn length(&self) -> u64 {
        (self.bytes().len() + Self::CHECK_BYTES) as u64
    }
}

/// Defects that a receiver can see in a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Defects {
    /// The check sequence does not fit the bytes.
    pub check: bool,
    /// The unit is longer than the medium allows.
    pub too_long: bool,
    /// The unit is shorter than the medium allows.
    pub too_short: bool,
}

/// A unit that begins to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure<U> {
    /// Time at which the unit's head leaves: the first bit. Its tail follows as the medium lets it.
    pub head: SimTime,
    /// The unit.
    pub unit: U,
}

impl<U: Value> Value for Departure<U> {
    fn write(&self, out: &mut Writer) {
        let Self { head, unit } = self;
        head.write(out);
        unit.write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        Ok(Self {
            head: Value::read(from)?,
            unit: U::read(from)?,
        })
    }
}

/// A unit that reaches a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival<U> {
    /// Time at which the unit's head is there.
    pub head: SimTime,
    /// Time at which the unit's tail is there. `None` if that depends on later events; a control of the medium tells it then.
    pub tail: Option<SimTime>,
    /// The unit.
    pub unit: U,
}
