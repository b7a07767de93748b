//! Errors of scenarios with their positions and reasons; no text makes the reader panic.

use proptest::prelude::*;

use super::*;

/// A valid scenario.
const GOOD: &str = r#"
description = "two groups"
seed = 7

[network]
topology = "custom"

[[node]]
name = "left"
count = 2

[[node]]
name = "right"
count = 2
emp = { ack_group = 8, frame_bytes = 9000 }

[[switch]]
name = "a"
ports = 4

[[switch]]
name = "b"
ports = 4
forwarding = "cut-through"

[[link]]
between = ["left0", "a"]
[[link]]
between = ["left1", "a"]
[[link]]
between = ["a:3", "b:3"]
speed_mbit = 10000
[[link]]
between = ["right0", "b"]
[[link]]
between = ["right1", "b"]

[[program]]
run = "all-to-all"
nodes = "all"
messages = 3
bytes = [64, 4096]

[[fault]]
do = "drop"
fragment = 3
message = 2
from = "left1"
"#;

const PAIR: &str = "[network]\ntopology = \"pair\"\n";
const STREAM: &str = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nbytes = 64\n";

/// Checks that the text is refused at the first line that contains `at`.
#[track_caller]
fn check(text: &str, at: &str, key: &str, reason: &str) {
    let before = &text[..text
        .find(at)
        .unwrap_or_else(|| panic!("{at}: not in\n{text}"))];
    let line = 1 + before.matches('\n').count();
    let error = Scenario::parse("file.toml", text).expect_err("it is wrong");
    let shown = error.to_string();
    assert_eq!((error.line, error.key.as_str()), (line, key), "{shown}");
    assert!(error.reason.contains(reason), "{shown}");
    assert!(shown.starts_with(&format!("file.toml:{line}: ")), "{shown}");
}

/// Checks that the valid scenario with a replaced part is refused there.
#[track_caller]
fn check_changed(from: &str, to: &str, key: &str, reason: &str) {
    assert!(GOOD.contains(from), "{from}");
    check(&GOOD.replacen(from, to, 1), to, key, reason);
}

#[test]
fn a_good_scenario_is_read() {
    let scenario = Scenario::parse("good.toml", GOOD).unwrap();
    let names: Vec<_> = scenario.nodes.iter().map(|node| &node.name[..]).collect();
    assert_eq!(names, ["left0", "left1", "right0", "right1"]);
    assert_eq!(scenario.nodes[3].settings.emp.frame_bytes, 9000);
    assert_eq!(scenario.nodes[0].settings.emp.frame_bytes, 1500);
    let routes: Vec<_> = scenario
        .network
        .switches
        .iter()
        .map(|s| &s.routes)
        .collect();
    assert_eq!(*routes[0], [Some(0), Some(1), Some(3), Some(3)]);
    assert_eq!(*routes[1], [Some(3), Some(3), Some(0), Some(1)]);
    assert_eq!(scenario.network.links[2].byte_time, SimTime::from_ps(800));
    assert_eq!(scenario.messages(), 36);
    assert_eq!(scenario.faults.len(), 1);
}

/// An error names the misspelled table, not the keys that are missing with it.
#[test]
fn misspelled_tables_are_named() {
    for (table, wrong) in [
        ("network", "netwrok"),
        ("node", "nod"),
        ("program", "progam"),
        ("link", "lnik"),
        ("switch", "swich"),
    ] {
        let [open, close] = if table == "network" {
            ["[", "]"]
        } else {
            ["[[", "]]"]
        };
        let (from, to) = (
            format!("{open}{table}{close}"),
            format!("{open}{wrong}{close}"),
        );
        let text = GOOD.replace(&from, &to);
        let error = Scenario::parse("s", &text).expect_err(wrong);
        let expected = format!("no key \"{wrong}\"; did you mean \"{table}\"?");
        assert_eq!((&*error.key, &*error.reason), (wrong, &*expected));
    }
}

#[test]
fn slips_of_the_pen_are_named() {
    check(
        "seed = 1\n\"seed\" = 2\n",
        "\"seed\"",
        "",
        "duplicate key \"seed\"",
    );
    check_changed("seed", "sed", "sed", "did you mean \"seed\"?");
    check_changed(
        "topology",
        "topolgy",
        "network.topolgy",
        "did you mean \"topology\"?",
    );
    check_changed(
        "\"custom\"",
        "\"custm\"",
        "network.topology",
        "did you mean \"custom\"?",
    );
    check_changed(
        "all-to-all",
        "alltoall",
        "program.run",
        "did you mean \"all-to-all\"?",
    );
    check_changed(
        "ack_group",
        "ackgroup",
        "node.emp.ackgroup",
        "did you mean \"ack_group\"?",
    );
    check_changed(
        "\"left1\", \"a\"",
        "\"lefd1\", \"a\"",
        "link.between",
        "did you mean \"left1\"?",
    );
    check_changed(
        "do = \"drop\"",
        "do = \"drp\"",
        "fault.do",
        "did you mean \"drop\"?",
    );
    check_changed(
        "from = \"left1\"",
        "from = \"lefft1\"",
        "fault.from",
        "did you mean \"left1\"?",
    );
    check_changed("[[fault]]", "[[falt]]", "falt", "did you mean \"fault\"?");
    check_changed("[[fault]]\ndo", "[[fault]]\nto", "fault", "is missing");
    check_changed(
        "bytes = [",
        "bites = [",
        "program.bites",
        "did you mean \"bytes\"?",
    );
    check_changed("seed = 7", "profile = \"tigon\"", "profile", "tigon2-88mhz");
    check_changed("seed = 7", "board = \"tigon3\"", "board", "tigon2");
}

#[test]
fn impossible_values_are_refused() {
    check_changed("seed = 7", "seed = -7", "seed", "-7 is not between 0 and");
    check_changed(
        "seed = 7",
        "seed = \"7\"",
        "seed",
        "expected a whole number",
    );
    check_changed(
        "count = 2",
        "count = 0",
        "node.count",
        "0 is not between 1 and 4096",
    );
    let many = GOOD.replacen("count = 2", "count = 255", 1);
    check(
        &many,
        "topology",
        "network.topology",
        "more than the 256 of EMP's route table",
    );
    check_changed(
        "ack_group = 8",
        "ack_group = 17",
        "node.emp.ack_group",
        "between 1 and 16",
    );
    check_changed(
        "frame_bytes = 9000",
        "frame_bytes = 9001",
        "node.emp.frame_bytes",
        "9000",
    );
    check_changed(
        "bytes = [64, 4096]",
        "bytes = [64, 2097153]",
        "program.bytes",
        "2097152",
    );
    check_changed(
        "bytes = [64, 4096]",
        "bytes = []",
        "program.bytes",
        "no length",
    );
    let none = GOOD.replacen("bytes = [64, 4096]", "", 1);
    check(&none, "[[program]]", "program", "\"bytes\" is missing");
}

#[test]
fn impossible_programs_and_networks_are_refused() {
    check_changed(
        "messages = 3",
        "messages = 0",
        "program.messages",
        "0 is not between 1",
    );
    check_changed(
        "speed_mbit = 10000",
        "speed_mbit = 0",
        "link.speed_mbit",
        "between 1 and",
    );
    check_changed(
        "fragment = 3",
        "fragment = 1536",
        "fault.fragment",
        "between 0 and 1535",
    );
    check_changed(
        "ports = 4",
        "ports = 0",
        "switch.ports",
        "between 1 and 256",
    );
    check("seed = ", "seed", "", "");
    check(
        "[network]\ntopology = \"star\"\nnodes = 300\n[[program]]\nrun = \"all-to-all\"\nnodes = \"all\"\nmessages = 1\nbytes = 4\n",
        "nodes",
        "network.nodes",
        "300 nodes are more than the 256 of EMP's route table: with protocol = \"gm\" up to 1024",
    );
    // Nodes without a program run EMP too.
    check(
        "[network]\ntopology = \"tree\"\nports = 16\nnodes = 257\n[[program]]\nrun = \"frames\"\nfrom = 0\nto = 1\nframes = 1\nbytes = 64\n",
        "nodes",
        "network.nodes",
        "257 nodes are more than the 256 of EMP's route table",
    );
    for protocol in ["gm", "acenic"] {
        let program = match protocol {
            "gm" => "run = \"ping-pong\"\nnodes = [0, 299]\nmessages = 1\nbytes = 4\n",
            _ => "run = \"frames\"\nfrom = 0\nto = 299\nframes = 1\nbytes = 64\n",
        };
        let text = format!(
            "protocol = \"{protocol}\"\n[network]\ntopology = \"star\"\nnodes = 300\n[[program]]\n{program}"
        );
        assert!(Scenario::parse("file.toml", &text).is_ok(), "{text}");
    }
    check(
        "board = \"lanai9\"\n[network]\ntopology = \"clos\"\nports = 16\nnodes = 1025\n",
        "nodes",
        "network.nodes",
        "1025 nodes are more than 1024, for which GM's firmware keeps the state of peers",
    );
    check(
        "[network]\ntopology = \"pair\"\nnodes = 3\n",
        "nodes",
        "network.nodes",
        "do not make pairs",
    );
    check(PAIR, "[network]", "", "no [[program]]");
    check("seed = 1", "seed", "", "[network] is missing");
}

#[test]
fn programs_must_be_able_to_do_what_they_are_told() {
    let refuse = |text: &str, at, key, reason| {
        check(&format!("{PAIR}[[program]]\n{text}"), at, key, reason);
    };
    refuse(
        "run = \"stream\"\nfrom = 0\nto = 0\nbytes = 1",
        "to = 0",
        "program.to",
        "itself",
    );
    refuse(
        "run = \"stream\"\nfrom = 0\nto = 2\nbytes = 1",
        "to = 2",
        "program.to",
        "between 0 and 1",
    );
    refuse(
        "run = \"ping-pong\"\nnodes = [0]\nbytes = 1",
        "nodes",
        "program.nodes",
        "two nodes, not 1",
    );
    refuse(
        "run = \"all-to-all\"\nnodes = [0, 0]\nbytes = 1",
        "nodes",
        "program.nodes",
        "node 0 twice",
    );
    refuse(
        "run = \"incast\"\nfrom = \"all\"\nto = 0\nbytes = 1",
        "from",
        "program.from",
        "node 0",
    );
    refuse(
        "run = \"idle\"\nnodes = 0\nbytes = 1",
        "bytes",
        "program.bytes",
        "no key \"bytes\"",
    );
    let start = "run = \"start\"\nnodes = 0\nmessages = 1";
    refuse(start, "messages", "program.messages", "no key \"messages\"");
    refuse(
        "run = \"start\"\nnodes = 2",
        "nodes",
        "program.nodes",
        "between 0 and 1",
    );
    refuse(
        "run = \"start\"",
        "[[program]]",
        "program",
        "\"nodes\" is missing",
    );
    let window = "run = \"stream\"\nfrom = 0\nto = 1\nbytes = 28672\nwindow = 51";
    refuse(window, "window", "program.window", "between 1 and 50");
    let second = format!("{PAIR}{STREAM}[[program]]\nrun = \"idle\"\nnodes = 1");
    check(
        &second,
        "run = \"idle\"",
        "program.run",
        "a board serves one process",
    );
    let memory = format!("host_memory_mb = 16\n{PAIR}{STREAM}receives = 400");
    let memory = memory.replacen("bytes = 64", "bytes = 2000000", 1);
    check(&memory, "run", "program.run", "host_memory_mb is 16");
    let many = "run = \"random\"\nnodes = \"all\"\nmax_bytes = 9\nmessages = 9000000";
    refuse(many, "run", "program.run", "18000000 messages");
}

#[test]
fn networks_must_lead_somewhere() {
    let lone = GOOD.replacen("[[link]]\nbetween = [\"right1\", \"b\"]\n", "", 1);
    check(&lone, "run", "program.run", "node right1 has no cable");
    let joint = "[[link]]\nbetween = [\"a:3\", \"b:3\"]\nspeed_mbit = 10000\n";
    let apart = GOOD.replacen(joint, "", 1);
    check(
        &apart,
        "run",
        "program.run",
        "no way from node left0 to node right0",
    );
    let route = |text: &str, reason| {
        let text = format!("ports = 4\nroutes = {text}\n");
        let text = GOOD.replacen("ports = 4\n", &text, 1);
        let key = if text.contains("left9") {
            "left9"
        } else {
            "left0"
        };
        check(&text, "routes", &format!("switch.routes.{key}"), reason);
    };
    route("{ left0 = 2 }", "port 2 of a leads nowhere");
    route("{ left0 = 1 }", "leads to node left1 and ends there");
    route("{ left0 = 3 }", "in a circle");
    route("{ left9 = 3 }", "no node \"left9\"");
    route("{ left0 = 4 }", "between 0 and 3");
    check_changed(
        "[\"left1\", \"a\"]",
        "[\"a\", \"left0\"]",
        "link.between",
        "has a cable already",
    );
    check_changed("\"a:3\"", "\"a:4\"", "link.between", "a has ports 0 to 3");
    check_changed("\"a:3\"", "\"a:1\"", "link.between", "port 1 of a is taken");
    check_changed(
        "[\"a:3\", \"b:3\"]",
        "[\"a:3\", \"a:2\"]",
        "link.between",
        "to itself",
    );
    let speed = "speed_mbit = 10000";
    let none = "[network]\ntopology = \"none\"\n";
    check(none, "topology", "network.topology", "how many nodes?");
    let linked = format!("{none}nodes = 2\nlink = {{ speed_mbit = 10 }}\n");
    check(&linked, "link", "network.link", "no key \"link\"");
    let talking = format!("{none}nodes = 2\n{STREAM}");
    check(&talking, "run", "program.run", "node 0 has no cable");
    check_changed(speed, "length_m = 0", "link.length_m", "without latency");
    check_changed(
        speed,
        "propagation_ns = 0.0",
        "link.propagation_ns",
        "without latency",
    );
}

#[test]
fn faults_must_be_possible() {
    let refuse = |text: &str, at, key, reason| {
        check(&format!("{PAIR}{STREAM}[[fault]]\n{text}"), at, key, reason);
    };
    refuse(
        "do = \"drop\"\nfrom = 0\nto = 0",
        "to = 0",
        "fault.to",
        "nothing to itself",
    );
    refuse(
        "do = \"drop\"\nframe = \"header\"\nfragment = 1",
        "fragment = 1",
        "fault.fragment",
        "first fragment is its header",
    );
    refuse(
        "do = \"drop\"\nframe = \"data\"\nfragment = 0",
        "fragment = 0",
        "fault.fragment",
        "first fragment is its header",
    );
    refuse(
        "do = \"delay\"",
        "[[fault]]",
        "fault",
        "\"by_us\" is missing",
    );
    refuse(
        "do = \"cut\"\nat_us = 1",
        "[[fault]]",
        "fault",
        "which link?",
    );
    refuse("do = \"random\"", "[[fault]]", "fault", "no rate");
    refuse(
        "do = \"random\"\nloss = 1.5",
        "loss",
        "fault.loss",
        "between 0 and 1",
    );
    let channel = "do = \"stall-dma\"\nnode = 0\nchannel = \"red\"";
    refuse(channel, "channel", "fault.channel", "\"read\"?");
    refuse(
        "do = \"drop\"\ntimes = 2\nalways = true",
        "times",
        "fault.times",
        "either",
    );
    let board = "do = \"reset-board\"\nnode = 1\nat_us = 1";
    refuse(board, "do", "fault.do", "only hosts with Linux");
    refuse(
        "do = \"reset\"\nnode = 1",
        "[[fault]]",
        "fault",
        "\"at_us\" is missing",
    );
    let reset = format!("{PAIR}{STREAM}[[fault]]\ndo = \"reset\"\nnode = 1\nat_us = 5");
    let short = reset.replacen("bytes = 64", "bytes = 11", 1);
    check(&short, "do = ", "fault.do", "shorter than the 12 bytes");
    let pairs = format!("{PAIR}nodes = 4\n{STREAM}[[fault]]\ndo = \"drop\"");
    check(&pairs, "[[fault]]", "fault", "\"from\" is missing");
}

#[test]
fn trees_reach_everybody() {
    for (nodes, ports) in [
        (2, 3),
        (3, 3),
        (4, 3),
        (7, 3),
        (16, 4),
        (17, 4),
        (256, 8),
        (256, 256),
    ] {
        let text = format!(
            "[network]\ntopology = \"tree\"\nnodes = {nodes}\nports = {ports}\n\
             [[program]]\nrun = \"idle\"\nnodes = \"all\"\n"
        );
        let network = Scenario::parse("tree.toml", &text).unwrap().network;
        assert_eq!(
            network.links.len(),
            nodes + network.switches.len().saturating_sub(1)
        );
        for switch in &network.switches {
            assert!(
                switch.routes.iter().all(Option::is_some),
                "{nodes}, {ports}"
            );
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = Scenario::parse("any.toml", &text);
    }

    /// The valid scenario with a part removed, duplicated, or replaced by other text of a scenario.
    #[test]
    fn no_changed_scenario_makes_it_panic(
        from in 0..GOOD.len(),
        length in 0usize..40,
        times in 0usize..3,
        insert in prop::sample::select(vec![
            "", "0", "-1", "1e300", "nan", "18446744073709551616", "\"\"", "[]", "{}", "true",
            "\"all\"", "0..9", "\n[network]\n", "\n[[link]]\n", "[[node]]\nname = \"x\"\n", "=", "\"left0\"",
        ]),
    ) {
        let to = (from + length).min(GOOD.len());
        let text = format!("{}{}{insert}{}", &GOOD[..from], GOOD[from..to].repeat(times), &GOOD[to..]);
        if let Err(error) = Scenario::parse("any.toml", &text) {
            prop_assert!(error.line >= 1 && error.line <= text.lines().count() + 1);
            prop_assert!(!error.reason.is_empty());
        }
    }
}

#[test]
fn costs_are_those_of_a_node_over_those_of_all() {
    let text = format!(
        "{PAIR}[costs]\ncore.clock = 1e6\n\"pci.width\" = 4\n[costs.stages]\n\"send frame\" = 2.5\n{STREAM}"
    );
    let scenario = Scenario::parse("s", &text).expect("a scenario");
    let found: Vec<_> = scenario.nodes[1]
        .costs
        .iter()
        .map(|cost| (cost.entry.as_str(), cost.value, cost.place.line))
        .collect();
    let mut expected = vec![
        ("core.clock", 1e6, 4),
        ("pci.width", 4.0, 5),
        ("stages.send frame", 2.5, 7),
    ];
    expected.sort_by_key(|(name, ..)| *name);
    let mut sorted = found;
    sorted.sort_by_key(|(name, ..)| *name);
    assert_eq!(sorted, expected);
    let own = GOOD.replace(
        "name = \"right\"",
        "name = \"right\"\ncosts = { core.clock = 7 }",
    );
    let text = format!("costs = {{ core.clock = 5, pci.width = 8 }}\n{own}");
    let scenario = Scenario::parse("s", &text).expect("a scenario");
    let value = |node: usize, entry: &str| {
        let mut costs = scenario.nodes[node].costs.iter();
        costs
            .find(|cost| cost.entry == entry)
            .map(|cost| cost.value)
    };
    assert_eq!(
        [value(0, "core.clock"), value(2, "core.clock")],
        [Some(5.0), Some(7.0)]
    );
    assert_eq!(value(2, "pci.width"), Some(8.0));
    let wrong = format!("{PAIR}[costs]\ncore.clock = \"fast\"\n{STREAM}");
    let error = Scenario::parse("s", &wrong).expect_err("no number");
    assert_eq!(
        error.to_string().split(": expected").next(),
        Some("s:4: costs.core.clock")
    );
}
