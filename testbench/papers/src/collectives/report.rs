//! The results as text, as one document, and as a report.

use std::fmt::Write;

use lanigon_report::{Block, Cell, Report};
use serde::Serialize;

use super::beyond::{self, Value};
use super::claims::judge;
use super::key::Key;
use super::plan::{Plan, Results};
use super::plots;
use super::published::Table;
use super::rows::{Row, rows};
use crate::conditions::Conditions;
use crate::page::{Page, write_claims};
use crate::verdict::{Judged, Totals};

/// Everything, for `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// The published figures.
    pub rows: Vec<Row>,
    /// The claims.
    pub claims: Vec<Judged>,
    /// Numbers of their verdicts.
    pub verdicts: Totals,
    /// All measured points: key, value, half of the width of the confidence interval.
    pub points: Vec<(Key, f64, Option<f64>)>,
    /// What no publication has.
    pub beyond: Vec<Value>,
}

impl Document {
    /// The document of a run.
    #[must_use]
    pub fn new(plan: &Plan, results: &Results) -> Self {
        let claims = judge(plan.table, results);
        let points = results.points.iter();
        Self {
            rows: rows(plan.table, results),
            verdicts: Totals::of(&claims),
            claims,
            points: points
                .map(|(key, point)| (*key, point.value, point.interval))
                .collect(),
            beyond: results.beyond.clone(),
        }
    }
}

/// The results as text.
#[must_use]
pub fn render(plan: &Plan, results: &Results) -> String {
    let document = Document::new(plan, results);
    let mut text = String::new();
    // Writing to a string cannot fail.
    for profile in plan.profiles.values() {
        let _ = writeln!(text, "profile {}: {}", profile.name, profile.description);
    }
    write_rows(&mut text, &document.rows);
    text.push('\n');
    write_claims(&mut text, &document.claims);
    text += &beyond::render(&results.beyond);
    if results.partial {
        text.push_str("\nInterrupted: points are missing.\n");
    }
    text
}

/// Writes the published figures as a table.
pub(crate) fn write_rows(text: &mut String, rows: &[Row]) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n{:<17} {:>9} {:>9} {:>7}  what",
        "id", "here", "published", "error"
    );
    for row in rows {
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let here = or_none(row.measured.map(|value| match value.abs() < 0.1 {
            true => format!("{value:.4}"),
            false => format!("{value:.2}"),
        }));
        let error = or_none(row.error.map(|error| format!("{:+.0} %", 100.0 * error)));
        let _ = writeln!(
            text,
            "{:<17} {here:>9} {:>9} {error:>7}  {}, {}; {} [{}]{}{}",
            row.id,
            row.published,
            row.unit,
            row.what,
            row.profile,
            row.role,
            if row.note.is_empty() { "" } else { " " },
            row.note,
        );
    }
}

/// The report of a run.
#[must_use]
pub fn report(name: &str, plan: &Plan, results: &Results, conditions: &Conditions) -> Report {
    let document = Document::new(plan, results);
    let profiles = plan.profiles.values();
    let profiles = profiles.map(|profile| (profile.name.as_str(), profile.description.as_str()));
    let subject = match plan.table {
        Table::Atomics => "Operations on words",
        _ => "Collective operations",
    };
    Page {
        name,
        subject: format!("{subject}, {name}"),
        manual: match plan.table {
            Table::Atomics => "gm-atomics",
            Table::MpiBarrier | Table::AbBroadcast | Table::AbReduction => "mpi",
            _ => "collectives",
        },
        facts: conditions.facts(profiles),
        partial: results.partial,
        rows: &document.rows,
        claims: document.claims,
        figures: plots::figures(plan.table, results),
        rest: vec![
            ("Without published values", beyond::blocks(&document.beyond)),
            ("Points", vec![points(&document.points)]),
        ],
    }
    .report()
}

/// The published figures as a block.
pub(crate) fn published(rows: &[Row]) -> Block {
    let row = |row: &Row| {
        let error = row.error.map(|error| 100.0 * error);
        vec![
            Cell::text(row.id),
            Cell::text(row.profile),
            Cell::text(&row.what),
            Cell::of(row.measured),
            Cell::of(Some(row.published)),
            Cell::text(row.unit),
            error.map_or_else(Cell::default, |error| {
                Cell::number(error, format!("{error:+.1} %"))
            }),
            Cell::text(row.role),
            Cell::text(row.note),
        ]
    };
    let columns = [
        "id",
        "profile",
        "what",
        "here",
        "published",
        "unit",
        "error",
        "role",
        "note",
    ];
    Block::Table(lanigon_report::Table {
        title: "x: how many times the NIC is better than the host".into(),
        columns: columns.map(String::from).into(),
        rows: rows.iter().map(row).collect(),
    })
}

fn points(points: &[(Key, f64, Option<f64>)]) -> Block {
    let row = |(key, value, interval): &(Key, f64, Option<f64>)| {
        vec![
            Cell::text(key.board),
            Cell::text(key.on.name()),
            Cell::of(Some(key.nodes.into())),
            Cell::text(format!("{:?}", key.what)),
            Cell::of(Some(*value)),
            Cell::of(*interval),
        ]
    };
    let columns = ["boards", "on", "nodes", "measurement", "us", "±"];
    Block::Table(lanigon_report::Table {
        title: "Measured points".into(),
        columns: columns.map(String::from).into(),
        rows: points.iter().map(row).collect(),
    })
}
