//! Confidence intervals of means over repeats.

use std::fmt;

use serde::Serialize;

use crate::statistics::Sample;

/// Number of batches.
const BATCHES: usize = 4;
/// Student's t for 95 % and one degree of freedom less than there are batches.
const STUDENT: f64 = 3.182;

/// A mean over repeats.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub value: f64,
    /// Number of repeats.
    pub rounds: usize,
    /// Half of the width of its 95 % confidence interval, in its unit; `None` with too few repeats.
    pub interval: Option<f64>,
}

impl fmt::Display for Estimate {
    /// The mean alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl Estimate {
    /// A value that is no mean.
    #[must_use]
    pub const fn single(value: f64) -> Self {
        Self {
            value,
            rounds: 1,
            interval: None,
        }
    }

    /// A mean over the rounds that end at these times, behind the first one, with the certainty of their duration.
    #[must_use]
    pub fn of_rounds(value: f64, stamps: &[u64]) -> Self {
        Self {
            value,
            rounds: stamps.len().saturating_sub(1),
            interval: share(stamps).map(|share| share * value.abs()),
        }
    }

    /// The sum of independent means.
    #[must_use]
    pub fn sum(all: &[Self]) -> Self {
        let squares = all.iter().map(|one| one.interval.map(|half| half * half));
        Self {
            value: all.iter().map(|one| one.value).sum(),
            rounds: all.iter().map(|one| one.rounds).min().unwrap_or_default(),
            interval: squares.sum::<Option<f64>>().map(f64::sqrt),
        }
    }

    /// The mean multiplied by a constant.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            value: self.value * factor,
            interval: self.interval.map(|half| half * factor.abs()),
            ..self
        }
    }

    /// Half of the width of the interval; as it would be after so many rounds, if that is more than there were.
    pub(crate) fn half_after(&self, rounds: Option<usize>) -> f64 {
        let half = self.interval.unwrap_or_default();
        match rounds {
            Some(rounds) if rounds > self.rounds => {
                half * (self.rounds as f64 / rounds as f64).sqrt()
            }
            _ => half,
        }
    }
}

/// Half of the width of the 95 % confidence interval of the mean duration of a round, as a share of that mean, by the method of batch means:
/// the rounds are divided into four batches in sequence, since consecutive rounds depend on each other. `stamps` are the start, and the end
/// of each round. `None` with fewer rounds than batches; 0 for rounds that do not vary.
#[must_use]
pub fn share(stamps: &[u64]) -> Option<f64> {
    let each = stamps.len().checked_sub(1)? / BATCHES;
    if each == 0 {
        return None;
    }
    let ends: Vec<u64> = stamps
        .iter()
        .copied()
        .step_by(each)
        .take(BATCHES + 1)
        .collect();
    let spans: Vec<f64> = ends
        .windows(2)
        .map(|ends| ends[1].saturating_sub(ends[0]) as f64)
        .collect();
    let sample = Sample::of(&spans).filter(|sample| sample.mean > 0.0)?;
    let error = sample.deviation? / (BATCHES as f64).sqrt();
    Some(STUDENT * error / sample.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_batch_means() {
        assert_eq!(share(&[]), None);
        assert_eq!(share(&[0, 1, 2, 3]), None);
        assert_eq!(share(&[5, 15, 25, 35, 45]), Some(0.0));
        // Batches of 9, 11, 9 and 11: mean 10, standard deviation 2/sqrt(3), divided by 2 for four batches.
        let expected = STUDENT * (4.0_f64 / 3.0).sqrt() / 2.0 / 10.0;
        let found = share(&[0, 9, 20, 29, 40]).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}");
        // Variation inside of batches does not count.
        assert_eq!(share(&[0, 1, 10, 11, 20, 21, 30, 31, 40]), Some(0.0));
    }
}
