//! Several papers, one summary of how near they are.

use std::fmt::Write;

use lanigon_report::{Block, Cell, Report, Table};
use serde::Serialize;

use crate::Error;
use crate::document::{Head, Outcome, json};
use crate::folder;
use crate::page::section;
use crate::paper::{self, Amount, Paper, Request};
use crate::row::{CALIBRATED, NOT_MEASURED, PREDICTED, Row, median};
use crate::verdict::Totals;

/// Predictions of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Predictions {
    /// Their number.
    pub count: usize,
    /// Median of their absolute errors; `None` without any.
    pub median: Option<f64>,
}

impl Predictions {
    fn of(rows: &[Row], error: impl Fn(&Row) -> Option<f64>) -> Self {
        let predicted = rows.iter().filter(|row| row.role == PREDICTED);
        let errors: Vec<_> = predicted.filter_map(error).map(f64::abs).collect();
        Self {
            count: errors.len(),
            median: median(errors),
        }
    }
}

/// How near a paper's results are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the paper.
    pub name: &'static str,
    /// Predicted numbers; errors are parts of the published ones.
    pub predicted: Predictions,
    /// Predicted percentages; errors are percentage points.
    pub percentages: Predictions,
    /// Predicted numbers of which a bound is published.
    pub bounds: usize,
    /// Numbers to which the model was adjusted.
    pub calibrated: usize,
    /// Other numbers: inputs, and properties of what is not modelled.
    pub other: usize,
    /// Numbers that were not measured.
    pub not_measured: usize,
    /// Verdicts on claims.
    pub claims: Totals,
    /// Whether the user interrupted: points are missing.
    pub partial: bool,
}

impl Summary {
    /// The summary of results.
    #[must_use]
    pub fn of(head: &Head) -> Self {
        let rows = &head.rows;
        let with = |role| rows.iter().filter(|row| row.role == role).count();
        let predicted = Predictions::of(rows, |row| row.error);
        let percentages = Predictions::of(rows, |row| row.error_points);
        let (calibrated, not_measured) = (with(CALIBRATED), with(NOT_MEASURED));
        let all_predicted = with(PREDICTED);
        Self {
            name: head.experiment,
            bounds: all_predicted - predicted.count - percentages.count,
            predicted,
            percentages,
            other: rows.len() - all_predicted - calibrated - not_measured,
            calibrated,
            not_measured,
            claims: head.verdicts,
            partial: head.partial,
        }
    }

    /// The cells of its line.
    fn cells(&self) -> [String; 12] {
        let median = |value: Option<f64>, unit: &str| {
            value.map_or_else(|| "-".into(), |value| format!("{value:.1}{unit}"))
        };
        let percent = self.predicted.median.map(|error| 100.0 * error);
        let Totals { hold, fail, open } = self.claims;
        let counts = [
            self.bounds,
            self.calibrated,
            self.other,
            self.not_measured,
            hold,
            fail,
            open,
        ];
        let [bounds, calibrated, other, missing, hold, fail, open] =
            counts.map(|count| count.to_string());
        let partial = if self.partial { " (interrupted)" } else { "" };
        [
            format!("{}{partial}", self.name),
            self.predicted.count.to_string(),
            median(percent, " %"),
            self.percentages.count.to_string(),
            median(self.percentages.median, " pt"),
            bounds,
            calibrated,
            other,
            missing,
            hold,
            fail,
            open,
        ]
    }
}

/// Names of the columns.
const COLUMNS: [&str; 12] = [
    "paper",
    "predicted",
    "median",
    "in %",
    "median",
    "bounds",
    "calibrated",
    "other",
    "missing",
    "hold",
    "fail",
    "open",
];

/// What the columns are.
const LEGEND: &str = "predicted: numbers that the model gives without having been adjusted to them, with the median of their absolute errors; \
     in %: published percentages, compared in percentage points; bounds: only a bound is published; calibrated: the model was adjusted to them; \
     other: inputs, and what is not modelled; missing: not measured in this run; hold, fail, open: verdicts on claims in words";

/// What came of several papers.
#[derive(Debug, Clone, Default)]
pub struct All {
    /// The outcomes, in the order of the list.
    pub outcomes: Vec<Outcome>,
}

/// Reproduces all papers. `begin` is called with the name of each paper and the number of its measurements, and its result with the number of
/// finished ones. After an interrupt the following papers are not begun.
///
/// # Errors
/// The request has an option that is for single papers, or a measurement fails.
pub fn run<P: Fn(usize) + Sync>(
    papers: &[&'static Paper],
    request: &Request,
    begin: impl Fn(&'static Paper, usize) -> P,
) -> Result<All, Error> {
    let single = Request {
        amount: request.amount,
        out: request.out.clone(),
        interrupt: request.interrupt.clone(),
        ..Request::default()
    };
    paper::check_all(request)?;
    if let Some(folder) = &request.out {
        folder::prepare(folder, NAME)?;
    }
    let mut all = All::default();
    for paper in papers {
        let request = Request {
            out: request.out.as_ref().map(|folder| folder.join(paper.name)),
            ..single.clone()
        };
        let outcome = paper::run(paper, &request, |steps| begin(paper, steps))?;
        let ends = outcome.is_partial();
        all.outcomes.push(outcome);
        if ends {
            break;
        }
    }
    if let Some(folder) = &request.out {
        all.write(folder, request.amount)?;
    }
    Ok(all)
}

/// Name of all papers together, and of the files about them.
pub const NAME: &str = "all";

/// The summaries as an object of JSON.
#[derive(Debug, Serialize)]
struct Document {
    summary: Vec<Summary>,
}

impl All {
    /// Whether the user interrupted.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.outcomes.iter().any(Outcome::is_partial)
    }

    /// The summaries.
    #[must_use]
    pub fn summaries(&self) -> Vec<Summary> {
        let heads = self.outcomes.iter().filter_map(|one| one.head.as_ref());
        heads.map(Summary::of).collect()
    }

    /// One document: the papers', and the summaries.
    ///
    /// # Errors
    /// A summary has no form as JSON.
    pub fn document(&self) -> Result<String, Error> {
        // The documents are texts already.
        let papers = self.outcomes.iter().map(|one| indented(&one.document));
        let papers: Vec<_> = papers.collect();
        let summary = json(&Document {
            summary: self.summaries(),
        })?;
        let rest = summary.trim_start_matches('{');
        Ok(format!(
            "{{\n  \"papers\": [\n{}\n  ],{rest}",
            papers.join(",\n")
        ))
    }

    /// The summaries as text.
    #[must_use]
    pub fn text(&self) -> String {
        let lines: Vec<_> = self.summaries().iter().map(Summary::cells).collect();
        let head = COLUMNS.map(String::from);
        let mut text = String::new();
        let lines: Vec<_> = std::iter::once(&head).chain(&lines).collect();
        let width = |column: usize| {
            let lengths = lines.iter().map(|line| line[column].chars().count());
            lengths.max().unwrap_or_default()
        };
        let widths: Vec<_> = (0..COLUMNS.len()).map(width).collect();
        for line in &lines {
            // Writing to a string cannot fail.
            let _ = write!(text, "{:<1$}", line[0], widths[0]);
            for (cell, width) in line.iter().zip(&widths).skip(1) {
                let _ = write!(text, "  {cell:>width$}");
            }
            text.push('\n');
        }
        let _ = writeln!(text, "\n{}.", LEGEND.replace("; ", ";\n"));
        if self.is_partial() {
            text.push_str("\nInterrupted: papers and points are missing.\n");
        }
        text
    }

    fn report(&self, amount: Amount) -> Report {
        let cell = |text: String| match text.split(' ').next().map(str::parse) {
            Some(Ok(number)) => Cell::number(number, text),
            _ => Cell::text(text),
        };
        let rows = self.summaries().into_iter();
        let rows = rows.map(|one| one.cells().map(cell).into()).collect();
        let pages = self.outcomes.iter().filter_map(|one| one.head.as_ref());
        let pages = pages.map(|head| {
            let name = head.experiment;
            (name.to_owned(), format!("{name}/report.html"))
        });
        let amount = format!("{amount:?}").to_lowercase();
        Report {
            title: "Papers: published and reproduced".into(),
            sections: vec![
                section(
                    "Accuracy",
                    vec![
                        Block::Text(format!(
                            "Written by lanigon reproduce all ({amount} amount). The same for programs: {NAME}.json."
                        )),
                        Block::Table(Table {
                            title: format!("{LEGEND}."),
                            columns: COLUMNS.map(String::from).into(),
                            rows,
                        }),
                    ],
                ),
                section("Reports of the papers", vec![Block::Facts(pages.collect())]),
            ],
        }
    }

    fn write(&self, folder: &std::path::Path, amount: Amount) -> Result<(), Error> {
        let write = |name: &str, text: &str| folder::write_file(folder, name, text.as_bytes());
        write("all.txt", &self.text())?;
        write("all.json", &self.document()?)?;
        let report = self.report(amount);
        write("report.html", &lanigon_report::html(&report))?;
        write("report.md", &lanigon_report::markdown(&report))
    }
}

/// Lines of a document inside of a list.
fn indented(document: &str) -> String {
    let lines = document.lines().map(|line| format!("    {line}"));
    lines.collect::<Vec<_>>().join("\n")
}
