//! The real-time clock and the interval timers, which count half microseconds (docs/lanai.md, section 3.4).

use super::chip::Generation;
use emulator_base::time::{ClockDomain, SimTime};
use emulator_state::state;
use emulator_state::value_struct;

/// The clock of all timers, whatever that of the CPU.
const HALF_MICROSECONDS: ClockDomain = ClockDomain::new(2_000_000);

/// A timer that is set for a time beyond that number of ticks (18 minutes) raises no event: no firmware waits for it, and a
/// pending event would keep a run alive in which nothing happens.
const FARTHEST: u64 = 1 << 31;

fn tick(now: SimTime) -> u64 {
    HALF_MICROSECONDS.last_at(now)
}

/// An interval timer: counts down, and raises its bit when it passes 0.
#[derive(Debug, Clone, Copy)]
struct Interval {
    value: u32,
    /// The tick at which it had that value.
    since: u64,
    /// Time at which the timer's pending event is due; [`SimTime::MAX`] if none is pending.
    event: SimTime,
}

value_struct!(Interval {
    value: value,
    since: since,
    event: event
});

impl Interval {
    const fn new() -> Self {
        Self {
            value: u32::MAX,
            since: 0,
            event: SimTime::MAX,
        }
    }

    const fn passes_at(&self) -> u64 {
        self.since + self.value as u64 + 1
    }
}

/// The timers of a board.
#[derive(Debug)]
pub struct Timers {
    /// Value of the real-time clock at tick 0.
    clock: u32,
    intervals: [Interval; 3],
    generation: Generation,
}

state!(Timers { clock, intervals } fixed { generation });

impl Timers {
    /// The clock shows 0; no interval timer passes 0 before half an hour.
    #[must_use]
    pub const fn new(generation: Generation) -> Self {
        Self {
            clock: 0,
            intervals: [Interval::new(); 3],
            generation,
        }
    }

    fn installed(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().take(self.generation.timers())
    }

    /// Resets all timers.
    pub fn reset(&mut self, now: SimTime) {
        self.set_clock(0, now);
        for interval in &mut self.intervals {
            interval.value = u32::MAX;
            interval.since = tick(now);
            interval.event = SimTime::MAX;
        }
    }

    /// The real-time clock.
    #[must_use]
    pub fn clock(&self, now: SimTime) -> u32 {
        self.clock.wrapping_add(tick(now) as u32)
    }

    /// Sets the real-time clock.
    pub fn set_clock(&mut self, value: u32, now: SimTime) {
        self.clock = value.wrapping_sub(tick(now) as u32);
    }

    /// The value of an interval timer.
    #[must_use]
    pub fn interval(&self, index: usize, now: SimTime) -> u32 {
        let Some(interval) = self.intervals.get(index) else {
            return 0;
        };
        interval
            .value
            .wrapping_sub((tick(now) - interval.since) as u32)
    }

    /// Sets an interval timer. Returns the time of an event that must be scheduled for it.
    pub fn set_interval(&mut self, index: usize, value: u32, now: SimTime) -> Option<SimTime> {
        let interval = self.intervals.get_mut(index)?;
        interval.value = value;
        interval.since = tick(now);
        self.next_event(index, now)
    }

    /// The time of an event that must be scheduled for a timer.
    fn next_event(&mut self, index: usize, now: SimTime) -> Option<SimTime> {
        let interval = self.intervals.get_mut(index)?;
        let due = interval.passes_at();
        let time = HALF_MICROSECONDS.time_of(due);
        if due - tick(now) > FARTHEST || interval.event <= time {
            return None;
        }
        interval.event = time;
        Some(time)
    }

    /// Whether a timer has passed 0 since that was last [taken](Self::take_pass).
    #[must_use]
    pub fn has_passed(&self, index: usize, now: SimTime) -> bool {
        let interval = self.intervals.get(index);
        interval.is_some_and(|interval| tick(now) >= interval.passes_at())
    }

    /// Takes notice of a timer that has passed 0.
    pub fn take_pass(&mut self, index: usize, now: SimTime) -> bool {
        let passed = self.has_passed(index, now);
        if passed && let Some(interval) = self.intervals.get_mut(index) {
            interval.since = interval.passes_at();
            interval.value = u32::MAX;
        }
        passed
    }

    /// The event of a timer has come. Returns the time of the next one.
    pub fn event_came(&mut self, index: usize, now: SimTime) -> Option<SimTime> {
        let interval = self.intervals.get_mut(index)?;
        if interval.event <= now {
            interval.event = SimTime::MAX;
        }
        self.next_event(index, now)
    }

    /// The time at which the next timer passes 0.
    #[must_use]
    pub fn next_pass(&self) -> SimTime {
        let due = self.installed().map(Interval::passes_at).min();
        due.map_or(SimTime::MAX, |due| HALF_MICROSECONDS.time_of(due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(ns: u64) -> SimTime {
        SimTime::from_ns(ns)
    }

    #[test]
    fn timers_count_half_microseconds() {
        let mut timers = Timers::new(Generation::L7);
        timers.set_clock(100, ns(700));
        let event = timers.set_interval(1, 3, ns(700));
        assert_eq!(event, Some(ns(2500)));
        let check = |timers: &Timers, now, clock, interval, passed| {
            let found = (timers.clock(ns(now)), timers.interval(1, ns(now)));
            assert_eq!(
                (found, timers.has_passed(1, ns(now))),
                ((clock, interval), passed)
            );
        };
        check(&timers, 999, 100, 3, false);
        check(&timers, 1000, 101, 2, false);
        check(&timers, 2499, 103, 0, false);
        check(&timers, 2500, 104, u32::MAX, true);
        assert!(timers.take_pass(1, ns(2500)));
        assert_eq!(timers.event_came(1, ns(2500)), None);
        check(&timers, 3000, 105, u32::MAX - 1, false);
    }

    #[test]
    fn a_timer_has_one_event_under_way() {
        let mut timers = Timers::new(Generation::L4);
        assert_eq!(timers.set_interval(0, 9, ns(0)), Some(ns(5000)));
        assert_eq!(timers.set_interval(0, 19, ns(0)), None);
        assert_eq!(timers.set_interval(0, 3, ns(0)), Some(ns(2000)));
        assert_eq!(timers.set_interval(0, u32::MAX, ns(1000)), None);
        assert_eq!(timers.event_came(0, ns(2000)), None);
        assert!(!timers.take_pass(0, ns(2000)));
        assert_eq!(timers.set_interval(0, 0, ns(2000)), Some(ns(2500)));
        assert_eq!(timers.next_pass(), ns(2500));
    }
}
