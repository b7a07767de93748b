//! Firmware of any kind, started by a host that does nothing else.

use std::num::NonZeroUsize;
use std::path::Path;

use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::run;

/// A world of nodes without cables, all of which start this image.
fn text(image: &str, nodes: usize, more: &str) -> String {
    format!(
        "image = \"{image}\"\n{more}\n[network]\ntopology = \"none\"\nnodes = {nodes}\n\
         [[program]]\nrun = \"start\"\nnodes = \"all\"\n"
    )
}

fn completed(text: &str) -> RunSummary {
    let outcome = run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}");
    outcome
}

#[test]
fn it_is_over_when_nothing_can_happen_any_more() {
    // One image waits for its host; in another one CPU B has stopped, and CPU A waits.
    for image in ["hello", "semaphore-two-cpus"] {
        let outcome = completed(&text(image, 2, ""));
        assert!(outcome.is_good(), "{image}: {outcome:?}");
        assert_eq!(outcome.verdict.messages.posted, 0);
    }
}

#[test]
fn it_is_over_when_the_time_is() {
    let outcome = run(
        &text("timer-tick", 1, "max_time_us = 2500"),
        &RunOptions::default(),
    );
    assert!(matches!(outcome.end, RunEnd::TimeLimit(_)));
    assert!(outcome.is_good(), "{outcome:?}");
    assert_eq!(outcome.simulated, SimTime::from_us(2500));
}

const PANIC: &str = "CPU A has stopped: panic at images/race-two-cpus/src/work.rs:";

#[track_caller]
fn panicked(outcome: &RunSummary) {
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(!outcome.is_good());
    assert!(outcome.problems[0].contains(PANIC), "{outcome:?}");
}

#[test]
fn it_is_over_when_a_cpu_panics() {
    let text = text("race-two-cpus", 3, "max_time_us = 100000");
    let outcome = run(&text, &RunOptions::default());
    panicked(&outcome);
    assert!(outcome.simulated < SimTime::from_us(100_000));
    let names: Vec<_> = outcome.problems.iter().map(|line| &line[..7]).collect();
    assert_eq!(names, ["node 0:", "node 1:", "node 2:"]);
    let threads = NonZeroUsize::new(3).unwrap();
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    assert_eq!(run(&text, &options).trace_hash, outcome.trace_hash);
}

#[test]
fn a_reset_starts_it_anew() {
    let reset = "[[fault]]\ndo = \"reset\"\nnode = 0\nat_us = 1000\npause_us = 500\n";
    let race = text("race-two-cpus", 1, "max_time_us = 100000");
    let plain = run(&race, &RunOptions::default());
    let outcome = run(&(race + reset), &RunOptions::default());
    panicked(&outcome);
    assert!(outcome.simulated > plain.simulated, "it begins anew");
}

#[test]
fn boards_beside_it_do_what_they_are_told() {
    let pair = "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"start\"\nnodes = 0\n";
    // No node uses EMP: the other board stays untouched.
    let race = format!("image = \"race-two-cpus\"\nmax_time_us = 100000\n{pair}");
    let outcome = run(&race, &RunOptions::default());
    panicked(&outcome);
    assert_eq!(outcome.problems.len(), 1);
    // EMP on one node, left alone on the other one.
    let idle = format!("max_time_us = 3000\n{pair}[[program]]\nrun = \"idle\"\nnodes = 1\n");
    let outcome = run(&idle, &RunOptions::default());
    assert!(matches!(outcome.end, RunEnd::TimeLimit(_)));
    assert!(outcome.is_good(), "{outcome:?}");
}

#[test]
fn it_goes_on_from_a_snapshot() {
    let text = text("race-two-cpus", 1, "max_time_us = 100000");
    let scenario = lanigon_workloads::parse("race.toml", &text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.keep_logs();
    let options = RunOptions::default();
    simulation
        .run_to(SimTime::from_us(1000), &options, |_| {})
        .unwrap();
    let file = simulation.save("race.toml", &text, &scenario).unwrap();
    let outcome = simulation.run(&options, |_| {});
    panicked(&outcome);
    let (mut again, ..) = Simulation::load(lanigon_workloads::ALL, &file, Path::new("")).unwrap();
    let other = again.run(&options, |_| {});
    assert_eq!(other.trace_hash, outcome.trace_hash);
    assert_eq!(other.problems, outcome.problems);
    // A snapshot after the end of the run is impossible.
    let late = simulation.run_to(SimTime::from_us(90_000), &options, |_| {});
    assert!(late.is_err());
}
