//! GM with routes from a mapper: networks, faults, cables that move, mistakes in scenarios.

use std::num::NonZeroUsize;

use emulator::sim::world::RunEnd;
use lanigon_worlds::simulation::RunOptions;
use lanigon_worlds::simulation::result::RunSummary;

use super::gm::built;
use super::run;

fn text(board: &str, gm: &str, network: &str, more: &str) -> String {
    format!("board = \"{board}\"\n[gm]\n{gm}\n[network]\n{network}\n{more}\n")
}

/// Runs a scenario with a mapper, in which all messages must arrive.
#[track_caller]
fn check(text: &str, messages: u64) -> RunSummary {
    let outcome = run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}{outcome:?}");
    assert!(outcome.is_good(), "{text}{outcome:?}");
    let counts = outcome.verdict.messages;
    let expected = (messages, messages);
    assert_eq!((counts.posted, counts.delivered), expected, "{text}");
    outcome
}

const MAPPED: &str = "routes = \"mapper\"\nresend_us = 1000";
const ALL: &str =
    "[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 4\nbytes = [16, 3000]";

#[test]
fn programs_run_on_routes_of_a_mapper() {
    if !built() {
        return;
    }
    for board in ["lanai9.1-133", "lanai7.2-66", "lanai4.3-33"] {
        let star = check(
            &text(board, MAPPED, "topology = \"star\"\nnodes = 4", ALL),
            48,
        );
        let [map] = &star.maps[..] else {
            panic!("{:?}", star.maps);
        };
        assert_eq!((map.nodes, map.crossbars, map.cables), (4, 1, 0));
        assert_eq!((&map.mapper[..], map.version), ("3", 1));
        println!("{board}: {map:?}");
    }
    let clos = "topology = \"clos\"\nports = 8\nnodes = 6";
    let outcome = check(&text("lanai9.2-200", MAPPED, clos, ALL), 120);
    assert_eq!((outcome.maps[0].crossbars, outcome.maps[0].cables), (6, 8));
    // Each pair has a mapper of its own.
    let random = "[[program]]\nrun = \"ping-pong\"\nnodes = [0, 1]\nmessages = 5\nbytes = 8";
    let outcome = check(
        &text("lanai9", MAPPED, "topology = \"pair\"\nnodes = 4", random),
        10,
    );
    let mappers: Vec<_> = outcome.maps.iter().map(|map| &map.mapper[..]).collect();
    assert_eq!((mappers.len(), mappers.contains(&"1")), (2, true));
    // Another node than the last one.
    let chosen =
        "[[node]]\nname = \"a\"\ngm = { mapper = true }\n[[node]]\nname = \"b\"\ncount = 3\n";
    let all = format!("{chosen}{ALL}");
    let outcome = check(&text("lanai9", MAPPED, "topology = \"star\"", &all), 48);
    assert_eq!(outcome.maps[0].mapper, "a");
}

#[test]
fn lost_packets_of_a_mapper_are_sent_again() {
    if !built() {
        return;
    }
    let tree = "topology = \"tree\"\nports = 8\nnodes = 9";
    let faults = "[faults]\nloss = 0.02\ncorruption = 0.02\n";
    let program =
        "[[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 20\nmax_bytes = 3000\n";
    let text = text("lanai9", MAPPED, tree, &format!("{program}{faults}"));
    let outcome = check(&text, 180);
    let map = outcome.maps.last().expect("a map");
    assert_eq!((map.nodes, map.crossbars, map.cables), (9, 3, 2));
    let options = RunOptions {
        threads: NonZeroUsize::new(2).unwrap(),
        ..RunOptions::default()
    };
    let other = run(&text, &options);
    assert_eq!(
        (other.trace_hash, &other.maps),
        (outcome.trace_hash, &outcome.maps)
    );
}

#[test]
fn a_cable_that_moves_under_traffic_costs_no_message() {
    if !built() {
        return;
    }
    let network = "topology = \"custom\"\nnodes = 5\n\
                   [[switch]]\nname = \"a\"\n[[switch]]\nname = \"b\"\n\
                   [[link]]\nbetween = [0, \"a:0\"]\n[[link]]\nbetween = [1, \"a:3\"]\n\
                   [[link]]\nbetween = [2, \"b:1\"]\n[[link]]\nbetween = [3, \"b:2\"]\n\
                   [[link]]\nbetween = [4, \"b:5\"]\n[[link]]\nbetween = [\"a:7\", \"b:7\"]\n\
                   [[link]]\nbetween = [\"a:6\", \"b:0\"]\n";
    let more = "[[program]]\nrun = \"random\"\nnodes = \"all\"\nmessages = 1500\nmax_bytes = 1000\nwindow = 4\n\
                [[fault]]\ndo = \"replug\"\nnodes = [1]\nends = [\"b:6\", 1]\nat_us = 20000\nfor_us = 100\n";
    let gm = format!("{MAPPED}\nverify_us = 3000");
    for board in ["lanai9.1-133", "lanai4.3-33"] {
        let outcome = check(&text(board, &gm, network, more), 7500);
        let maps: Vec<_> = outcome
            .maps
            .iter()
            .map(|map| (map.nodes, map.crossbars, map.cables, map.silent.len()))
            .collect();
        println!("{board}: {:?}", outcome.maps);
        assert!(maps.len() >= 2, "{maps:?}");
        assert_eq!(
            (maps[0], maps[maps.len() - 1]),
            ((5, 2, 2, 0), (5, 2, 2, 0))
        );
        assert!(outcome.drops["wire_link_cut"] + outcome.drops["wire_nothing_plugged_in"] > 0);
    }
}

#[test]
fn sends_to_a_node_that_is_gone_are_told_so() {
    if !built() {
        return;
    }
    let more = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 2\nmessages = 4000\nbytes = 100\n\
                [[fault]]\ndo = \"cut\"\nnodes = [2]\nat_us = 9000\n";
    let gm = "routes = \"mapper\"\nverify_us = 1000\nresend_us = 500\nfatal_us = 30000";
    let text = text("lanai9", gm, "topology = \"star\"\nnodes = 4", more);
    let outcome = run(&text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    assert!(outcome.is_good(), "{outcome:?}");
    assert!(
        outcome.verdict.messages.failed_with_status > 0,
        "{outcome:?}"
    );
    assert!(
        outcome.failures[0].contains("no route to the node"),
        "{:?}",
        outcome.failures
    );
    assert_eq!(outcome.maps.last().map(|map| map.nodes), Some(3));
}

#[test]
fn a_restarted_node_gets_its_routes_again() {
    if !built() {
        return;
    }
    let more = "[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 400\nbytes = 40\n\
                [[fault]]\ndo = \"reset\"\nnode = 0\nat_us = 8000\npause_us = 100\n";
    let gm = "routes = \"mapper\"\nverify_us = 1000\nresend_us = 500\nfatal_us = 60000";
    let text = text("lanai9", gm, "topology = \"star\"\nnodes = 3", more);
    let outcome = run(&text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{outcome:?}");
    assert!(outcome.is_good() && outcome.maps.len() >= 2, "{outcome:?}");
    // The node posted all of its messages in its second life.
    assert!(outcome.verdict.messages.posted > 6 * 400, "{outcome:?}");
}

#[test]
fn mistakes_are_named() {
    let check = |gm: &str, network: &str, more: &str, expected: &str| {
        let text = text("lanai9", gm, network, more);
        let error = lanigon_workloads::parse("test.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{text}\n{error}");
    };
    let star = "topology = \"star\"\nnodes = 3";
    check("routes = \"maper\"", star, ALL, "did you mean \"mapper\"?");
    check("mapper = true", star, ALL, "a mapper, but routes are not");
    let two = "[[node]]\nname = \"a\"\ncount = 2\ngm = { mapper = true }\n";
    let both = format!("{two}{ALL}");
    check(
        MAPPED,
        "topology = \"star\"",
        &both,
        "nodes a0 and a1 are both to be the mapper",
    );
    let fault = |more: &str| format!("{ALL}\n[[fault]]\ndo = \"replug\"\nat_us = 5\n{more}\n");
    let ends = |ends: &str| fault(&format!("nodes = [1]\nends = {ends}"));
    check("", star, &ends("[1]"), "two ends, not 1");
    check(
        "",
        star,
        &ends("[1, \"switch0:9\"]"),
        "switch0 has ports 0 to 7",
    );
    check("", star, &ends("[1, \"other:1\"]"), "no switch \"other\"");
    check("", star, &ends("[1, \"switch0\"]"), "which port?");
    check(
        "",
        star,
        &ends("[0, \"switch0:5\"]"),
        "a cable keeps its node",
    );
    check(
        "",
        star,
        &ends("[1, \"switch0:2\"]"),
        "another cable from the beginning",
    );
    check("", star, &fault("ends = [1, \"switch0:5\"]"), "which link?");
    let text = format!("[network]\n{star}\n{}", ends("[1, \"switch0:5\"]"));
    let error = lanigon_workloads::parse("test.toml", &text)
        .unwrap_err()
        .to_string();
    assert!(error.contains("only cables of a Myrinet"), "{error}");
}
