//! What gdb has not been told of yet.
//!
//! gdb believes that nothing moves but what it moves itself. Two things break that: several CPUs may stop at the same
//! time, of which gdb hears of one, and a `monitor` command may go through time or change registers.

use emulator::sim::time::SimTime;
use gdbstub::stub::MultiThreadStopReason;

use super::points::Point;

/// A stop that is told of when gdb goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// When.
    pub time: SimTime,
    /// What gdb had set there, if it was gdb's.
    pub point: Option<Point>,
    /// The CPU.
    pub cpu: usize,
    /// As gdb is told.
    pub reason: MultiThreadStopReason<u32>,
}

/// What gdb does not know.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Stops at the present time.
    pub waiting: Vec<Waiting>,
    /// What gdb knows of the registers is no longer true.
    pub moved: bool,
    /// What to tell the user before the next answer.
    pub text: String,
}

impl News {
    /// gdb reads all registers of a CPU. Of the one that it heard of last it knew them, unless it was told to look again.
    pub fn registers_read(&mut self, cpu: usize, last: usize) {
        if cpu == last {
            self.moved = false;
        }
    }

    /// The next stop that waits at this time and that gdb still wants to hear of.
    pub fn next_waiting(&mut self, now: SimTime, points: &[Point]) -> Option<Waiting> {
        self.waiting.retain(|waiting| {
            let wanted = waiting.point.is_none_or(|point| points.contains(&point));
            waiting.time == now && wanted
        });
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }
}
