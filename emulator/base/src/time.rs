//! Simulated time in picoseconds, and exact conversion for clock domains.

use emulator_state::value_struct;
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A point in simulated time, or a duration, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SimTime(u64);

value_struct!(SimTime { 0: ps });

const PS_PER_NS: u64 = 1_000;
const PS_PER_US: u64 = 1_000_000;
const PS_PER_S: u64 = 1_000_000_000_000;

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The largest time; no event has it.
    pub const MAX: Self = Self(u64::MAX);

    /// Converts picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Converts nanoseconds; saturates at [`SimTime::MAX`].
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(PS_PER_NS))
    }

    /// Converts microseconds; saturates at [`SimTime::MAX`].
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(PS_PER_US))
    }

    /// The time in picoseconds.
    #[must_use]
    pub const fn ps(self) -> u64 {
        self.0
    }

    /// The time in microseconds, for display.
    #[must_use]
    pub fn us(self) -> f64 {
        self.0 as f64 / PS_PER_US as f64
    }

    /// The time in nanoseconds, for display.
    #[must_use]
    pub fn ns(self) -> f64 {
        self.0 as f64 / PS_PER_NS as f64
    }

    /// The sum, or [`SimTime::MAX`].
    #[must_use]
    pub const fn saturating_add(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The difference, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for SimTime {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl AddAssign for SimTime {
    fn add_assign(&mut self, span: Self) {
        self.0 += span.0;
    }
}

impl Sub for SimTime {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06} us", self.0 / PS_PER_US, self.0 % PS_PER_US)
    }
}

/// A clock domain: converts between its count and [`SimTime`], always from the whole count, so without
/// drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockDomain {
    /// Numerator of the rate: this many counts ...
    counts: u64,
    /// ... take this many picoseconds. The fraction is reduced, so products stay small.
    ps: u64,
}

value_struct!(ClockDomain {
    counts: counts,
    ps: ps
});

impl ClockDomain {
    /// A domain of `hz` counts per second. `hz` must not be zero.
    #[must_use]
    pub const fn new(hz: u64) -> Self {
        assert!(hz > 0, "a clock needs a frequency");
        let common = common_divisor(hz, PS_PER_S);
        Self {
            counts: hz / common,
            ps: PS_PER_S / common,
        }
    }

    /// The time at which count `n` begins, rounded down to a picosecond.
    #[must_use]
    #[inline]
    pub fn time_of(self, n: u64) -> SimTime {
        SimTime(scaled(n, self.ps, self.counts))
    }

    /// The first count that begins at or after `time`.
    #[must_use]
    #[inline]
    pub fn first_at(self, time: SimTime) -> u64 {
        if time == SimTime::MAX {
            return u64::MAX;
        }
        match time.0.checked_mul(self.counts) {
            Some(product) => product.div_ceil(self.ps),
            None => self.first_at_late(time),
        }
    }

    /// [`first_at`](Self::first_at) for products that do not fit a word. A call, so that the fast path needs few
    /// registers of the host.
    #[cold]
    #[inline(never)]
    fn first_at_late(self, time: SimTime) -> u64 {
        let product = u128::from(time.0) * u128::from(self.counts);
        u64::try_from(product.div_ceil(u128::from(self.ps))).unwrap_or(u64::MAX)
    }

    /// The last count that begins at or before `time`.
    #[must_use]
    #[inline]
    pub fn last_at(self, time: SimTime) -> u64 {
        scaled(time.0, self.counts, self.ps)
    }
}

/// `value * by / over`, rounded down. The fast path handles products that fit a word.
#[inline]
fn scaled(value: u64, by: u64, over: u64) -> u64 {
    match value.checked_mul(by) {
        Some(product) => product / over,
        None => scaled_wide(value, by, over),
    }
}

/// [`scaled`] for products that do not fit a word.
// A call, so that the fast path needs few registers of the host.
#[cold]
#[inline(never)]
fn scaled_wide(value: u64, by: u64, over: u64) -> u64 {
    let quotient = u128::from(value) * u128::from(by) / u128::from(over);
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

const fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_drift_at_88_mhz() {
        let core = ClockDomain::new(88_000_000);
        assert_eq!(core.time_of(88_000_000), SimTime::from_us(1_000_000));
        assert_eq!(core.time_of(1).ps(), 11_363);
        assert_eq!(core.time_of(11).ps(), 125_000);
    }

    #[test]
    fn too_long_is_for_ever() {
        assert_eq!(SimTime::from_ns(u64::MAX), SimTime::MAX);
        assert_eq!(SimTime::from_us(u64::MAX / 2), SimTime::MAX);
    }

    #[test]
    fn first_at_is_the_inverse() {
        let core = ClockDomain::new(88_000_000);
        for n in [0, 1, 7, 88, 12_345_678] {
            let time = core.time_of(n);
            assert!(core.first_at(time) <= n);
            assert!(core.time_of(core.first_at(time) + 1) > time);
            assert_eq!(core.first_at(time + SimTime::from_ps(1)), n + 1);
        }
        assert_eq!(core.first_at(SimTime::MAX), u64::MAX);
    }

    #[test]
    fn counts_that_overflow_a_word_are_exact_too() {
        // 88 MHz in ticks of 1/1024: 15 625 ps are 1 408 ticks.
        let ticks = ClockDomain::new(88_000_000 * 1024);
        let whole = u64::MAX / 15_625;
        for n in [whole, whole + 1, whole + 1408] {
            let exact = u128::from(n) * 15_625 / 1408;
            assert_eq!(u128::from(ticks.time_of(n).ps()), exact);
            assert_eq!(ticks.first_at(SimTime::from_ps(exact as u64 + 1)), n + 1);
            assert_eq!(ticks.last_at(SimTime::from_ps(exact as u64 + 1)), n);
        }
    }
}
