//! The microsecond timer and the CPUs' references (docs/tigon2.md, section 1).

use super::cpus::{CpuPlan, PerCpu};
use emulator_base::time::SimTime;
use emulator_state::state;

/// Picoseconds of a tick: the timer counts microseconds.
const PS_PER_TICK: u64 = 1_000_000;

/// A free-running 32-bit count of microseconds, writable, with a reference for each CPU.
#[derive(Debug)]
pub struct Timer {
    /// The count at `written_at`.
    base: u32,
    written_at: SimTime,
    references: PerCpu<u32>,
}

state!(Timer {
    base,
    written_at,
    references
});

impl Timer {
    /// The count began at 0 with the simulation.
    #[must_use]
    pub fn new(cpus: CpuPlan) -> Self {
        Self {
            base: 0,
            written_at: SimTime::ZERO,
            references: PerCpu::new(cpus),
        }
    }

    /// The count at `now`.
    #[must_use]
    pub fn read(&self, now: SimTime) -> u32 {
        let ticks = now.saturating_sub(self.written_at).ps() / PS_PER_TICK;
        self.base.wrapping_add(ticks as u32)
    }

    /// Sets the count.
    pub fn write(&mut self, value: u32, now: SimTime) {
        self.base = value;
        self.written_at = now;
    }

    /// Resets count and references to 0, with the chip. The prescaler continues, so that ticks stay at
    /// whole microseconds from power-on.
    pub fn reset(&mut self, now: SimTime) {
        let ticks = now.ps() / PS_PER_TICK;
        *self = Self {
            written_at: SimTime::from_ps(ticks * PS_PER_TICK),
            ..Self::new(self.references.cpus())
        };
    }

    /// A CPU's reference (0 = A).
    #[must_use]
    pub fn reference(&self, cpu: usize) -> u32 {
        self.references[cpu]
    }

    /// Sets a CPU's reference.
    pub fn set_reference(&mut self, cpu: usize, value: u32) {
        self.references[cpu] = value;
    }

    /// Whether a CPU's event is set: the count has reached its reference (signed difference).
    #[must_use]
    pub fn reached(&self, cpu: usize, now: SimTime) -> bool {
        self.read(now).wrapping_sub(self.references[cpu]) < 1 << 31
    }

    /// The next time after `now` at which [`reached`](Self::reached) changes.
    #[must_use]
    pub fn next_change(&self, cpu: usize, now: SimTime) -> SimTime {
        self.next_change_for(self.references[cpu], now)
    }

    /// The next change of the timer bit for any reference, as `next_change` for that of a CPU.
    #[must_use]
    pub fn next_change_for(&self, reference: u32, now: SimTime) -> SimTime {
        let ahead = reference.wrapping_sub(self.read(now));
        let ticks = if ahead != 0 && ahead <= 1 << 31 {
            ahead
        } else {
            // Reached: the sign changes when the count is 2^31 past the reference.
            ahead.wrapping_add(1 << 31)
        };
        let done = now.saturating_sub(self.written_at).ps() / PS_PER_TICK;
        self.written_at
            .saturating_add(SimTime::from_us(done + u64::from(ticks)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_microseconds_and_wraps() {
        let us = SimTime::from_us;
        let mut timer = Timer::new(CpuPlan::CHIP);
        assert_eq!(timer.read(us(5)), 5);
        timer.write(u32::MAX, us(5));
        assert_eq!(timer.read(us(7)), 1);
        timer.set_reference(0, 3);
        assert!(!timer.reached(0, us(8)));
        assert_eq!(timer.next_change(0, us(7)), us(9));
        assert!(timer.reached(0, us(9)));
        assert_eq!(timer.read(us(9)), 3);
    }

    #[test]
    fn next_change_is_where_reached_changes() {
        let us = SimTime::from_us;
        for reference in [0, 1, 100, 1 << 31, (1 << 31) + 1, u32::MAX] {
            let mut timer = Timer::new(CpuPlan::CHIP);
            timer.set_reference(1, reference);
            assert_eq!(timer.next_change(1, SimTime::MAX), SimTime::MAX);
            let now = us(50);
            let change = timer.next_change(1, now);
            assert!(change > now);
            let before = SimTime::from_ps(change.ps() - 1);
            assert_eq!(
                timer.reached(1, now),
                timer.reached(1, before),
                "{reference:#x}"
            );
            assert_ne!(
                timer.reached(1, now),
                timer.reached(1, change),
                "{reference:#x}"
            );
        }
    }
}
