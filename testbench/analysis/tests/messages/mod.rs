//! Messages decoded from events, and their ledgers.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod gm;
mod ledgers;
mod ways;

use std::sync::Arc;

use emulator::sim::world::RunEnd;
use lanigon_analysis::ledger::{Activities, Ledger};
use lanigon_analysis::messages::{Message, Messages};
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use lanigon_worlds::wire_times::FrameTimes;

/// Images of all schemes.
const IMAGES: [&str; 7] = [
    "emp-base",
    "emp-so",
    "emp-ro",
    "emp-dsr",
    "emp-sr",
    "emp-dyn",
    "emp-dyn-n",
];

/// Messages of a scenario's run, and their ledgers.
#[track_caller]
fn run(text: &str) -> (Vec<Message>, Vec<Ledger>) {
    let scenario = Scenario::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let mut simulation = Simulation::new(&scenario).unwrap_or_else(|error| panic!("{error}"));
    let profile = Arc::clone(&simulation.profiles[0]);
    let times = FrameTimes::from_profile(&profile).unwrap();
    let seen = Messages::new(&profile.host);
    simulation.world.observe(Box::new(seen.clone()));
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(simulation.world.finish_observing().is_empty());
    let works = seen.take_works();
    let messages = seen.take();
    let ledgers = Activities::new(&times, &messages, works).ledgers(&messages);
    (messages, ledgers)
}

/// Two nodes on a cable, or more on a switch, followed by more text.
fn network(image: &str, nodes: u32, more: &str) -> String {
    let topology = match nodes {
        2 => "topology = \"pair\"".into(),
        nodes => format!("topology = \"star\"\nnodes = {nodes}"),
    };
    let board = if image == "emp-dyn-n" {
        "tigon-n"
    } else {
        "tigon2"
    };
    format!("board = \"{board}\"\nimage = \"{image}\"\n[network]\n{topology}\n{more}")
}
