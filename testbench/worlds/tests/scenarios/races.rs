//! Races: found where firmware has them, and only there; mutated firmware is caught.

use cases::runs_long;
use emulator::sim::time::SimTime;
use lanigon_worlds::files::own;
use lanigon_worlds::races::RaceReport;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};

/// A scenario of the project, with another image.
pub(super) fn with_image(name: &str, image: &str) -> Simulation {
    let path = own::project_scenarios().join(format!("{name}.toml"));
    let mut scenario = lanigon_workloads::load(&path).unwrap();
    for node in &mut scenario.nodes {
        image.clone_into(&mut node.image.name);
    }
    Simulation::new(&scenario).unwrap()
}

/// A scenario of the project, with `emp-dyn-n` on boards with so many CPUs.
fn with_cpus(name: &str, cpus: u32) -> Simulation {
    let path = own::project_scenarios().join(format!("{name}.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    let board = "board = \"tigon-n\"\nimage = \"emp-dyn-n\"";
    let text = format!("{board}\n{text}\n[costs]\ncore.cpus = {cpus}\n");
    Simulation::new(&lanigon_workloads::parse(name, &text).unwrap()).unwrap()
}

fn look(mut simulation: Simulation) -> RunSummary {
    simulation.look_for_races().unwrap();
    simulation.run(&RunOptions::default(), |_| {})
}

/// The races of a run, each as both functions with what they do, without paths.
fn pairs(races: &RaceReport) -> Vec<String> {
    let rows = races.rows.iter();
    let pair = |row: &lanigon_worlds::races::RaceRow| {
        let side = |access: &lanigon_worlds::races::RacingAccess| {
            let function = access.function.as_deref().unwrap_or_default();
            let function = function.rsplit("::").next().unwrap_or_default();
            let verb = if access.writes { "writes" } else { "reads" };
            format!("{} {verb} in {function}", access.by)
        };
        let [first, second] = &row.accesses;
        format!("{}: {}, {}", row.place, side(first), side(second))
    };
    rows.map(pair).collect()
}

#[test]
fn the_race_of_two_cpus_is_found_long_before_it_does_harm() {
    // 400 us after the start of the programs each CPU has made a few updates, and none is lost.
    let mut simulation = with_image("race", "race-two-cpus");
    simulation.look_for_races().unwrap();
    let options = RunOptions {
        max_time: Some(SimTime::from_us(400)),
        ..RunOptions::default()
    };
    let outcome = simulation.run(&options, |_| {});
    assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
    assert!(!outcome.is_good());
    let found = pairs(outcome.races.as_ref().unwrap());
    assert_eq!(
        found,
        [
            "sram > 0x200: cpu_a writes in take_buffer, cpu_b reads in give_back",
            "sram > 0x200: cpu_a writes in take_buffer, cpu_b writes in give_back",
        ]
    );
}

#[test]
fn both_calls_of_a_race_are_told() {
    let path = own::project_scenarios().join("race.toml");
    let scenario = lanigon_workloads::load(&path).unwrap();
    let outcome = look(Simulation::new(&scenario).unwrap());
    let mut races = outcome.races.unwrap();
    races
        .add_calls(&scenario, &std::sync::Arc::default())
        .unwrap();
    let first = &races.rows[0];
    for (access, caller) in first.accesses.iter().zip(["on_timer", "on_buffer"]) {
        let calls = access.calls.join("\n");
        assert!(calls.contains(caller), "{calls}");
    }
}

/// Firmware without races, and scenarios in which its CPUs meet in all ways.
const FREE: [(&str, &str); 10] = [
    ("race", "race-two-cpus-fixed"),
    ("race", "queue-two-cpus"),
    ("race", "semaphore-two-cpus"),
    ("restart", "emp-so"),
    ("restart", "emp-ro"),
    ("restart", "emp-dsr"),
    ("restart", "emp-sr"),
    ("restart", "emp-dyn"),
    ("gm-ethernet", "gm-tigon2-two"),
    ("gm-ethernet", "gm-tigon2-coll"),
];
/// More of them, which take longer.
const FREE_TOO: [(&str, &str); 11] = [
    ("star-with-loss", "emp-so"),
    ("star-with-loss", "emp-ro"),
    ("star-with-loss", "emp-dsr"),
    ("star-with-loss", "emp-sr"),
    ("star-with-loss", "emp-dyn"),
    ("flow-control", "emp-so"),
    ("flow-control", "emp-ro"),
    ("flow-control", "emp-dsr"),
    ("flow-control", "emp-sr"),
    ("flow-control", "emp-dyn"),
    ("acenic-star", "acenic"),
];

#[track_caller]
fn is_free(scenario: &str, image: &str) {
    have_no_race(&format!("{scenario}, {image}"), || {
        with_image(scenario, image)
    });
}

#[track_caller]
fn have_no_race(what: &str, simulation: impl Fn() -> Simulation) {
    let plain = simulation().run(&RunOptions::default(), |_| {});
    assert!(plain.is_good(), "{what}");
    let outcome = look(simulation());
    assert_eq!(outcome.trace_hash, plain.trace_hash, "{what}");
    let races = outcome.races.unwrap();
    assert!(races.is_empty(), "{what}: {:#?}", pairs(&races));
}

#[test]
fn our_firmware_for_two_cpus_has_no_race_and_results_do_not_change() {
    for (scenario, image) in FREE {
        is_free(scenario, image);
    }
}

#[test]
fn nor_has_it_on_other_numbers_of_cpus() {
    for cpus in [1, 5] {
        have_no_race(&format!("{cpus} CPUs"), || with_cpus("restart", cpus));
    }
}

#[test]
fn nor_has_it_under_losses() {
    if !runs_long("races under losses") {
        return;
    }
    for (scenario, image) in FREE_TOO {
        is_free(scenario, image);
    }
    for scenario in ["restart", "star-with-loss", "flow-control"] {
        for cpus in [2, 3, 8] {
            have_no_race(&format!("{scenario}, {cpus} CPUs"), || {
                with_cpus(scenario, cpus)
            });
        }
    }
}

/// Collective operations and messages with losses, where either CPU makes steps of operations, and where SEND's makes all.
#[test]
fn nor_have_collective_operations_on_two_cpus() {
    for image in ["gm-tigon2-coll", "gm-tigon2-two"] {
        for operation in [
            "run = \"barrier\"",
            "run = \"barrier\"\nalgorithm = \"gather-broadcast\"\ndegree = 3",
            "run = \"reduction\"",
            "run = \"reduction\"\nall = true",
        ] {
            no_races(image, operation, 0.02);
        }
        for algorithm in ["recursive-doubling", "concurrent-broadcasting"] {
            let operation =
                format!("run = \"all-to-all-broadcast\"\nbytes = 200\nalgorithm = \"{algorithm}\"");
            no_races(image, &operation, 0.02);
        }
    }
}

/// Gets, atomic operations and pages that are fetched on one CPU and sent on the other.
#[test]
fn nor_have_message_passing_and_shared_memory_on_two_cpus() {
    for image in ["gm-tigon2-coll", "gm-tigon2-two"] {
        for program in [
            "run = \"mpi\"\nbenchmark = \"stencil\"\npoints = 48\nsteps = 10",
            "run = \"dsm\"\napplication = \"integer-sort\"\nsize = 5000\nrepeats = 2\nprotocol = \"ardmar\"\ndiffs = \"put\"\n\
             locks = \"atomic\"\nbarriers = \"nic\"",
        ] {
            no_races_in(
                image,
                &format!(
                    "[network]\ntopology = \"star\"\nnodes = 4\n[[program]]\nnodes = \"all\"\n{program}\n"
                ),
            );
        }
    }
}

#[track_caller]
fn no_races(image: &str, operation: &str, loss: f64) {
    let text = format!(
        "[gm]\nresend_us = 1000\n\
         [network]\ntopology = \"star\"\nnodes = 7\n[faults]\nloss = {loss:?}\n\
         [[program]]\nnodes = \"all\"\non = \"nic\"\nrounds = 60\n{operation}\n\
         [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 60\nmax_bytes = 5000\n"
    );
    let outcome = no_races_in(image, &text);
    assert!(loss == 0.0 || outcome.faults["lost"] > 0, "{operation}");
}

#[track_caller]
fn no_races_in(image: &str, run: &str) -> RunSummary {
    let text = format!("board = \"tigon2\"\nprotocol = \"gm\"\nimage = \"{image}\"\n{run}");
    let scenario = lanigon_workloads::parse("races", &text).unwrap();
    let outcome = look(Simulation::new(&scenario).unwrap());
    assert!(
        outcome.problems.is_empty(),
        "{text}: {:?}",
        outcome.problems
    );
    let races = outcome.races.as_ref().unwrap();
    assert!(races.is_empty(), "{text}: {:#?}", pairs(races));
    outcome
}
