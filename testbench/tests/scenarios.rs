//! Scenarios from file to outcome.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::{Path, PathBuf};

use defs::emp::control::Counter;
use emulator::sim::world::RunEnd;
use testbench::scenario::Scenario;
use testbench::simulation::result::Outcome;
use testbench::simulation::{RunOptions, Simulation};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios")
}

fn run_text(text: &str) -> Outcome {
    let scenario = Scenario::parse("test.toml", text).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    simulation.run(&RunOptions::default(), |_| {})
}

/// Runs an example with some of its text replaced; every promise must be kept.
fn run_example(name: &str, changes: &[(&str, &str)]) -> Outcome {
    let path = folder().join(name).with_extension("toml");
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name}: {from}");
        text = text.replace(from, to);
    }
    let outcome = run_text(&text);
    assert_eq!(outcome.end, RunEnd::Completed, "{name}");
    assert!(outcome.is_good(), "{name}: {outcome:?}");
    outcome
}

#[test]
fn a_pair_plays_ping_pong() {
    let outcome = run_example("pair", &[("= 1000 ", "= 50 ")]);
    let messages = outcome.verdict.messages;
    assert_eq!((messages.posted, messages.delivered), (100, 100));
    assert_eq!(outcome.counted(Counter::FramesResent), 0);
    assert!(outcome.drops.values().all(|&count| count == 0));
    assert!(outcome.boards[0].cpu_a > 0.1 && outcome.boards[0].cpu_b == 0.0);
}

#[test]
fn a_star_with_loss_delivers_everything() {
    let outcome = run_example("star-with-loss", &[]);
    let messages = outcome.verdict.messages;
    assert_eq!((messages.posted, messages.delivered), (640, 640));
    assert!(outcome.drops["fault_lost"] > 0 && outcome.drops["wire_damaged"] > 0);
    assert!(outcome.faults["duplicated"] > 0 && outcome.faults["delayed"] > 0);
    assert!(outcome.counted(Counter::FramesResent) > 0);
}

#[test]
fn a_short_all_to_all_crosses_the_tree() {
    let changes = [("nodes = 256", "nodes = 24"), ("ports = 33 ", "ports = 5 ")];
    let outcome = run_example("all-to-all-256", &changes);
    assert_eq!(outcome.verdict.messages.delivered, 24 * 23 * 2);
}
