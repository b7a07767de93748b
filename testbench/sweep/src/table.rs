//! Tables: `results.csv` with a line for each run, `summary.csv` with a line for each point.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::axis::PlannedAxis;
use crate::error::SweepError;
use crate::plan::SweepPlan;
use crate::plot;
use crate::store::{Rows, replace};
use lanigon_experiments::statistics::Sample;

/// Results of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointResults<'p> {
    /// For each axis the number of its value.
    pub point: &'p [usize],
    /// Runs with results.
    pub runs: usize,
    /// Runs among them that failed; their values do not count.
    pub failed: usize,
    /// A sample for each measure.
    pub samples: Vec<Option<Sample>>,
}

/// The points that have results, in order.
#[must_use]
pub fn points<'p>(plan: &'p SweepPlan, rows: &Rows) -> Vec<PointResults<'p>> {
    let of = |(point, runs): (&'p [usize], Vec<usize>)| {
        let found = runs.iter().filter_map(|&run| rows.get(&plan.runs[run].key));
        let found: Vec<_> = found.collect();
        let good: Vec<_> = found.iter().filter(|row| row.failure.is_none()).collect();
        let sample = |measure: usize| {
            let values = good.iter().filter_map(|row| row.values[measure]);
            Sample::of(&values.collect::<Vec<f64>>())
        };
        let result = PointResults {
            point,
            runs: found.len(),
            failed: found.len() - good.len(),
            samples: (0..plan.measures.len()).map(sample).collect(),
        };
        (result.runs > 0).then_some(result)
    };
    plan.points().into_iter().filter_map(of).collect()
}

/// Runs that failed: their numbers and reasons, in order.
#[must_use]
pub fn failures<'r>(plan: &SweepPlan, rows: &'r Rows) -> Vec<(usize, &'r str)> {
    let runs = plan.runs.iter().enumerate();
    let failed = runs.filter_map(|(index, run)| {
        let reason = rows.get(&run.key)?.failure.as_deref()?;
        Some((index, reason))
    });
    failed.collect()
}

/// Checks that each measure has a place in the results of at least one run. `counts`: whether a reason for which it has none does.
///
/// # Errors
/// [`SweepError::Measure`].
pub fn check_measures(
    plan: &SweepPlan,
    rows: &Rows,
    counts: impl Fn(&str) -> bool,
) -> Result<(), SweepError> {
    let rows = plan.runs.iter().filter_map(|run| rows.get(&run.key));
    let rows: Vec<_> = rows.filter(|row| !row.trace_hash.is_empty()).collect();
    for (index, measure) in plan.measures.iter().enumerate() {
        let mut reasons = rows.iter().map(|row| row.missing[index].as_ref());
        let Some(Some(reason)) = reasons.next() else {
            continue;
        };
        if counts(reason) && reasons.all(|reason| reason.is_some()) {
            return Err(SweepError::Measure {
                place: measure.place.clone(),
                reason: format!("{}: {reason}", measure.path),
            });
        }
    }
    Ok(())
}

/// Text of `results.csv`: axes, seed, measures, status and trace hash of each run that has a result.
#[must_use]
pub fn results(plan: &SweepPlan, rows: &Rows) -> String {
    let axes = plan.axes.iter().map(PlannedAxis::column);
    let measures = plan.measures.iter().map(|measure| measure.column());
    let mut header = vec!["run".to_owned()];
    header.extend(axes);
    header.push("seed".into());
    header.extend(measures);
    header.extend(["status", "reason", "trace_hash"].map(str::to_owned));
    let mut text = line(&header);
    for (index, run) in plan.runs.iter().enumerate() {
        let Some(row) = rows.get(&run.key) else {
            continue;
        };
        let mut fields = vec![(index + 1).to_string()];
        fields.extend(labels(plan, &run.point));
        fields.push(run.seed.map_or(String::new(), |seed| seed.to_string()));
        fields.extend(row.values.iter().map(|value| number(*value)));
        let status = if row.failure.is_some() {
            "failed"
        } else {
            "done"
        };
        fields.push(status.into());
        fields.push(row.failure.clone().unwrap_or_default());
        fields.push(row.trace_hash.clone());
        text += &line(&fields);
    }
    text
}

/// Text of `summary.csv`: axes, runs, failed runs, and for each measure number of values, mean, standard deviation and half the
/// width of the confidence interval.
#[must_use]
pub fn summary(plan: &SweepPlan, rows: &Rows) -> String {
    let mut header: Vec<String> = plan.axes.iter().map(PlannedAxis::column).collect();
    header.extend(["runs", "failed"].map(str::to_owned));
    for measure in &plan.measures {
        let column = measure.column();
        header.extend(["n", "mean", "sd", "ci95"].map(|what| format!("{column}_{what}")));
    }
    let mut text = line(&header);
    for point in points(plan, rows) {
        let mut fields: Vec<String> = labels(plan, point.point).collect();
        fields.extend([point.runs.to_string(), point.failed.to_string()]);
        for sample in &point.samples {
            let count = sample.map_or(0, |sample| sample.count);
            fields.push(count.to_string());
            fields.push(number(sample.map(|sample| sample.mean)));
            fields.push(number(sample.and_then(|sample| sample.deviation)));
            fields.push(number(sample.and_then(|sample| sample.interval)));
        }
        text += &line(&fields);
    }
    text
}

/// Names of a point's values.
pub fn labels<'p>(plan: &'p SweepPlan, point: &'p [usize]) -> impl Iterator<Item = String> + 'p {
    let values = plan.axes.iter().zip(point);
    values.map(|(axis, &at)| axis.labels[at].clone())
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

/// A line of a CSV file (RFC 4180, with plain line feeds).
fn line(fields: &[String]) -> String {
    let mut text = String::new();
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            // Writing to a string cannot fail.
            let _ = write!(text, "\"{}\"", field.replace('"', "\"\""));
        } else {
            text += field;
        }
    }
    text.push('\n');
    text
}

/// Writes the tables and plots into a folder; returns their names.
///
/// # Errors
/// If one cannot be written.
pub fn write(folder: &Path, plan: &SweepPlan, rows: &Rows) -> Result<Vec<PathBuf>, SweepError> {
    let files = [
        ("results.csv", results(plan, rows)),
        ("summary.csv", summary(plan, rows)),
    ];
    let mut written = Vec::new();
    for (name, text) in files {
        let path = folder.join(name);
        replace(&path, text.as_bytes())?;
        written.push(path);
    }
    written.extend(plot::write(folder, plan, rows)?);
    Ok(written)
}

/// A summary as JSON.
#[derive(Debug, Serialize)]
pub struct Summary {
    axes: serde_json::Map<String, serde_json::Value>,
    runs: usize,
    failed: usize,
    measures: serde_json::Map<String, serde_json::Value>,
}

/// The points that have results, for JSON documents.
#[must_use]
pub fn summaries(plan: &SweepPlan, rows: &Rows) -> Vec<Summary> {
    let of = |point: PointResults<'_>| {
        let axes = plan.axes.iter().zip(point.point).map(|(axis, &at)| {
            let value = match axis.numbers[at] {
                Some(number) => number.into(),
                None => axis.labels[at].clone().into(),
            };
            (axis.column(), value)
        });
        let measures = plan.measures.iter().zip(&point.samples);
        let measures = measures.map(|(measure, sample)| {
            let value = serde_json::json!({
                "n": sample.map_or(0, |sample| sample.count),
                "mean": sample.map(|sample| sample.mean),
                "sd": sample.and_then(|sample| sample.deviation),
                "ci95": sample.and_then(|sample| sample.interval),
            });
            (measure.column(), value)
        });
        Summary {
            axes: axes.collect(),
            runs: point.runs,
            failed: point.failed,
            measures: measures.collect(),
        }
    };
    points(plan, rows).into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let fields = ["a", "b,c", "say \"x\"", ""].map(str::to_owned);
        assert_eq!(line(&fields), "a,\"b,c\",\"say \"\"x\"\"\",\n");
    }
}
