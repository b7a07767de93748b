//! Results as rows with published numbers, and for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::answers::{Answer, Comparison, answer};
use super::key::{Experiment, Key};
use super::published;
use super::results::{ProfileResults, Results};
use super::{Selection, Task};
use crate::emp::measure::passing::{GM_PROFILE, System};
use crate::emp::measure::scheme::Scheme;
use crate::emp::measure::tcp;
use crate::emp::measure::testbed::Testbed;
use crate::emp::measure::usage::Resource;
use lanigon_experiments::interval::Estimate;
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
    let missing = || results.lacks.of(Some(key.scheme));
    let flow_control = if key.flow_control {
        ", flow control"
    } else {
        ""
    };
    Row {
        what: format!("{}{flow_control}", key.experiment.metric()),
        note: mean.map_or_else(missing, |_| String::new()),
        ..mean_row(profile, key, key.scheme.name(), mean)
    }
}

/// Row of another system's latency.
fn other_row(profile: &ProfileResults, (system, size): (System, u32), mean: &Estimate) -> Row {
    let key = Key::new(Experiment::Latency, Scheme::Base, size);
    Row {
        note: match system.is_on_gm() {
            true => format!("boards of {GM_PROFILE}"),
            false => String::new(),
        },
        ..mean_row(profile, key, system.name(), Some(mean))
    }
}

/// Rows of TCP: latencies, and the highest bandwidth.
fn tcp_rows(profile: &ProfileResults) -> impl Iterator<Item = Row> + '_ {
    profile.tcp.iter().flat_map(move |(&processor, tcp)| {
        let row = move |experiment: Experiment, size, value| Row {
            scheme: tcp::name(processor),
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
        let latencies = tcp.latencies.iter();
        let latencies = latencies.map(move |(size, us)| row(Experiment::Latency, *size, *us));
        let bandwidths = tcp.bandwidths.iter();
        latencies.chain(bandwidths.map(move |(size, rate)| row(Experiment::OneWay, *size, *rate)))
    })
}

/// Row of a measured mean.
fn mean_row(
    profile: &ProfileResults,
    key: Key,
    scheme: &'static str,
    mean: Option<&Estimate>,
) -> Row {
    Row {
        experiment: key.experiment.name(),
        profile: profile.profile.name.clone(),
        scheme,
        testbed: key.testbed.name(),
        message_bytes: Some(key.size),
        what: key.experiment.metric().into(),
        measured: mean.map(|mean| round(mean.value)),
        rounds: mean.map(|mean| mean.rounds),
        interval: mean.and_then(|mean| mean.interval).map(round),
        unit: key.experiment.unit(),
        role: mean.map_or(NOT_MEASURED, |_| PREDICTED),
        ..Row::default()
    }
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

/// All points under a profile, as rows; then those of other systems.
#[must_use]
pub fn points(results: &Results, profile: &ProfileResults, selection: &Selection) -> Vec<Row> {
    let tasks = selection.tasks.iter().filter_map(|task| match task {
        Task::Point(key) => Some(point_row(results, profile, *key)),
        _ => None,
    });
    let others = profile.others.iter();
    let others = others.map(|(key, mean)| other_row(profile, *key, mean));
    tasks.chain(others).chain(tcp_rows(profile)).collect()
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

/// Parts of the document beside rows, claims and points.
#[derive(Debug, Serialize)]
pub struct Extra {
    /// The profile under which claims are judged.
    pub judged_under: Option<String>,
    /// Median errors of the predictions.
    pub medians: Vec<Median>,
    /// Durations of stages, by profile and scheme.
    pub stages: Vec<StageRow>,
    /// Ledgers, by profile and scheme.
    pub ledgers: Vec<LedgerDocument>,
    /// Utilisation, by profile and scheme.
    pub usages: Vec<UsageDocument>,
    /// Schemes without an image.
    pub missing: Vec<&'static str>,
}

/// A stage under a profile.
#[derive(Debug, Serialize)]
pub struct StageRow {
    /// Name of the profile.
    pub profile: String,
    /// The scheme.
    pub scheme: &'static str,
    /// Name of the stage.
    pub stage: String,
    /// Own cycles on unmodified hardware, in a quiet exchange of one full frame.
    pub cycles: u64,
    /// Own time on unmodified hardware in microseconds.
    pub hardware_us: f64,
    /// Duration under this profile.
    pub us: f64,
    /// Source of the target duration.
    pub id: Option<String>,
    /// "calibrated" if the profile stretches the stage, else "predicted".
    pub role: &'static str,
}

/// A ledger with its profile.
#[derive(Debug, Serialize)]
pub struct LedgerDocument {
    /// Name of the profile.
    pub profile: String,
    /// The scheme.
    pub scheme: &'static str,
    /// Message length.
    pub message_bytes: u32,
    /// Sum of all spans.
    pub total_us: f64,
    /// Owner, name, microseconds.
    pub spans: Vec<(&'static str, String, f64)>,
}

/// Utilisation of resources.
#[derive(Debug, Serialize)]
pub struct UsageDocument {
    /// Name of the profile.
    pub profile: String,
    /// The scheme.
    pub scheme: &'static str,
    /// "one-way" or "two-way".
    pub experiment: &'static str,
    /// Message length.
    pub message_bytes: u32,
    /// The busiest resource.
    pub bottleneck: Option<String>,
    /// The resources of both nodes.
    pub resources: Vec<ResourceRow>,
}

/// Utilisation of a resource.
#[derive(Debug, Serialize)]
pub struct ResourceRow {
    /// The node.
    pub node: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// Share of the time, 0 to 1.
    pub busy: f64,
    /// Shares by kind of work.
    pub parts: BTreeMap<String, f64>,
}

impl Extra {
    /// The other results of a run.
    #[must_use]
    pub fn new(results: &Results, selection: &Selection) -> Self {
        let profiles = results.profiles.iter();
        Self {
            judged_under: results.judged().map(|of| of.profile.name.clone()),
            medians: profiles
                .flat_map(|profile| medians(&of_profile(results, profile, selection)))
                .collect(),
            stages: of_schemes(results, stage_rows),
            ledgers: of_schemes(results, ledgers),
            usages: of_schemes(results, usages),
            missing: results
                .lacks
                .missing
                .iter()
                .map(|scheme| scheme.name())
                .collect(),
        }
    }
}

fn of_schemes<T>(results: &Results, make: impl Fn(&ProfileResults, Scheme) -> Vec<T>) -> Vec<T> {
    let profiles = results.profiles.iter();
    profiles
        .flat_map(|profile| {
            let schemes = profile.schemes.keys();
            schemes.map(move |&scheme| (profile, scheme))
        })
        .flat_map(|(profile, scheme)| make(profile, scheme))
        .collect()
}

fn stage_rows(results: &ProfileResults, scheme: Scheme) -> Vec<StageRow> {
    let measured = &results.schemes[&scheme];
    let stages = measured.stages.iter();
    stages
        .map(|stage| {
            let factor = measured.factor(&stage.stage);
            let entry = results.profile.stages.get(&stage.stage);
            StageRow {
                profile: results.profile.name.clone(),
                scheme: scheme.name(),
                stage: stage.stage.clone(),
                cycles: stage.cycles,
                hardware_us: round(stage.us),
                us: round(stage.us * factor.unwrap_or(1.0)),
                id: entry.map(|entry| entry.source.clone()),
                role: factor.map_or(PREDICTED, |_| row::CALIBRATED),
            }
        })
        .collect()
}

fn ledgers(results: &ProfileResults, scheme: Scheme) -> Vec<LedgerDocument> {
    let ledgers = results.schemes[&scheme].ledgers.values();
    ledgers
        .map(|quiet| &quiet.ledger)
        .map(|ledger| LedgerDocument {
            profile: results.profile.name.clone(),
            scheme: scheme.name(),
            message_bytes: ledger.length,
            total_us: ledger.total().us(),
            spans: ledger
                .spans
                .iter()
                .map(|span| (span.owner.name(), span.what.clone(), span.time().us()))
                .collect(),
        })
        .collect()
}

fn usages(results: &ProfileResults, scheme: Scheme) -> Vec<UsageDocument> {
    let usages = results.schemes[&scheme].usages.iter();
    usages
        .map(|usage| UsageDocument {
            profile: results.profile.name.clone(),
            scheme: scheme.name(),
            experiment: usage.flow.name(),
            message_bytes: usage.message_bytes,
            bottleneck: usage.bottleneck_name(),
            resources: usage
                .nodes
                .iter()
                .enumerate()
                .flat_map(|(node, of_node)| {
                    let resources = of_node.resources.iter();
                    resources.map(move |resource| resource_row(usage.flow.node(node), resource))
                })
                .collect(),
        })
        .collect()
}

fn resource_row(node: &'static str, resource: &Resource) -> ResourceRow {
    let parts = resource.parts.iter();
    ResourceRow {
        node,
        resource: resource.name,
        busy: round(resource.busy),
        parts: parts
            .map(|(what, share)| (what.to_string(), round(*share)))
            .collect(),
    }
}
