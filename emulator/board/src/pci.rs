//! The PCI bus between host and board: who has it, and until when.

use emulator_base::time::{ClockDomain, SimTime};
use emulator_state::state;

/// Numbers of clocks whose durations are kept: those of all accesses and bursts.
const KEPT: usize = 64;

/// A bus that serves one transfer at a time, first come, first served.
#[derive(Debug, Clone)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct PciBus {
    free_at: SimTime,
    /// Total time that the bus was taken.
    busy: SimTime,
    clock: ClockDomain,
    /// Durations by number of clocks.
    spans: [SimTime; KEPT],
}

state!(PciBus { free_at, busy } fixed { clock, spans });

impl PciBus {
    /// An idle bus with `clock_hz`.
    #[must_use]
    pub fn new(clock_hz: u64) -> Self {
        let clock = ClockDomain::new(clock_hz);
        Self {
            clock,
            spans: std::array::from_fn(|clocks| clock.time_of(clocks as u64)),
            free_at: SimTime::ZERO,
            busy: SimTime::ZERO,
        }
    }

    /// Duration of `clocks` bus clocks.
    #[must_use]
    #[inline]
    pub fn span_of(&self, clocks: u64) -> SimTime {
        match self.spans.get(clocks as usize) {
            Some(span) => *span,
            None => self.clock.time_of(clocks),
        }
    }

    /// Takes the bus `times` times for `span`, with pauses in between, the last time from `last` on.
    pub fn repeat(&mut self, last: SimTime, times: u64, span: SimTime) {
        self.free_at = last + span;
        self.busy += SimTime::from_ps(span.ps() * times);
    }

    /// Time at which the bus becomes free.
    #[must_use]
    pub const fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Takes the bus for `clocks` bus clocks, from `now` or when it becomes free; returns the end.
    #[inline]
    pub fn acquire(&mut self, now: SimTime, clocks: u64) -> SimTime {
        let span = self.span_of(clocks);
        let start = now.max(self.free_at);
        self.free_at = start + span;
        self.busy += span;
        self.free_at
    }

    /// Total time that the bus was taken.
    #[must_use]
    pub const fn busy(&self) -> SimTime {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_queue_up() {
        let mut bus = PciBus::new(66_000_000);
        let first = bus.acquire(SimTime::from_ns(100), 66);
        assert_eq!(first, SimTime::from_ns(1100));
        let second = bus.acquire(SimTime::from_ns(200), 66);
        assert_eq!(second, SimTime::from_ns(2100));
        assert_eq!(bus.acquire(SimTime::from_us(10), 66), SimTime::from_us(11));
        assert_eq!(bus.busy(), SimTime::from_us(3));
    }
}
