//! A core's local time.

use emulator_state::state;

/// Sub-cycle resolution of a core's clock: a tick is 1/1024 of a core cycle.
///
/// Whole cycles are enough for a plain core; the fraction exists so that a profile can stretch the
/// cycles of a protocol stage by a factor that is not a whole number (ARCHITECTURE.md, "Timing").
pub const TICKS_PER_CYCLE: u64 = 1024;

/// A core's local time, and its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuClock {
    /// The core's local time in ticks since the board's start.
    pub now: u64,
    /// Cycles of the core's own work, unstretched, without stalls.
    pub cycles: u64,
    /// Ticks spent waiting for other actors (a busy SRAM bus).
    pub stalled: u64,
    /// Ticks for which the core was halted before it was started (again).
    pub halted: u64,
    /// Ticks that one cycle of own work takes: `TICKS_PER_CYCLE`, or more within a stretched stage.
    pub ticks_per_cycle: u64,
}

state!(CpuClock {
    now,
    cycles,
    stalled,
    halted,
    ticks_per_cycle
});

impl Default for CpuClock {
    fn default() -> Self {
        Self {
            now: 0,
            cycles: 0,
            stalled: 0,
            halted: 0,
            ticks_per_cycle: TICKS_PER_CYCLE,
        }
    }
}

impl CpuClock {
    /// Charges `cycles` of own work.
    #[inline(always)]
    pub const fn charge(&mut self, cycles: u64) {
        self.cycles += cycles;
        self.now += cycles * self.ticks_per_cycle;
    }

    /// A tick before which surely no more than `instructions` begin, each of which takes a cycle at least. Stages stretch cycles, and none
    /// shortens them.
    #[must_use]
    #[inline(always)]
    pub fn end_of(&self, instructions: u64) -> u64 {
        let shortest = self.ticks_per_cycle.clamp(1, TICKS_PER_CYCLE);
        let span = instructions.saturating_mul(shortest);
        self.now.saturating_add(span)
    }

    /// A halted core starts at `tick` or now, whichever is later.
    pub const fn start_at(&mut self, tick: u64) {
        let halted = tick.saturating_sub(self.now);
        self.halted += halted;
        self.now += halted;
    }

    /// Waits until `tick` if that is later than now.
    #[inline(always)]
    pub fn stall_until(&mut self, tick: u64) {
        if tick > self.now {
            self.stalled += tick - self.now;
            self.now = tick;
        }
    }

    /// Number of the core's cycles that begin before the clock reaches `until`, a later time.
    #[inline(always)]
    pub(super) fn cycles_before(&self, until: u64) -> i64 {
        debug_assert!(self.now < until);
        let ticks = until.wrapping_sub(self.now);
        if self.ticks_per_cycle == TICKS_PER_CYCLE {
            // A shift.
            ticks.div_ceil(TICKS_PER_CYCLE).cast_signed()
        } else {
            i64::try_from(ticks.div_ceil(self.ticks_per_cycle.max(1))).unwrap_or(i64::MAX)
        }
    }

    /// The time, and its stalled part, if execution is `witnessed`: the start of what [`since`](Self::since) measures.
    #[inline(always)]
    pub(super) const fn moment(&self, witnessed: bool) -> (u64, u64) {
        if witnessed {
            (self.now, self.stalled)
        } else {
            (0, 0)
        }
    }

    /// Stalled ticks since a [`moment`](Self::moment), and other ticks.
    #[inline(always)]
    pub(super) const fn since(&self, (now, stalled): (u64, u64)) -> (u64, u64) {
        let stalled = self.stalled - stalled;
        (stalled, self.now - now - stalled)
    }
}
