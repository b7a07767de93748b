//! Number of rounds of a benchmark: until its mean is stable.

use emulator::sim::time::SimTime;

use lanigon_experiments::interval::{self, Estimate};

/// Mean duration of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    /// The mean, in picoseconds.
    pub ps: f64,
    /// Number of rounds.
    pub rounds: usize,
    /// Half of the width of its 95 % confidence interval, as a share of the mean.
    pub interval: Option<f64>,
}

/// Limits on the number of rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rounds {
    /// Minimum.
    pub least: usize,
    /// Maximum.
    pub most: usize,
    /// Number of rounds at the start that are ignored.
    pub skipped: usize,
    /// The mean is stable if it moved by less than this share over the last half of the rounds.
    pub tolerance: f64,
    /// And if half of its confidence interval is at most this share of it.
    pub precision: f64,
}

impl Rounds {
    /// Default: until the mean moves by less than 0.1 %, at most 300 rounds.
    pub const USUAL: Self = Self {
        least: 32,
        most: 300,
        skipped: 8,
        tolerance: 1e-3,
        precision: 0.02,
    };
    /// Fewer rounds, for a first look.
    pub const QUICK: Self = Self {
        least: 12,
        most: 60,
        skipped: 4,
        tolerance: 5e-3,
        precision: f64::INFINITY,
    };
    /// Number of rounds in the thesis (emp-147, emp-150).
    pub const FULL: Self = Self {
        least: 10_000,
        most: 10_000,
        skipped: 0,
        tolerance: 0.0,
        precision: 0.0,
    };

    /// So many rounds at least.
    #[must_use]
    pub fn at_least(self, rounds: usize) -> Self {
        Self {
            least: self.least.max(rounds),
            most: self.most.max(rounds),
            ..self
        }
    }

    /// Largest number of rounds.
    #[must_use]
    pub const fn all(&self) -> usize {
        self.skipped + self.most
    }

    /// Mean duration of a round, once `stamps` (start, and end of each round) suffice;
    /// depends on the stamps only.
    #[must_use]
    pub fn mean(&self, stamps: &[SimTime]) -> Option<Mean> {
        let stamps = stamps.get(self.skipped..)?;
        let rounds = stamps.len().checked_sub(1)?;
        (self.least..=rounds.min(self.most)).find_map(|count| {
            let mean = mean_ps(stamps, count)?;
            let before = mean_ps(stamps, (count / 2).max(1))?;
            let still = (mean - before).abs() <= self.tolerance * mean;
            if !still && count < self.most {
                return None;
            }
            let mean = Mean::from_stamps(stamps, count)?;
            let sure = mean.interval.is_none_or(|half| half <= self.precision);
            (sure || count == self.most).then_some(mean)
        })
    }
}

impl Mean {
    /// Estimate of a value that follows from the mean, with the same relative certainty.
    pub(super) fn estimate(&self, value: f64) -> Estimate {
        Estimate {
            value,
            rounds: self.rounds,
            interval: self.interval.map(|share| share * value),
        }
    }

    /// Mean of the first `count` rounds between `stamps`; `None` if there are fewer.
    pub(super) fn from_stamps(stamps: &[SimTime], count: usize) -> Option<Self> {
        let counted: Vec<_> = stamps
            .get(..=count)?
            .iter()
            .map(|stamp| stamp.ps())
            .collect();
        Some(Self {
            ps: mean_ps(stamps, count)?,
            rounds: count,
            interval: interval::share(&counted),
        })
    }
}

fn mean_ps(stamps: &[SimTime], count: usize) -> Option<f64> {
    let span = stamps.get(count)?.saturating_sub(*stamps.first()?);
    Some(span.ps() as f64 / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rounds: Rounds, stamps: &[SimTime]) -> Option<(f64, usize)> {
        rounds.mean(stamps).map(|mean| (mean.ps, mean.rounds))
    }

    fn stamps(periods_ns: impl IntoIterator<Item = u64>) -> Vec<SimTime> {
        let mut now = SimTime::ZERO;
        let mut stamps = vec![now];
        for period in periods_ns {
            now += SimTime::from_ns(period);
            stamps.push(now);
        }
        stamps
    }

    #[test]
    fn a_steady_benchmark_ends_at_the_least() {
        assert_eq!(
            of(Rounds::USUAL, &stamps([50; 40])),
            Some((50_000.0, Rounds::USUAL.least))
        );
        let least = Rounds::USUAL.skipped + Rounds::USUAL.least;
        let steady = stamps(vec![50; least]);
        assert_eq!(Rounds::USUAL.mean(&steady[..least]), None);
        assert!(Rounds::USUAL.mean(&steady).is_some());
        assert_eq!(Rounds::USUAL.mean(&[]), None);
    }

    #[test]
    fn the_first_rounds_are_not_counted() {
        let mut periods = vec![50; 60];
        periods[..Rounds::USUAL.skipped].fill(5000);
        let mean = of(Rounds::USUAL, &stamps(periods));
        assert_eq!(mean, Some((50_000.0, Rounds::USUAL.least)));
    }

    #[test]
    fn programs_that_run_all_rounds_give_a_mean() {
        for rounds in [Rounds::USUAL, Rounds::QUICK] {
            let drifting = stamps((0..rounds.all() as u64).map(|round| 100 + 10 * round));
            assert_eq!(of(rounds, &drifting).map(|mean| mean.1), Some(rounds.most));
        }
    }

    #[test]
    fn a_drifting_one_goes_on_to_the_most() {
        let drifting = stamps((0..400).map(|round| 100 + 10 * round));
        let (_, count) = of(Rounds::USUAL, &drifting).unwrap();
        assert_eq!(count, Rounds::USUAL.most);
        assert_eq!(Rounds::USUAL.mean(&drifting[..200]), None);
    }
}
