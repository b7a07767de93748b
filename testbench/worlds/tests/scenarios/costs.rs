//! `[costs]`: entries of a timing profile with other values.

use lanigon_worlds::scenario::{Scenario, ScenarioError};
use lanigon_worlds::simulation::{Blueprint, RunOptions, inputs};

const PAIR: &str = "[network]\ntopology = \"pair\"\n\
    [[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 20\nbytes = 1000\n";

fn scenario(costs: &str) -> Scenario {
    lanigon_workloads::parse("s", &format!("{PAIR}{costs}")).unwrap()
}

#[test]
fn a_run_takes_the_costs_of_the_scenario() {
    let run = |costs: &str| super::run(&format!("{PAIR}{costs}"), &RunOptions::default());
    let (plain, same, fast) = (
        run(""),
        run("[costs.core]\nclock = 88_000_000\n"),
        run("[costs.core]\nclock = 176_000_000\n"),
    );
    assert_eq!(plain.trace_hash, same.trace_hash);
    let latency = |of: &lanigon_worlds::simulation::result::RunSummary| {
        of.verdict.latency_us(50).expect("messages")
    };
    assert!(
        latency(&fast) < 0.8 * latency(&plain),
        "{} {}",
        latency(&fast),
        latency(&plain)
    );
}

#[test]
fn inputs_differ_with_costs() {
    let describe = |costs: &str| inputs::describe(&scenario(costs)).unwrap();
    assert_eq!(describe(""), describe("[costs.core]\nclock = 88_000_000\n"));
    assert_ne!(describe(""), describe("[costs.core]\nclock = 88_000_001\n"));
}

#[test]
fn wrong_costs_are_refused_with_their_position() {
    let check = |costs: &str, expected: &str| {
        let scenario = scenario(costs);
        let of = |found: Result<(), ScenarioError>| found.unwrap_err().to_string();
        let described = of(inputs::describe(&scenario).map(|_| ()));
        assert!(described.starts_with(expected), "{described}");
        assert_eq!(described, of(Blueprint::new(&scenario).map(|_| ())));
    };
    check(
        "[costs.core]\nclok = 1e8\n",
        "s:9: costs.core.clok: no entry of profile tigon2-88mhz \"core.clok\"; did you mean \"core.clock\"?",
    );
    check("[costs.core]\nclock = 1\n", "s:9: costs.core.clock: ");
    check(
        "[costs]\ncore.sram_load = 1.5\n",
        "s:9: costs.core.sram_load: profile \"tigon2-88mhz\": core.sram_load = 1.5 cycles: it must be a whole number",
    );
    check(
        "[costs.stages]\n\"send frame\" = 1.0\n",
        "s:9: costs.stages.send frame: no entry",
    );
}
