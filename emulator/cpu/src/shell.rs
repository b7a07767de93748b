//! The shell of a core's executor, the same for both instruction sets: a run up to a time or a number of instructions, and the reason
//! for which it ended.

use super::clock::CpuClock;
use super::exit::{Exit, Pause};

/// A core that an executor runs.
pub trait Shell {
    /// The core's local time.
    fn clock(&self) -> &CpuClock;

    /// Instructions executed so far.
    fn instructions(&self) -> u64;

    /// The exit that [`Pause::Exit`] stands for, until it is taken.
    fn exit_mut(&mut self) -> &mut Option<Exit>;

    /// A tick up to which the core executes no more than `limit` instructions in total, since each
    /// takes at least one cycle. Up to there a loop need not compare their number. Repeated calls approach
    /// the limit, by at least a tick each.
    #[must_use]
    #[inline]
    fn safe_until(&self, limit: u64) -> u64 {
        if limit == u64::MAX {
            return u64::MAX;
        }
        let left = limit.saturating_sub(self.instructions());
        self.clock().end_of(left)
    }

    /// Stores the reason of a return. Rare, and so kept out of the loop.
    #[cold]
    #[inline(never)]
    fn leave(&mut self, exit: Exit) -> Pause {
        *self.exit_mut() = Some(exit);
        Pause::Exit
    }

    /// Reason why the executor's `run_until` returned.
    #[inline]
    fn take_exit(&mut self, pause: Pause) -> Exit {
        match pause {
            Pause::Until => Exit::Until,
            Pause::Wait => Exit::Wait,
            Pause::Exit => self.exit_mut().take().unwrap_or(Exit::Wait),
        }
    }
}

/// Runs `core` by `run_until` until its clock reaches `until` (ticks) or it has executed `max_instructions`, or something happens.
pub(super) fn run_limited<C: Shell>(
    core: &mut C,
    until: u64,
    max_instructions: u64,
    mut run_until: impl FnMut(&mut C, u64) -> Pause,
) -> Exit {
    let limit = core.instructions().saturating_add(max_instructions);
    loop {
        if core.clock().now >= until {
            return Exit::Until;
        }
        if core.instructions() >= limit {
            return Exit::Limit;
        }
        let pause = run_until(core, until.min(core.safe_until(limit)));
        if pause != Pause::Until {
            return core.take_exit(pause);
        }
    }
}
