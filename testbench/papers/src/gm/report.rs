//! The results as text and as one document.

use std::fmt::{self, Write};

use serde::Serialize;

use super::published::{self, Published};
use super::{LONG, Measured, SHORT};

/// A published figure beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Id of the published figure.
    pub id: &'static str,
    /// Version of GM and product.
    pub system: &'static str,
    /// Quantity.
    pub quantity: String,
    /// Published range.
    pub published: [f64; 2],
    /// `measured` or `recalled`.
    pub basis: &'static str,
    /// Own value; `None` if it was not measured.
    pub measured: Option<f64>,
    /// Difference from the range, as a part of its nearest end.
    pub error: Option<f64>,
    /// Unit.
    pub unit: &'static str,
    /// How the own value came about: `predicted`, `calibrated` or `input`.
    pub role: &'static str,
}

/// Everything, for `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document<'a> {
    /// The results of each profile.
    pub profiles: &'a [Measured],
    /// The published figures beside them.
    pub rows: Vec<Row>,
}

impl<'a> Document<'a> {
    /// The document of these results.
    #[must_use]
    pub fn new(profiles: &'a [Measured]) -> Self {
        Self {
            profiles,
            rows: profiles.iter().flat_map(rows).collect(),
        }
    }
}

/// What the names of calibrated profiles begin with, before that of the hardware profile.
const CALIBRATED: &str = "gm-paper-";
/// Latencies for which the clock of such a profile was chosen; that of others was chosen for a barrier.
const LATENCIES: [&str; 2] = ["gm-001", "gm-006"];

/// The costs of the host's library were chosen for the published processor time; calibrated profiles have a clock that was
/// chosen for one published time; nothing else was fitted.
fn role(of: &Measured, figure: &Published) -> &'static str {
    match figure.experiment {
        "host" => "input",
        "latency" if of.profile.starts_with(CALIBRATED) && LATENCIES.contains(&figure.id) => {
            "calibrated"
        }
        _ => "predicted",
    }
}

/// The profile of the hardware that a profile is about.
pub(super) fn hardware(of: &Measured) -> &str {
    of.profile.strip_prefix(CALIBRATED).unwrap_or(&of.profile)
}

fn value(of: &Measured, figure: &Published) -> Option<f64> {
    match figure.experiment {
        "latency" => Some(of.at(SHORT)?.latency_us),
        "one-way" => Some(of.at(LONG)?.one_way),
        "two-way" => Some(of.at(LONG)?.two_way),
        "half-power" => of.half_power_bytes(),
        "host" => Some(of.host_us),
        _ => None,
    }
}

/// The published figures for a profile.
#[must_use]
pub fn rows(of: &Measured) -> Vec<Row> {
    let figures = published::all().iter();
    let figures = figures.filter(|figure| figure.profile == hardware(of));
    figures
        .map(|figure| {
            let measured = value(of, figure);
            Row {
                id: figure.id,
                system: figure.system,
                quantity: format!("{}: {}", figure.experiment, figure.quantity),
                published: figure.range,
                basis: figure.basis,
                measured,
                error: measured.map(|measured| figure.error(measured)),
                unit: figure.unit,
                role: role(of, figure),
            }
        })
        .collect()
}

/// The results as text, for a terminal of 80 columns.
#[must_use]
pub fn render(results: &[Measured]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut text, results);
    text
}

fn write_all(text: &mut String, results: &[Measured]) -> fmt::Result {
    for of in results {
        writeln!(text, "GM, profile {}: {}", of.profile, of.description)?;
        writeln!(text, "image {}\n", of.image)?;
        writeln!(text, "   bytes   latency us   one-way MB/s   two-way MB/s")?;
        for point in &of.points {
            writeln!(
                text,
                "{:>8}{:>13.2}{:>15.1}{:>15.1}",
                point.bytes, point.latency_us, point.one_way, point.two_way
            )?;
        }
        writeln!(text)?;
        let rows = rows(of);
        if rows.is_empty() {
            continue;
        }
        writeln!(
            text,
            "{:<8}{:<44}{:>11}{:>9}{:>7}",
            "id", "published", "", "measured", "error"
        )?;
        for row in rows {
            row_text(text, &row)?;
        }
        writeln!(text)?;
    }
    text.push_str("All rows are predictions, but `host`: the costs of the host's library were chosen for it.\n");
    if results.iter().any(|of| of.profile.starts_with(CALIBRATED)) {
        text.push_str(
            "Profiles gm-paper-...: the clock of the board's CPU was chosen for the time that the description names.\n",
        );
    }
    text.push_str("~: recalled, no document states it.\n");
    Ok(())
}

fn row_text(text: &mut String, row: &Row) -> fmt::Result {
    let [low, high] = row.published;
    let mut published = match low == high {
        true => format!("{low}"),
        false => format!("{low}-{high}"),
    };
    if row.basis == "recalled" {
        published.insert(0, '~');
    }
    let quantity: String = row.quantity.chars().take(43).collect();
    write!(text, "{:<8}{quantity:<44}{published:>11}", row.id)?;
    match (row.measured, row.error) {
        (Some(measured), Some(error)) => {
            let percent = error * 100.0;
            writeln!(text, "{measured:>9.2}{percent:>+6.0}%  {}", row.unit)
        }
        _ => writeln!(text, "{:>9}", "-"),
    }
}
