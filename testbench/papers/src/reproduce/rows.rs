//! Results as rows with published numbers, for JSON and CSV.

use std::collections::BTreeMap;

use serde::Serialize;

use super::answers::{Answer, Comparison, Quantity, answer};
use super::claims::{self, JudgedClaim};
use super::key::{Experiment, Key};
use super::results::{ProfileResults, Results};
use super::{Selection, Task};
use crate::experiments::passing::{GM_PROFILE, System};
use crate::experiments::scheme::Scheme;
use crate::experiments::usage::Resource;
use crate::interval::Estimate;
use crate::published::{self, Published};
use crate::verdict::{self, Totals};

/// A row of the JSON and CSV forms.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Id of the published number, if there is one.
    pub id: Option<&'static str>,
    /// The experiment.
    pub experiment: &'static str,
    /// The profile.
    pub profile: String,
    /// The scheme, or another system.
    pub scheme: &'static str,
    /// The testbed.
    pub testbed: &'static str,
    /// Whether senders slow down for receivers that are short of buffer space.
    pub flow_control: bool,
    /// Message length.
    pub message_bytes: Option<u32>,
    /// Measured quantity.
    pub metric: &'static str,
    /// The value, if measured.
    pub value: Option<f64>,
    /// Number of rounds, for a mean.
    pub rounds: Option<usize>,
    /// Half of the width of its 95 % confidence interval, for a mean.
    pub interval: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// The published value.
    pub published: Option<f64>,
    /// Relative error of the value.
    pub error_percent: Option<f64>,
    /// Error of a percentage, in percentage points.
    pub error_points: Option<f64>,
    /// Whether a bound is met; `None` for another number, or if it is open.
    pub holds: Option<bool>,
    /// Whether a bound `holds`, `fails` or is `open`.
    pub verdict: Option<&'static str>,
    /// Value as evidence.
    pub role: &'static str,
    /// Note for the reader.
    pub note: String,
}

/// Role of a value that could be measured but was not.
pub const NOT_MEASURED: &str = "not measured";

/// Rounds to three decimals, more than the precision of any value.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Half of the width of a point's interval.
fn interval(profile: &ProfileResults, key: Key) -> Option<f64> {
    profile.points.get(&key)?.interval.map(round)
}

/// Reason for a missing value.
#[must_use]
pub fn why_missing(results: &Results, scheme: Option<Scheme>) -> String {
    match scheme.filter(|scheme| results.missing.contains(scheme)) {
        Some(scheme) => format!("no image {}", scheme.image()),
        None if results.partial => "interrupted".into(),
        None => "this firmware does not tell it apart".into(),
    }
}

/// Reason for a missing value of another system.
#[must_use]
pub fn why_other_is_missing(results: &Results) -> String {
    match results.partial {
        true => "interrupted".into(),
        false => "no image gm".into(),
    }
}

/// Row of a published number and its answer under a profile.
fn published_row(
    results: &Results,
    profile: &ProfileResults,
    number: &'static Published,
    answer: &Answer,
) -> Row {
    let value = answer.quantity.value(profile).map(round);
    let role = answer.role(number.id, &profile.profile);
    let nothing = answer.quantity == Quantity::Nothing;
    let bound = value.and_then(|_| judged_bound(results, profile, number, answer));
    let (role, note) = if value.is_some() || nothing {
        let open = bound.as_ref().and_then(|bound| bound.as_ref().err());
        let why = open.map(String::as_str).into_iter();
        let notes = [answer.note].into_iter().filter(|note| !note.is_empty());
        let notes: Vec<_> = notes.chain(why).collect();
        (role.name(), notes.join("; "))
    } else if let Quantity::Advantage(..) = answer.quantity {
        (NOT_MEASURED, why_other_is_missing(results))
    } else {
        (NOT_MEASURED, why_missing(results, answer.quantity.scheme()))
    };
    let error = |error: fn(f64, f64) -> f64, right: bool| {
        let comparable = answer.comparison == Comparison::Error && right;
        value
            .filter(|_| comparable)
            .map(|value| round(error(value, number.value)))
    };
    let percentage = number.unit == "%";
    Row {
        id: Some(number.id),
        experiment: number.experiment,
        profile: profile.profile.name.clone(),
        scheme: number.scheme,
        testbed: number.testbed,
        flow_control: false,
        message_bytes: number.message_bytes.or(match answer.quantity {
            Quantity::Point(key) => Some(key.size),
            _ => None,
        }),
        metric: match answer.quantity {
            Quantity::Point(key) => key.experiment.metric(),
            _ => number.quantity,
        },
        value,
        rounds: match answer.quantity {
            Quantity::Point(key) => profile.points.get(&key).map(|point| point.rounds),
            _ => None,
        },
        interval: match answer.quantity {
            Quantity::Point(key) => interval(profile, key),
            _ => None,
        },
        unit: number.unit,
        published: Some(number.value),
        error_percent: error(
            |value, published| 100.0 * (value / published - 1.0),
            !percentage,
        ),
        error_points: error(|value, published| value - published, percentage),
        holds: bound
            .as_ref()
            .and_then(|bound| bound.as_ref().ok().copied()),
        verdict: bound.map(|bound| verdict::word(bound.ok())),
        role,
        note,
    }
}

/// Whether a bound is met, or why that is open; `None`: the number is no bound.
fn judged_bound(
    results: &Results,
    profile: &ProfileResults,
    number: &Published,
    answer: &Answer,
) -> Option<Result<bool, String>> {
    let is_met = |value: f64| match answer.comparison {
        Comparison::Error => None,
        Comparison::AtLeast => Some(value >= number.value),
        Comparison::AtMost => Some(value <= number.value),
    };
    let is_met = |profile: &ProfileResults| is_met(round(answer.quantity.value(profile)?));
    let bound = verdict::bound(profile, results.limits, is_met);
    bound.transpose()
}

/// Row of a point without a published number.
fn point_row(results: &Results, profile: &ProfileResults, key: Key) -> Row {
    let value = profile.value(key).map(round);
    let missing = || why_missing(results, Some(key.scheme));
    Row {
        id: None,
        experiment: key.experiment.name(),
        profile: profile.profile.name.clone(),
        scheme: key.scheme.name(),
        testbed: key.testbed.name(),
        flow_control: key.flow_control,
        message_bytes: Some(key.size),
        metric: key.experiment.metric(),
        value,
        rounds: profile.points.get(&key).map(|point| point.rounds),
        interval: interval(profile, key),
        unit: key.experiment.unit(),
        published: None,
        error_percent: None,
        error_points: None,
        holds: None,
        verdict: None,
        role: if value.is_some() {
            "predicted"
        } else {
            NOT_MEASURED
        },
        note: value.map_or_else(missing, |_| String::new()),
    }
}

/// Row of another system's latency.
fn other_row(profile: &ProfileResults, (system, size): (System, u32), mean: &Estimate) -> Row {
    let key = Key::new(Experiment::Latency, Scheme::Base, size);
    Row {
        id: None,
        experiment: key.experiment.name(),
        profile: profile.profile.name.clone(),
        scheme: system.name(),
        testbed: key.testbed.name(),
        flow_control: false,
        message_bytes: Some(size),
        metric: key.experiment.metric(),
        value: Some(round(mean.value)),
        rounds: Some(mean.rounds),
        interval: mean.interval.map(round),
        unit: key.experiment.unit(),
        published: None,
        error_percent: None,
        error_points: None,
        holds: None,
        verdict: None,
        role: "predicted",
        note: match system.is_on_gm() {
            true => format!("boards of {GM_PROFILE}"),
            false => String::new(),
        },
    }
}

/// All rows under a profile: published numbers in order, then the other points, then other systems.
#[must_use]
pub fn of_profile(results: &Results, profile: &ProfileResults, selection: &Selection) -> Vec<Row> {
    let mut answered = Vec::new();
    let mut rows = Vec::new();
    for id in &selection.numbers {
        let Some((number, answer)) = published::by_id(id).and_then(|n| Some((n, answer(n)?)))
        else {
            continue;
        };
        if let Quantity::Point(key) = answer.quantity {
            answered.push(key);
        }
        rows.push(published_row(results, profile, number, &answer));
    }
    for task in &selection.tasks {
        if let Task::Point(key) = task
            && !answered.contains(key)
        {
            rows.push(point_row(results, profile, *key));
        }
    }
    let others = profile.others.iter();
    rows.extend(others.map(|(key, mean)| other_row(profile, *key, mean)));
    rows
}

/// Median of absolute errors of predictions.
#[derive(Debug, Clone, Serialize)]
pub struct Median {
    /// The profile.
    pub profile: String,
    /// Kind of error: "error_percent" or "error_points".
    pub of: &'static str,
    /// Number of predictions.
    pub predictions: usize,
    /// The median.
    pub median: f64,
}

/// Medians of the predictions in rows of one profile.
#[must_use]
pub fn medians(rows: &[Row]) -> Vec<Median> {
    type Of = (&'static str, fn(&Row) -> Option<f64>);
    let of: [Of; 2] = [
        ("error_percent", |row| row.error_percent),
        ("error_points", |row| row.error_points),
    ];
    of.into_iter()
        .filter_map(|(name, error)| {
            let predicted = rows.iter().filter(|row| row.role == "predicted");
            let mut errors: Vec<_> = predicted.filter_map(error).map(f64::abs).collect();
            errors.sort_by(f64::total_cmp);
            let middle = errors.len() / 2;
            let median = match errors.len() {
                0 => return None,
                odd if odd % 2 == 1 => errors[middle],
                _ => f64::midpoint(errors[middle - 1], errors[middle]),
            };
            Some(Median {
                profile: rows.first()?.profile.clone(),
                of: name,
                predictions: errors.len(),
                median: round(median),
            })
        })
        .collect()
}

/// JSON document of results.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Measured values with published ones.
    pub rows: Vec<Row>,
    /// Judged claims.
    pub claims: Vec<JudgedClaim>,
    /// Numbers of their verdicts.
    pub verdicts: Totals,
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
    /// The user interrupted the run: rows are missing.
    pub partial: bool,
}

/// A stage under a profile.
#[derive(Debug, Serialize)]
pub struct StageRow {
    /// The profile.
    pub profile: String,
    /// The scheme.
    pub scheme: &'static str,
    /// The stage.
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
    /// The profile.
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
    /// The profile.
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

impl Document {
    /// JSON document of results.
    #[must_use]
    pub fn new(results: &Results, selection: &Selection) -> Self {
        let mut rows = Vec::new();
        let mut all_medians = Vec::new();
        for profile in &results.profiles {
            let of_profile = of_profile(results, profile, selection);
            all_medians.extend(medians(&of_profile));
            rows.extend(of_profile);
        }
        let claims = claims::judge(results, selection);
        Self {
            rows,
            verdicts: Totals::of(claims.iter().map(|claim| &claim.judged)),
            claims,
            medians: all_medians,
            stages: of_schemes(results, stage_rows),
            ledgers: of_schemes(results, ledgers),
            usages: of_schemes(results, usages),
            missing: results.missing.iter().map(|scheme| scheme.name()).collect(),
            partial: results.partial,
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
                role: if factor.is_some() {
                    "calibrated"
                } else {
                    "predicted"
                },
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

/// Rows as CSV. No field contains a comma.
#[must_use]
pub fn csv(results: &Results, selection: &Selection) -> String {
    let mut text = String::from(
        "id,experiment,profile,scheme,message_bytes,metric,value,unit,published,error_percent,role,\
         testbed,flow_control,error_points,holds,note,interval,verdict\n",
    );
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let profiles = results.profiles.iter();
    for row in profiles.flat_map(|profile| of_profile(results, profile, selection)) {
        let fields = [
            row.id.unwrap_or_default().to_owned(),
            row.experiment.to_owned(),
            row.profile,
            row.scheme.to_owned(),
            row.message_bytes
                .map_or(String::new(), |bytes| bytes.to_string()),
            row.metric.to_owned(),
            number(row.value),
            row.unit.to_owned(),
            number(row.published),
            number(row.error_percent),
            row.role.to_owned(),
            row.testbed.to_owned(),
            row.flow_control.to_string(),
            number(row.error_points),
            row.holds.map_or(String::new(), |holds| holds.to_string()),
            row.note.replace(',', ";"),
            number(row.interval),
            row.verdict.unwrap_or_default().to_owned(),
        ];
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}
