//! Measurements that are scenarios, as `lanigon run` takes them too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::outcome::{RunError, completed};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::document::Document;
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
    if summary.end == RunEnd::Interrupted {
        return Ok(None);
    }
    let document = Document::new(name.into(), scenario, &summary);
    let document = serde_json::to_value(&document);
    let document = document.map_err(|error| Error::Request(error.to_string()))?;
    Ok(Some(document))
}

/// Runs a scenario to its end.
///
/// # Errors
/// It is invalid, a program of it has a problem, or it does not complete within `limit`.
pub fn run(
    text: &str,
    limit: Option<SimTime>,
    interrupt: &Arc<AtomicBool>,
) -> Result<RunSummary, Error> {
    let scenario = lanigon_workloads::parse("a measurement", text)?;
    let outcome = summary(&scenario, limit, interrupt)?;
    if let Some(message) = outcome.problems.first() {
        let (program, message) = ("a member", message.clone());
        return Err(RunError::Program { program, message }.into());
    }
    completed(outcome.end.clone())?;
    Ok(outcome)
}
