//! The report of an experiment: the parts that all of them have.

use std::fmt::Write;

use lanigon_report::{Block, Cell, Claim, Picture, Section, Table};
use serde::Serialize;
use serde_json::Value;

use crate::document::Head;
use crate::drawing::NamedFigure;
use crate::paper::Paper;
use crate::row;
use crate::verdict::{JudgedClaim, Totals};

/// Explanation of error bars and of the columns "±".
const INTERVALS: &str = "Error bars and the columns ± are half of the 95 % confidence interval of a mean (batch means). \
     Runs are deterministic: the same images, profiles and sizes give the same numbers.";

/// Items of a list within a point that are shown.
const LONGEST_LIST: usize = 3;

/// Makes a section of a report.
#[must_use]
pub fn section(title: &str, blocks: Vec<Block>) -> Section {
    Section {
        title: title.into(),
        blocks,
    }
}

/// The conditions of the run.
pub(crate) fn run(paper: &Paper, head: &Head) -> Section {
    let (name, manual) = (paper.name, paper.manual);
    let mut blocks = vec![
        Block::Text(format!(
            "Written by lanigon reproduce {name}. The same numbers for programs: {name}.json, {name}.csv; as the terminal shows them: {name}.txt. \
             What is measured and how: docs/{manual}.md."
        )),
        Block::Facts(head.conditions.facts()),
        Block::Text(INTERVALS.into()),
    ];
    if head.partial {
        blocks.push(Block::Text("Interrupted: points are missing.".into()));
    }
    section("Run", blocks)
}

/// The results as text: published values, claims, and `more`.
#[must_use]
pub fn text(head: &Head, more: &str) -> String {
    let mut text = String::new();
    for (name, about) in &head.conditions.profiles {
        text += &format!("profile {name}: {about}\n");
    }
    row::write(&mut text, &head.rows);
    text.push('\n');
    write_claims(&mut text, &head.claims);
    text += more;
    if head.partial {
        text.push_str("\nInterrupted: points are missing.\n");
    }
    text
}

/// Published values, claims and figures.
#[must_use]
pub fn sections(head: &Head, figures: Vec<NamedFigure>) -> Vec<Section> {
    let title = "x: how many times one is better than another; errors are distances from the published value or range";
    let mut sections = vec![section(
        "Published values",
        vec![row::block(title, &head.rows)],
    )];
    if !head.claims.is_empty() {
        sections.push(section("Claims", vec![claims(&head.claims)]));
    }
    let pictures = figures.into_iter().map(|(file, figure)| {
        Block::Figure(Picture {
            caption: figure.title.clone(),
            figure,
            file,
        })
    });
    sections.push(section("Figures", pictures.collect()));
    sections
}

/// Sections of a report, one for each list of a JSON object.
pub(crate) fn lists(object: &impl Serialize) -> Vec<Section> {
    let Ok(Value::Object(lists)) = serde_json::to_value(object) else {
        return Vec::new();
    };
    let sections = lists.iter().filter_map(|(name, list)| list_of(name, list));
    sections.collect()
}

/// A list as a section with a table; none without items.
pub(crate) fn list(title: &str, list: &impl Serialize) -> Option<Section> {
    list_of(title, &serde_json::to_value(list).ok()?)
}

fn list_of(title: &str, list: &Value) -> Option<Section> {
    let items = list.as_array().filter(|items| !items.is_empty())?;
    let mut columns: Vec<String> = Vec::new();
    let mut rows = Vec::new();
    for item in items {
        let mut cells = Vec::new();
        flatten("", item, &mut cells);
        let mut row = vec![Cell::default(); columns.len()];
        for (name, cell) in cells {
            match columns.iter().position(|column| *column == name) {
                Some(place) => row[place] = cell,
                None => {
                    columns.push(name);
                    row.push(cell);
                }
            }
        }
        rows.push(row);
    }
    for row in &mut rows {
        row.resize(columns.len(), Cell::default());
    }
    let table = Table {
        title: format!("{} rows", rows.len()),
        columns,
        rows,
    };
    Some(section(title, vec![Block::Table(table)]))
}

/// The scalars of a value, each with its name; long lists are left out.
fn flatten(name: &str, value: &Value, cells: &mut Vec<(String, Cell)>) {
    let cell = match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(name, value, cells);
            }
            return;
        }
        Value::Array(items) => {
            for (index, item) in items.iter().take(LONGEST_LIST).enumerate() {
                let name = match (name, item) {
                    (_, Value::Object(_)) => String::new(),
                    ("", _) => "point".into(),
                    (name, _) => format!("{name} {}", index + 1),
                };
                flatten(&name, item, cells);
            }
            return;
        }
        Value::Null => Cell::default(),
        Value::Bool(is_so) => Cell::text(if *is_so { "yes" } else { "no" }),
        Value::Number(number) => Cell::optional_number(number.as_f64()),
        Value::String(text) => Cell::text(text),
    };
    cells.push((name.replace('_', " "), cell));
}

/// Judged claims as a block.
fn claims(judged: &[JudgedClaim]) -> Block {
    let claim = |judged: &JudgedClaim| Claim {
        id: judged.id.clone(),
        text: judged.claim.clone(),
        holds: judged.holds,
        evidence: judged.evidence.clone(),
    };
    Block::Claims(judged.iter().map(claim).collect())
}

/// Writes judged claims as text, with the totals.
fn write_claims(text: &mut String, claims: &[JudgedClaim]) {
    for claim in claims {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<17} {:<6} {}\n{:24} {}",
            claim.id, claim.verdict, claim.claim, "", claim.evidence
        );
    }
    if !claims.is_empty() {
        let _ = writeln!(text, "{}", Totals::count(claims));
    }
}
