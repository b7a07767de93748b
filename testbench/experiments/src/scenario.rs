//! Measurements that are scenarios, as `lanigon run` takes them too.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::time::SimTime;
use lanigon_worlds::outcome::{RunError, completed};
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use crate::Error;

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
    let options = RunOptions {
        max_time: limit,
        interrupt: Some(Arc::clone(interrupt)),
        ..RunOptions::default()
    };
    let outcome = Simulation::new(&scenario)?.run(&options, |_| {});
    if let Some(message) = outcome.problems.first() {
        let (program, message) = ("a member", message.clone());
        return Err(RunError::Program { program, message }.into());
    }
    completed(outcome.end.clone())?;
    Ok(outcome)
}
