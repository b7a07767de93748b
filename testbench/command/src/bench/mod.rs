//! How fast the emulator is on this machine. The only code that reads a wall clock.
//!
//! Each [`Measurement`] is taken in several rounds, alternating with the others, so that another load of
//! the machine meets all alike; the median counts.

pub mod boards;
pub mod busy;
pub mod debug;
pub mod emp;
pub mod instructions;

use std::time::{Duration, Instant};

use emulator::sim::time::SimTime;
use emulator::sim::world::RunLimits;

use lanigon_worlds::interrupt::Interrupt;

/// A quantity that is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Its name in JSON.
    pub key: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// What it must reach.
    pub target: Target,
}

/// What a quantity must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Nothing: it is for information.
    None,
    /// At least so much.
    AtLeast(f64),
    /// At most so much.
    AtMost(f64),
}

/// A measured value.
pub type Sample = (Quantity, f64);

/// How long the rounds are, and whether to go on.
#[derive(Debug, Clone, Copy)]
pub struct Pace<'a> {
    /// What a run of one round takes.
    pub span: Duration,
    /// Whether the user has had enough.
    pub interrupt: &'a Interrupt,
}

impl Pace<'_> {
    /// Carries out `work` again and again until the span is over; gives the time that it took, or
    /// `None` when interrupted.
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
        }
    }
}

/// Something that can be measured again and again.
pub trait Measurement {
    /// The quantities that it measures.
    fn quantities(&self) -> Vec<Quantity>;

    /// One round; empty when interrupted.
    ///
    /// # Errors
    /// If what is measured does not run.
    fn round(&mut self, pace: &Pace<'_>) -> anyhow::Result<Vec<Sample>>;
}

/// A world as the measurements know it.
type World = emulator::sim::world::World;

/// The median of a quantity's samples; `None` without any.
#[must_use]
pub fn median(samples: &[Sample], quantity: Quantity) -> Option<f64> {
    let of_quantity = samples.iter().filter(|sample| sample.0 == quantity);
    let mut values: Vec<f64> = of_quantity.map(|sample| sample.1).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

impl Target {
    /// Whether a value reaches it.
    #[must_use]
    pub fn reached_by(self, value: f64) -> bool {
        match self {
            Self::None => true,
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }
}

impl std::fmt::Display for Target {
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
        target: Target::AtLeast(1.5),
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
        assert!(Target::AtLeast(1.5).reached_by(1.5) && !Target::AtLeast(1.5).reached_by(1.4));
        assert!(Target::AtMost(1.2).reached_by(1.2) && !Target::AtMost(1.2).reached_by(1.3));
        assert_eq!(Target::AtMost(1.2).to_string(), "<= 1.2");
    }
}
