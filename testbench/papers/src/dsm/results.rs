//! All measured points, as rows, claims and figures take them.

use std::collections::BTreeMap;

use lanigon_experiments::paper::Amount;
use lanigon_experiments::verdict::Sample;
use lanigon_workloads::dsm::NodeTimes;

use super::key::{Key, Program, Size, Testbed, pages, sizes};
use super::primitives::Primitives;

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The primitives of both profiles.
    pub primitives: Vec<(&'static str, Primitives)>,
    /// The programs: means of their nodes.
    pub points: BTreeMap<Key, NodeTimes>,
    /// Amount of the measurements.
    pub amount: Amount,
}

// Its values are those of single runs, without intervals.
impl Sample for Results {}

impl Results {
    /// The primitives of a profile.
    #[must_use]
    pub fn primitives(&self, profile: &str) -> Option<&Primitives> {
        let mut all = self.primitives.iter();
        all.find(|(name, _)| *name == profile)
            .map(|(_, found)| found)
    }

    /// A run.
    #[must_use]
    pub fn times(
        &self,
        testbed: Testbed,
        program: Program,
        size: Size,
        nodes: u16,
        ardmar: bool,
    ) -> Option<&NodeTimes> {
        self.points.get(&Key {
            testbed,
            program,
            size,
            nodes,
            ardmar,
        })
    }

    /// Time of a page fetch in the benchmark, in us.
    #[must_use]
    pub fn fetch_us(&self, testbed: Testbed, nodes: u16, ardmar: bool) -> Option<f64> {
        let size = pages(self.amount);
        let times = self.times(testbed, Program::Pages, size, nodes, ardmar);
        times.map(NodeTimes::page_fetch_us)
    }

    /// Ratio of an application's time with handlers to its time without them.
    #[must_use]
    pub fn gain(&self, testbed: Testbed, program: Program, size: Size, nodes: u16) -> Option<f64> {
        let total = |ardmar| {
            let times = self.times(testbed, program, size, nodes, ardmar);
            times.map(|times| times.total_us)
        };
        Some(total(false)? / total(true)?)
    }

    /// Speed-up: ratio of an application's time on one node, which needs no network, to its time on `nodes`.
    #[must_use]
    pub fn speed_up(&self, program: Program, size: Size, nodes: u16, ardmar: bool) -> Option<f64> {
        let total = |nodes, ardmar| {
            let times = self.times(Testbed::Paper, program, size, nodes, ardmar);
            times.map(|times| times.total_us)
        };
        Some(total(1, false)? / total(nodes, ardmar)?)
    }

    /// The size that is nearest to the one that was asked for.
    #[must_use]
    pub fn nearest(&self, wanted: Size) -> Size {
        let sizes = sizes(self.amount);
        let found = sizes.iter().copied().find(|size| *size == wanted);
        found.or(sizes.last().copied()).unwrap_or(wanted)
    }
}
