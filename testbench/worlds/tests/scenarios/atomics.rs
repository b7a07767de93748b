//! Scenarios with atomic operations and locks.

use lanigon_workloads::atomic::AtomicUse;
use std::sync::atomic::{AtomicU64, Ordering};

use defs::gm::atomic::{ANSWER_BYTES, ANSWERS};
use emulator::board::CpuId;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use lanigon_worlds::simulation::{RunOptions, Simulation};

use super::gm::built;
use super::good;

/// Nodes with a LANai around a crossbar, and a program of theirs.
fn text(nodes: u32, program: &str) -> String {
    on_board("board = \"lanai9.1-133\"", nodes, program)
}

fn on_board(board: &str, nodes: u32, program: &str) -> String {
    format!(
        "{board}\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\nnodes = \"all\"\n{program}"
    )
}

#[test]
fn every_program_runs_and_is_checked() {
    if !built() {
        return;
    }
    let waits = [
        "on = \"nic\"",
        "reply = \"memory\"",
        "mutex = true",
        "reply = \"memory\"\nmutex = true",
        "on = \"host\"\nwait = \"poll\"",
        "on = \"host\"\nwait = \"spin-block\"",
        "on = \"host\"\nwait = \"block\"",
    ];
    let programs = [
        "run = \"atomics\"",
        "run = \"atomics\"\nhomes = 1\nwords = 1\noperations = \"fetch-add\"",
        "run = \"atomics\"\nhomes = [0, 2]\noperations = \"fetch-write\"\nthink_us = 3\nvariation = 50",
        "run = \"atomics\"\nwords = 512\noperations = \"compare-swap\"",
        "run = \"atomics\"\nwords = 1\noperations = \"compare-swap-miss\"",
        "run = \"lock\"",
        "run = \"lock\"\nhome = 2\nhold_us = 4\nthink_us = 9\nvariation = 100",
    ];
    for board in [
        "board = \"lanai9.1-133\"",
        "board = \"tigon2\"\nprotocol = \"gm\"",
    ] {
        for program in programs {
            for on in waits {
                let text = on_board(board, 3, &format!("{program}\n{on}\ncount = 10\n"));
                let outcome = good(&text);
                let [result] = &outcome.results::<AtomicUse>()[..] else {
                    panic!("{text}: {:?}", outcome.results::<AtomicUse>());
                };
                let counts = (result.members, result.operations.min(30), result.pending);
                assert_eq!(counts, (3, 30, 0), "{text}");
                assert!(result.p50_us <= result.p99_us, "{result:?}");
                let is_lock = program.contains("lock");
                assert_eq!(result.uses, if is_lock { 30 } else { 0 });
            }
        }
    }
}

/// A home that is no member takes no part but gives its memory, and one CPU serves its programs in turn.
#[test]
fn a_home_need_not_be_a_member_and_programs_share_a_cpu() {
    if !built() {
        return;
    }
    for on in ["nic", "host"] {
        let wait = if on == "host" {
            "wait = \"block\"\n"
        } else {
            ""
        };
        let program =
            format!("run = \"lock\"\non = \"{on}\"\n{wait}home = 0\ncount = 10\nhold_us = 2\n");
        let text = text(3, &program).replace("\"all\"", "[1, 2]");
        let many = good(&text);
        let one = good(&format!("{text}[costs]\n\"host.cpus\" = 1\n"));
        let [many, one] = [many, one].map(|outcome| outcome.results::<AtomicUse>()[0].clone());
        assert_eq!((many.members, many.uses, one.uses), (2, 20, 20));
        match on {
            // A board needs no CPU of its host.
            "nic" => assert_eq!(many, one),
            _ => assert!(one.mean_us > many.mean_us, "{one:?} {many:?}"),
        }
    }
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let error = lanigon_workloads::parse("test.toml", text)
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn wrong_keys_are_explained() {
    let program = |more: &str| text(3, more);
    refused(
        &program("run = \"atomics\"\nwords = 0\n"),
        "0 is not between 1 and 512",
    );
    refused(
        &program("run = \"atomics\"\noperations = \"swap\"\n"),
        "no operation \"swap\"",
    );
    refused(
        &program("run = \"atomics\"\nwait = \"block\"\n"),
        "it is servers on hosts that wait for requests: on = \"host\"",
    );
    refused(
        &program("run = \"lock\"\non = \"host\"\nmutex = true\n"),
        "reply and mutex are settings of boards: on = \"nic\"",
    );
    refused(&program("run = \"atomics\"\nhomes = 3\n"), "program.homes");
    refused(&program("run = \"lock\"\nhomes = 1\n"), "no key \"homes\"");
    refused(&program("run = \"lock\"\nwords = 1\n"), "no key \"words\"");
    refused(
        &program("run = \"lock\"\ncount = 5\nwarm_up = 5\n"),
        "5 (count) times in all, of which 5 (warm_up) do not count",
    );
    refused(
        &program("run = \"lock\"\ncount = 0\n"),
        "0 is not between 1 and 1000000",
    );
    let emp =
        "[network]\ntopology = \"star\"\nnodes = 2\n[[program]]\nrun = \"lock\"\nnodes = \"all\"\n";
    refused(emp, "lock needs GM, and node 0 runs EMP");
    let beside = format!(
        "{}[[program]]\nrun = \"idle\"\nnodes = 1\n",
        program("run = \"lock\"\n")
    );
    refused(&beside, "runs lock already");
    let reset = format!(
        "{}[[fault]]\ndo = \"reset\"\nnode = 0\nat_us = 5\n",
        program("run = \"lock\"\n")
    );
    refused(&reset, "lock does not go on without one of its nodes");
}

#[test]
fn a_board_without_memory_for_operations_says_so() {
    if !built() {
        return;
    }
    let text = on_board(
        "board = \"lanai4.3-33\"\nboard_memory_kb = 512",
        2,
        "run = \"lock\"\n",
    );
    let outcome = super::run(&text, &RunOptions::default());
    let expected = "the board has no memory for collective and atomic operations";
    let said = outcome.problems.iter().any(|text| text.contains(expected));
    assert!(said, "{:?}", outcome.problems);
}

/// A history of random operations of 16 nodes on four words, over cables that lose, double and delay packets.
fn history(seed: u64) -> String {
    let program = "run = \"atomics\"\nhomes = [3, 8]\nwords = 2\ncount = 12\n[gm]\nresend_us = 500\n[faults]\nloss = 0.05\nduplication = 0.05\ndelay = 0.1\n";
    format!("seed = {seed}\n{}", text(16, program))
}

#[track_caller]
fn check_history(seed: u64) {
    let outcome = good(&history(seed));
    let result = &outcome.results::<AtomicUse>()[0];
    assert_eq!((result.operations, result.words), (192, 4), "seed {seed}");
    assert!(outcome.faults["lost"] > 0 && outcome.faults["duplicated"] > 0);
}

#[test]
fn histories_over_bad_cables_are_linearizable() {
    if !built() {
        return;
    }
    (1..=3).for_each(check_history);
}

/// `LANIGON_HISTORIES=SEEDS`, or `FIRST:SEEDS`: that many histories.
#[test]
fn many_histories_over_bad_cables() {
    let Ok(wanted) = std::env::var("LANIGON_HISTORIES") else {
        return;
    };
    assert!(built());
    let (first, count) = wanted.split_once(':').unwrap_or(("0", &wanted));
    let (first, count): (u64, u64) = (first.parse().unwrap(), count.parse().unwrap());
    let next = AtomicU64::new(first);
    let run = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return;
            }
            check_history(seed);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, Into::into);
        for _ in 0..threads {
            scope.spawn(run);
        }
    });
    println!("{count} histories of 16 nodes from seed {first} on: all linearizable");
}

/// The check finds boards that forget their answers: packets that come again are executed again.
#[test]
fn a_board_without_its_answers_is_found() {
    if !built() {
        return;
    }
    let scenario = lanigon_workloads::parse("test.toml", &history(1)).unwrap();
    let mut simulation = Simulation::new(&scenario).unwrap();
    let nothing = vec![0; (16 * ANSWER_BYTES) as usize];
    for step in 1..20_000 {
        let limits = RunLimits {
            max_time: Some(SimTime::from_us(10 * step)),
            ..RunLimits::default()
        };
        if !matches!(simulation.world.run(&limits), RunEnd::TimeLimit(_)) {
            break;
        }
        for home in [3, 8] {
            let node = &mut simulation.world.nodes[home];
            node.poke(CpuId::default(), ANSWERS, &nothing).unwrap();
        }
    }
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    let expected = "are in no order that explains their results";
    let found = outcome
        .problems
        .iter()
        .filter(|text| text.contains(expected));
    assert!(found.count() > 0, "{:?}", outcome.problems);
    assert!(!outcome.is_good());
}
