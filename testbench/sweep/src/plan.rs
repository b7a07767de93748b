//! The runs of a sweep, in their order, each with its key.

use std::collections::HashMap;
use std::fmt::Write;

use lanigon_worlds::scenario::{Scenario, ScenarioError};
use lanigon_worlds::simulation::inputs;
use serde::{Deserialize, Serialize};

use crate::VERSION;
use crate::axis::PlannedAxis;
use crate::file::Sweep;
use crate::plot::Plot;
use lanigon_experiments::measure::Measure;

/// Largest number of runs.
const MOST_RUNS: u64 = 1_000_000;

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// For each axis the number of its value.
    pub point: Vec<usize>,
    /// Seed, if the sweep sets it.
    pub seed: Option<i64>,
    /// Hash of everything that determines the run, in hexadecimal digits.
    pub key: String,
}

/// Everything about a sweep that its tables need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepPlan {
    /// Description of the sweep.
    pub description: String,
    /// The emulator that makes the runs.
    pub version: String,
    /// Axes in the order of the file.
    pub axes: Vec<PlannedAxis>,
    /// Numbers that are taken from each run.
    pub measures: Vec<Measure>,
    /// Plots of the measures.
    pub plots: Vec<Plot>,
    /// The runs, in order.
    pub runs: Vec<PlannedRun>,
}

/// Data of a run beyond its place in the plan.
#[derive(Debug, Clone)]
pub struct RunJob {
    /// Number of the run.
    pub run: usize,
    /// Text of its scenario.
    pub text: String,
    /// Expected work, relative to that of other runs.
    pub weight: f64,
}

impl SweepPlan {
    /// Plans the runs of a sweep: each is checked as a scenario, and its images and profiles are read.
    ///
    /// # Errors
    /// If any run is invalid; with the position in the sweep's file or in that of the scenario.
    pub fn new(sweep: &Sweep) -> Result<(Self, Vec<RunJob>), ScenarioError> {
        let points = points(sweep)?;
        let (mut runs, mut jobs) = (Vec::new(), Vec::new());
        let mut known = Inputs::default();
        for point in points {
            for &seed in &sweep.seeds {
                let text = text(sweep, &point, seed)?;
                let refuse = |error| explain(sweep, &point, seed, error);
                let scenario = scenario(sweep, &text).map_err(refuse)?;
                let described = known.describe(&scenario).map_err(refuse)?;
                let described = described.to_owned() + &inputs::describe_files(&scenario);
                let key = key(&text, &described);
                jobs.push(RunJob {
                    run: runs.len(),
                    text,
                    weight: weight(&scenario),
                });
                runs.push(PlannedRun {
                    point: point.clone(),
                    seed,
                    key,
                });
            }
        }
        let plan = Self {
            description: sweep.description.clone(),
            version: VERSION.into(),
            axes: sweep.axes.iter().map(|axis| axis.shown.clone()).collect(),
            measures: sweep.measures.clone(),
            plots: sweep.plots.clone(),
            runs,
        };
        Ok((plan, jobs))
    }

    /// The values of a run that are no numbers: runs in which they are equal have results with the same keys.
    #[must_use]
    pub fn kind(&self, run: usize) -> Vec<usize> {
        let values = self.axes.iter().zip(&self.runs[run].point);
        let words = values.filter(|(axis, at)| axis.numbers[**at].is_none());
        words.map(|(_, at)| *at).collect()
    }

    /// A run's values and seed, as text: `clock = 88 MHz, scheme = base, seed 1`.
    #[must_use]
    pub fn describe(&self, run: usize) -> String {
        let run = &self.runs[run];
        let values = self.axes.iter().zip(&run.point).map(|(axis, &at)| {
            let unit = match axis.unit.is_empty() {
                true => String::new(),
                false => format!(" {}", axis.unit),
            };
            format!("{} = {}{unit}", axis.name, axis.labels[at])
        });
        let seed = run.seed.map(|seed| format!("seed {seed}"));
        values.chain(seed).collect::<Vec<_>>().join(", ")
    }

    /// The points, each with the numbers of its runs, in order.
    #[must_use]
    pub fn points(&self) -> Vec<(&[usize], Vec<usize>)> {
        let mut points: Vec<(&[usize], Vec<usize>)> = Vec::new();
        for (index, run) in self.runs.iter().enumerate() {
            match points.last_mut() {
                Some((point, runs)) if *point == run.point => runs.push(index),
                _ => points.push((&run.point, vec![index])),
            }
        }
        points
    }
}

/// The points: for each axis the number of its value. The last group of axes changes fastest.
fn points(sweep: &Sweep) -> Result<Vec<Vec<usize>>, ScenarioError> {
    let length = |group: &Vec<usize>| sweep.axes[group[0]].values.len();
    let mut count = sweep.seeds.len() as u64;
    for group in &sweep.groups {
        count = count.saturating_mul(length(group) as u64);
    }
    if count > MOST_RUNS {
        let reason = format!("{count} runs; a sweep has at most {MOST_RUNS}");
        let place = sweep.axes.first().map_or(&sweep.place, |axis| &axis.place);
        return Err(place.refuse(reason));
    }
    let mut points = vec![vec![0; sweep.axes.len()]];
    for group in &sweep.groups {
        let mut next = Vec::new();
        for point in points {
            for at in 0..length(group) {
                let mut point: Vec<usize> = point.clone();
                for &axis in group {
                    point[axis] = at;
                }
                next.push(point);
            }
        }
        points = next;
    }
    Ok(points)
}

/// The text of a run's scenario.
fn text(sweep: &Sweep, point: &[usize], seed: Option<i64>) -> Result<String, ScenarioError> {
    let mut table = sweep.base.table.clone();
    for (axis, &at) in sweep.axes.iter().zip(point) {
        for target in &axis.targets {
            target.apply(&mut table, &axis.values[at])?;
        }
    }
    if let Some(seed) = seed {
        let set = sweep.seed_key.set(&mut table, toml::Value::Integer(seed));
        set.map_err(|reason| sweep.place.refuse(format!("{}: {reason}", sweep.seed_key)))?;
    }
    toml::to_string(&table).map_err(|error| sweep.place.refuse(error.to_string()))
}

/// The scenario of a run.
///
/// # Errors
/// If it is invalid.
pub fn scenario(sweep: &Sweep, text: &str) -> Result<Scenario, ScenarioError> {
    let mut scenario = lanigon_workloads::parse(&sweep.base.name, text)?;
    scenario.folder = sweep.base.folder.clone();
    lanigon_processes::check(&scenario)?;
    Ok(scenario)
}

/// Attributes an error of a run to the axis that sets the key, or to the scenario's own file.
fn explain(
    sweep: &Sweep,
    point: &[usize],
    seed: Option<i64>,
    error: ScenarioError,
) -> ScenarioError {
    let reason = match error.key.is_empty() {
        true => error.reason.clone(),
        false => format!("{}: {}", error.key, error.reason),
    };
    for (axis, &at) in sweep.axes.iter().zip(point).rev() {
        let mut targets = axis.targets.iter();
        if let Some(target) = targets.find(|target| target.path.concerns(&error.key)) {
            let value = &axis.shown.labels[at];
            let reason = format!("with {} = {value}: {reason}", axis.shown.name);
            return target.place.refuse(reason);
        }
    }
    if let Some(text) = &sweep.base.text {
        let alone = scenario(sweep, text).and_then(|scenario| inputs::describe(&scenario));
        if let Err(own) = alone
            && (&own.key, &own.reason) == (&error.key, &error.reason)
        {
            return own;
        }
    }
    let mut values = String::new();
    for (axis, &at) in sweep.axes.iter().zip(point) {
        // Writing to a string cannot fail.
        let _ = write!(values, "{} = {}, ", axis.shown.name, axis.shown.labels[at]);
    }
    if let Some(seed) = seed {
        let _ = write!(values, "seed {seed}");
    }
    let values = values.trim_end_matches(", ");
    let reason = match values.is_empty() {
        true => reason,
        false => format!("with {values}: {reason}"),
    };
    sweep.place.refuse(reason)
}

/// Descriptions of the inputs of scenarios. Runs that differ in their seeds alone share one.
#[derive(Debug, Default)]
struct Inputs(HashMap<String, String>);

impl Inputs {
    fn describe(&mut self, scenario: &Scenario) -> Result<&str, ScenarioError> {
        let mut names = String::new();
        for node in &scenario.nodes {
            let symbols = node.symbols.as_ref().map(|symbols| &symbols.name);
            let image = (
                &node.image.name,
                symbols,
                &node.profile.name,
                node.sram_bytes(),
            );
            let costs = node.costs.iter().map(|cost| (&cost.entry, cost.value));
            // Writing to a string cannot fail.
            let _ = write!(names, "{} {image:?}", node.board.name);
            costs.for_each(|cost| {
                let _ = write!(names, " {cost:?}");
            });
            names.push('\n');
        }
        if !self.0.contains_key(&names) {
            let described = inputs::describe(scenario)?;
            self.0.insert(names.clone(), described);
        }
        Ok(self.0.get(&names).map_or("", String::as_str))
    }
}

/// Expected work of a run: what its messages cost the emulator.
fn weight(scenario: &Scenario) -> f64 {
    /// Work of a message without its bytes, in bytes.
    const MESSAGE: f64 = 1500.0;
    /// Work of a node.
    const NODE: f64 = 50_000.0;
    let bytes = scenario.programs.iter().map(|program| {
        let bytes = f64::from(program.longest()) + f64::from(program.shortest());
        program.messages as f64 * (bytes / 2.0 + MESSAGE) * program.nodes().len() as f64
    });
    bytes.sum::<f64>() + NODE * scenario.nodes.len() as f64
}

/// The key of a run.
fn key(text: &str, inputs: &str) -> String {
    let mut hash = Hash::default();
    for part in [VERSION, inputs, text] {
        hash.add(part);
    }
    format!("{:032x}", hash.0)
}

/// FNV-1a with 128 bits: equal on all machines.
struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    fn add(&mut self, text: &str) {
        let length = (text.len() as u64).to_le_bytes();
        for &byte in length.iter().chain(text.as_bytes()) {
            let mixed = self.0 ^ u128::from(byte);
            self.0 = mixed.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
