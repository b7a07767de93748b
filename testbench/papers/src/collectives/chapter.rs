//! The papers and chapters, with their published figures (`data/README.md`).

use lanigon_experiments::paper::{Amount, ExplainEffect, Paper, start};
use lanigon_experiments::published::PublishedTable;

use lanigon_experiments::Error;
use lanigon_experiments::statements::{PaperFile, Statements};

use super::Collectives;
use super::key::{Key, keys};
use super::results::Results;

/// The figures on which these chapters are calibrated and which are rows themselves: a board's clock, and the time of a call of
/// message passing. The other testbed's host barrier is the product of dissertation-069 and 071.
const CALIBRATED_ON: [&str; 2] = ["dissertation-075", "dissertation-086"];

/// The statements of the chapters.
const STATEMENTS: [PaperFile; 4] = [
    file!("collectives/barrier.toml"),
    file!("collectives/reduction.toml"),
    file!("collectives/gossip.toml"),
    file!("collectives/mpi-barrier.toml"),
];

/// Part of a publication that is reproduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chapter {
    /// Barriers over GM.
    Barrier = 0,
    /// Reductions over GM.
    Reduction = 1,
    /// All-to-all broadcasts.
    Gossip = 2,
    /// Barriers of message passing.
    MpiBarrier = 3,
}

static TABLES: [PublishedTable; 4] = [
    table!("barrier"),
    table!("reduction"),
    table!("gossip"),
    table!("mpi-barrier"),
];

macro_rules! paper {
    ($place:literal, $name:literal, $manual:literal, $about:literal) => {
        Paper {
            name: $name,
            about: $about,
            subject: concat!("Collective operations, ", $name),
            manual: $manual,
            accepts: &[],
            explains: ExplainEffect::Runs,
            table: &TABLES[$place],
            calibrated: &CALIBRATED_ON,
            start: start::<Collectives>,
        }
    };
}

/// The chapters' places in the list of papers.
pub static PAPERS: [Paper; 4] = [
    paper!(
        0,
        "barrier",
        "collectives",
        "Barriers over GM, on hosts and on boards"
    ),
    paper!(
        1,
        "reduction",
        "collectives",
        "Reductions over GM, on hosts and on boards"
    ),
    paper!(
        2,
        "gossip",
        "collectives",
        "All-to-all broadcasts over GM, on hosts and on boards"
    ),
    paper!(
        3,
        "mpi-barrier",
        "mpi",
        "Barriers of message passing over GM, on hosts and on boards"
    ),
];

impl Chapter {
    /// All chapters.
    pub const ALL: [Self; 4] = [
        Self::Barrier,
        Self::Reduction,
        Self::Gossip,
        Self::MpiBarrier,
    ];

    /// The chapter of a paper.
    #[must_use]
    pub fn from_paper(paper: &Paper) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|chapter| PAPERS[*chapter as usize].name == paper.name)
    }

    /// The published figures.
    #[must_use]
    pub fn table(self) -> &'static PublishedTable {
        &TABLES[self as usize]
    }

    /// The statements.
    ///
    /// # Errors
    /// Their file is invalid.
    pub fn statements(self) -> Result<Statements, Error> {
        Statements::read(
            &STATEMENTS[self as usize],
            self.table(),
            &Results::default(),
        )
    }

    /// The points that the statements need.
    ///
    /// # Errors
    /// Their file is wrong.
    pub(super) fn points(self, of: &Statements, amount: Amount) -> Result<Vec<Key>, Error> {
        let points = keys(of, amount == Amount::Quick);
        points.map_err(|error| STATEMENTS[self as usize].invalid(error))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_is_read() {
        let mut ids = BTreeSet::new();
        for chapter in Chapter::ALL {
            let PublishedTable { name, text, .. } = chapter.table();
            assert_eq!(
                Chapter::from_paper(&PAPERS[chapter as usize]),
                Some(chapter)
            );
            assert_eq!(
                chapter.table().numbers().len(),
                text.lines().count() - 1,
                "{name}"
            );
            for figure in chapter.table().numbers() {
                assert!(ids.insert(figure.id), "{} twice", figure.id);
                let profile = format!("gm-paper-{}", figure.profile);
                let known = lanigon_worlds::profile::built_in(&profile);
                assert!(known.is_ok(), "{}: {profile}", figure.id);
                assert!((2..=32).contains(&figure.nodes), "{}", figure.id);
                assert!(
                    figure.value.is_finite() && figure.value > 0.0,
                    "{}",
                    figure.id
                );
            }
        }
    }
}
