//! The last writes of special registers, for reports about control programs that fail.

use std::collections::VecDeque;

use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;

/// Number of writes that are kept.
pub const KEPT: usize = 20;

/// A write of a special register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Time.
    pub time: SimTime,
    /// Initiator: the CPU, the host or a debugger.
    pub who: Initiator,
    /// Name of the register.
    pub name: &'static str,
    /// Written value.
    pub value: u32,
}

/// The last [`KEPT`] writes, oldest first. They are no part of a snapshot.
#[derive(Debug, Default)]
pub struct RecentWrites(VecDeque<RegisterWrite>);

impl RecentWrites {
    pub(super) fn note(&mut self, write: RegisterWrite) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(write);
    }

    /// The writes, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &RegisterWrite> {
        self.0.iter()
    }
}
