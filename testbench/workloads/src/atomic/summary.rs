//! Results of a program with atomic operations: the verdict, and times.

use std::collections::BTreeMap;

use lanigon_worlds::workload::{Outcome, grouped};

use super::linear::{Linearity, check};
use super::{AtomicRecords, AtomicWork, Settings, TimedOperation};

/// Results of a program, over all its members.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AtomicUse {
    /// Name of the program.
    pub program: String,
    /// Executor of the operations: `host` or `nic`.
    pub on: &'static str,
    /// Number of members.
    pub members: usize,
    /// Operations that have ended; of a lock those on its word.
    pub operations: usize,
    /// Operations of unknown outcome.
    pub pending: usize,
    /// Words that were used.
    pub words: usize,
    /// Uses of the lock that have ended.
    pub uses: usize,
    /// Mean time of an operation, or of acquiring and releasing the lock, in us.
    pub mean_us: f64,
    /// Median.
    pub p50_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// Mean of the first member alone, in us.
    pub first_mean_us: f64,
    /// Mean number of iterations that homes have counted in 1,000 us; 0: they do not count.
    pub iterations: f64,
}

impl AtomicUse {
    /// The results of all members, by rank, and of homes that are no members; and problems: words whose history is not linearizable, two members that held the lock at once.
    #[must_use]
    pub fn from_records(
        program: &str,
        settings: &Settings,
        nodes: &[AtomicRecords],
        homes: &[AtomicRecords],
    ) -> (Self, Vec<String>) {
        let mut histories: BTreeMap<(usize, u32), Vec<TimedOperation>> = BTreeMap::new();
        for one in nodes.iter().flat_map(|node| &node.executed) {
            let history = histories.entry((one.home, one.word)).or_default();
            history.push(one.operated);
        }
        let mut problems: Vec<_> = histories
            .iter()
            .filter_map(|(place, history)| problem(*place, history))
            .map(|text| format!("{program}: {text}"))
            .collect();
        if let Some((at, count)) = overlaps(nodes) {
            let us = at as f64 / 1e6;
            problems.push(format!(
                "{program}: two members held the lock at once, {count} times, first at {us:.3} us"
            ));
        }
        let times: Vec<Vec<u64>> = nodes
            .iter()
            .map(|node| {
                times(settings, node)
                    .skip(settings.warm_up as usize)
                    .collect()
            })
            .collect();
        let mut all: Vec<u64> = times.iter().flatten().copied().collect();
        all.sort_unstable();
        let place = |percent: usize| {
            let at = (all.len() * percent).div_ceil(100).max(1) - 1;
            all.get(at).map_or(0.0, |ps| *ps as f64 / 1e6)
        };
        let executed = || histories.values().flatten();
        let ended = executed().filter(|one| one.end.is_some()).count();
        let used = nodes.iter().flat_map(|node| &node.uses);
        let result = Self {
            program: program.to_owned(),
            on: settings.on.name(),
            members: nodes.len(),
            operations: ended,
            pending: executed().count() - ended,
            words: histories.len(),
            uses: used.filter(|one| one.released_ps.1.is_some()).count(),
            mean_us: mean_us(&all),
            p50_us: place(50),
            p99_us: place(99),
            first_mean_us: times.first().map_or(0.0, |times| mean_us(times)),
            iterations: mean(homes.iter().flat_map(|home| &home.iterations)),
        };
        (result, problems)
    }
}

fn mean<'a>(counts: impl Iterator<Item = &'a u64>) -> f64 {
    let (sum, count) = counts.fold((0, 0_u64), |(sum, count), one| (sum + one, count + 1));
    sum as f64 / count.max(1) as f64
}

fn mean_us(times: &[u64]) -> f64 {
    times.iter().sum::<u64>() as f64 / 1e6 / times.len().max(1) as f64
}

/// The times of a node's operations, or of acquiring and releasing the lock, in ps.
fn times<'a>(settings: &Settings, node: &'a AtomicRecords) -> impl Iterator<Item = u64> + 'a {
    let of_lock = matches!(settings.work, AtomicWork::Lock { .. });
    let executed = node.executed.iter().filter(move |_| !of_lock);
    let executed = executed.filter_map(|one| {
        let TimedOperation { began_ps, end, .. } = one.operated;
        Some(end?.0 - began_ps)
    });
    let uses = node.uses.iter().filter_map(|one| {
        let (called, acquired) = one.acquired_ps;
        let (release, ended) = one.released_ps;
        Some(acquired - called + ended? - release)
    });
    executed.chain(uses)
}

/// Defect of the history of a word; `None` if it is linearizable.
fn problem((home, word): (usize, u32), history: &[TimedOperation]) -> Option<String> {
    match check(0, history) {
        Linearity::Linearizable => None,
        Linearity::Not { explained } => Some(format!(
            "the {} operations on word {word} of home {home} are in no order that explains their results: {explained} are explained at most",
            history.len()
        )),
        Linearity::Undecided => Some(format!(
            "the search for an order of the {} operations on word {word} of home {home} was given up",
            history.len()
        )),
    }
}

/// Number of times that a member acquired the lock before the last holder began to release it, and the first such time.
fn overlaps(nodes: &[AtomicRecords]) -> Option<(u64, usize)> {
    let uses = nodes.iter().flat_map(|node| &node.uses);
    let mut spans: Vec<_> = uses
        .map(|one| (one.acquired_ps.1, one.released_ps.0))
        .collect();
    spans.sort_unstable();
    let early = spans.windows(2).filter(|pair| pair[1].0 < pair[0].1);
    let times: Vec<u64> = early.map(|pair| pair[1].0).collect();
    Some((*times.first()?, times.len()))
}

impl Outcome for AtomicUse {
    fn lines(&self) -> Vec<(&'static str, String)> {
        vec![("operation", self.line())]
    }
}

impl AtomicUse {
    /// The results in one line.
    fn line(&self) -> String {
        let AtomicUse {
            program,
            on,
            members,
            operations,
            pending,
            words,
            uses,
            ..
        } = self;
        let count = |count: usize| grouped(count as u64);
        let mut text = format!(
            "{program} on {on} of {members}, {} operations on {}",
            count(*operations),
            match words {
                1 => "1 word".to_owned(),
                words => format!("{} words", count(*words)),
            }
        );
        if *pending > 0 {
            text += &format!(", {} of unknown outcome", count(*pending));
        }
        if *uses > 0 {
            text += &format!(", {} uses", count(*uses));
        }
        let (mean, p50, p99) = (self.mean_us, self.p50_us, self.p99_us);
        text += &format!(": mean {mean:.2} us, p50 {p50:.2} us, p99 {p99:.2} us");
        if self.iterations > 0.0 {
            text += &format!(
                "; homes count {:.0} iterations in 1,000 us",
                self.iterations
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use host_lib::gm::atomic::{AtomicOperation, Wait};

    use super::super::{LockUse, MemberOperation, OperationMix};
    use super::*;
    use crate::collective::ExecutedOn;

    const SETTINGS: Settings = Settings {
        work: AtomicWork::Lock { hold_ns: 0 },
        on: ExecutedOn::Nic,
        wait: Wait::Poll,
        direct: false,
        mutex: false,
        count: 1,
        warm_up: 0,
        counter: false,
        think_ns: 0,
        variation_percent: 0,
    };

    fn node(uses: &[(u64, u64)]) -> AtomicRecords {
        let of = |&(acquired, release): &(u64, u64)| LockUse {
            acquired_ps: (acquired - 1_000_000, acquired),
            released_ps: (release, Some(release + 3_000_000)),
        };
        AtomicRecords {
            uses: uses.iter().map(of).collect(),
            ..AtomicRecords::default()
        }
    }

    #[test]
    fn holders_at_once_are_found() {
        let good = [
            node(&[(10_000_000, 20_000_000), (40_000_000, 50_000_000)]),
            node(&[(20_000_000, 30_000_000)]),
        ];
        let (result, problems) = AtomicUse::from_records("lock", &SETTINGS, &good, &[]);
        assert_eq!(problems, [""; 0]);
        assert_eq!((result.uses, result.mean_us, result.p99_us), (3, 4.0, 4.0));
        let bad = [good[0].clone(), node(&[(49_000_000, 60_000_000)])];
        let (_, problems) = AtomicUse::from_records("lock", &SETTINGS, &bad, &[]);
        assert_eq!(
            problems,
            ["lock: two members held the lock at once, 1 times, first at 49.000 us"]
        );
    }

    #[test]
    fn a_history_without_an_order_is_a_problem() {
        let add = |began_ps, before| MemberOperation {
            home: 1,
            word: 3,
            operated: TimedOperation {
                operation: AtomicOperation::FetchAdd(1),
                began_ps,
                end: Some((began_ps + 2_000_000, before)),
            },
        };
        let settings = Settings {
            work: AtomicWork::Operations {
                which: OperationMix::FetchAdd,
                words: 8,
            },
            ..SETTINGS
        };
        let node = |executed| AtomicRecords {
            executed,
            ..AtomicRecords::default()
        };
        let twice = [node(vec![add(0, 0)]), node(vec![add(1, 0)])];
        let (result, problems) = AtomicUse::from_records("atomics", &settings, &twice, &[]);
        assert_eq!(
            (result.operations, result.words, result.mean_us),
            (2, 1, 2.0)
        );
        assert_eq!(
            problems,
            [
                "atomics: the 2 operations on word 3 of home 1 are in no order that explains their results: 1 are explained at most"
            ]
        );
        let once = [node(vec![add(0, 0)]), node(vec![add(1, 1)])];
        assert!(
            AtomicUse::from_records("atomics", &settings, &once, &[])
                .1
                .is_empty()
        );
    }
}
