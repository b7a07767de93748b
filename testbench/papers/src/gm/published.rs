//! The published figures about GM, from `data/published-gm.csv` (`data/README.md`).

use std::sync::LazyLock;

use crate::published::TABLES;
use crate::table_file::{TableError, load};

/// A published figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its id.
    pub id: &'static str,
    /// Version of GM and product.
    pub system: &'static str,
    /// The profile that is like that product.
    pub profile: &'static str,
    /// `latency`, `one-way`, `two-way`, `half-power` or `host`.
    pub experiment: &'static str,
    /// Quantity.
    pub quantity: &'static str,
    /// Lowest and highest value; equal unless a range is known.
    pub range: [f64; 2],
    /// Unit.
    pub unit: &'static str,
    /// `measured` by its author, or `recalled`: no document states it.
    pub basis: &'static str,
}

impl Published {
    /// The difference of a value from the range, as a part of its nearest end; 0 within.
    #[must_use]
    pub fn error(&self, value: f64) -> f64 {
        let [low, high] = self.range;
        let nearest = value.clamp(low, high);
        (value - nearest) / nearest
    }
}

static ALL: LazyLock<Result<Vec<Published>, TableError>> = LazyLock::new(|| {
    let (name, text) = TABLES[1];
    load(name, text, parse)
});

pub(crate) fn check() -> Result<(), TableError> {
    ALL.as_ref().map(drop).map_err(Clone::clone)
}

fn parse(line: &'static str) -> Option<Published> {
    let columns: Vec<_> = line.split(',').collect();
    let [
        id,
        system,
        profile,
        experiment,
        quantity,
        low,
        high,
        unit,
        basis,
    ] = columns[..]
    else {
        return None;
    };
    Some(Published {
        id,
        system,
        profile,
        experiment,
        quantity,
        range: [low.parse().ok()?, high.parse().ok()?],
        unit,
        basis,
    })
}

/// All of them.
#[must_use]
pub fn all() -> &'static [Published] {
    ALL.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gm::profiles;

    #[test]
    fn every_line_is_read() {
        let lines = include_str!("../../data/published-gm.csv").lines().count();
        assert_eq!(all().len(), lines - 1);
        for figure in all() {
            assert!(profiles().contains(&figure.profile), "{}", figure.id);
            assert!(figure.range[0] <= figure.range[1], "{}", figure.id);
        }
    }

    #[test]
    fn an_error_is_the_distance_from_the_range() {
        let latency = all().iter().find(|figure| figure.id == "gm-011").unwrap();
        assert_eq!(latency.error(12.0), 0.0);
        assert!((latency.error(15.4) - 0.1).abs() < 1e-9);
        assert!((latency.error(9.9) + 0.1).abs() < 1e-9);
    }
}
