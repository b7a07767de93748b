//! Reference of the scenario format: every key, its values, unit, default and meaning, as Markdown and as a JSON schema.
//!
//! The parser checks each value by its key here: what is documented is what is parsed. Workloads declare their keys with [`keys!`](crate::keys).
//! A test holds keys and defaults, which the parser names too, against it over scenarios of every kind.

mod fault_keys;
mod keys;
mod markdown;
mod network_keys;
mod program_keys;
mod protocol_keys;
mod schema;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

use crate::workload::Workloads;

pub use keys::{TABLES, key, need, table, tables};
pub use markdown::markdown;
pub use schema::schema;

/// Values of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// A text in quotes.
    Text,
    /// A text, or a list of texts.
    Texts,
    /// True or false.
    Flag,
    /// A whole number.
    Integer(u64, u64),
    /// A number between two limits.
    Number(f64, f64),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A node: its number or its name.
    Node,
    /// Nodes: a number, a name, a group, a range such as `"4..8"`, `"all"`, or a list of these.
    Nodes,
    /// Two ends of a cable: nodes, or switches as `"name"` or `"name:port"`.
    Ends,
    /// A length in bytes or a list of lengths, at most this long.
    Lengths(u64),
    /// A table.
    Table(&'static str),
    /// A list of tables (`[[name]]`).
    Tables(&'static str),
    /// A table with names of the user's, and numbers.
    Entries,
}

/// A key of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// Values that the key can have.
    pub values: Values,
    /// Default; `None`: the key must be there, where it applies.
    pub default: Option<&'static str>,
    /// Meaning, and where it applies.
    pub what: &'static str,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct TableDoc {
    /// Name of the table with the enclosing ones; empty for the top level.
    pub name: &'static str,
    /// Spelling in a file: `[network]`, `[[program]]`.
    pub written: &'static str,
    /// Description of the table.
    pub what: &'static str,
    /// Keys of the table.
    pub keys: &'static [Key],
    /// Tables whose keys it has too.
    pub includes: &'static [&'static str],
}

/// Declares the keys of a workload: a constant for each, by which its reader asks for the value, and `KEYS`, all of them in the order of
/// the reference.
#[macro_export]
macro_rules! keys {
    ($($name:ident = $key:expr;)*) => {
        $(const $name: $crate::scenario::reference::Key = $key;)*

        /// The keys, in the order of the reference.
        pub(super) const KEYS: &[$crate::scenario::reference::Key] = &[$($name),*];
    };
}

/// The names of choices, for [`Values::Choice`].
#[must_use]
pub const fn names<T, const N: usize>(choices: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut place = 0;
    while place < N {
        names[place] = choices[place].0;
        place += 1;
    }
    names
}

impl Key {
    /// The range of whole numbers; of another kind of values any.
    #[must_use]
    pub const fn range(&self) -> RangeInclusive<u64> {
        match self.values {
            Values::Integer(least, most) => least..=most,
            Values::Lengths(most) => 0..=most,
            _ => 0..=u64::MAX,
        }
    }

    /// The range of numbers; of another kind of values any.
    #[must_use]
    pub const fn amounts(&self) -> RangeInclusive<f64> {
        match self.values {
            Values::Number(least, most) => least..=most,
            _ => f64::MIN..=f64::MAX,
        }
    }

    /// The reference of the table, or of each table, that the key names.
    #[must_use]
    pub fn table(&self) -> Option<&'static TableDoc> {
        match self.values {
            Values::Table(name) | Values::Tables(name) => table(name),
            _ => None,
        }
    }

    /// The unit, which is the end of the name.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        let units = [
            ("_us", "us"),
            ("_ns", "ns"),
            ("_mb", "MB"),
            ("_mbit", "Mbit/s"),
            ("_m", "m"),
            ("_bytes", "bytes"),
        ];
        let found = units.iter().find(|(end, _)| self.name.ends_with(end));
        found.map(|(_, unit)| *unit).or(match self.values {
            Values::Lengths(_) => Some("bytes"),
            _ => None,
        })
    }
}

impl TableDoc {
    /// The key with this name, of an included table too; none of a workload.
    #[must_use]
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        let included = self.includes.iter().filter_map(|name| keys::table(name));
        let mut all = (self.keys.iter()).chain(included.flat_map(|table| table.keys));
        all.find(|key| key.name == name)
    }

    /// All keys, those of included tables too; of a program those of the workloads.
    pub fn all(&self, workloads: Workloads) -> impl Iterator<Item = &'static Key> {
        let included = self.includes.iter().filter_map(|name| keys::table(name));
        let kinds = workloads.0.iter().filter(|_| self.name == "program");
        self.keys
            .iter()
            .chain(included.flat_map(|table| table.keys.iter()))
            .chain(kinds.flat_map(|kind| kind.keys))
    }
}
