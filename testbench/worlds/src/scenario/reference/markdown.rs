//! The reference as Markdown.

use std::fmt::Write;

use super::{Key, TableDoc, Values, tables};
use crate::workload::Workloads;

const HEAD: &str = "\
# Scenario files: every key

For everyone who writes scenarios, the TOML files that `lanigon run`, `debug`, `gdb`, `profile` and `ledger` take ([run-scenarios.md](run-scenarios.md)). \
The parser and the JSON schema (`lanigon schema > scenario.schema.json`) have the same tables. Editors with a language server for TOML check a scenario \
if its first line is `#:schema ./scenario.schema.json`. The end of a key is its unit; lengths are in bytes, times are simulated. A flag is `true` or `false`.
";

/// The page, with the keys of these workloads.
#[must_use]
pub fn markdown(workloads: Workloads) -> String {
    let mut text = HEAD.to_owned();
    for table in tables() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {}\n\n{}\n", table.title(), table.what);
        let (mut tables, mut keys): (Vec<Key>, Vec<Key>) = table
            .keys
            .iter()
            .copied()
            .partition(|key| key.table().is_some());
        if table.name == "node" {
            keys.retain(|key| !is_of_the_file(key));
            tables.clear();
            text += &of_the_file(table.keys);
        }
        text += &rows(&keys);
        text += &parts(&tables);
        for name in table.includes {
            let _ = writeln!(text, "\nIt also has the keys of {}.", link(name));
        }
        for kind in workloads.0.iter().filter(|_| table.name == "program") {
            let runs = kind.names.iter().map(|name| format!("`run = \"{name}\"`"));
            let runs: Vec<_> = runs.collect();
            let _ = write!(text, "\n### {}\n\n{}\n", runs.join(", "), kind.about);
            text += &rows(kind.keys);
        }
    }
    text
}

/// A table of keys.
fn rows(keys: &[Key]) -> String {
    let head = "\n|key|values|default|meaning|\n|--|--|--|--|\n";
    let rows: String = keys.iter().map(row).collect();
    match rows.is_empty() {
        true => rows,
        false => head.to_owned() + &rows,
    }
}

/// Keys that are tables: they have sections of their own, which tell their meaning.
fn parts(tables: &[Key]) -> String {
    let part = |key: &Key| {
        let default = match key.default {
            None => " (needed)".into(),
            Some("none") => String::new(),
            Some(other) => format!(" (default: {other})"),
        };
        format!("`{}`{default}", key.name)
    };
    let parts: Vec<_> = tables.iter().map(part).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("\nTables, described below: {}.\n", parts.join(", ")),
    }
}

const OF_THE_FILE: &str = "that of the file";

/// Whether a node's key is one of the file's.
fn is_of_the_file(key: &Key) -> bool {
    key.default == Some(OF_THE_FILE)
}

/// Names of a node's keys that are those of the file.
fn of_the_file(keys: &[Key]) -> String {
    let names = keys.iter().filter(|key| is_of_the_file(key));
    let names: Vec<_> = names.map(|key| format!("`{}`", key.name)).collect();
    format!(
        "\nKeys of the file that a node may also have: {}.\n",
        names.join(", ")
    )
}

impl TableDoc {
    fn title(&self) -> String {
        match self.name {
            "" => "The beginning of the file".into(),
            _ => format!("`{}`", self.written),
        }
    }
}

fn link(name: &str) -> String {
    let table = tables().find(|table| table.name == name);
    table.map_or_else(|| name.into(), TableDoc::title)
}

fn row(key: &Key) -> String {
    let values = match key.values {
        Values::Text => "text".into(),
        Values::Texts => "text, or a list".into(),
        Values::Flag => "flag".into(),
        Values::Integer(least, most) => format!("{} to {}", whole(least), whole(most)),
        Values::Number(least, most) => format!("{} to {}", number(least), number(most)),
        Values::Choice(names) => names.join(", "),
        Values::Node => "node".into(),
        Values::Nodes => "nodes".into(),
        Values::Ends => "two ends".into(),
        Values::Lengths(most) => format!("0 to {}, or a list", whole(most)),
        Values::Table(_) | Values::Tables(_) | Values::Entries => "table".into(),
    };
    let default = match (key.default, key.values) {
        (Some("none"), Values::Choice(_)) => "none".into(),
        (Some("none"), _) => String::new(),
        (Some(default), _) => default.parse().map_or(default.into(), whole),
        (None, _) => "needed".into(),
    };
    format!("|`{}`|{values}|{default}|{}|\n", key.name, key.what)
}

/// A whole number; large round ones as powers.
fn whole(value: u64) -> String {
    const ROUND: u64 = 1_000_000;
    if value == i64::MAX as u64 {
        "2^63 - 1".into()
    } else if value.is_power_of_two() && value > ROUND {
        format!("2^{}", value.ilog2())
    } else if value > 0 && value.is_multiple_of(ROUND) {
        number(value as f64)
    } else {
        value.to_string()
    }
}

fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        small if small < 1e-2 => format!("{small:e}"),
        large if large >= 1e6 => format!("{large:e}"),
        other => other.to_string(),
    }
}
