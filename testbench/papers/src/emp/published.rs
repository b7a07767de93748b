//! The published numbers and claims, from `data/published-emp.csv` and `data/published-emp-claims.csv`
//! (`data/README.md`).

use lanigon_experiments::published::PublishedTable;

/// The published numbers.
pub static TABLE: PublishedTable = table!("emp");

/// Kind of a number that is a parameter of hardware, protocol or experiment.
pub const PARAMETER: &str = "parameter";

/// Published claims about EMP: id and text, sorted by id.
pub fn claims() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("../../data/published-emp-claims.csv")
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
        let lines = include_str!("../../data/published-emp.csv").lines().count();
        assert_eq!(TABLE.numbers().len(), lines - 1);
        let latency = TABLE.get("emp-004").unwrap();
        assert_eq!((latency.value, latency.unit), (24.31, "us"));
        assert_eq!(latency.message_bytes, Some(10));
        assert_eq!(TABLE.get("emp-none"), None);
        let lines = include_str!("../../data/published-emp-claims.csv").lines();
        assert!(lines.clone().all(|line| line.split(',').count() == 3));
        assert_eq!(claims().count(), lines.count() - 1);
    }
}
