//! The published numbers and claims, from `data/published-emp.csv` and `data/published-emp-claims.csv`
//! (`data/README.md`).

use std::sync::LazyLock;

use crate::table_file::{TableError, load};

/// A published number.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Its id.
    pub id: &'static str,
    /// Section of the thesis.
    pub section: &'static str,
    /// Origin.
    pub kind: Origin,
    /// The scheme, another system, or `-`.
    pub scheme: &'static str,
    /// `latency`, `one-way`, `two-way` or `-`.
    pub experiment: &'static str,
    /// Quantity.
    pub quantity: &'static str,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Message size, if it has one.
    pub message_bytes: Option<u32>,
    /// Testbed, or `-`.
    pub testbed: &'static str,
}

/// Origin of a published number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Measured by its author.
    Measured,
    /// Computed by its author from measurements.
    Derived,
    /// Parameter of hardware, protocol or experiment.
    Parameter,
}

/// Names and texts of all tables in the program.
pub const TABLES: [(&str, &str); 11] = [
    ("published-emp", include_str!("../data/published-emp.csv")),
    ("published-gm", include_str!("../data/published-gm.csv")),
    COLLECTIVES[0],
    COLLECTIVES[1],
    COLLECTIVES[2],
    MULTICAST,
    COLLECTIVES[3],
    COLLECTIVES[4],
    COLLECTIVES[5],
    COLLECTIVES[6],
    ARDMAR,
];

/// Those of collective and atomic operations.
pub(crate) const COLLECTIVES: [(&str, &str); 7] = [
    (
        "published-barrier",
        include_str!("../data/published-barrier.csv"),
    ),
    (
        "published-reduction",
        include_str!("../data/published-reduction.csv"),
    ),
    (
        "published-gossip",
        include_str!("../data/published-gossip.csv"),
    ),
    (
        "published-mpi-barrier",
        include_str!("../data/published-mpi-barrier.csv"),
    ),
    (
        "published-atomics",
        include_str!("../data/published-atomics.csv"),
    ),
    (
        "published-ab-broadcast",
        include_str!("../data/published-ab-broadcast.csv"),
    ),
    (
        "published-ab-reduction",
        include_str!("../data/published-ab-reduction.csv"),
    ),
];

/// That of multicasts.
pub(crate) const MULTICAST: (&str, &str) = (
    "published-multicast",
    include_str!("../data/published-multicast.csv"),
);

/// That of shared memory.
pub(crate) const ARDMAR: (&str, &str) = (
    "published-ardmar",
    include_str!("../data/published-ardmar.csv"),
);

static EMP: LazyLock<Result<Vec<Published>, TableError>> = LazyLock::new(|| {
    let (name, text) = TABLES[0];
    load(name, text, parse)
});

/// Checks the tables, which the user may have replaced.
///
/// # Errors
/// [`TableError`].
pub fn check() -> Result<(), TableError> {
    EMP.as_ref().map_err(Clone::clone)?;
    crate::collectives::published::check()?;
    crate::multicast::published::check()?;
    crate::dsm::published::check()?;
    crate::gm::published::check()
}

/// Columns: id, section, kind, scheme, experiment, quantity, value, unit, message_bytes, testbed.
fn parse(line: &'static str) -> Option<Published> {
    let columns: Vec<_> = line.split(',').collect();
    let [
        id,
        section,
        kind,
        scheme,
        experiment,
        quantity,
        value,
        unit,
        bytes,
        testbed,
    ] = columns[..]
    else {
        return None;
    };
    Some(Published {
        id,
        section,
        kind: match kind {
            "measured" => Origin::Measured,
            "derived" => Origin::Derived,
            "parameter" => Origin::Parameter,
            _ => return None,
        },
        scheme,
        experiment,
        quantity,
        value: value.parse().ok()?,
        unit,
        message_bytes: match bytes {
            "-" => None,
            bytes => Some(bytes.parse().ok()?),
        },
        testbed,
    })
}

/// All published numbers about EMP.
#[must_use]
pub fn emp() -> &'static [Published] {
    EMP.as_deref().unwrap_or_default()
}

/// Finds a published number by id.
#[must_use]
pub fn by_id(id: &str) -> Option<&'static Published> {
    emp().iter().find(|number| number.id == id)
}

/// Published claims about EMP: id and text, sorted by id.
pub fn claims() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../data/published-emp-claims.csv")
        .lines()
        .skip(1);
    lines.filter_map(|line| {
        let mut columns = line.split(',');
        Some((columns.next()?, columns.nth(1)?))
    })
}

/// Finds a claim by id.
#[must_use]
pub fn claim(id: &str) -> Option<&'static str> {
    let found = claims().find(|(known, _)| *known == id);
    found.map(|(_, statement)| statement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        let lines = include_str!("../data/published-emp.csv").lines().count();
        assert_eq!(emp().len(), lines - 1);
        let latency = by_id("emp-004").unwrap();
        assert_eq!((latency.value, latency.unit), (24.31, "us"));
        assert_eq!(latency.message_bytes, Some(10));
        assert_eq!(by_id("emp-none"), None);
        let lines = include_str!("../data/published-emp-claims.csv").lines();
        assert!(lines.clone().all(|line| line.split(',').count() == 3));
        assert_eq!(claims().count(), lines.count() - 1);
    }
}
