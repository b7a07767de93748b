//! The published figures about collective and atomic operations, from `data/published-barrier.csv`, `-reduction.csv`, `-gossip.csv`,
//! `-mpi-barrier.csv`, `-atomics.csv`, `-ab-broadcast.csv` and `-ab-reduction.csv`
//! (`data/README.md`).

use std::sync::OnceLock;

use crate::published::COLLECTIVES;
use crate::table_file::{TableError, load};

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its id.
    pub id: &'static str,
    /// Section and figure.
    pub section: &'static str,
    /// The profile that is like the boards.
    pub profile: &'static str,
    /// Number of nodes.
    pub nodes: u16,
    /// The measurement.
    pub experiment: &'static str,
    /// Algorithm and place, as `pe host`; `pe` for a ratio of both places.
    pub scheme: &'static str,
    /// Quantity.
    pub quantity: &'static str,
    /// Value.
    pub value: f64,
    /// Unit; `x`: how many times the NIC is better than the host.
    pub unit: &'static str,
    /// `measured`, or `derived` by its author.
    pub kind: &'static str,
}

/// The tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// Barriers.
    Barrier = 0,
    /// Reductions.
    Reduction = 1,
    /// All-to-all broadcasts.
    Gossip = 2,
    /// Barriers of message passing.
    MpiBarrier = 3,
    /// Atomic operations and locks.
    Atomics = 4,
    /// Broadcasts with application bypass.
    AbBroadcast = 5,
    /// Reductions with application bypass.
    AbReduction = 6,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Barrier,
        Self::Reduction,
        Self::Gossip,
        Self::MpiBarrier,
        Self::Atomics,
        Self::AbBroadcast,
        Self::AbReduction,
    ];

    /// Its figures.
    #[must_use]
    pub fn figures(self) -> &'static [Published] {
        ALL[self as usize].figures()
    }
}

static ALL: [Source; 7] = [
    Source::new(COLLECTIVES[0]),
    Source::new(COLLECTIVES[1]),
    Source::new(COLLECTIVES[2]),
    Source::new(COLLECTIVES[3]),
    Source::new(COLLECTIVES[4]),
    Source::new(COLLECTIVES[5]),
    Source::new(COLLECTIVES[6]),
];

/// A table's file, which is read once.
pub(crate) struct Source {
    file: (&'static str, &'static str),
    figures: OnceLock<Result<Vec<Published>, TableError>>,
}

impl Source {
    /// The table with this name and text.
    pub(crate) const fn new(file: (&'static str, &'static str)) -> Self {
        Self {
            file,
            figures: OnceLock::new(),
        }
    }

    fn read(&self) -> &Result<Vec<Published>, TableError> {
        let (name, text) = self.file;
        self.figures.get_or_init(|| load(name, text, parse))
    }

    /// Its figures.
    pub(crate) fn figures(&self) -> &[Published] {
        self.read().as_deref().unwrap_or_default()
    }

    /// A figure.
    pub(crate) fn figure(&self, id: &str) -> Option<&Published> {
        self.figures().iter().find(|figure| figure.id == id)
    }

    /// Whether the file can be read.
    pub(crate) fn check(&self) -> Result<(), TableError> {
        self.read().as_ref().map(drop).map_err(Clone::clone)
    }
}

pub(crate) fn check() -> Result<(), TableError> {
    ALL.iter().try_for_each(Source::check)
}

fn parse(line: &'static str) -> Option<Published> {
    let columns: Vec<_> = line.split(',').collect();
    let [
        id,
        section,
        profile,
        nodes,
        experiment,
        scheme,
        quantity,
        value,
        unit,
        kind,
    ] = columns[..]
    else {
        return None;
    };
    Some(Published {
        id,
        section,
        profile,
        nodes: nodes.parse().ok()?,
        experiment,
        scheme,
        quantity,
        value: value.parse().ok()?,
        unit,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_is_read() {
        let mut ids = BTreeSet::new();
        for table in Table::ALL {
            let (name, text) = COLLECTIVES[table as usize];
            assert_eq!(table.figures().len(), text.lines().count() - 1, "{name}");
            for figure in table.figures() {
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
