//! All measured points, as rows, claims and figures take them.

use lanigon_experiments::grid::Points;
use lanigon_experiments::key;
use lanigon_experiments::paper::Amount;
use lanigon_experiments::verdict::Sample;

use super::primitives::Primitives;
use super::{OTHER, PROFILE};

/// Numbers of nodes of the curves.
pub const NODES: [u16; 4] = [2, 4, 8, 16];
/// The applications: their names in points, and in the paper.
pub const APPLICATIONS: [(&str, &str); 5] = [
    ("Barnes", "Barnes"),
    ("Radix", "RS"),
    ("Integer", "IS"),
    ("Fft", "3DFFT"),
    ("Water", "Water"),
];
/// The paper's testbed.
pub const PAPERS: &str = "Paper";
/// The testbeds: their names in points, and in texts.
pub const TESTBEDS: [(&str, &str); 3] = [
    (PAPERS, PROFILE),
    ("CheapHandler", "hca-4x, cheap handler"),
    ("Lanai", OTHER),
];
/// Name of the paper's small size.
pub const SMALL: &str = "Small";
/// Name of the paper's large size.
pub const LARGE: &str = "Large";
/// Both protocols with their names.
pub const PROTOCOLS: [(bool, &str); 2] = [(false, "async"), (true, "ardmar")];

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The primitives of both profiles.
    pub primitives: Vec<(&'static str, Primitives)>,
    /// The programs: means of their nodes.
    pub points: Points,
    /// Amount of the measurements.
    pub amount: Amount,
}

/// A program: testbed, its name and size in points, number of nodes.
pub type ProgramPoint<'a> = (&'a str, &'a str, &'a str, u16);

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

    /// A mean of a program's nodes.
    #[must_use]
    pub fn mean(
        &self,
        (testbed, program, size, nodes): ProgramPoint<'_>,
        ardmar: bool,
        of: &str,
    ) -> Option<f64> {
        let key = key![testbed, program, size, nodes, ardmar];
        self.points.at(&key, of)
    }

    /// Time of a page fetch in the benchmark, in us; 0 without any.
    #[must_use]
    pub fn fetch_us(&self, testbed: &str, nodes: u16, ardmar: bool) -> Option<f64> {
        let mean = |of| self.mean((testbed, "Pages", self.pages(), nodes), ardmar, of);
        let fetches = mean("fetches")?;
        Some(if fetches > 0.0 {
            mean("page_us")? / fetches
        } else {
            0.0
        })
    }

    /// Ratio of an application's time with handlers to its time without them.
    #[must_use]
    pub fn gain(&self, run: ProgramPoint<'_>) -> Option<f64> {
        let total = |ardmar| self.mean(run, ardmar, "total_us");
        Some(total(false)? / total(true)?)
    }

    /// Speed-up: ratio of an application's time on one node, which needs no network, to its time on `nodes`.
    #[must_use]
    pub fn speed_up(&self, program: &str, size: &str, nodes: u16, ardmar: bool) -> Option<f64> {
        let total = |nodes, ardmar| self.mean((PAPERS, program, size, nodes), ardmar, "total_us");
        Some(total(1, false)? / total(nodes, ardmar)?)
    }

    /// Sizes of the applications, the largest last.
    #[must_use]
    pub const fn sizes(&self) -> &'static [&'static str] {
        match self.amount {
            Amount::Quick => &["Reduced"],
            Amount::Usual => &[SMALL],
            Amount::Full => &[SMALL, LARGE],
        }
    }

    /// Size of the benchmark of page fetches.
    #[must_use]
    pub const fn pages(&self) -> &'static str {
        self.sizes()[0]
    }

    /// Most nodes of the applications.
    #[must_use]
    pub const fn most(&self) -> u16 {
        self.amount.choose([8, 16, 16])
    }

    /// The size that is nearest to the one that was asked for.
    #[must_use]
    pub fn nearest(&self, wanted: &'static str) -> &'static str {
        match self.sizes() {
            sizes if sizes.contains(&wanted) => wanted,
            sizes => sizes[sizes.len() - 1],
        }
    }
}
