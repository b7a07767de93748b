//! The published figures, from `data/published-ardmar.csv` (`data/README.md`).

use std::sync::LazyLock;

use crate::collectives::published::{Published, parse};
use crate::published::ARDMAR;
use crate::table_file::{TableError, load};

static ALL: LazyLock<Result<Vec<Published>, TableError>> = LazyLock::new(|| {
    let (name, text) = ARDMAR;
    load(name, text, parse)
});

/// The figures.
#[must_use]
pub fn figures() -> &'static [Published] {
    ALL.as_deref().unwrap_or_default()
}

/// A figure.
#[must_use]
pub fn figure(id: &str) -> Option<&'static Published> {
    figures().iter().find(|figure| figure.id == id)
}

pub(crate) fn check() -> Result<(), TableError> {
    ALL.as_ref().map(drop).map_err(Clone::clone)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_is_read() {
        assert_eq!(figures().len(), ARDMAR.1.lines().count() - 1);
        let ids: BTreeSet<_> = figures().iter().map(|figure| figure.id).collect();
        assert_eq!(ids.len(), figures().len());
        for figure in figures() {
            assert_eq!(figure.profile, super::super::PROFILE, "{}", figure.id);
            assert!((1..=16).contains(&figure.nodes), "{}", figure.id);
            assert!(figure.value > 0.0, "{}", figure.id);
        }
    }
}
