//! Scenarios with FM: messages, multicasts, losses, bad input.

use emulator::sim::world::RunEnd;
use lanigon_workloads::multicast::MulticastUse;
use lanigon_worlds::simulation::RunOptions;

use super::gm::built;

/// Nodes with FM around a crossbar, and a program of theirs.
fn text(nodes: u32, settings: &str, program: &str) -> String {
    format!(
        "board = \"lanai4\"\nprotocol = \"fm\"\n{settings}\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\n{program}"
    )
}

#[test]
fn every_tree_and_way_brings_every_byte() {
    if !built() {
        return;
    }
    for tree in [
        "tree = \"binomial\"",
        "lambda = 1",
        "lambda = 3\nroot = 2",
        "tree = \"star\"",
    ] {
        for way in [
            "",
            "pipelined = true",
            "send = \"unicast\"",
            "send = \"unicast\"\npipelined = true",
        ] {
            for bytes in [0, 40_000] {
                let program = format!(
                    "run = \"multicast\"\nnodes = \"all\"\nbytes = {bytes}\n{tree}\n{way}\nrounds = 2\n"
                );
                let outcome = super::run(&text(7, "", &program), &RunOptions::default());
                assert_eq!(outcome.end, RunEnd::Completed, "{program}");
                assert!(outcome.is_good(), "{program}: {:?}", outcome.problems);
                let result = &outcome.results::<MulticastUse>()[0];
                assert!(result.rounds >= 2 && result.deliveries.len() == 6);
                let messages = outcome.verdict.messages;
                assert_eq!(messages.delivered, 6 * result.rounds as u64, "{program}");
                // The answer comes after the delivery at the leaf that gives it.
                assert!(result.answered_us > 0.0 && result.last_us() > 0.0);
            }
        }
    }
}

#[test]
fn ordinary_messages_go_over_fm_too() {
    if !built() {
        return;
    }
    let programs = [
        "run = \"ping-pong\"\nnodes = [0, 1]\nmessages = 5\nbytes = [0, 3000]\n",
        "run = \"stream\"\nfrom = 0\nto = 3\nmessages = 20\nbytes = 5000\n",
        "run = \"random\"\nnodes = \"all\"\nmessages = 30\nmax_bytes = 9000\n",
        "run = \"incast\"\nfrom = [1, 2, 3]\nto = 0\nmessages = 4\nbytes = 2000\nbursts = 2\n",
    ];
    for program in programs {
        let outcome = super::run(&text(4, "", program), &RunOptions::default());
        assert_eq!(outcome.end, RunEnd::Completed, "{program}");
        assert!(outcome.is_good(), "{program}: {:?}", outcome.problems);
        let messages = outcome.verdict.messages;
        assert!(messages.posted > 0 && messages.delivered == messages.posted);
    }
}

#[test]
fn nodes_with_one_credit_that_send_to_each_other_do_not_stop() {
    if !built() {
        return;
    }
    let program = "run = \"all-to-all\"\nnodes = \"all\"\nmessages = 3\nbytes = 20000\n";
    let outcome = super::run(&text(5, "fm.credits = 1", program), &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed);
    assert!(outcome.is_good(), "{:?}", outcome.problems);
    assert_eq!(outcome.verdict.messages.delivered, 5 * 4 * 3);
}

#[test]
fn a_lost_packet_of_fm_is_told() {
    if !built() {
        return;
    }
    let program = "run = \"multicast\"\nnodes = \"all\"\nbytes = 16384\nrounds = 50\n[faults]\nloss = 0.002\n";
    let outcome = super::run(
        &text(6, "fm.timeout_us = 5000", program),
        &RunOptions::default(),
    );
    assert!(!outcome.is_good());
    assert!(outcome.drops["fault_lost"] > 0, "{:?}", outcome.drops);
    assert!(outcome.verdict.messages.lost > 0);
    let told = |text: &String| text.contains("FM does not repeat lost packets");
    assert!(outcome.problems.iter().any(told), "{:?}", outcome.problems);
}

#[test]
fn impossible_multicasts_are_refused_where_they_are_wrong() {
    let check = |nodes, program: &str, expected: &str| {
        let program = format!("run = \"multicast\"\nbytes = 8\n{program}\n");
        let error = lanigon_workloads::parse("test.toml", &text(nodes, "", &program)).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(4, "nodes = [2]", "2 to 256 nodes, not 1");
    check(
        4,
        "nodes = [0, 1]\nroot = 3",
        "node 3 is none of the program's nodes",
    );
    check(4, "nodes = [0, 1, 1]", "twice");
    check(4, "nodes = \"all\"\nlambda = 0", "lambda");
    check(4, "nodes = \"all\"\ntree = \"binary\"", "binomial");
    let star = format!(
        "{}network = {{ topology = \"clos\", nodes = 100, ports = 16 }}\nprogram = [{{ run = \"multicast\", nodes = \"all\", bytes = 8, tree = \"star\" }}]\n",
        "board = \"lanai4\"\nprotocol = \"fm\"\n"
    );
    let error = lanigon_workloads::parse("test.toml", &star)
        .unwrap_err()
        .to_string();
    assert!(error.contains("99 children"), "{error}");
    let gm = |program: &str, expected: &str| {
        let text = text(4, "", program).replace("protocol = \"fm\"", "protocol = \"gm\"");
        let error = lanigon_workloads::parse("test.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
    };
    let multicast = "run = \"multicast\"\nnodes = \"all\"\nbytes = 8\n";
    gm(
        &format!("{multicast}send = \"multi-send\"\n"),
        "multi-send needs protocol = \"fm\"",
    );
    gm(
        &format!("{multicast}pipelined = true\n"),
        "pipelined needs protocol = \"fm\"",
    );
    let barrier = text(4, "", "run = \"barrier\"\nnodes = \"all\"\n");
    let error = lanigon_workloads::parse("test.toml", &barrier)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("barrier needs GM, and node 0 runs FM"),
        "{error}"
    );
    let board = "board = \"lanai9\"\nprotocol = \"fm\"\n";
    let error = lanigon_workloads::parse("test.toml", board)
        .unwrap_err()
        .to_string();
    assert!(error.contains("do not run FM"), "{error}");
}
