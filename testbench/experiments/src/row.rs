//! Published numbers beside measured ones.

use std::fmt::Write;

use lanigon_report::{Block, Cell};
use serde::Serialize;

use crate::published::Published;

/// Role of a value that the model gives without having been adjusted to it.
pub const PREDICTED: &str = "predicted";
/// Role of a value to which the model was adjusted.
pub const CALIBRATED: &str = "calibrated";
/// Role of a value that could be measured but was not.
pub const NOT_MEASURED: &str = "not measured";

/// A published number beside the measured one, or a point without a published number.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// The published id.
    pub id: Option<&'static str>,
    /// Section and figure of the publication.
    pub section: &'static str,
    /// Profile of the measurement.
    pub profile: String,
    /// The measurement.
    pub experiment: &'static str,
    /// Division of work, algorithm and place, or system.
    pub scheme: &'static str,
    /// Testbed or image, if there are several.
    pub testbed: &'static str,
    /// Message length.
    pub message_bytes: Option<u32>,
    /// Description of the measurement.
    pub what: String,
    /// The own value.
    pub measured: Option<f64>,
    /// Half of the width of its 95 % confidence interval, for a mean.
    pub interval: Option<f64>,
    /// Number of rounds, for a mean.
    pub rounds: Option<usize>,
    /// The unit; `x`: how many times one is better than another.
    pub unit: &'static str,
    /// The published value; the lowest one of a range.
    pub published: Option<f64>,
    /// The highest value of a published range.
    pub published_high: Option<f64>,
    /// Difference from the published value, as a part of it; of a range, from its nearest end.
    pub error: Option<f64>,
    /// Difference of a percentage, in percentage points.
    pub error_points: Option<f64>,
    /// Whether a bound is met; `None` for another number, or if it is open.
    pub holds: Option<bool>,
    /// Whether a bound `holds`, `fails` or is `open`.
    pub verdict: Option<&'static str>,
    /// `predicted`, `calibrated`, `input`, `compared`, `not modelled` or `not measured`.
    pub role: &'static str,
    /// Difference of the measurement from the publication's, or the reason for which there is no measurement.
    pub note: String,
}

impl Row {
    /// A published number, what was measured for it, what that is, and what to say of it. Without a measured value it is not measured.
    #[must_use]
    pub fn new(
        number: &Published,
        measured: Option<f64>,
        role: &'static str,
        note: String,
    ) -> Self {
        let (role, note) = match measured {
            None => (NOT_MEASURED, "points are missing in this run".into()),
            Some(_) => (role, note),
        };
        Self {
            id: Some(number.id),
            section: number.section,
            profile: number.profile.into(),
            experiment: number.experiment,
            scheme: number.scheme,
            message_bytes: number.message_bytes,
            what: format!(
                "{} {}, {} nodes: {}",
                number.experiment, number.scheme, number.nodes, number.quantity
            ),
            published: Some(number.value),
            published_high: (number.high > number.value).then_some(number.high),
            unit: number.unit,
            measured,
            error: measured.map(|value| number.error(value)),
            role,
            note,
            ..Self::default()
        }
    }

    /// The comparison with the published number as a cell.
    fn comparison(&self) -> Cell {
        match (self.error, self.error_points, self.verdict) {
            (Some(error), ..) => {
                let percent = 100.0 * error;
                Cell::number(percent, format!("{percent:+.1} %"))
            }
            (_, Some(error), _) => Cell::number(error, format!("{error:+.1} points")),
            (.., Some(verdict)) => Cell::text(verdict).news(self.holds),
            _ => Cell::default(),
        }
    }

    /// The scheme, where the description does not begin with it.
    fn own_scheme(&self) -> &'static str {
        let named = format!("{} {}, ", self.experiment, self.scheme);
        match self.what.starts_with(&named) {
            true => "",
            false => self.scheme,
        }
    }

    /// Description of what is measured.
    fn described(&self) -> String {
        // The measurement adds nothing to a description that begins with it, or is "-".
        match self.experiment {
            "-" => self.what.clone(),
            experiment if self.what.starts_with(experiment) => self.what.clone(),
            experiment => format!("{experiment} {}", self.what),
        }
    }

    fn cells(&self) -> Vec<Cell> {
        let published = match (self.published, self.published_high) {
            (Some(low), Some(high)) => Cell::number(low, format!("{low} to {high}")),
            (single, _) => Cell::optional_number(single),
        };
        let text = |text: &str| Cell::text(if text == "-" { "" } else { text });
        vec![
            Cell::text(self.id.unwrap_or_default()),
            text(self.section),
            text(self.own_scheme()),
            text(&self.profile),
            text(self.testbed),
            Cell::text(self.described()),
            Cell::optional_number(self.message_bytes.map(f64::from)),
            Cell::optional_number(self.measured),
            Cell::optional_number(self.interval),
            published,
            Cell::text(self.unit),
            self.comparison(),
            Cell::optional_number(self.rounds.map(|rounds| rounds as f64)),
            Cell::text(self.role).news((self.role == NOT_MEASURED).then_some(false)),
            Cell::text(&self.note),
        ]
    }
}

/// Names of the columns of a report.
const COLUMNS: [&str; 15] = [
    "id",
    "section",
    "scheme",
    "profile",
    "testbed",
    "what",
    "bytes",
    "here",
    "±",
    "published",
    "unit",
    "error",
    "rounds",
    "role",
    "note",
];

/// Rows as a table of a report, without columns in which there is nothing.
#[must_use]
pub fn block<'a>(title: &str, rows: impl IntoIterator<Item = &'a Row>) -> Block {
    let rows: Vec<_> = rows.into_iter().map(Row::cells).collect();
    let filled: Vec<_> = (0..COLUMNS.len())
        .filter(|&column| rows.iter().any(|row| !row[column].text.is_empty()))
        .collect();
    let keep = |row: Vec<Cell>| filled.iter().map(|&column| row[column].clone()).collect();
    Block::Table(lanigon_report::Table {
        title: title.into(),
        columns: filled
            .iter()
            .map(|&column| COLUMNS[column].into())
            .collect(),
        rows: rows.into_iter().map(keep).collect(),
    })
}

/// Writes rows as a table.
pub fn write(text: &mut String, rows: &[Row]) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n{:<17} {:>9} {:>9} {:>12}  what",
        "id", "here", "published", "error"
    );
    for row in rows {
        let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        let here = or_none(row.measured.map(|value| match value.abs() < 0.1 {
            true => format!("{value:.4}"),
            false => format!("{value:.2}"),
        }));
        let error = or_none(Some(row.comparison().text).filter(|text| !text.is_empty()));
        let published = or_none(row.published.map(|value| value.to_string()));
        let bytes = row.message_bytes.map(|bytes| format!("{bytes} bytes"));
        let described = [
            row.own_scheme(),
            &row.described(),
            row.testbed,
            &row.profile,
        ];
        let named = described.iter().filter(|text| !["", "-"].contains(*text));
        let words: Vec<_> = named.map(|text| (*text).to_owned()).chain(bytes).collect();
        let _ = writeln!(
            text,
            "{:<17} {here:>9} {published:>9} {error:>12}  {}, {} [{}]{}{}",
            row.id.unwrap_or_default(),
            row.unit,
            words.join(", "),
            row.role,
            if row.note.is_empty() { "" } else { " " },
            row.note,
        );
    }
}

/// Rows as CSV. No field contains a comma.
#[must_use]
pub fn csv<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let mut text = String::from(
        "id,experiment,profile,scheme,message_bytes,what,measured,unit,published,published_high,error,role,testbed,\
         error_points,holds,note,interval,rounds,verdict,section\n",
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let count = |count: Option<usize>| count.map_or(String::new(), |count| count.to_string());
    for row in rows {
        let fields = [
            row.id.unwrap_or_default().to_owned(),
            row.experiment.to_owned(),
            row.profile.clone(),
            row.scheme.to_owned(),
            count(row.message_bytes.map(|bytes| bytes as usize)),
            row.what.clone(),
            number(row.measured),
            row.unit.to_owned(),
            number(row.published),
            number(row.published_high),
            number(row.error),
            row.role.to_owned(),
            row.testbed.to_owned(),
            number(row.error_points),
            row.holds.map_or(String::new(), |holds| holds.to_string()),
            row.note.clone(),
            number(row.interval),
            count(row.rounds),
            row.verdict.unwrap_or_default().to_owned(),
            row.section.to_owned(),
        ];
        text.push_str(&fields.map(|field| field.replace(',', ";")).join(","));
        text.push('\n');
    }
    text
}

/// The median of some values; `None` without any.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<_> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
