//! Intervals of a node's execution, their write notices, and vector times.

use std::sync::Arc;

/// Numbers of intervals, one for each node: a node's knowledge of what the others have written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VectorTime(pub(super) Vec<u32>);

impl VectorTime {
    pub(super) fn new(nodes: usize) -> Self {
        Self(vec![0; nodes])
    }

    /// Takes over what is known at another time.
    pub(super) fn merge(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }

    /// Whether an interval is known.
    pub(super) fn knows(&self, rank: usize, number: u32) -> bool {
        self.0.get(rank).is_some_and(|known| *known >= number)
    }
}

/// Writes of a node from one release to the next: a write notice for each page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Interval {
    /// The node.
    pub(super) rank: u32,
    /// Number of the interval among those of its node, from 1 on.
    pub(super) number: u32,
    /// The pages, as first page and count, rising.
    pub(super) runs: Vec<(u32, u32)>,
}

impl Interval {
    /// An interval with these pages, in any order.
    pub(super) fn new(rank: usize, number: u32, mut pages: Vec<u32>) -> Self {
        pages.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for page in pages {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == page => *count += 1,
                _ => runs.push((page, 1)),
            }
        }
        Self {
            rank: rank as u32,
            number,
            runs,
        }
    }

    /// The pages that the interval has written.
    pub(super) fn pages(&self) -> impl Iterator<Item = u32> {
        let run = |&(first, count): &(u32, u32)| first..first.saturating_add(count);
        self.runs.iter().flat_map(run)
    }
}

/// The intervals that are known and that other nodes may not know: those since the last barrier.
#[derive(Debug, Default)]
pub(super) struct IntervalLog(Vec<Arc<Interval>>);

impl IntervalLog {
    /// Adds an interval.
    pub(super) fn add(&mut self, interval: Arc<Interval>) {
        self.0.push(interval);
    }

    /// All nodes know all intervals.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The intervals that are not known at a time.
    pub(super) fn unknown_at(&self, time: &VectorTime) -> Vec<Arc<Interval>> {
        let unknown = |interval: &&Arc<Interval>| {
            let Interval { rank, number, .. } = ***interval;
            !time.knows(rank as usize, number)
        };
        self.0.iter().filter(unknown).cloned().collect()
    }

    /// The own intervals.
    pub(super) fn intervals_of(&self, rank: usize) -> Vec<Arc<Interval>> {
        let own = |interval: &&Arc<Interval>| interval.rank as usize == rank;
        self.0.iter().filter(own).cloned().collect()
    }
}
