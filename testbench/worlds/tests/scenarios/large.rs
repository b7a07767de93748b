//! Large clusters in small: the sizes of docs/large-clusters.md that take seconds.

use cases::runs_long;
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

/// Nodes with the image for large clusters, and a program of theirs.
fn large(nodes: u32, program: &str) -> String {
    format!(
        "board = \"lanai9.1-133\"\nimage = \"gm-large\"\nprofile = \"gm-paper-lanai9.1-133\"\n\
         network = {{ topology = \"clos\", nodes = {nodes}, ports = 32 }}\ncosts = {{ \"host.cpus\" = 4 }}\n\
         [[program]]\nnodes = \"all\"\n{program}\n"
    )
}

/// Groups of all-to-all broadcasts with more members than the usual images know, on few nodes, also where packets get lost.
#[test]
fn more_than_256_members_broadcast_from_all_to_all() {
    if !built() {
        return;
    }
    for (algorithm, bytes, loss, rounds) in [
        ("recursive-doubling", 4, 0.0, 2),
        ("recursive-doubling", 40, 0.002, 2),
        ("concurrent-broadcasting", 64, 0.0005, 1),
    ] {
        let program = format!(
            "run = \"all-to-all-broadcast\"\non = \"nic\"\nper_node = 4\nrounds = {rounds}\nalgorithm = \"{algorithm}\"\nbytes = {bytes}"
        );
        let text = format!("{}[faults]\nloss = {loss}\n", large(65, &program));
        let outcome = super::good(&text);
        let results = outcome.results::<CollectiveUse>();
        assert_eq!(
            (results[0].members, results[0].rounds),
            (260, rounds),
            "{text}"
        );
        let lost: u64 = outcome.faults.values().sum();
        assert_eq!(lost != 0, loss != 0.0, "{text}: {:?}", outcome.faults);
    }
}

/// Every operation of boards on more nodes than the usual images know, in few rounds.
#[test]
fn more_than_1024_nodes_execute_every_operation() {
    if !built() || !runs_long("operations of 1,056 boards") {
        return;
    }
    for program in [
        "run = \"barrier\"",
        "run = \"barrier\"\nalgorithm = \"gather-broadcast\"\ndegree = 8",
        "run = \"reduction\"\nalgorithm = \"tree\"\ndegree = 4",
        "run = \"all-to-all-broadcast\"\nbytes = 4",
    ] {
        let program = format!("{program}\non = \"nic\"\nrounds = 2");
        let outcome = super::good(&large(1056, &program));
        let results = outcome.results::<CollectiveUse>();
        let found = (results[0].members, results[0].rounds);
        assert_eq!(found, (1056, 2), "{program}");
    }
    // A barrier of hosts is messages.
    let outcome = super::good(&large(1056, "run = \"barrier\"\nrounds = 2"));
    let results = outcome.results::<CollectiveUse>();
    assert_eq!(results[0].members, 1056);
}

/// The limits of the image, where the scenario is read, and of its board, where it is started.
#[test]
fn limits_of_large_clusters_are_explained() {
    let check = |text: &str, expected: &str| {
        let error = lanigon_workloads::parse("large.toml", text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    let barrier = "run = \"barrier\"\non = \"nic\"";
    let everyone = "run = \"all-to-all-broadcast\"\non = \"nic\"\nbytes = 4\nper_node = 4";
    check(
        &large(4097, barrier),
        "4097 nodes are more than 4096, for which GM's firmware keeps the state of peers",
    );
    check(
        &large(1030, everyone),
        "4120 members are more than 4096, among which boards broadcast from all to all",
    );
    assert!(lanigon_workloads::parse("large.toml", &large(1024, everyone)).is_ok());
    assert!(lanigon_workloads::parse("large.toml", &large(4096, barrier)).is_ok());
    // A few nodes with another image lower the limit.
    let groups = "[[node]]\nname = \"a\"\ncount = 1000\n[[node]]\nname = \"b\"\ncount = 25\nimage = \"gm\"\n[[program]]";
    let mixed = large(4, barrier)
        .replace("nodes = 4, ", "")
        .replace("[[program]]", groups);
    check(&mixed, "1025 nodes are more than 1024");
    if !built() {
        return;
    }
    let small = large(4, barrier).replace("network", "board_memory_kb = 1024\nnetwork");
    let outcome = super::run(&small, &RunOptions::default());
    let problems = outcome.problems.join("\n");
    assert!(
        problems.contains("the board has 0x100000 bytes of memory, GM needs"),
        "{problems}"
    );
}
