//! The reference as Markdown.

use std::fmt::Write;

use super::{Key, TableDoc, Values, tables};
use crate::workload::Workloads;

const HEAD: &str = "\
# Scenario files: every key

A scenario is a TOML file that `lanigon run`, `debug`, `gdb`, `profile` and `ledger` take. This page is made from the same tables as the JSON schema
(`lanigon schema > scenario.schema.json`), and a test holds both against the parser. Editors with a language server for TOML check a scenario and complete its keys
if its first line is `#:schema ./scenario.schema.json`. Times are of the simulation. `lanigon list` names examples; README.md explains one.
";

/// The page, with the keys of these workloads.
#[must_use]
pub fn markdown(workloads: Workloads) -> String {
    let mut text = HEAD.to_owned();
    for table in tables() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {}\n\n{}\n", table.title(), table.what);
        text += &rows(table.keys, table.all(workloads).next().is_some());
        for name in table.includes {
            let _ = writeln!(text, "\nIt also has the keys of {}.", link(name));
        }
        for kind in workloads.0.iter().filter(|_| table.name == "program") {
            let runs = kind.names.iter().map(|name| format!("`run = \"{name}\"`"));
            let runs: Vec<_> = runs.collect();
            let _ = write!(text, "\n### {}\n\n{}\n", runs.join(", "), kind.about);
            text += &rows(kind.keys, true);
        }
    }
    text
}

/// A table of keys.
fn rows(keys: &[Key], any: bool) -> String {
    let head = "\n| key | values | default | meaning |\n|-----|--------|---------|---------|\n";
    let rows: String = keys.iter().map(row).collect();
    match any {
        true => head.to_owned() + &rows,
        false => rows,
    }
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
    let unit = key.unit().map(|unit| format!(" {unit}"));
    let unit = unit.unwrap_or_default();
    let values = match key.values {
        Values::Text => "text".into(),
        Values::Texts => "text, or a list".into(),
        Values::Flag => "true, false".into(),
        Values::Integer(least, most) => format!("{least} to {most}{unit}"),
        Values::Number(least, most) => format!("{} to {}{unit}", number(least), number(most)),
        Values::Choice(names) => names.join(", "),
        Values::Node => "node".into(),
        Values::Nodes => "nodes".into(),
        Values::Ends => "two ends".into(),
        Values::Lengths(most) => format!("0 to {most}{unit}, or a list"),
        Values::Table(name) | Values::Tables(name) => format!("see {}", link(name)),
        Values::Entries => "table".into(),
    };
    let default = key.default.unwrap_or("needed");
    format!("| `{}` | {values} | {default} | {} |\n", key.name, key.what)
}

fn number(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        small if small < 1e-2 => format!("{small:e}"),
        large if large >= 1e6 => format!("{large:e}"),
        other => other.to_string(),
    }
}
