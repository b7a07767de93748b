//! Results as rows with published numbers, and for programs.

use std::collections::BTreeMap;
use std::fmt;

use emulator::profile::Profile;
use lanigon_worlds::calibrate::StageTime;
use serde::Serialize;
use serde_json::{Value, json};

use super::answers::{Answer, Comparison, answer};
use super::key::{Experiment, Key};
use super::published;
use super::results::{ProfileResults, Results, SchemeResults};
use super::{Selection, Task};
use crate::emp::measure::passing::GM_PROFILE;
use crate::emp::measure::quiet::Quiet;
use crate::emp::measure::testbed::Testbed;
use crate::emp::measure::usage::Usage;
use lanigon_experiments::published::Published;
use lanigon_experiments::row::{self, NOT_MEASURED, PREDICTED, Row};
use lanigon_experiments::verdict;

/// Rounds to three decimals, more than the precision of any value.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Row of a published number and its answer under a profile.
fn published_row(
    results: &Results,
    profile: &ProfileResults,
    number: &'static Published,
    answer: &Answer,
) -> Row {
    let value = answer.value(profile).map(round);
    let bound = value.and_then(|_| judged_bound(results, profile, number, answer));
    let (role, note) = match value {
        None => (NOT_MEASURED, answer.why_missing(&results.lacks)),
        Some(_) => {
            let open = bound.as_ref().and_then(|bound| bound.as_ref().err());
            let notes = [answer.note(profile)].into_iter().chain(open.cloned());
            let notes: Vec<_> = notes.filter(|note| !note.is_empty()).collect();
            (answer.role(&profile.profile), notes.join("; "))
        }
    };
    let compared = value.filter(|_| answer.comparison() == Comparison::Error);
    let percentage = number.unit == "%";
    let point = answer.point();
    let mean = point.and_then(|key| profile.points.get(&key));
    Row {
        id: Some(number.id),
        section: number.section,
        experiment: number.experiment,
        profile: profile.profile.name.clone(),
        scheme: number.scheme,
        testbed: number.testbed,
        message_bytes: number.message_bytes.or(point.map(|key| key.size)),
        what: point
            .map_or(number.quantity, |key| key.experiment.metric())
            .into(),
        measured: value,
        rounds: mean.map(|mean| mean.rounds),
        interval: mean.and_then(|mean| mean.interval).map(round),
        unit: number.unit,
        published: Some(number.value),
        error: compared
            .filter(|_| !percentage)
            .map(|value| number.error(value)),
        error_points: compared
            .filter(|_| percentage)
            .map(|value| round(value - number.value)),
        holds: bound
            .as_ref()
            .and_then(|bound| bound.as_ref().ok().copied()),
        verdict: bound.map(|bound| verdict::word(bound.ok())),
        role,
        note,
        ..Row::default()
    }
}

/// Whether a bound is met, or why that is open; `None`: the number is no bound.
fn judged_bound(
    results: &Results,
    profile: &ProfileResults,
    number: &Published,
    answer: &Answer,
) -> Option<Result<bool, String>> {
    let is_met = |value: f64| match answer.comparison() {
        Comparison::Error => None,
        Comparison::AtLeast => Some(value >= number.value),
        Comparison::AtMost => Some(value <= number.value),
    };
    let is_met = |profile: &ProfileResults| is_met(round(answer.value(profile)?));
    let bound = verdict::bound(profile, results.limits, is_met);
    bound.transpose()
}

/// Row of a point.
fn point_row(results: &Results, profile: &ProfileResults, key: Key) -> Row {
    let mean = profile.points.get(&key);
    let note = match mean {
        None if key.experiment.is_other() => results.lacks.of_other(),
        None => results.lacks.of(Some(key.scheme)),
        Some(_) if key.experiment.is_on_gm() => format!("boards of {GM_PROFILE}"),
        Some(_) => String::new(),
    };
    let (experiment, scheme) = match key.experiment.is_other() {
        true => (Experiment::Latency, key.experiment.name()),
        false => (key.experiment, key.scheme.name()),
    };
    let flow_control = if key.flow_control {
        ", flow control"
    } else {
        ""
    };
    Row {
        experiment: experiment.name(),
        profile: profile.profile.name.clone(),
        scheme,
        testbed: key.testbed.name(),
        message_bytes: Some(key.size),
        what: format!("{}{flow_control}", key.experiment.metric()),
        measured: mean.map(|mean| round(mean.value)),
        rounds: mean.map(|mean| mean.rounds),
        interval: mean.and_then(|mean| mean.interval).map(round),
        unit: key.experiment.unit(),
        role: mean.map_or(NOT_MEASURED, |_| PREDICTED),
        note,
        ..Row::default()
    }
}

/// Rows of NetPIPE: latencies and bandwidths.
fn netpipe_rows(profile: &ProfileResults) -> impl Iterator<Item = Row> + '_ {
    profile.netpipe.iter().flat_map(move |(stack, netpipe)| {
        let row = move |experiment: Experiment, size, value| Row {
            scheme: stack.name(),
            testbed: Testbed::Direct933.name(),
            experiment: experiment.name(),
            profile: profile.profile.name.clone(),
            message_bytes: Some(size),
            what: experiment.metric().into(),
            measured: Some(round(value)),
            unit: experiment.unit(),
            role: PREDICTED,
            ..Row::default()
        };
        let latencies = netpipe.latencies.iter();
        let latencies = latencies.map(move |(size, us)| row(Experiment::Latency, *size, *us));
        let bandwidths = netpipe.bandwidths.iter();
        latencies.chain(bandwidths.map(move |(size, rate)| row(Experiment::OneWay, *size, *rate)))
    })
}

/// The published numbers under a profile.
#[must_use]
pub fn of_profile(results: &Results, profile: &ProfileResults, selection: &Selection) -> Vec<Row> {
    let numbers = selection.numbers.iter();
    let answered = numbers.filter_map(|id| {
        let number = published::TABLE.get(id)?;
        Some(published_row(results, profile, number, &answer(number)?))
    });
    answered.collect()
}

/// All points under a profile, as rows; other systems' if they were measured.
#[must_use]
pub fn points(results: &Results, profile: &ProfileResults, selection: &Selection) -> Vec<Row> {
    let is_shown = |key: &Key| !key.experiment.is_other() || profile.points.contains_key(key);
    let tasks = selection.tasks.iter().filter_map(|task| match task {
        Task::Point(key) if is_shown(key) => Some(point_row(results, profile, *key)),
        _ => None,
    });
    tasks.chain(netpipe_rows(profile)).collect()
}

/// Median of absolute errors of predictions.
#[derive(Debug, Clone, Serialize)]
pub struct Median {
    /// Name of the profile.
    pub profile: String,
    /// Kind of error: "error" or "error_points".
    pub of: &'static str,
    /// Number of predictions.
    pub predictions: usize,
    /// Median of the absolute errors.
    pub median: f64,
}

/// Medians of the predictions in rows of one profile.
#[must_use]
pub fn medians(rows: &[Row]) -> Vec<Median> {
    type Of = (&'static str, fn(&Row) -> Option<f64>);
    let of: [Of; 2] = [
        ("error", |row| row.error),
        ("error_points", |row| row.error_points),
    ];
    let median = |(of, error): Of| {
        let predicted = rows.iter().filter(|row| row.role == PREDICTED);
        let errors: Vec<_> = predicted.filter_map(error).map(f64::abs).collect();
        Some(Median {
            profile: rows.first()?.profile.clone(),
            of,
            predictions: errors.len(),
            median: row::median(errors)?,
        })
    };
    of.into_iter().filter_map(median).collect()
}

impl fmt::Display for Median {
    /// "Median absolute error of 20 predictions: 3.4 %".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.of {
            "error_points" => (self.median, "percentage points"),
            _ => (round(100.0 * self.median), "%"),
        };
        let count = self.predictions;
        write!(
            f,
            "Median absolute error of {count} predictions: {value:.1} {unit}"
        )
    }
}

/// Parts of the document beside rows, claims and points.
pub(super) fn extra(results: &Results, selection: &Selection) -> impl Serialize + use<> {
    let profiles = results.profiles.iter();
    let medians = profiles.flat_map(|of| medians(&of_profile(results, of, selection)));
    let missing = results.lacks.missing.iter().map(|scheme| scheme.name());
    json!({
        "judged_under": results.judged().map(|of| of.profile.name.as_str()),
        "medians": medians.collect::<Vec<_>>(),
        "stages": of_schemes(results, stages),
        "ledgers": of_schemes(results, ledgers),
        "usages": of_schemes(results, usages),
        "missing": missing.collect::<Vec<_>>(),
    })
}

/// Items of all profiles and schemes, with the names of these.
fn of_schemes(results: &Results, make: fn(&Profile, &SchemeResults) -> Vec<Value>) -> Vec<Value> {
    let mut all = Vec::new();
    for of in &results.profiles {
        for (scheme, measured) in &of.schemes {
            for mut item in make(&of.profile, measured) {
                item["profile"] = of.profile.name.as_str().into();
                item["scheme"] = scheme.name().into();
                all.push(item);
            }
        }
    }
    all
}

/// The stages: own cycles and time on unmodified hardware, in a quiet exchange of one full frame; the duration under the profile, and its source.
fn stages(profile: &Profile, measured: &SchemeResults) -> Vec<Value> {
    let stage = |stage: &StageTime| {
        let factor = measured.factor(&stage.stage);
        let entry = profile.stages.get(&stage.stage);
        json!({
            "stage": stage.stage,
            "cycles": stage.cycles,
            "hardware_us": round(stage.us),
            "us": round(stage.us * factor.unwrap_or(1.0)),
            "id": entry.map(|entry| entry.source.as_str()),
            "role": factor.map_or(PREDICTED, |_| row::CALIBRATED),
        })
    };
    measured.stages.iter().map(stage).collect()
}

/// The ledgers; spans as owner, name, microseconds.
fn ledgers(_: &Profile, measured: &SchemeResults) -> Vec<Value> {
    let ledger = |quiet: &Quiet| {
        let Quiet { ledger, .. } = quiet;
        let spans = ledger.spans.iter();
        let spans = spans.map(|span| (span.owner.name(), &span.what, span.time().us()));
        json!({
            "message_bytes": ledger.length,
            "total_us": ledger.total().us(),
            "spans": spans.collect::<Vec<_>>(),
        })
    };
    measured.ledgers.values().map(ledger).collect()
}

/// Utilisation of resources, as shares of the time.
fn usages(_: &Profile, measured: &SchemeResults) -> Vec<Value> {
    let usage = |usage: &Usage| {
        let nodes = usage.nodes.iter().enumerate();
        let resources = nodes.flat_map(|(node, of_node)| {
            let resources = of_node.resources.iter();
            resources.map(move |resource| {
                let parts = resource.parts.iter();
                let parts = parts.map(|(what, share)| (what.to_string(), round(*share)));
                json!({
                    "node": usage.flow.node(node),
                    "resource": resource.name,
                    "busy": round(resource.busy),
                    "parts": parts.collect::<BTreeMap<_, _>>(),
                })
            })
        });
        json!({
            "experiment": usage.flow.name(),
            "message_bytes": usage.message_bytes,
            "bottleneck": usage.bottleneck_name(),
            "resources": resources.collect::<Vec<_>>(),
        })
    };
    measured.usages.iter().map(usage).collect()
}
