//! What was measured, and its rows beside the published numbers.

use std::sync::Arc;

use emulator::tigon2::timing::Profile;
use serde::Serialize;

use crate::experiments::calibrate::StageTime;
use crate::experiments::ledger::Ledger;
use crate::published;

/// An experiment of the thesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Experiment {
    /// Half of a ping-pong's round trip.
    Latency,
    /// One-way bandwidth.
    OneWay,
}

impl Experiment {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Latency, Self::OneWay];

    /// The word in rows and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::OneWay => "one-way",
        }
    }

    /// What is measured.
    #[must_use]
    pub const fn metric(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::OneWay => "bandwidth",
        }
    }

    /// In which unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Latency => "us",
            Self::OneWay => "Mb/s",
        }
    }
}

/// A published number that a measured point answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The number's id.
    pub id: &'static str,
    /// The experiment.
    pub experiment: Experiment,
    /// The message size that stands for it.
    pub size: u32,
}

/// A size that the thesis calls large, for numbers that it gives without a size.
pub const LARGE: u32 = 65_536;

/// The published numbers of the single-CPU protocol, back to back.
pub const TARGETS: [Target; 4] = [
    Target {
        id: "emp-001",
        experiment: Experiment::Latency,
        size: 4,
    },
    Target {
        id: "emp-004",
        experiment: Experiment::Latency,
        size: 10,
    },
    Target {
        id: "emp-005",
        experiment: Experiment::OneWay,
        size: LARGE,
    },
    Target {
        id: "emp-002",
        experiment: Experiment::OneWay,
        size: LARGE,
    },
];

/// One measured value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The experiment.
    pub experiment: Experiment,
    /// Message length in bytes.
    pub size: u32,
    /// The value, in the experiment's unit.
    pub value: f64,
    /// Rounds that it is the mean of.
    pub rounds: usize,
}

/// Everything that was measured under one profile.
#[derive(Debug, Clone)]
pub struct ProfileResults {
    /// The profile.
    pub profile: Arc<Profile>,
    /// What the stages take on the hardware as it is.
    pub stages: Vec<StageTime>,
    /// By what the profile stretches them.
    pub factors: Vec<(String, f64)>,
    /// The points, by size.
    pub points: Vec<Point>,
    /// Where the time of one message went.
    pub ledger: Option<Ledger>,
}

/// Everything.
#[derive(Debug, Clone)]
pub struct Results {
    /// By profile.
    pub profiles: Vec<ProfileResults>,
    /// The user interrupted: points are missing.
    pub partial: bool,
}

/// A row of the JSON and CSV forms.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// Id of the published number, if there is one for this point.
    pub id: Option<&'static str>,
    /// The experiment.
    pub experiment: &'static str,
    /// The profile.
    pub profile: String,
    /// The division of work between the CPUs.
    pub scheme: &'static str,
    /// Message length.
    pub message_bytes: u32,
    /// What is measured.
    pub metric: &'static str,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The published value.
    pub published: Option<f64>,
    /// How far off the value is.
    pub error_percent: Option<f64>,
    /// What the value is worth as evidence.
    pub role: &'static str,
}

impl ProfileResults {
    /// A row for each point, and one for each published number that a point answers.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.points.iter().flat_map(|point| {
            let mut ids: Vec<_> = targets_of(point).map(|target| Some(target.id)).collect();
            if ids.is_empty() {
                ids.push(None);
            }
            ids.into_iter().map(|id| self.row(point, id))
        })
    }

    fn row(&self, point: &Point, id: Option<&'static str>) -> Row {
        let published = id.and_then(published::by_id).map(|number| number.value);
        Row {
            id,
            experiment: point.experiment.name(),
            profile: self.profile.name.clone(),
            scheme: "base",
            message_bytes: point.size,
            metric: point.experiment.metric(),
            value: round(point.value),
            unit: point.experiment.unit(),
            published,
            error_percent: published.map(|value| round(100.0 * (point.value / value - 1.0))),
            role: "predicted",
        }
    }

    /// A point by experiment and size.
    #[must_use]
    pub fn point(&self, experiment: Experiment, size: u32) -> Option<&Point> {
        self.points
            .iter()
            .find(|point| point.experiment == experiment && point.size == size)
    }

    /// By what a stage is stretched.
    #[must_use]
    pub fn factor(&self, stage: &str) -> Option<f64> {
        self.factors
            .iter()
            .find(|(name, _)| name == stage)
            .map(|(_, factor)| *factor)
    }
}

/// The published numbers that a point answers.
pub fn targets_of(point: &Point) -> impl Iterator<Item = &'static Target> {
    let (experiment, size) = (point.experiment, point.size);
    TARGETS
        .iter()
        .filter(move |target| target.experiment == experiment && target.size == size)
}

/// Three decimals are more than any of these values is worth.
fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// The JSON form.
#[derive(Debug, Serialize)]
pub struct Document {
    /// The measured values.
    pub rows: Vec<Row>,
    /// What each stage takes, by profile.
    pub stages: Vec<StageRow>,
    /// Where the time of one message went, by profile.
    pub ledgers: Vec<LedgerDocument>,
    /// The user interrupted: rows are missing.
    pub partial: bool,
}

/// A stage under a profile.
#[derive(Debug, Serialize)]
pub struct StageRow {
    /// The profile.
    pub profile: String,
    /// The stage.
    pub stage: String,
    /// Own cycles on the hardware as it is, in a quiet exchange of one full frame.
    pub cycles: u64,
    /// The same in microseconds.
    pub hardware_us: f64,
    /// What the stage lasts under this profile.
    pub us: f64,
    /// Where the target duration comes from.
    pub id: Option<String>,
    /// "calibrated" where the profile stretches the stage, else "predicted".
    pub role: &'static str,
}

/// A ledger with its profile.
#[derive(Debug, Serialize)]
pub struct LedgerDocument {
    /// The profile.
    pub profile: String,
    /// Message length.
    pub message_bytes: u32,
    /// The sum.
    pub total_us: f64,
    /// Owner, what, microseconds.
    pub spans: Vec<(&'static str, &'static str, f64)>,
}

impl Results {
    /// The JSON form.
    #[must_use]
    pub fn document(&self) -> Document {
        Document {
            rows: self
                .profiles
                .iter()
                .flat_map(ProfileResults::rows)
                .collect(),
            stages: self.profiles.iter().flat_map(stage_rows).collect(),
            ledgers: self.profiles.iter().filter_map(ledger_document).collect(),
            partial: self.partial,
        }
    }

    /// The rows as CSV.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "id,experiment,profile,scheme,message_bytes,metric,value,unit,published,error_percent,role\n",
        );
        let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for row in self.profiles.iter().flat_map(ProfileResults::rows) {
            let fields = [
                row.id.unwrap_or_default().to_owned(),
                row.experiment.to_owned(),
                row.profile,
                row.scheme.to_owned(),
                row.message_bytes.to_string(),
                row.metric.to_owned(),
                row.value.to_string(),
                row.unit.to_owned(),
                optional(row.published),
                optional(row.error_percent),
                row.role.to_owned(),
            ];
            text.push_str(&fields.join(","));
            text.push('\n');
        }
        text
    }
}

fn stage_rows(results: &ProfileResults) -> impl Iterator<Item = StageRow> + '_ {
    results.stages.iter().map(|stage| {
        let factor = results.factor(&stage.stage);
        let entry = results.profile.stages.get(&stage.stage);
        StageRow {
            profile: results.profile.name.clone(),
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
}

fn ledger_document(results: &ProfileResults) -> Option<LedgerDocument> {
    let ledger = results.ledger.as_ref()?;
    Some(LedgerDocument {
        profile: results.profile.name.clone(),
        message_bytes: ledger.message_bytes,
        total_us: ledger.total().us(),
        spans: ledger
            .spans
            .iter()
            .map(|span| (span.owner, span.what, span.time.us()))
            .collect(),
    })
}
