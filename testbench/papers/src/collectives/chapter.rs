//! The papers and chapters, with their published figures (`data/README.md`).

use lanigon_experiments::paper::{ExplainEffect, Paper, start};
use lanigon_experiments::published::{Published, PublishedTable};

use super::Collectives;
use super::rows::CALIBRATED_ON;

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

macro_rules! table {
    ($name:literal) => {
        PublishedTable::new(
            concat!("published-", $name),
            include_str!(concat!("../../data/published-", $name, ".csv")),
        )
    };
}

static TABLES: [PublishedTable; 4] = [
    table!("barrier"),
    table!("reduction"),
    table!("gossip"),
    table!("mpi-barrier"),
];

/// The chapters' places in the list of papers.
pub static PAPERS: [Paper; 4] = [
    paper(
        ["barrier", "Barriers over GM, on hosts and on boards"],
        ["Collective operations, barrier", "collectives"],
        &TABLES[0],
    ),
    paper(
        ["reduction", "Reductions over GM, on hosts and on boards"],
        ["Collective operations, reduction", "collectives"],
        &TABLES[1],
    ),
    paper(
        [
            "gossip",
            "All-to-all broadcasts over GM, on hosts and on boards",
        ],
        ["Collective operations, gossip", "collectives"],
        &TABLES[2],
    ),
    paper(
        [
            "mpi-barrier",
            "Barriers of message passing over GM, on hosts and on boards",
        ],
        ["Collective operations, mpi-barrier", "mpi"],
        &TABLES[3],
    ),
];

const fn paper(
    [name, about]: [&'static str; 2],
    [subject, manual]: [&'static str; 2],
    table: &'static PublishedTable,
) -> Paper {
    Paper {
        name,
        about,
        subject,
        manual,
        accepts: &[],
        explains: ExplainEffect::Runs,
        table,
        calibrated: &CALIBRATED_ON,
        start: start::<Collectives>,
    }
}

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

    /// The published figures, one by one.
    #[must_use]
    pub fn figures(self) -> &'static [Published] {
        self.table().numbers()
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
            assert_eq!(chapter.figures().len(), text.lines().count() - 1, "{name}");
            for figure in chapter.figures() {
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
