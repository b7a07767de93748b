//! Scenarios that several ranks share: hash and report are those of one process.

use std::thread;

use emulator::sim::ranks::{RankError, Ranks, Transport, channels};
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::document::RunDocument;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::shared;
use lanigon_worlds::simulation::{Blueprint, RunOptions, Simulation};

fn scenario(text: &str) -> Scenario {
    lanigon_workloads::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn run(
    transport: Box<dyn Transport>,
    blueprint: &Blueprint,
    options: &RunOptions,
) -> Result<RunSummary, RankError> {
    let mut simulation: Simulation = blueprint.build().unwrap();
    let mut ranks = Ranks::new(transport, &mut simulation.world);
    simulation.run_shared(&mut ranks, options, |_| {})
}

/// The report as users see it.
fn report(scenario: &Scenario, outcome: &RunSummary) -> String {
    let document = RunDocument::new("test.toml".into(), scenario, outcome);
    serde_json::to_string_pretty(&document).unwrap()
}

/// Runs a scenario in one process and with these numbers of ranks, and compares the reports. Returns the result.
#[track_caller]
fn compare(text: &str, numbers: &[usize], options: &RunOptions) -> RunSummary {
    let scenario = scenario(text);
    shared::check(&scenario).unwrap();
    let blueprint = Blueprint::new(&scenario).unwrap();
    let expected = blueprint.build().unwrap().run(options, |_| {});
    let expected_text = report(&scenario, &expected);
    for &ranks in numbers {
        let outcomes: Vec<_> = thread::scope(|scope| {
            let threads = channels(ranks).into_iter().map(|transport| {
                let blueprint = &blueprint;
                scope.spawn(move || run(Box::new(transport), blueprint, options))
            });
            let threads: Vec<_> = threads.collect();
            let ends = threads.into_iter().map(|thread| thread.join().unwrap());
            ends.collect()
        });
        for outcome in outcomes {
            let outcome = outcome.unwrap();
            assert_eq!(report(&scenario, &outcome), expected_text, "{ranks} ranks");
            assert_eq!(outcome.end, expected.end, "{ranks} ranks");
            assert_eq!(outcome.verdict, expected.verdict, "{ranks} ranks");
        }
    }
    expected
}

/// As [`compare`], of a scenario that ends well.
#[track_caller]
fn check(text: &str, numbers: &[usize]) {
    let outcome = compare(text, numbers, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    assert!(outcome.is_good(), "{:?}", outcome.problems);
}

#[test]
fn emp_on_a_switch_with_faults() {
    let text = "
seed = 4
[emp]
timeout_us = 500
[network]
topology = \"star\"
nodes = 7
switch = { forwarding = \"store-and-forward\", latency_ns = 1000, buffer_bytes = 131072 }
[[program]]
run = \"all-to-all\"
nodes = \"all\"
messages = 4
bytes = [64, 9000]
[faults]
loss = 0.02
duplication = 0.01
corruption = 0.01
delay = 0.02
[[fault]]
do = \"drop\"
frame = \"ack\"
from = 2
";
    check(text, &[1, 2, 3]);
}

#[test]
fn gm_on_a_clos_network() {
    let text = "
board = \"lanai9.2-200\"
[network]
topology = \"clos\"
nodes = 16
ports = 8
[[program]]
run = \"all-to-all\"
nodes = \"all\"
messages = 2
bytes = [64, 4096]
window = 8
[faults]
loss = 0.001
";
    check(text, &[1, 2, 3]);
}

#[test]
fn many_pairs() {
    let mut text = String::from("[network]\ntopology = \"custom\"\n");
    for node in 0..10 {
        text += &format!("[[node]]\nname = \"n{node}\"\n");
    }
    for pair in 0..5 {
        let [a, b] = [2 * pair, 2 * pair + 1];
        text += &format!("[[link]]\nbetween = [\"n{a}\", \"n{b}\"]\n");
        text += &format!("[[program]]\nrun = \"ping-pong\"\nnodes = [{a}, {b}]\n");
        text += &format!("messages = {}\nbytes = 1000\n", 5 + 7 * pair);
    }
    check(&text, &[1, 2, 3]);
}

/// The examples with other programs, protocols, media and faults.
#[test]
fn examples() {
    for (name, ranks) in [
        ("restart", 2),
        ("fm-multicast", 3),
        ("gm-collectives", 2),
        ("mpi", 3),
        ("dsm", 2),
        ("acenic-star", 2),
        ("gm-ethernet", 2),
    ] {
        let path = format!("{}/../../scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        check(&std::fs::read_to_string(path).unwrap(), &[ranks]);
    }
}

#[test]
fn atomic_operations_and_a_lock() {
    let text = "
board = \"lanai9.1-133\"
[network]
topology = \"star\"
nodes = 9
[[program]]
run = \"atomics\"
nodes = [\"0..5\"]
homes = [\"0..2\"]
words = 2
count = 10
[[program]]
run = \"lock\"
nodes = [\"5..9\"]
home = 6
count = 5
hold_us = 5
";
    check(text, &[2]);
}

/// A receiver without a sender waits for ever; a time limit ends a run in the middle.
#[test]
fn other_ends() {
    if !cases::runs_long("other ends") {
        return;
    }
    let star = "[network]\ntopology = \"star\"\nnodes = 5\n";
    let program =
        "[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 20\nbytes = 5000\n";
    let limit = format!("max_time_us = 700\n{star}{program}");
    let outcome = compare(&limit, &[2, 3], &RunOptions::default());
    assert!(matches!(&outcome.end, RunEnd::TimeLimit(lines) if lines.len() > 5));
    assert!(outcome.verdict.messages.unfinished > 0);
    let early = RunOptions {
        max_time: Some(SimTime::from_us(40)),
        ..RunOptions::default()
    };
    compare(&format!("{star}{program}"), &[2], &early);
    let cut = "[[fault]]\ndo = \"cut\"\nnodes = 0\nat_us = 300\n";
    let outcome = compare(
        &format!("{star}{program}{cut}"),
        &[2],
        &RunOptions::default(),
    );
    assert!(outcome.verdict.messages.failed_with_status > 0);
}

#[test]
fn threads_within_ranks_change_nothing() {
    let text = "[network]\ntopology = \"star\"\nnodes = 24\n[[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 5\nmax_bytes = 4000\n";
    let options = RunOptions {
        threads: 2.try_into().unwrap(),
        ..RunOptions::default()
    };
    compare(text, &[2], &options);
}

#[test]
fn what_needs_one_process_is_refused() {
    for (text, reason) in [
        (
            "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"start\"\nnodes = \"all\"\n",
            "test.toml:4: program.run: \"start\" needs one process",
        ),
        (
            "board = \"lanai9.1-133\"\n[gm]\nroutes = \"mapper\"\n[network]\ntopology = \"star\"\nnodes = 3\n[[program]]\nrun = \"idle\"\nnodes = \"all\"\n",
            "gm.routes = \"mapper\" of node 2 needs one process",
        ),
    ] {
        let error = shared::check(&scenario(text)).unwrap_err();
        assert!(error.to_string().ends_with(reason), "{error}");
    }
}
