//! The published figures, from `data/published-multicast.csv` (`data/README.md`).

use crate::collectives::published::{Published, Source};
use crate::published::MULTICAST;
use crate::table_file::TableError;

static TABLE: Source = Source::new(MULTICAST);

/// The figures.
#[must_use]
pub fn figures() -> &'static [Published] {
    TABLE.figures()
}

/// A figure.
#[must_use]
pub fn figure(id: &str) -> Option<&'static Published> {
    TABLE.figure(id)
}

pub(crate) fn check() -> Result<(), TableError> {
    TABLE.check()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_is_read() {
        assert_eq!(figures().len(), MULTICAST.1.lines().count() - 1);
        let ids: BTreeSet<_> = figures().iter().map(|figure| figure.id).collect();
        assert_eq!(ids.len(), figures().len());
        for figure in figures() {
            assert!((2..=16).contains(&figure.nodes), "{}", figure.id);
            assert!(figure.value > 0.0, "{}", figure.id);
        }
    }
}
