//! Large clusters in small: the sizes of docs/large-clusters.md that take seconds.

use emulator::sim::world::RunEnd;
use lanigon_workloads::collective::CollectiveUse;
use lanigon_worlds::simulation::RunOptions;
use lanigon_worlds::simulation::result::RunSummary;

use super::gm::built;

/// Barriers of boards on a Clos network of crossbars with 32 ports.
fn barriers(nodes: u32, more: &str, options: &RunOptions) -> RunSummary {
    let text = format!(
        "board = \"lanai9.1-133\"\nprofile = \"gm-paper-lanai9.1-133\"\n\
         network = {{ topology = \"clos\", nodes = {nodes}, ports = 32 }}\ncosts = {{ \"host.cpus\" = 4 }}\n\
         [[program]]\nrun = \"barrier\"\nnodes = \"all\"\non = \"nic\"\n{more}\n"
    );
    let outcome = super::run(&text, options);
    assert_eq!(outcome.end, RunEnd::Completed, "{nodes} nodes");
    assert!(outcome.is_good(), "{nodes} nodes: {:?}", outcome.problems);
    outcome
}

/// A doubling of the nodes adds one step of about equal length, and a run repeats on another number of threads.
#[test]
fn barriers_of_256_boards_grow_with_the_logarithm() {
    if !built() {
        return;
    }
    let on = |threads| RunOptions {
        threads: std::num::NonZeroUsize::new(threads).unwrap(),
        ..RunOptions::default()
    };
    let time = |outcome: &RunSummary| {
        let [result] = &outcome.results::<CollectiveUse>()[..] else {
            panic!("{:?}", outcome.results::<CollectiveUse>());
        };
        result.mean_us
    };
    let rounds = "rounds = 5";
    let all = [64, 128, 256].map(|nodes| barriers(nodes, rounds, &on(1)));
    let [first, second, third] = [0, 1, 2].map(|at| time(&all[at]));
    for step in [second - first, third - second] {
        assert!((3.0..8.0).contains(&step), "{first}, {second}, {third}");
    }
    assert!((40.0..55.0).contains(&third), "{third}");
    let again = barriers(256, rounds, &on(2));
    assert_eq!(again.trace_hash, all[2].trace_hash);
    assert_eq!(time(&again), third);
}

/// More members than nodes can be: four processes of each, with a processor for each.
#[test]
fn more_than_1024_processes_meet() {
    if !built() {
        return;
    }
    let outcome = barriers(260, "per_node = 4\nrounds = 2", &RunOptions::default());
    let results = outcome.results::<CollectiveUse>();
    assert_eq!((results[0].members, results[0].rounds), (1040, 2));
}
