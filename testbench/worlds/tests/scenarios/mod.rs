//! Scenarios from file to result.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod acenic;
mod acenic_resets;
mod atomics;
mod collectives;
mod costs;
mod counted;
mod dsm;
mod ethernet;
mod examples;
mod faults;
mod file_server;
mod forms;
pub(super) mod gm;
mod gm_mapper;
mod large;
mod losses;
mod many_cpus;
mod mpi;
mod multicasts;
mod mutations;
mod quiet;
mod race;
mod races;
mod runs;
mod started;
mod vectors;

use emulator::sim::world::RunEnd;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// Runs the text of a scenario.
#[track_caller]
fn run(text: &str, options: &RunOptions) -> RunSummary {
    let scenario =
        lanigon_workloads::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}"));
    simulation.run(options, |_| {})
}

/// Runs the text of a scenario, which has to end well.
#[track_caller]
fn good(text: &str) -> RunSummary {
    let outcome = run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}: {outcome:?}");
    assert!(outcome.is_good(), "{text}: {:?}", outcome.problems);
    outcome
}

/// Two nodes on a cable, followed by more text.
fn pair(more: &str) -> String {
    format!("[network]\ntopology = \"pair\"\n{more}")
}

/// A program with this many messages from node 0 to node 1.
fn stream(messages: u32, bytes: u32) -> String {
    format!(
        "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = {messages}\nbytes = {bytes}\n"
    )
}
