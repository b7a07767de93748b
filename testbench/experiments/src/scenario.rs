//! Measurements that are scenarios, as `lanigon run` takes them too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::end::{RunError, completed};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::document::RunDocument;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use serde_json::Value;

use crate::Error;

fn summary(
    scenario: &Scenario,
    max_time: Option<SimTime>,
    interrupt: &Arc<AtomicBool>,
) -> Result<RunSummary, Error> {
    let options = RunOptions {
        max_time,
        interrupt: Some(Arc::clone(interrupt)),
        ..RunOptions::default()
    };
    Ok(Simulation::new(scenario)?.run(&options, |_| {}))
}

fn written(name: &str, scenario: &Scenario, summary: &RunSummary) -> Result<Value, Error> {
    let document = RunDocument::new(name.into(), scenario, summary);
    let document = serde_json::to_value(&document);
    document.map_err(|error| Error::Request(error.to_string()))
}

/// The document of a run, that of `lanigon run --json`, whatever came of it; `None`: the user interrupted. `name`: the scenario's file.
///
/// # Errors
/// The scenario is invalid.
pub fn document(
    name: &str,
    scenario: &Scenario,
    interrupt: &Arc<AtomicBool>,
) -> Result<Option<Value>, Error> {
    let summary = summary(scenario, None, interrupt)?;
    match summary.end {
        RunEnd::Interrupted => Ok(None),
        _ => written(name, scenario, &summary).map(Some),
    }
}

/// Runs a scenario to its end: the results as Rust has them.
///
/// # Errors
/// It is invalid, a program of it has a problem, or it does not complete within `limit`.
pub fn run(
    text: &str,
    limit: Option<SimTime>,
    interrupt: &Arc<AtomicBool>,
) -> Result<RunSummary, Error> {
    Ok(to_end(MEASUREMENT, text, limit, interrupt)?.1)
}

/// Runs a scenario with this name to its end: its document. A message that is not as it was sent is an error too.
///
/// # Errors
/// Errors of [`run`].
pub fn measured(
    name: &str,
    text: &str,
    limit: Option<SimTime>,
    interrupt: &Arc<AtomicBool>,
) -> Result<Value, Error> {
    let (scenario, outcome) = to_end(name, text, limit, interrupt)?;
    if !outcome.is_good() {
        return Err(failed("a message is not as it was sent".into()));
    }
    written(name, &scenario, &outcome)
}

/// Name of a scenario without a file.
pub const MEASUREMENT: &str = "a measurement";

fn failed(message: String) -> Error {
    let program = "a member";
    RunError::Program { program, message }.into()
}

fn to_end(
    name: &str,
    text: &str,
    limit: Option<SimTime>,
    interrupt: &Arc<AtomicBool>,
) -> Result<(Scenario, RunSummary), Error> {
    let scenario = lanigon_workloads::parse(name, text)?;
    let outcome = run_to_end(&scenario, limit, interrupt)?;
    Ok((scenario, outcome))
}

/// Runs a scenario to its end, as [`run`] does.
///
/// # Errors
/// Errors of [`run`].
pub fn run_to_end(
    scenario: &Scenario,
    limit: Option<SimTime>,
    interrupt: &Arc<AtomicBool>,
) -> Result<RunSummary, Error> {
    let outcome = summary(scenario, limit, interrupt)?;
    if let Some(message) = outcome.problems.first() {
        return Err(failed(message.clone()));
    }
    completed(outcome.end.clone())?;
    Ok(outcome)
}
