//! State changes that gdb does not know yet.
//!
//! gdb assumes that only its own actions change state. There are two exceptions: several CPUs may stop at
//! one time, of which gdb is told one, and a `monitor` command may move in time or change registers.

use emulator::board::CpuId;
use emulator::sim::time::SimTime;
use gdbstub::stub::MultiThreadStopReason;

use super::points::GdbPoint;

/// A stop that is reported when gdb resumes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingStop {
    /// Time of the stop.
    pub time: SimTime,
    /// The breakpoint or watchpoint of gdb, if it was one.
    pub point: Option<GdbPoint>,
    /// CPU that has stopped.
    pub cpu: CpuId,
    /// Stop reason for gdb.
    pub reason: MultiThreadStopReason<u32>,
}

/// Unreported changes.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Unreported stops at the current time.
    pub waiting: Vec<PendingStop>,
    /// gdb's registers are out of date.
    pub moved: bool,
    /// Text for the user before the next answer.
    pub text: String,
}

impl News {
    /// gdb reads all registers of a CPU. Of the one that it heard of last it knew them, unless it was told to look again.
    pub fn registers_read(&mut self, cpu: CpuId, last: CpuId) {
        if cpu == last {
            self.moved = false;
        }
    }

    /// The next unreported stop at the current time that gdb still has a breakpoint for.
    pub fn next_waiting(&mut self, now: SimTime, points: &[GdbPoint]) -> Option<PendingStop> {
        self.waiting.retain(|waiting| {
            let wanted = waiting.point.is_none_or(|point| points.contains(&point));
            waiting.time == now && wanted
        });
        (!self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }
}
