//! Several papers, one summary of how near they are.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use lanigon_report::{Block, Cell, Report, Table};
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::document::json;
use crate::folder;
use crate::page::section;
use crate::paper::{self, Amount, Paper, ResultRequest};
use crate::row::{CALIBRATED, NOT_MEASURED, PREDICTED, median};
use crate::verdict::Totals;

/// Predictions of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Predictions {
    /// Number of the predictions.
    pub count: usize,
    /// Median of their absolute errors; `None` without any.
    pub median: Option<f64>,
}

impl Predictions {
    fn from_rows(rows: &[&Value], error: &str) -> Self {
        let predicted = rows.iter().filter(|row| row["role"] == PREDICTED);
        let errors = predicted.filter_map(|row| row[error].as_f64());
        let errors: Vec<_> = errors.map(f64::abs).collect();
        Self {
            count: errors.len(),
            median: median(errors),
        }
    }
}

/// Distance of a paper's results from the published ones.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Name of the paper.
    pub name: String,
    /// The profile, if numbers are compared under several; claims are judged under one of them.
    pub profile: Option<String>,
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
    /// The summaries of a paper's document: one for each profile under which the same numbers are compared.
    #[must_use]
    pub fn from_document(document: &Value) -> Vec<Self> {
        let rows: Vec<_> = document["rows"].as_array().into_iter().flatten().collect();
        let ids: BTreeSet<_> = rows.iter().map(|row| row["id"].as_str()).collect();
        let mut profiles: Vec<&str> = Vec::new();
        for row in &rows {
            let profile = row["profile"].as_str().unwrap_or_default();
            if !profiles.contains(&profile) {
                profiles.push(profile);
            }
        }
        if ids.len() * profiles.len() != rows.len() || profiles.len() < 2 {
            return vec![Self::part(document, &rows, None)];
        }
        let part = |profile: &&str| {
            let of = rows.iter().filter(|row| row["profile"] == *profile);
            let of: Vec<_> = of.copied().collect();
            Self::part(document, &of, Some(profile))
        };
        profiles.iter().map(part).collect()
    }

    fn part(document: &Value, rows: &[&Value], profile: Option<&str>) -> Self {
        let with = |role| rows.iter().filter(|row| row["role"] == role).count();
        let predicted = Predictions::from_rows(rows, "error");
        let percentages = Predictions::from_rows(rows, "error_points");
        let (calibrated, not_measured) = (with(CALIBRATED), with(NOT_MEASURED));
        let all_predicted = with(PREDICTED);
        let judged = document["extra"]["judged_under"].as_str();
        let verdicts = &document["verdicts"];
        let count = |verdict: &str| verdicts[verdict].as_u64().unwrap_or_default() as usize;
        Self {
            name: document["experiment"].as_str().unwrap_or_default().into(),
            profile: profile.map(String::from),
            bounds: all_predicted - predicted.count - percentages.count,
            predicted,
            percentages,
            other: rows.len() - all_predicted - calibrated - not_measured,
            calibrated,
            not_measured,
            claims: match profile.is_none() || profile == judged {
                true => Totals {
                    hold: count("hold"),
                    fail: count("fail"),
                    open: count("open"),
                },
                false => Totals::default(),
            },
            partial: document["partial"] == true,
        }
    }

    /// The cells of its line.
    fn cells(&self) -> [String; 12] {
        let median = |value: Option<f64>, unit: &str| {
            value.map_or_else(|| "-".into(), |value| format!("{value:.1}{unit}"))
        };
        let percent = self.predicted.median.map(|error| 100.0 * error);
        let Totals { hold, fail, open } = self.claims;
        let profile = self.profile.as_ref();
        let profile = profile.map_or_else(String::new, |profile| format!(", {profile}"));
        let partial = if self.partial { " (interrupted)" } else { "" };
        [
            format!("{}{profile}{partial}", self.name),
            self.predicted.count.to_string(),
            median(percent, " %"),
            self.percentages.count.to_string(),
            median(self.percentages.median, " pt"),
            self.bounds.to_string(),
            self.calibrated.to_string(),
            self.other.to_string(),
            self.not_measured.to_string(),
            hold.to_string(),
            fail.to_string(),
            open.to_string(),
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

/// Explanation of the columns.
const LEGEND: &str = "predicted: numbers that the model gives without having been adjusted to them, with the median of their absolute errors; \
     in %: published percentages, compared in percentage points; bounds: only a bound is published; calibrated: the model was adjusted to them; \
     other: inputs, and what is not modelled; missing: not measured in this run; hold, fail, open: verdicts on claims in words";

/// Results of several papers.
#[derive(Debug, Clone, Default)]
pub struct PaperResults {
    /// Documents of the papers, in the order of the list.
    documents: Vec<String>,
    /// Distances of the results from the published ones.
    summaries: Vec<Summary>,
}

/// Reproduces all papers. `begin` is called with each paper and the number of its measurements, and its result with the number of finished
/// ones. After an interrupt the following papers are not begun. A paper whose results are in the folder already, from the same program
/// and for the same conditions, is not measured again.
///
/// # Errors
/// The request has an option that is for single papers, or a measurement fails.
pub fn run<P: Fn(usize) + Sync>(
    papers: &[&'static Paper],
    request: &ResultRequest,
    begin: impl Fn(&'static Paper, usize) -> P,
) -> Result<PaperResults, Error> {
    paper::check_all(request)?;
    let mut earlier = None;
    if let Some(folder) = &request.out {
        folder::prepare(folder, NAME)?;
        let program = program();
        let is_same = fs::read_to_string(folder.join(PROGRAM)).is_ok_and(|text| text == program);
        earlier = Some(folder).filter(|_| is_same);
        folder::write_file(folder, PROGRAM, program.as_bytes())?;
    }
    let mut all = PaperResults::default();
    for paper in papers {
        let request = ResultRequest {
            out: request.out.as_ref().map(|folder| folder.join(paper.name)),
            ..request.clone()
        };
        let stored = earlier.and_then(|folder| stored(folder, paper, &request));
        let document = match stored {
            Some(document) => document,
            None => paper::run(paper, &request, |steps| begin(paper, steps))?.document,
        };
        all.add(document)?;
        if all.is_partial() {
            break;
        }
    }
    if let Some(folder) = &request.out {
        all.write(folder, request.amount)?;
    }
    Ok(all)
}

/// File that tells which program has written the others.
const PROGRAM: &str = "program.txt";

/// Identity of the running program: results of another one are not taken for its own.
fn program() -> String {
    let bytes = std::env::current_exe().and_then(fs::read);
    let mut hasher = DefaultHasher::new();
    bytes.unwrap_or_default().hash(&mut hasher);
    format!("{:016x}\n", hasher.finish())
}

/// The document of a paper in a folder, if it is complete and for what is requested.
fn stored(folder: &Path, paper: &'static Paper, request: &ResultRequest) -> Option<String> {
    let file = folder.join(paper.name).join(format!("{}.json", paper.name));
    let text = fs::read_to_string(file).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    let conditions = (paper.start)(paper, request).ok()?.conditions().ok()?;
    let same = document["partial"] == false
        && document["amount"] == serde_json::to_value(request.amount).ok()?
        && document["conditions"] == serde_json::to_value(conditions).ok()?;
    same.then_some(text)
}

/// Name of all papers together, and of the files about them.
pub const NAME: &str = "all";

/// The summaries as an object of JSON.
#[derive(Debug, Serialize)]
struct SummaryDocument<'a> {
    summary: &'a [Summary],
}

impl PaperResults {
    fn add(&mut self, document: String) -> Result<(), Error> {
        let parsed = serde_json::from_str(&document);
        let parsed = parsed.map_err(|error| Error::Request(error.to_string()))?;
        self.summaries.extend(Summary::from_document(&parsed));
        self.documents.push(document);
        Ok(())
    }

    /// Whether the user interrupted.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.summaries.iter().any(|one| one.partial)
    }

    /// One document: the papers', and the summaries.
    ///
    /// # Errors
    /// A summary has no form as JSON.
    pub fn document(&self) -> Result<String, Error> {
        // The documents are texts already.
        let papers = self.documents.iter().map(|one| indented(one));
        let papers: Vec<_> = papers.collect();
        let summary = json(&SummaryDocument {
            summary: &self.summaries,
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
        let lines: Vec<_> = self.summaries.iter().map(Summary::cells).collect();
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
        let rows = self.summaries.iter();
        let rows = rows.map(|one| one.cells().map(cell).into()).collect();
        let mut pages: Vec<_> = self.summaries.iter().map(|one| one.name.clone()).collect();
        pages.dedup();
        let pages = pages.into_iter();
        let pages = pages.map(|name| (name.clone(), format!("{name}/report.html")));
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
                section("Reports of the papers", vec![Block::Links(pages.collect())]),
            ],
        }
    }

    fn write(&self, folder: &Path, amount: Amount) -> Result<(), Error> {
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
