//! The published numbers, from `data/published-emp.csv`.

use std::sync::LazyLock;

/// One published number.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its id.
    pub id: &'static str,
    /// What it is.
    pub quantity: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
}

static EMP: LazyLock<Vec<Published>> = LazyLock::new(|| {
    include_str!("../../data/published-emp.csv")
        .lines()
        .skip(1)
        .filter_map(parse)
        .collect()
});

/// Columns: id, section, kind, scheme, experiment, quantity, value, unit, message_bytes, testbed.
fn parse(line: &'static str) -> Option<Published> {
    let columns: Vec<_> = line.split(',').collect();
    let [id, _, _, _, _, quantity, value, unit, ..] = columns[..] else {
        return None;
    };
    Some(Published {
        id,
        quantity,
        value: value.parse().ok()?,
        unit,
    })
}

/// All published numbers about EMP.
#[must_use]
pub fn emp() -> &'static [Published] {
    &EMP
}

/// A published number by its id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Published> {
    EMP.iter().find(|number| number.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let lines = include_str!("../../data/published-emp.csv").lines().count();
        assert_eq!(emp().len(), lines - 1);
        let latency = by_id("emp-004").unwrap();
        assert_eq!((latency.value, latency.unit), (24.31, "us"));
        assert_eq!(by_id("emp-none"), None);
    }
}
