//! Models of process skew: by how much each process is late to a collective operation.

use std::ops::Range;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Stream of the numbers that all processes draw alike; those of a process's own have other streams or seeds.
const COMMON_STREAM: u64 = 0;
/// Longest exponential delay, in units of the mean.
const MOST_MEANS: u64 = 8;
/// The mean of exponential delays in units of their random numbers.
const UNIT: u64 = 1 << 32;

/// Model of the delays with which processes come to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Skew {
    /// Any delay up to the longest one is as likely as another.
    #[default]
    Uniform,
    /// Exponential delays whose mean is that of [`Uniform`](Self::Uniform) ones, cut off at eight times the mean.
    Exponential,
    /// Delay of a single process, chosen at random in each round, by the longest delay; the others are not late.
    OneLate,
}

/// Names of the models in scenarios.
pub const SKEWS: [(&str, Skew); 3] = [
    ("uniform", Skew::Uniform),
    ("exponential", Skew::Exponential),
    ("one-late", Skew::OneLate),
];

impl Skew {
    /// Longest delay, for a setting `skew_us` of so many ns.
    #[must_use]
    pub const fn longest_ns(self, most_ns: u64) -> u64 {
        match self {
            Self::Uniform | Self::OneLate => most_ns,
            Self::Exponential => (most_ns / 2).saturating_mul(MOST_MEANS),
        }
    }
}

/// The delays of one process, round by round.
#[derive(Debug)]
pub struct Delays {
    skew: Skew,
    most_ns: u64,
    late_ranks: Range<usize>,
    rank: usize,
    common: ChaCha8Rng,
}

impl Delays {
    /// Delays of `rank`; only `late_ranks` can be late. All processes of a program give the same `seed`.
    #[must_use]
    pub fn new(
        skew: Skew,
        most_ns: u64,
        (late_ranks, rank): (Range<usize>, usize),
        seed: u64,
    ) -> Self {
        let mut common = ChaCha8Rng::seed_from_u64(seed);
        common.set_stream(COMMON_STREAM);
        Self {
            skew,
            most_ns,
            late_ranks,
            rank,
            common,
        }
    }

    /// Delay of the process in the next round, in ns, with random numbers of its own; `None`: it is not late.
    pub fn next(&mut self, own: &mut ChaCha8Rng) -> Option<u64> {
        let can_be_late = self.late_ranks.contains(&self.rank);
        match self.skew {
            Skew::Uniform => {
                can_be_late.then(|| own.next_u64() % self.most_ns.saturating_add(1).max(1))
            }
            Skew::Exponential => can_be_late.then(|| exponential(own, self.most_ns / 2)),
            Skew::OneLate => {
                let number = self.common.next_u64();
                let late = number.checked_rem(self.late_ranks.len() as u64)?;
                let late = self.late_ranks.start + late as usize;
                (self.rank == late).then_some(self.most_ns)
            }
        }
    }
}

/// An exponential number with this mean, cut off at [`MOST_MEANS`] of it, by von Neumann's method: the length of a falling run of uniform
/// numbers decides. It needs no logarithm, whose last bits differ between machines.
fn exponential(random: &mut ChaCha8Rng, mean: u64) -> u64 {
    let mut uniform = || random.next_u64() >> 32;
    let mut whole = 0;
    while whole < MOST_MEANS {
        let first = uniform();
        let (mut last, mut length) = (first, 1_u32);
        loop {
            let next = uniform();
            if next >= last {
                break;
            }
            last = next;
            length += 1;
        }
        if !length.is_multiple_of(2) {
            let means = u128::from(whole * UNIT + first);
            let scaled = means * u128::from(mean) / u128::from(UNIT);
            return u64::try_from(scaled).unwrap_or(u64::MAX);
        }
        whole += 1;
    }
    mean.saturating_mul(MOST_MEANS)
}

#[cfg(test)]
mod tests {
    use cases::cases;
    use proptest::prelude::*;

    use super::*;

    /// The delays of all ranks in so many rounds: a list for each round.
    fn rounds(skew: Skew, most_ns: u64, ranks: usize, count: usize) -> Vec<Vec<Option<u64>>> {
        let each = |rank: usize| {
            let mut own = ChaCha8Rng::seed_from_u64(9 + rank as u64);
            let mut delays = Delays::new(skew, most_ns, (1..ranks, rank), 5);
            let next = move |_| delays.next(&mut own);
            (0..count).map(next).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..ranks).map(each).collect();
        let round = |at: usize| all.iter().map(|of| of[at]).collect();
        (0..count).map(round).collect()
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn delays_stay_in_their_bounds(
            model in 0..SKEWS.len(), most_ns in prop_oneof![0..10_u64, any::<u64>()], ranks in 0..9_usize,
        ) {
            let skew = SKEWS[model].1;
            for round in rounds(skew, most_ns, ranks, 20) {
                let late = round.iter().flatten().copied();
                prop_assert!(late.clone().all(|delay| delay <= skew.longest_ns(most_ns)));
                prop_assert!(round.first().is_none_or(Option::is_none), "rank 0 is never late");
                let expected = match skew {
                    Skew::OneLate => usize::from(ranks > 1),
                    Skew::Uniform | Skew::Exponential => ranks.saturating_sub(1),
                };
                prop_assert_eq!(late.count(), expected);
            }
        }
    }

    /// Means of many delays, and the share that is longer than each of these multiples of the mean.
    fn shape(skew: Skew, multiples: [f64; 3]) -> (f64, [f64; 3]) {
        let mean_ns = 500_000.0;
        let all = rounds(skew, 1_000_000, 3, 20_000).concat();
        let all: Vec<f64> = all.into_iter().flatten().map(|ns| ns as f64).collect();
        let count = all.len() as f64;
        let mean = all.iter().sum::<f64>() / count / mean_ns;
        let longer = |least: f64| all.iter().filter(|ns| **ns > least * mean_ns).count() as f64;
        (mean, multiples.map(|multiple| longer(multiple) / count))
    }

    /// Shares of 40,000 numbers differ from the probabilities by less than five standard deviations, 0.0125.
    #[track_caller]
    fn check(skew: Skew, probability: impl Fn(f64) -> f64) {
        let multiples = [0.5, 1.0, 1.9];
        let (mean, longer) = shape(skew, multiples);
        assert!((mean - 1.0).abs() < 0.025, "{skew:?}: mean {mean}");
        for (multiple, found) in multiples.into_iter().zip(longer) {
            let expected = probability(multiple);
            assert!(
                (found - expected).abs() < 0.0125,
                "{skew:?}: {found} of the delays, not {expected}, exceed {multiple} means"
            );
        }
    }

    #[test]
    fn delays_have_the_shape_of_their_model() {
        check(Skew::Uniform, |multiple| 1.0 - multiple / 2.0);
        check(Skew::Exponential, |multiple| (-multiple).exp());
    }

    #[test]
    fn every_rank_is_the_late_one_equally_often() {
        let mut times = [0_u32; 5];
        for round in rounds(Skew::OneLate, 7, 5, 8_000) {
            let late = round.iter().position(Option::is_some).unwrap_or_default();
            times[late] += 1;
        }
        assert_eq!(times[0], 0);
        // 2,000 each, with a standard deviation of 39.
        assert!(
            times[1..]
                .iter()
                .all(|times| (1_800..2_200).contains(times)),
            "{times:?}"
        );
    }

    /// The delays of scenarios that name no model: they must not change.
    #[test]
    fn uniform_delays_are_the_own_numbers() {
        let mut numbers = ChaCha8Rng::seed_from_u64(3);
        let mut own = ChaCha8Rng::seed_from_u64(3);
        let mut delays = Delays::new(Skew::Uniform, 999, (0..4, 2), 77);
        for _ in 0..50 {
            assert_eq!(delays.next(&mut own), Some(numbers.next_u64() % 1000));
        }
    }
}
