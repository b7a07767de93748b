//! Verdicts on claims, given only where the numbers carry them.
//!
//! A mean over repeats has a confidence interval ([`Estimate`]). A claim is judged with the means as they are, and again many times with every mean
//! moved at random within its interval. Its verdict stands if all these judgements agree. Otherwise the claim is open, and the number of
//! rounds is named with which they would agree: an interval shrinks with the square root of the rounds. The claims of all papers, and the
//! bounds among the published numbers, pass through this rule. Values without an interval, of one deterministic run, are taken as they are.

use std::fmt;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use serde::Serialize;

use crate::interval::Estimate;

/// Number of times that the means are moved.
const MOVES: u64 = 200;
/// Shares of its interval by which a single mean is moved, to find out whether it decides.
const ALONE: [f64; 4] = [-1.0, -0.5, 0.5, 1.0];
/// Factor between two numbers of rounds that are tried.
const MORE_ROUNDS: f64 = 1.25;
/// Means that are named as too uncertain, at most.
const NAMED: usize = 3;

/// Whether a claim is true, with the numbers; or the reason why it cannot be judged.
pub type Verdict = Result<(bool, String), String>;

/// Results that claims are about.
pub trait Sample: Clone {
    /// The means with intervals, always in the same order.
    fn means(&mut self) -> Vec<&mut Estimate> {
        Vec::new()
    }

    /// Name of the mean at a place of [`means`](Self::means).
    fn name(&self, _place: usize) -> String {
        String::new()
    }
}

/// A claim with its verdict and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedClaim {
    /// Id of the claim.
    pub id: String,
    /// Text of the claim, with the interpretation in brackets.
    pub claim: String,
    /// `holds`, `fails` or `open`.
    pub verdict: &'static str,
    /// Whether it holds; `None`: it is open.
    pub holds: Option<bool>,
    /// The numbers, and why they do not carry a verdict; or why there are none.
    pub evidence: String,
    /// Rounds with which an open claim could be judged, about: if there are enough in a full run.
    pub rounds_needed: Option<usize>,
}

/// Numbers of rounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Most rounds of a mean in this run.
    pub run: usize,
    /// Rounds with `--full`.
    pub full: usize,
}

/// Whether the numbers carry a judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Certainty {
    /// The judgement is the same wherever the means are in their intervals.
    Firm,
    /// The judgement depends on the means. Names of means that turn it alone, and the number of rounds that would do; `None`: more than a
    /// full run has.
    Open(Vec<String>, Option<usize>),
}

/// The word for a verdict.
#[must_use]
pub const fn word(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "open",
    }
}

/// Judges claims: ids, texts, judgements.
pub fn judge<S: Sample, J: Fn(&S) -> Verdict>(
    sample: &S,
    limits: Limits,
    claims: impl IntoIterator<Item = (String, String, J)>,
) -> Vec<JudgedClaim> {
    let mut moves = Moves::of(sample);
    let judge = |(id, claim, judge): (_, _, J)| {
        let (holds, evidence, rounds_needed) = match judge(sample) {
            Err(why) => (None, why, None),
            Ok((holds, evidence)) => {
                let truth = |sample: &S| judge(sample).ok().map(|(holds, _)| holds);
                match standing(sample, &mut moves, limits, truth) {
                    Certainty::Firm => (Some(holds), evidence, None),
                    Certainty::Open(names, rounds) => {
                        let why = reason(&names, rounds, limits);
                        (None, format!("{evidence}; {why}"), rounds)
                    }
                }
            }
        };
        JudgedClaim {
            id,
            claim,
            verdict: word(holds),
            holds,
            evidence,
            rounds_needed,
        }
    };
    claims.into_iter().map(judge).collect()
}

/// Whether a bound is met; or why that is open.
pub fn bound<S: Sample>(
    sample: &S,
    limits: Limits,
    is_met: impl Fn(&S) -> Option<bool>,
) -> Result<Option<bool>, String> {
    match standing(sample, &mut Moves::of(sample), limits, &is_met) {
        Certainty::Firm => Ok(is_met(sample)),
        Certainty::Open(names, rounds) => Err(reason(&names, rounds, limits)),
    }
}

/// Numbers of verdicts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Claims that hold.
    pub hold: usize,
    /// Claims that do not.
    pub fail: usize,
    /// Claims without a verdict.
    pub open: usize,
}

impl Totals {
    /// Counts the verdicts.
    #[must_use]
    pub fn count<'a>(judged: impl IntoIterator<Item = &'a JudgedClaim>) -> Self {
        let mut totals = Self::default();
        for one in judged {
            *match one.holds {
                Some(true) => &mut totals.hold,
                Some(false) => &mut totals.fail,
                None => &mut totals.open,
            } += 1;
        }
        totals
    }
}

impl fmt::Display for Totals {
    /// "36 claims: 20 hold, 9 fail, 7 are open".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hold, fail, open } = self;
        let all = hold + fail + open;
        write!(f, "{all} claims: {hold} hold, {fail} fail, {open} are open")
    }
}

/// Results whose means are moved at random within their intervals, in one copy for all moves.
struct Moves<S> {
    /// The results, with the means of a move.
    copy: S,
    /// The means as they were measured.
    means: Vec<Estimate>,
    /// Shares of their intervals by which the means are moved; for each move, one for each mean.
    shares: Vec<f64>,
}

impl<S: Sample> Moves<S> {
    fn of(sample: &S) -> Self {
        let mut copy = sample.clone();
        let means: Vec<_> = copy.means().into_iter().map(|mean| *mean).collect();
        let shares = (0..MOVES).flat_map(|seed| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            means.iter().map(move |_| {
                // Uniform, with a third of the moves at the ends.
                let share = 3.0 * (f64::from(random.next_u32()) / f64::from(u32::MAX) - 0.5);
                share.clamp(-1.0, 1.0)
            })
        });
        Self {
            shares: shares.collect(),
            copy,
            means,
        }
    }

    /// Whether something is true of the results after every move; in intervals as they would be after so many rounds.
    fn all(&mut self, rounds: Option<usize>, is_so: impl Fn(&S) -> bool) -> bool {
        let halves: Vec<_> = self
            .means
            .iter()
            .map(|one| one.half_after(rounds))
            .collect();
        // Without intervals nothing moves.
        if halves.iter().all(|half| *half == 0.0) {
            return is_so(&self.copy);
        }
        self.shares.chunks_exact(halves.len()).all(|shares| {
            let measured = self.means.iter().zip(&halves).zip(shares);
            for (mean, ((measured, half), share)) in self.copy.means().into_iter().zip(measured) {
                mean.value = measured.value + share * half;
            }
            is_so(&self.copy)
        })
    }
}

fn standing<S: Sample>(
    sample: &S,
    moves: &mut Moves<S>,
    limits: Limits,
    truth: impl Fn(&S) -> Option<bool>,
) -> Certainty {
    let right = truth(sample);
    if right.is_none() || moves.all(None, |moved| truth(moved) == right) {
        return Certainty::Firm;
    }
    let fewest = moves.means.iter().map(|mean| mean.rounds).min();
    let mut rounds = fewest.unwrap_or_default().max(1) as f64;
    let enough = loop {
        rounds *= MORE_ROUNDS;
        if rounds > limits.full as f64 {
            break None;
        }
        if moves.all(Some(rounds as usize), |moved| truth(moved) == right) {
            break Some(rounded(rounds));
        }
    };
    Certainty::Open(decisive(sample, right, truth), enough)
}

/// A number of rounds with two digits, not less.
fn rounded(rounds: f64) -> usize {
    let unit = 10_f64.powf((rounds.log10().floor() - 1.0).max(0.0));
    ((rounds / unit).ceil() * unit) as usize
}

/// Names of the means that turn a judgement alone, the least certain ones first.
fn decisive<S: Sample>(
    sample: &S,
    right: Option<bool>,
    truth: impl Fn(&S) -> Option<bool>,
) -> Vec<String> {
    let mut copy = sample.clone();
    let means: Vec<_> = copy.means().into_iter().map(|mean| *mean).collect();
    let mut found = Vec::new();
    for (place, mean) in means.iter().enumerate() {
        let half = mean.half_after(None);
        let mut turns = |share: f64| {
            *copy.means()[place] = Estimate {
                value: mean.value + share * half,
                ..*mean
            };
            truth(&copy) != right
        };
        if half > 0.0 && ALONE.into_iter().any(&mut turns) {
            found.push((half / mean.value.abs(), place));
        }
        *copy.means()[place] = *mean;
    }
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let name = |(_, place): (f64, usize)| {
        let mean = means[place];
        let half = mean.half_after(None);
        let (name, rounds) = (sample.name(place), mean.rounds);
        format!("{name}: {:.2} ± {half:.2}, {rounds} rounds", mean.value)
    };
    found.into_iter().take(NAMED).map(name).collect()
}

/// Reason for which a claim is open.
fn reason(names: &[String], rounds: Option<usize>, limits: Limits) -> String {
    let Limits { run, full } = limits;
    let means = match names {
        [] => String::new(),
        names => format!(" ({})", names.join("; ")),
    };
    let enough = match rounds {
        Some(rounds) if rounds > run => {
            format!("about {rounds} rounds would do, more than the {run} of this run")
        }
        Some(rounds) => format!("about {rounds} rounds would do"),
        None => format!("not even the {full} rounds of --full would do"),
    };
    format!("open: intervals too wide{means}; {enough}")
}

#[cfg(test)]
mod tests;
