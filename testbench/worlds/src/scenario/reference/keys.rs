//! The keys.

use super::Values::{
    Choice, Ends, Entries, Flag, Integer, Lengths, Node, Nodes, Number, Table, Tables, Text,
};
use super::{Key, TableDoc, Values};

const fn need(name: &'static str, values: Values, what: &'static str) -> Key {
    Key {
        name,
        values,
        default: None,
        what,
    }
}

const fn key(name: &'static str, values: Values, default: &'static str, what: &'static str) -> Key {
    Key {
        name,
        values,
        default: Some(default),
        what,
    }
}

/// Latest time of a scenario in us.
const LATEST: f64 = 1e12;
/// Longest delay of a frame in us.
const DELAY: f64 = 6e7;
/// Largest number of hits of a fault.
const HITS: u64 = 1 << 30;
const RATE: Values = Number(0.0, 1.0);

/// All tables, in the order of the reference.
pub const TABLES: &[TableDoc] = &[
    ROOT,
    NETWORK,
    LINK,
    SWITCH_KEYS,
    NODE,
    SWITCH,
    CABLE,
    PROGRAM,
    FAULTS,
    FAULT,
    EMP,
    GM,
    COSTS,
];

/// All tables.
pub fn tables() -> impl Iterator<Item = &'static TableDoc> {
    TABLES.iter()
}

/// The table with this name.
pub(super) fn table(name: &str) -> Option<&'static TableDoc> {
    TABLES.iter().find(|table| table.name == name)
}

const ROOT: TableDoc = TableDoc {
    name: "",
    written: "the beginning of the file",
    what: "The run, and what all nodes have in common.",
    keys: &[
        key("description", Text, "none", "one line for `lanigon list`"),
        key(
            "seed",
            Integer(0, i64::MAX as u64),
            "1",
            "of random traffic and random faults",
        ),
        key(
            "max_time_us",
            Number(1e-3, LATEST),
            "none",
            "the run ends then, counted from the start of the programs",
        ),
        key(
            "board",
            Text,
            "tigon2",
            "type of board, or one of its profiles (`lanigon list`)",
        ),
        key(
            "protocol",
            Choice(&["emp", "gm"]),
            "that of the board",
            "whose firmware and library the programs use; `[emp]` or `[gm]` alone say it too",
        ),
        key(
            "image",
            Text,
            "that of the protocol",
            "firmware of all nodes: the name of a built-in image, or a file (with a `/`), relative to the scenario",
        ),
        key(
            "profile",
            Text,
            "that of the board",
            "timing profile: a built-in one, or a file (with a `/`), relative to the scenario",
        ),
        key(
            "host_memory_mb",
            Integer(8, 4096),
            "128",
            "memory of each host",
        ),
        key("emp", Table("emp"), "none", "settings of EMP"),
        key("gm", Table("gm"), "none", "settings of GM"),
        key(
            "costs",
            Table("costs"),
            "none",
            "values in place of entries of the timing profile",
        ),
        need("network", Table("network"), "what joins the nodes"),
        key(
            "node",
            Tables("node"),
            "none",
            "nodes with names, or groups of nodes",
        ),
        key(
            "switch",
            Tables("switch"),
            "none",
            "switches of a network with `topology = \"custom\"`",
        ),
        key(
            "link",
            Tables("link"),
            "none",
            "cables of a network with `topology = \"custom\"`",
        ),
        need("program", Tables("program"), "host programs"),
        key(
            "faults",
            Table("faults"),
            "none",
            "random faults on all links",
        ),
        key(
            "fault",
            Tables("fault"),
            "none",
            "faults of single frames, links and boards",
        ),
    ],
    includes: &[],
};

const NETWORK: TableDoc = TableDoc {
    name: "network",
    written: "[network]",
    what: "Nodes and what joins them.",
    keys: &[
        need(
            "topology",
            Choice(&["pair", "loop", "star", "tree", "clos", "custom", "none"]),
            "pair: each two nodes by a cable; loop: each node's cable leads back (Myrinet); star: one switch; tree: switches with `ports`; clos: three stages of crossbars (Myrinet); custom: `[[switch]]` and `[[link]]`",
        ),
        key(
            "nodes",
            Integer(1, 256),
            "2 for pair; else needed without [[node]]",
            "number of nodes, named by their numbers from 0",
        ),
        key("link", Table("link"), "none", "properties of cables"),
        key(
            "uplink",
            Table("link"),
            "as `link`",
            "properties of cables between switches (tree, clos)",
        ),
        key(
            "switch",
            Table("network.switch"),
            "none",
            "properties of switches",
        ),
        key(
            "ports",
            Integer(1, 256),
            "needed for tree and clos",
            "ports of each switch, at least 3; of crossbars 8, 16 or 32",
        ),
    ],
    includes: &[],
};

const LINK: TableDoc = TableDoc {
    name: "link-keys",
    written: "link = { ... }, uplink = { ... }",
    what: "Properties of cables, in `[network]` and in each `[[link]]`.",
    keys: &[
        key(
            "speed_mbit",
            Number(1.0, 100_000.0),
            "that of the boards",
            "speed; of Myrinet at least 8",
        ),
        key(
            "length_m",
            Number(0.0, 1e6),
            "10",
            "length of the cable, for its propagation time",
        ),
        key(
            "propagation_ns",
            Number(0.0, 1e9),
            "that of the length",
            "propagation time, instead of the length; not 0; of Myrinet at most 1 ms",
        ),
    ],
    includes: &[],
};

const SWITCH_KEYS: TableDoc = TableDoc {
    name: "network.switch",
    written: "switch = { ... }",
    what: "Properties of switches, in `[network]` and in each `[[switch]]`.",
    keys: &[
        key(
            "forwarding",
            Choice(&["store-and-forward", "cut-through"]),
            "store-and-forward",
            "Ethernet: when a frame goes on",
        ),
        key(
            "latency_ns",
            Number(0.0, 1e9),
            "1000; crossbars: that of the profile",
            "from the decision to the first bit; of crossbars at most 1 ms",
        ),
        key(
            "buffer_bytes",
            Integer(2048, 1 << 30),
            "131072",
            "Ethernet: output buffer of each port",
        ),
        key(
            "stop_bytes",
            Integer(1, 1 << 20),
            "that of the profile",
            "Myrinet: fill of a port's slack buffer that says STOP",
        ),
        key(
            "go_bytes",
            Integer(0, (1 << 20) - 1),
            "that of the profile",
            "Myrinet: fill that says GO; below `stop_bytes`",
        ),
        key(
            "watchdog_us",
            Number(1e-3, 1e9),
            "that of the profile",
            "Myrinet: a packet whose head waits for so long is taken out",
        ),
    ],
    includes: &[],
};

const NODE: TableDoc = TableDoc {
    name: "node",
    written: "[[node]]",
    what: "A node with a name, or a group of nodes; instead of `network.nodes`. Keys of the beginning of the file are its defaults.",
    keys: &[
        need(
            "name",
            Text,
            "of the node or group: letters, digits, - and _, a letter first",
        ),
        key(
            "count",
            Integer(1, 256),
            "one node",
            "nodes of the group: name0, name1, ...",
        ),
        key(
            "board",
            Text,
            "that of the file",
            "type of board, or one of its profiles",
        ),
        key(
            "protocol",
            Choice(&["emp", "gm"]),
            "that of the file",
            "whose firmware and library the programs use",
        ),
        key(
            "image",
            Text,
            "that of the file",
            "firmware: a built-in image, or a file (with a `/`)",
        ),
        key(
            "profile",
            Text,
            "that of the file",
            "timing profile: a built-in one, or a file (with a `/`)",
        ),
        key(
            "host_memory_mb",
            Integer(8, 4096),
            "that of the file",
            "memory of the host",
        ),
        key("emp", Table("emp"), "that of the file", "settings of EMP"),
        key("gm", Table("gm"), "that of the file", "settings of GM"),
        key(
            "costs",
            Table("costs"),
            "that of the file",
            "values in place of entries of the timing profile",
        ),
    ],
    includes: &[],
};

const SWITCH: TableDoc = TableDoc {
    name: "switch",
    written: "[[switch]]",
    what: "A switch, or crossbar, of a network with `topology = \"custom\"`.",
    keys: &[
        need("name", Text, "its name"),
        key(
            "ports",
            Integer(1, 256),
            "8",
            "number of ports; of crossbars 8, 16 or 32",
        ),
        key(
            "routes",
            Entries,
            "shortest ways",
            "`{ NODE = PORT }`: where frames for a node leave",
        ),
    ],
    includes: &["network.switch"],
};

const CABLE: TableDoc = TableDoc {
    name: "link",
    written: "[[link]]",
    what: "A cable of a network with `topology = \"custom\"`.",
    keys: &[need(
        "between",
        Ends,
        "its two ends; a switch without a port: the next free one",
    )],
    includes: &["link-keys"],
};

const PROGRAM: TableDoc = TableDoc {
    name: "program",
    written: "[[program]]",
    what: "Host programs. Those that exchange messages check each one: once, in order, every byte.",
    keys: &[
        need(
            "run",
            Choice(&[
                "ping-pong",
                "stream",
                "all-to-all",
                "random",
                "incast",
                "idle",
                "start",
            ]),
            "the program; idle: nodes that only load their firmware; start: nodes that start firmware of any kind and do nothing more",
        ),
        key(
            "start_us",
            Number(0.0, 1e9),
            "0",
            "its start, counted from the start of all programs",
        ),
        key(
            "nodes",
            Nodes,
            "needed",
            "ping-pong: two nodes; all-to-all, random: several; idle, start: any",
        ),
        key(
            "from",
            Nodes,
            "needed",
            "stream: the sender; incast: the senders",
        ),
        key("to", Node, "needed", "stream, incast: the receiver"),
        key("tags", Integer(1, 16), "4", "random: number of tags"),
        key(
            "bursts",
            Integer(1, 1_000_000),
            "1",
            "incast: number of bursts",
        ),
        key(
            "pause_us",
            Number(0.0, 1e9),
            "0",
            "incast: pause between bursts",
        ),
        key(
            "messages",
            Integer(1, 10_000_000),
            "1",
            "messages: of each sender to each receiver; random: of each node; ping-pong: there and back each",
        ),
        key(
            "bytes",
            Lengths(16_777_208),
            "needed, or max_bytes",
            "lengths, in turn",
        ),
        key(
            "max_bytes",
            Integer(0, 16_777_208),
            "none",
            "random: lengths up to this one, instead of `bytes`",
        ),
        key(
            "window",
            Integer(1, 200),
            "2",
            "transmits that are posted at once; the most depends on protocol and length",
        ),
        key(
            "receives",
            Integer(1, 440),
            "as many as messages need",
            "receives that are posted at once; the most depends on protocol and length",
        ),
    ],
    includes: &[],
};

const RATES: &[Key] = &[
    key("loss", RATE, "0", "share of frames that are lost"),
    key("duplication", RATE, "0", "share of frames that come twice"),
    key("delay", RATE, "0", "share of frames that are held back"),
    key(
        "corruption",
        RATE,
        "0",
        "share of frames with a damaged byte",
    ),
    key(
        "longest_delay_us",
        Number(1e-6, DELAY),
        "100",
        "longest time for which a frame is held back",
    ),
];

const FAULTS: TableDoc = TableDoc {
    name: "faults",
    written: "[faults]",
    what: "Random faults on all links, from the scenario's seed.",
    keys: RATES,
    includes: &[],
};

const FAULT: TableDoc = TableDoc {
    name: "fault",
    written: "[[fault]]",
    what: "A fault. drop, duplicate, delay and corrupt select frames of EMP or packets of GM; the first one, unless `times` or `always` says otherwise.",
    keys: &[
        need(
            "do",
            Choice(&[
                "drop",
                "duplicate",
                "delay",
                "corrupt",
                "random",
                "cut",
                "replug",
                "stall-dma",
                "reset",
            ]),
            "what happens",
        ),
        key(
            "by_us",
            Number(1e-6, DELAY),
            "needed",
            "delay: how long the frame is held back",
        ),
        key(
            "byte",
            Integer(0, 9017),
            "needed",
            "corrupt: index of the damaged byte",
        ),
        key(
            "valid_fcs",
            Flag,
            "false",
            "corrupt: the check sequence is made right again, so that no NIC detects it",
        ),
        key(
            "frame",
            Choice(&["any", "header", "data", "fragment", "ack"]),
            "any",
            "kind of EMP's frames",
        ),
        key(
            "fragment",
            Integer(0, 1535),
            "any",
            "number of an EMP frame within its message, from 0",
        ),
        key(
            "message",
            Integer(0, 65_535),
            "any",
            "number of an EMP message, from 0, of its sender to its receiver",
        ),
        key(
            "packet",
            Choice(&["any", "data", "ack", "nack", "null"]),
            "any",
            "kind of GM's packets",
        ),
        key(
            "sequence",
            Integer(0, 65_535),
            "any",
            "sequence number of a GM packet",
        ),
        key(
            "priority",
            Choice(&["low", "high"]),
            "any",
            "priority of a GM packet",
        ),
        key(
            "nth",
            Integer(1, HITS),
            "1",
            "GM: the nth packet that matches, of each sender",
        ),
        key(
            "from",
            Node,
            "any",
            "sender of the frames; needed if the network has several parts",
        ),
        key("to", Node, "any", "receiver of the frames"),
        key(
            "after_us",
            Number(0.0, LATEST),
            "0",
            "frames that leave from then on, counted from the start of the programs",
        ),
        key(
            "times",
            Integer(1, HITS),
            "1",
            "number of frames that are hit",
        ),
        key("always", Flag, "false", "every frame that matches is hit"),
        key(
            "nodes",
            Nodes,
            "all links",
            "random, cut, replug: the links of these nodes",
        ),
        key(
            "link",
            Ends,
            "none",
            "random, cut, replug: the link between two nodes or switches, instead of `nodes`",
        ),
        key(
            "at_us",
            Number(0.0, LATEST),
            "needed",
            "cut, replug, reset, stall-dma: when",
        ),
        key(
            "for_us",
            Number(1e-6, LATEST),
            "for good; stall-dma: needed",
            "cut: how long; replug: how long the cable is in nobody's port; stall-dma: how long",
        ),
        key(
            "ends",
            Ends,
            "needed",
            "replug: the cable's ends afterwards, of switches as `\"name:3\"`",
        ),
        key("node", Node, "needed", "stall-dma, reset: the node"),
        key(
            "channel",
            Choice(&["read", "write"]),
            "needed",
            "stall-dma: the channel that rests",
        ),
        key(
            "transfer",
            Integer(1, 1 << 40),
            "none",
            "stall-dma: it rests before its nth transfer, instead of `at_us`",
        ),
        key(
            "pause_us",
            Number(0.0, LATEST),
            "it stays off",
            "reset: the node starts again after so long",
        ),
        key("loss", RATE, "0", "random: share of frames that are lost"),
        key(
            "duplication",
            RATE,
            "0",
            "random: share of frames that come twice",
        ),
        key(
            "delay",
            RATE,
            "0",
            "random: share of frames that are held back",
        ),
        key(
            "corruption",
            RATE,
            "0",
            "random: share of frames with a damaged byte",
        ),
        key(
            "longest_delay_us",
            Number(1e-6, DELAY),
            "100",
            "random: longest time for which a frame is held back",
        ),
    ],
    includes: &[],
};

const EMP: TableDoc = TableDoc {
    name: "emp",
    written: "[emp], emp = { ... }",
    what: "Settings of EMP (docs/emp.md), of all nodes or of a `[[node]]`.",
    keys: &[
        key("ack_group", Integer(1, 16), "3", "frames for each ack"),
        key(
            "frame_bytes",
            Integer(46, 9000),
            "1500",
            "payload of an Ethernet frame",
        ),
        key(
            "timeout_us",
            Integer(1, 1 << 26),
            "2000",
            "frames without an ack are sent again after it",
        ),
        key(
            "retry_limit",
            Integer(0, 254),
            "10",
            "a message fails after so many times",
        ),
        key(
            "flow_control",
            Flag,
            "false",
            "senders slow down for receivers that are short of buffer space",
        ),
        key(
            "receive_timeout_us",
            Integer(0, 1 << 30),
            "when the sender is gone",
            "a partly filled receive fails after it; 0: never",
        ),
    ],
    includes: &[],
};

const GM: TableDoc = TableDoc {
    name: "gm",
    written: "[gm], gm = { ... }",
    what: "Settings of GM (docs/gm.md), of all nodes or of a `[[node]]`.",
    keys: &[
        key(
            "routes",
            Choice(&["computed", "mapper"]),
            "computed",
            "who gives the routes: the hosts compute them, or a mapper explores the network",
        ),
        key(
            "mapper",
            Flag,
            "false",
            "this node's host is the mapper (default: the first one)",
        ),
        key(
            "verify_us",
            Integer(0, 600_000_000),
            "10000",
            "pause after which the mapper looks for changes; 0: it does not",
        ),
        key(
            "resend_us",
            Integer(100, 10_000_000),
            "10000",
            "packets without an ack are sent again after it",
        ),
        key(
            "fatal_us",
            Integer(100, 600_000_000),
            "60000000",
            "a send fails after so long without progress",
        ),
    ],
    includes: &[],
};

const COSTS: TableDoc = TableDoc {
    name: "costs",
    written: "[costs]",
    what: "Values in place of entries of the timing profile, by the names in its file: `[costs.core]` with `clock = 44_000_000`, or `\"core.clock\" = 44_000_000`; `lanigon unpack` writes the profiles into a folder.",
    keys: &[],
    includes: &[],
};
