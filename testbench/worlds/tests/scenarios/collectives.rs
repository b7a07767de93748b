//! Scenarios with collective operations.

use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_workloads::collective::CollectiveUse;
use lanigon_worlds::simulation::RunOptions;

use super::gm::built;

/// Nodes with a LANai around a crossbar, and a program of theirs.
fn text(nodes: u32, program: &str) -> String {
    format!(
        "board = \"lanai9.1-133\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\nnodes = \"all\"\n{program}"
    )
}

#[test]
fn every_algorithm_runs_and_is_checked() {
    if !built() {
        return;
    }
    let programs = [
        "run = \"barrier\"",
        "run = \"barrier\"\nalgorithm = \"gather-broadcast\"\ndegree = 3\nroot = 2",
        "run = \"barrier\"\ncompute_us = 50\nvariation = 20",
        "run = \"reduction\"",
        "run = \"reduction\"\nalgorithm = \"tree\"\ndegree = 1\noperation = \"max\"\ntype = \"float\"\nroot = 4",
        "run = \"reduction\"\noperation = \"and\"\nskew_us = 200",
        "run = \"reduction\"\nskew_us = 200\nskew = \"exponential\"",
        "run = \"barrier\"\non = \"nic\"\nskew_us = 200\nskew = \"one-late\"",
        "run = \"all-to-all-broadcast\"\nbytes = 4",
        "run = \"all-to-all-broadcast\"\nbytes = 3000\nalgorithm = \"ring\"",
        "run = \"random-collectives\"\nbytes = 300",
        "run = \"barrier\"\non = \"nic\"",
        "run = \"barrier\"\nalgorithm = \"gather-broadcast\"\ndegree = 3\nroot = 2\non = \"nic\"",
        "run = \"reduction\"\non = \"nic\"",
        "run = \"reduction\"\non = \"nic\"\nalgorithm = \"tree\"\ndegree = 1\noperation = \"min\"\ntype = \"float\"\nroot = 4",
        "run = \"reduction\"\non = \"nic\"\nall = true\noperation = \"or\"\nskew_us = 100",
        "run = \"all-to-all-broadcast\"\nbytes = 3\non = \"nic\"",
        "run = \"all-to-all-broadcast\"\nbytes = 9000\non = \"nic\"\nalgorithm = \"concurrent-broadcasting\"",
        "run = \"random-collectives\"\nbytes = 300\non = \"nic\"",
    ];
    for program in programs {
        let text = text(5, &format!("{program}\nrounds = 20\n"));
        let outcome = super::run(&text, &RunOptions::default());
        assert_eq!(outcome.end, RunEnd::Completed, "{program}");
        assert!(outcome.is_good(), "{program}: {:?}", outcome.problems);
        let [result] = &outcome.results::<CollectiveUse>()[..] else {
            panic!("{program}: {:?}", outcome.results::<CollectiveUse>());
        };
        assert_eq!((result.members, result.rounds), (5, 20), "{program}");
        assert!(
            result.mean_us > 1.0 && result.p50_us <= result.p99_us,
            "{result:?}"
        );
        assert!(result.cpu_us > 0.1, "{result:?}");
    }
}

/// Two or four processes of each node are members of one group, beside a process with messages.
#[test]
fn a_node_has_several_members() {
    if !built() {
        return;
    }
    let programs = [
        "run = \"barrier\"\nper_node = 2",
        "run = \"barrier\"\non = \"nic\"\nper_node = 4",
        "run = \"barrier\"\non = \"nic\"\nper_node = 3\nalgorithm = \"gather-broadcast\"\nroot = 1",
        "run = \"reduction\"\nper_node = 3\nroot = 2\nskew_us = 20",
        "run = \"reduction\"\non = \"nic\"\nper_node = 2\nroot = 1",
        "run = \"reduction\"\non = \"nic\"\nper_node = 3\nall = true\ntype = \"float\"",
        "run = \"all-to-all-broadcast\"\nper_node = 2\nbytes = 50",
        "run = \"all-to-all-broadcast\"\non = \"nic\"\nper_node = 2\nbytes = 50",
        "run = \"random-collectives\"\non = \"nic\"\nper_node = 2\nbytes = 200",
    ];
    for program in programs {
        let text = text(3, &format!("{program}\nrounds = 20\n"));
        let text = format!(
            "{text}[[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 20\nmax_bytes = 3000\n"
        );
        let outcome = super::run(&text, &RunOptions::default());
        assert_eq!(outcome.end, RunEnd::Completed, "{program}: {outcome:?}");
        assert!(outcome.is_good(), "{program}: {:?}", outcome.problems);
        assert_eq!(outcome.verdict.messages.delivered, 60, "{program}");
        let [result] = &outcome.results::<CollectiveUse>()[..] else {
            panic!("{program}: {:?}", outcome.results::<CollectiveUse>());
        };
        let per_node = program.split("per_node = ").nth(1).unwrap();
        let per_node: usize = per_node[..1].parse().unwrap();
        assert_eq!(
            (result.members, result.rounds),
            (3 * per_node, 20),
            "{program}"
        );
    }
}

#[test]
fn a_run_repeats_bit_by_bit() {
    if !built() {
        return;
    }
    let program = "run = \"barrier\"\ncompute_us = 20\nvariation = 50\nrounds = 10\n";
    let run = |seed: u32| {
        let text = format!("seed = {seed}\n{}", text(4, program));
        let outcome = super::run(&text, &RunOptions::default());
        (
            outcome.trace_hash,
            outcome.result::<CollectiveUse>().cloned(),
        )
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let error = lanigon_workloads::parse("test.toml", text)
        .unwrap_err()
        .to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn impossible_groups_are_explained() {
    let program = |more: &str| text(3, more);
    check(
        &program("run = \"barrier\"\n").replace("\"all\"", "[0, 1, 0]"),
        "program.nodes: names node 0 twice",
    );
    let none = "run = \"barrier\"\nalgorithm = \"gather-broadcast\"\ndegree = 0\n";
    check(&program(none), "0 is not between 1 and 255");
    let none = "run = \"reduction\"\non = \"nic\"\nalgorithm = \"tree\"\ndegree = 0\n";
    check(&program(none), "0 is not between 1 and 9");
    check(
        &program("run = \"barrier\"\nper_node = 5\n"),
        "5 is not between 1 and 4",
    );
    let large = |count: u32, more: &str| {
        let one = "topology = \"clos\"\nports = 16";
        text(count, more).replace("topology = \"star\"", one)
    };
    check(
        &large(600, "run = \"reduction\"\non = \"nic\"\n"),
        "the root of a binomial tree of 600 members has 10 children, boards know at most 9",
    );
    check(
        &large(
            200,
            "run = \"all-to-all-broadcast\"\non = \"nic\"\nbytes = 4\nper_node = 2\n",
        ),
        "400 members are more than 256",
    );
    check(
        &large(
            300,
            "run = \"random-collectives\"\non = \"nic\"\nbytes = 4\n",
        ),
        "300 members are more than 256",
    );
    check(
        &large(1025, "run = \"barrier\"\nper_node = 4\n"),
        "1025 nodes are more than 1024, for which GM's firmware keeps the state of peers",
    );
    check(
        &text(2, "run = \"barrier\"\nper_node = 2\n").replace("star", "pair"),
        "messages between members of node 0 need a crossbar",
    );
}

#[test]
fn mistakes_are_explained() {
    let program = |more: &str| text(3, more);
    check(
        &program("run = \"reduction\"\nall = true\n"),
        "only boards give the result to all nodes",
    );
    check(
        &program("run = \"reduction\"\non = \"nic\"\nall = true\nroot = 1\n"),
        "no key \"root\"",
    );
    let ring = "run = \"all-to-all-broadcast\"\non = \"nic\"\nbytes = 4\nalgorithm = \"ring\"\n";
    check(
        &program(ring),
        "recursive-doubling and concurrent-broadcasting on the NIC",
    );
    let degree = "run = \"reduction\"\non = \"nic\"\nalgorithm = \"tree\"\ndegree = 10\n";
    check(&program(degree), "10 is not between 1 and 9");
    check(
        &program("run = \"random-collectives\"\n"),
        "\"bytes\" is missing",
    );
    check(
        &program("run = \"barrier\"\nalgorithm = \"ring\"\n"),
        "this program has the algorithms pairwise-exchange and gather-broadcast",
    );
    check(
        &program("run = \"reduction\"\noperation = \"or\"\ntype = \"float\"\n"),
        "and, or are operations on type = \"integer\"",
    );
    check(
        &program("run = \"all-to-all-broadcast\"\n"),
        "\"bytes\" is missing",
    );
    check(
        &program("run = \"barrier\"\nbytes = 3\n"),
        "no key \"bytes\"",
    );
    check(
        &program("run = \"barrier\"\nalgorithm = \"gather-broadcast\"\nroot = 3\n"),
        "3 is not between 0 and 2",
    );
    check(
        &text(3, "run = \"reduction\"\nroot = 2\n").replace("\"all\"", "[0, 1]"),
        "is none of the program's nodes",
    );
    let emp = "[network]\ntopology = \"pair\"\n[[program]]\nrun = \"barrier\"\nnodes = \"all\"\n";
    check(emp, "barrier needs GM, and node 0 runs EMP");
    check(
        &program(
            "run = \"barrier\"\n[[fault]]\ndo = \"reset\"\nnode = 0\nat_us = 1\npause_us = 1\n",
        ),
        "barrier does not go on without one of its nodes",
    );
}

/// Collective operations on boards while the same nodes exchange messages and packets get lost.
fn busy(rounds: u32, messages: u32, on: &str) -> String {
    format!(
        "board = \"lanai9.1-133\"\nmax_time_us = 10_000_000\n[network]\ntopology = \"star\"\nnodes = 8\n\
         [gm]\nresend_us = 500\n[faults]\nloss = 0.02\n\
         [[program]]\nrun = \"random-collectives\"\nnodes = \"all\"\non = \"{on}\"\nbytes = 600\nrounds = {rounds}\n\
         [[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = {messages}\nmax_bytes = 5000\n"
    )
}

#[test]
fn collectives_and_messages_share_boards_that_lose_packets() {
    if !built() {
        return;
    }
    for on in ["nic", "host"] {
        let outcome = super::run(&busy(150, 60, on), &RunOptions::default());
        assert_eq!(outcome.end, RunEnd::Completed, "{on}: {outcome:?}");
        assert!(outcome.is_good(), "{on}: {:?}", outcome.problems);
        assert_eq!(outcome.verdict.messages.delivered, 8 * 60, "{on}");
        let [result] = &outcome.results::<CollectiveUse>()[..] else {
            panic!("{on}: {:?}", outcome.results::<CollectiveUse>());
        };
        assert_eq!((result.members, result.rounds), (8, 150), "{on}");
    }
}

/// Leaves are told of the end of a reduction when their value has left, so they are ahead of their parents: the library waits for a free
/// descriptor of the board, however many reductions follow each other.
#[test]
fn members_go_ahead_of_the_root_of_reductions() {
    if !built() {
        return;
    }
    // A star's root keeps the early values of 24 rounds.
    let shapes = [
        ("degree = 7\nalgorithm = \"tree\"\nrounds = 24", 24),
        (
            "degree = 1\nalgorithm = \"tree\"\nroot = 7\nrounds = 200",
            200,
        ),
    ];
    for (shape, rounds) in shapes {
        let program = format!("run = \"reduction\"\non = \"nic\"\n{shape}\n");
        let outcome = super::run(&text(8, &program), &RunOptions::default());
        assert_eq!(outcome.end, RunEnd::Completed, "{shape}: {outcome:?}");
        assert!(outcome.is_good(), "{shape}: {:?}", outcome.problems);
        assert_eq!(
            outcome.results::<CollectiveUse>()[0].rounds,
            rounds,
            "{shape}"
        );
    }
}

#[test]
fn an_operation_that_cannot_end_fails_after_its_time() {
    if !built() {
        return;
    }
    // Node 2 computes longer than the others' boards wait for it.
    let text = text(
        3,
        "run = \"barrier\"\non = \"nic\"\nrounds = 2\nskew_us = 20_000\n",
    )
    .replace("[network]", "gm = { collective_us = 1000 }\n[network]");
    let outcome = super::run(&text, &RunOptions::default());
    assert!(!outcome.is_good(), "{outcome:?}");
    let problem = outcome.problems.first().map(String::as_str);
    let expected = "the board has ended an operation: ";
    assert!(
        problem.is_some_and(|text| text.contains(expected)),
        "{problem:?}"
    );
    // A round of 20 ms at most, and the limit of 1 ms.
    let used = outcome.simulated;
    assert!(used < SimTime::from_us(50_000), "{used:?}");
}

/// The mean time of one of 50 rounds of a program on boards of a Tigon2 with an image.
fn on_tigon2(image: &str, nodes: u32, program: &str) -> f64 {
    let board = format!("board = \"tigon2\"\nimage = \"{image}\"");
    let rounds = match program.contains("rounds") {
        true => "",
        false => "rounds = 50\n",
    };
    on_board(&board, nodes, &format!("{rounds}{program}"))
}

/// The mean time of a round of a program.
fn on_board(board: &str, nodes: u32, program: &str) -> f64 {
    let text = format!(
        "{board}\nprotocol = \"gm\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n\
         [[program]]\nnodes = \"all\"\n{program}\n"
    );
    let outcome = super::run(&text, &RunOptions::default());
    assert!(outcome.is_good(), "{text}: {:?}", outcome.problems);
    outcome.results::<CollectiveUse>()[0].period_us
}

/// Two CPUs that share each step of a barrier are slower than one; faster, if one of them makes the step (docs/gm-tigon2.md).
#[test]
fn a_second_cpu_helps_barriers_whose_steps_stay_on_one() {
    let barrier = "run = \"barrier\"\non = \"nic\"";
    for nodes in [2, 8, 32] {
        let one = on_tigon2("gm-tigon2", nodes, barrier);
        let two = on_tigon2("gm-tigon2-two", nodes, barrier);
        let steps = on_tigon2("gm-tigon2-coll", nodes, barrier);
        assert!(
            steps < 0.9 * one && one < two,
            "{nodes}: {steps} {one} {two}"
        );
        if nodes >= 4 {
            let host = on_tigon2("gm-tigon2-coll", nodes, "run = \"barrier\"");
            assert!(steps < host, "{nodes}: {steps} {host}");
        }
    }
    let all = "run = \"reduction\"\nall = true\non = \"nic\"";
    for nodes in [2, 8, 32] {
        let one = on_tigon2("gm-tigon2", nodes, all);
        let steps = on_tigon2("gm-tigon2-coll", nodes, all);
        assert!(steps < 1.03 * one, "{nodes}: {steps} {one}");
    }
}

/// Packets that reach the end of the receive buffer go on at its start: for the CPU that copies them, and for DMA to two pages.
#[test]
fn steps_of_an_all_to_all_broadcast_pass_the_end_of_the_receive_buffer() {
    let program =
        "run = \"all-to-all-broadcast\"\non = \"nic\"\nalgorithm = \"recursive-doubling\"";
    for image in ["gm-tigon2", "gm-tigon2-two", "gm-tigon2-coll"] {
        on_tigon2(image, 8, &format!("{program}\nbytes = 500"));
        on_tigon2(image, 4, &format!("{program}\nbytes = 4000\nrounds = 200"));
    }
}

/// Leaves of the tree are far ahead of the root then: their values are refused and sent again, so that packets follow each other at the
/// root without a pause, and its posts are found nevertheless.
#[test]
fn reductions_without_a_pause_come_to_their_end() {
    let program = |rounds| format!("run = \"reduction\"\non = \"nic\"\nrounds = {rounds}");
    let tigon2 = "board = \"tigon2\"\nimage = \"gm-tigon2\"";
    on_board(tigon2, 16, &program(200));
    on_board("board = \"lanai9.1-133\"", 16, &program(600));
    on_board(
        "board = \"lanai9.1-133\"",
        16,
        &format!("{}\nper_node = 2", program(400)),
    );
}
