//! The reference is the parser's: over scenarios of every kind it asks for these keys, with these defaults. Ranges and choices stand in the reference only.

use std::collections::{BTreeMap, BTreeSet};

use super::{Key, tables};
use crate::files::own;
use crate::scenario::Scenario;
use crate::scenario::table::asked;

const PAIR: &str = "[network]\ntopology = \"pair\"\n";
const STREAM: &str = "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nbytes = 64\n";
const CUSTOM: &str =
    "[network]\ntopology = \"custom\"\nnodes = 2\n[[switch]]\nname = \"s\"\nports = 8\n";
const LINKS: &str =
    "[[link]]\nbetween = [0, \"s\"]\nlength_m = 3\n[[link]]\nbetween = [1, \"s\"]\n";
const LINK: &str = "speed_mbit = 1000\npropagation_ns = 10\n";
const SWITCH: &str = "forwarding = \"cut-through\"\nlatency_ns = 1\nbuffer_bytes = 4096\n";
const CROSSBAR: &str = "latency_ns = 1\nstop_bytes = 1048576\ngo_bytes = 10\nwatchdog_us = 1\n";
const RATES: &str =
    "loss = 0.1\nduplication = 0.1\ndelay = 0.1\ncorruption = 0.1\nlongest_delay_us = 1\n";
const MYRINET: &str = "board = \"lanai9\"\n";
const FM: &str = "board = \"lanai4\"\nprotocol = \"fm\"\nfm = { credits = 8, combine_writes = true, timeout_us = 5 }\n";

const SETTINGS: &str =
    "host_memory_mb = 64\nboard = \"tigon2\"\nprotocol = \"emp\"\nmax_time_us = 1e6\nquiet_us = 1e6
[emp]\nack_group = 4\nframe_bytes = 1000\ntimeout_us = 1000\nretry_limit = 4\nreceive_timeout_us = 5
[gm]\nroutes = \"computed\"\nverify_us = 5\nresend_us = 1000\nfatal_us = 100000\ncollective_us = 100000\n[costs]\n";

const ACENIC: &str =
    "protocol = \"acenic\"\nboard_memory_kb = 512\nacenic = { assist = \"hardware\" }\n";
const FRAMES: &str = "[[program]]\nrun = \"frames\"\nfrom = 0\nto = 1\nbytes = 64\nwindow = 2\n\
    vlan = 3\ngap_us = 1\npatience_us = 5\n";

const PROGRAMS: &[&str] = &[
    "run = \"ping-pong\"\nnodes = [0, 1]\nbytes = 8\nstart_us = 1\nreceives = 2\n",
    "run = \"random\"\nnodes = \"all\"\nmax_bytes = 8\n",
    "run = \"incast\"\nfrom = 1\nto = 0\nbytes = 8\npause_us = 1\n",
    "run = \"idle\"\nnodes = 0\n",
    "run = \"replay\"\nnode = 0\nfile = \"x\"\n",
];

const FAULTS: &[&str] = &[
    "do = \"drop\"\nframe = \"data\"\nfragment = 2\nmessage = 1\ntimes = 1\nafter_us = 1\nfrom = 0\nto = 1\n",
    "do = \"delay\"\nby_us = 1\n",
    "do = \"corrupt\"\nbyte = 1\n",
    "do = \"cut\"\nnodes = 0\nat_us = 1\nfor_us = 1\n",
    "do = \"stall-dma\"\nnode = 0\nchannel = \"read\"\ntransfer = 1\nfor_us = 1\n",
    "do = \"stall-dma\"\nnode = 0\nchannel = \"read\"\nat_us = 1\nfor_us = 1\n",
    "do = \"reset\"\nnode = 0\nat_us = 1\npause_us = 1\n",
];

/// Scenarios in which every key can occur.
fn texts() -> Vec<String> {
    let entries = std::fs::read_dir(own::project_scenarios()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let examples = paths.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let texts = examples.map(|path| std::fs::read_to_string(path).unwrap());
    // Workloads have keys of their own.
    let known = |text: &String| Scenario::parse("test.toml", text).is_ok();
    let mut texts: Vec<String> = texts.filter(known).collect();
    texts.extend(
        PROGRAMS
            .iter()
            .map(|text| format!("{PAIR}[[program]]\n{text}")),
    );
    texts.push(format!("{FM}{PAIR}{STREAM}"));
    let faults = FAULTS.iter();
    texts.extend(faults.map(|text| format!("{PAIR}{STREAM}[[fault]]\n{text}")));
    let packets = "do = \"drop\"\npacket = \"data\"\nsequence = 1\npriority = \"low\"\nnth = 1\n";
    let ends = "do = \"replug\"\nlink = [0, \"s\"]\nends = [0, \"s:3\"]\nat_us = 1\nfor_us = 1\n";
    let nodes = "[[node]]\nname = \"a\"\ncount = 2\nhost_memory_mb = 64\nboard_memory_kb = 512\nprotocol = \"emp\"\n";
    let tree = "[network]\ntopology = \"tree\"\nports = 4\n";
    let parts = format!("[network.link]\n{LINK}[network.uplink]\nlength_m = 5\n[network.switch]\n");
    let clos = format!("{MYRINET}[network]\ntopology = \"clos\"\nports = 8\nnodes = 4\n");
    texts.extend([
        format!("{SETTINGS}{PAIR}{STREAM}"),
        format!("{ACENIC}{PAIR}{FRAMES}[[fault]]\ndo = \"drop\"\nmessage = 1\nnth = 2\n"),
        format!("{MYRINET}{PAIR}[[program]]\nrun = \"start\"\nnodes = 0\n"),
        format!("{MYRINET}image = \"./x\"\n{PAIR}[[program]]\nrun = \"mcp-mailbox\"\nnodes = \"all\"\nbytes = 64\nformat = \"raw\"\nskip_bytes = 4\n"),
        format!("{PAIR}{STREAM}[[fault]]\ndo = \"random\"\n{RATES}"),
        format!("{PAIR}{STREAM}[faults]\n{RATES}"),
        format!("{MYRINET}{PAIR}{STREAM}[[fault]]\n{packets}"),
        format!("{tree}{parts}{SWITCH}{nodes}{STREAM}"),
        format!("{clos}{parts}{CROSSBAR}{STREAM}"),
        format!("{CUSTOM}{SWITCH}{LINKS}{LINK}{STREAM}"),
        format!("{MYRINET}{CUSTOM}{CROSSBAR}{LINKS}{LINK}{STREAM}"),
        format!("{MYRINET}{CUSTOM}{LINKS}{STREAM}[[fault]]\n{ends}"),
    ]);
    texts
}

/// The keys that the parser asked for, by their names in the reference, with their defaults.
fn asked_keys() -> BTreeMap<String, Option<String>> {
    let _ = asked::take();
    for text in texts() {
        Scenario::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
    let mut keys: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (key, default) in asked::take() {
        // The defaults of a node are the settings of its file.
        let default = default.filter(|_| !key.starts_with("node."));
        let known = keys.entry(named(&key)).or_default();
        *known = default.or(known.take());
    }
    keys
}

/// The name in the reference: settings of a node are those of all nodes, and so on.
fn named(key: &str) -> String {
    let shared = [
        ("node.emp.", "emp."),
        ("node.gm.", "gm."),
        ("node.acenic.", "acenic."),
        ("network.link.", "link-keys."),
        ("network.uplink.", "link-keys."),
    ];
    for (own, common) in shared {
        if let Some(rest) = key.strip_prefix(own) {
            return common.to_owned() + rest;
        }
    }
    let Some((table, name)) = key.split_once('.') else {
        return key.to_owned();
    };
    let included = super::keys::table(table).map_or(&[][..], |table| table.includes);
    let has = |included: &&&str| {
        let table = super::keys::table(included).unwrap();
        table.keys.iter().any(|key| key.name == name)
    };
    match included.iter().find(has) {
        Some(included) => format!("{included}.{name}"),
        None => key.to_owned(),
    }
}

fn documented() -> BTreeMap<String, Key> {
    let mut all = BTreeMap::new();
    for table in tables() {
        for key in table.keys {
            let name = match table.name {
                "" => key.name.to_owned(),
                table => format!("{table}.{}", key.name),
            };
            assert!(all.insert(name.clone(), *key).is_none(), "{name} twice");
        }
    }
    all
}

#[test]
fn the_reference_has_the_keys_of_the_parser() {
    let known: BTreeSet<_> = documented().into_keys().collect();
    // Entries of these tables have names of the user's.
    let own = |key: &String| !key.contains("costs.") && !key.starts_with("switch.routes.");
    let asked: BTreeSet<_> = asked_keys().into_keys().filter(own).collect();
    let missing: Vec<_> = asked.difference(&known).collect();
    let superfluous: Vec<_> = known.difference(&asked).collect();
    assert!(
        missing.is_empty() && superfluous.is_empty(),
        "missing {missing:?}, superfluous {superfluous:?}"
    );
}

#[test]
fn the_reference_has_the_defaults_of_the_parser() {
    let mut wrong = Vec::new();
    let documented = documented();
    for (name, default) in asked_keys() {
        let (Some(default), Some(key)) = (default, documented.get(&name)) else {
            continue;
        };
        let begins = |text: &str| text.split(';').next() == Some(&default);
        if !key.default.is_some_and(begins) {
            wrong.push(format!("{name}: {:?}, the parser: {default}", key.default));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
