//! Benchmarks of the emulator. The only code that reads a wall clock.
//!
//! Each [`Measurement`] is taken in several rounds that alternate with others, so that a load of the
//! machine affects all equally; the result is the median.

pub mod boards;
pub mod busy;
pub mod callgrind;
pub mod debug;
pub mod emp;
pub mod instructions;
pub mod work;

use std::time::{Duration, Instant};

use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;

use lanigon_worlds::interrupt::Interrupt;

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Name in JSON.
    pub key: &'static str,
    /// Description.
    pub what: &'static str,
    /// Limit that the quantity should keep.
    pub target: QuantityTarget,
}

/// Target of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QuantityTarget {
    /// None: for information.
    None,
    /// Lower limit.
    AtLeast(f64),
    /// Upper limit.
    AtMost(f64),
}

/// A measured value.
pub type Sample = (Quantity, f64);

/// Length of rounds, and the interrupt.
#[derive(Debug, Clone, Copy)]
pub struct Pace<'a> {
    /// Duration of a round.
    pub span: Duration,
    /// Set when the user interrupts.
    pub interrupt: &'a Interrupt,
}

impl Pace<'_> {
    /// Repeats `work` until the duration of a round has passed; returns the elapsed time, or `None` when
    /// interrupted.
    pub fn time(&self, mut work: impl FnMut()) -> Option<Duration> {
        let clock = Instant::now();
        while clock.elapsed() < self.span {
            if self.interrupt.requested() {
                return None;
            }
            work();
        }
        Some(clock.elapsed())
    }

    fn limits(&self, threads: std::num::NonZeroUsize, max_time: SimTime) -> RunLimits {
        RunLimits {
            max_time: Some(max_time),
            interrupt: Some(self.interrupt.flag()),
            threads,
            clock: None,
            quiet: None,
        }
    }
}

/// A repeatable measurement.
pub trait Measurement {
    /// Measured quantities.
    fn quantities(&self) -> Vec<Quantity>;

    /// Executes one round; empty when interrupted.
    ///
    /// # Errors
    /// If the measurement fails.
    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>>;
}

/// World type of the measurements.
type World = emulator::sim::world::World;

/// The median of a quantity's samples; `None` without any.
#[must_use]
pub fn median(samples: &[Sample], quantity: Quantity) -> Option<f64> {
    let of_quantity = samples.iter().filter(|sample| sample.0 == quantity);
    let mut values: Vec<f64> = of_quantity.map(|sample| sample.1).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl QuantityTarget {
    /// Whether a value meets the target.
    #[must_use]
    pub fn reached_by(self, value: f64) -> bool {
        match self {
            Self::None => true,
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

impl std::fmt::Display for QuantityTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::AtLeast(least) => write!(f, ">= {least}"),
            Self::AtMost(most) => write!(f, "<= {most}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUANTITY: Quantity = Quantity {
        key: "speed",
        what: "how fast",
        target: QuantityTarget::AtLeast(1.5),
    };

    #[test]
    fn the_median_is_that_of_the_quantity() {
        let other = Quantity {
            key: "size",
            ..QUANTITY
        };
        let samples = [
            (QUANTITY, 3.0),
            (other, 99.0),
            (QUANTITY, 1.0),
            (QUANTITY, 2.0),
        ];
        assert_eq!(median(&samples, QUANTITY), Some(2.0));
        assert_eq!(median(&[], QUANTITY), None);
    }

    #[test]
    fn targets() {
        assert!(
            QuantityTarget::AtLeast(1.5).reached_by(1.5)
                && !QuantityTarget::AtLeast(1.5).reached_by(1.4)
        );
        assert!(
            QuantityTarget::AtMost(1.2).reached_by(1.2)
                && !QuantityTarget::AtMost(1.2).reached_by(1.3)
        );
        assert_eq!(QuantityTarget::AtMost(1.2).to_string(), "<= 1.2");
    }
}
