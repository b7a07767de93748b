//! Reference of the scenario format: every key, its values, unit, default and meaning, as Markdown and as a JSON schema.
//!
//! `keys.rs` and the files of keys beside it are data. A test holds it against the parser: keys, ranges, choices and defaults that the parser asks for, over scenarios of every
//! kind, are those of the reference.

mod fault_keys;
mod keys;
mod markdown;
mod network_keys;
mod program_keys;
mod protocol_keys;
mod schema;
#[cfg(test)]
mod tests;

pub use keys::{TABLES, table, tables};
pub use markdown::markdown;
pub use schema::schema;

/// Values of a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Values {
    /// A text in quotes.
    Text,
    /// True or false.
    Flag,
    /// A whole number.
    Integer(u64, u64),
    /// A number.
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
    /// Its name.
    pub name: &'static str,
    /// What it can be.
    pub values: Values,
    /// Default; `None`: the key must be there, where it applies.
    pub default: Option<&'static str>,
    /// Meaning, and where it applies.
    pub what: &'static str,
}

/// A table.
#[derive(Debug, Clone, Copy)]
pub struct TableDoc {
    /// Its name with the enclosing tables; empty for the top level.
    pub name: &'static str,
    /// How it is written: `[network]`, `[[program]]`.
    pub written: &'static str,
    /// What it describes.
    pub what: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// Tables whose keys it has too.
    pub includes: &'static [&'static str],
}

impl Key {
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
    /// All keys, those of included tables too.
    pub fn all(&self) -> impl Iterator<Item = &'static Key> {
        let included = self.includes.iter().filter_map(|name| keys::table(name));
        self.keys
            .iter()
            .chain(included.flat_map(|table| table.keys.iter()))
    }
}
