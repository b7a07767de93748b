//! The published figures about collective and atomic operations, from `data/published-barrier.csv`, `-reduction.csv`, `-gossip.csv`,
//! `-mpi-barrier.csv`, `-atomics.csv`, `-ab-broadcast.csv` and `-ab-reduction.csv`
//! (`data/README.md`).

use std::sync::LazyLock;

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
        ALL[self as usize].as_deref().unwrap_or_default()
    }
}

type Figures = LazyLock<Result<Vec<Published>, TableError>>;

static ALL: [Figures; 7] = [
    LazyLock::new(|| read(Table::Barrier)),
    LazyLock::new(|| read(Table::Reduction)),
    LazyLock::new(|| read(Table::Gossip)),
    LazyLock::new(|| read(Table::MpiBarrier)),
    LazyLock::new(|| read(Table::Atomics)),
    LazyLock::new(|| read(Table::AbBroadcast)),
    LazyLock::new(|| read(Table::AbReduction)),
];

fn read(table: Table) -> Result<Vec<Published>, TableError> {
    let (name, text) = COLLECTIVES[table as usize];
    load(name, text, parse)
}

pub(crate) fn check() -> Result<(), TableError> {
    let mut tables = ALL.iter();
    tables.try_for_each(|table| table.as_ref().map(drop).map_err(Clone::clone))
}

pub(crate) fn parse(line: &'static str) -> Option<Published> {
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
