//! The keys.

use super::Values::{Choice, Flag, Integer, Lengths, Node, Nodes, Number, Table, Tables, Text};
use super::fault_keys::{FAULT, FAULTS};
use super::network_keys::{CABLE, LINK, NETWORK, SWITCH, SWITCH_KEYS};
use super::protocol_keys::{ACENIC, EMP, FM, GM};
use super::{Key, TableDoc, Values};

pub(super) const fn need(name: &'static str, values: Values, what: &'static str) -> Key {
    Key {
        name,
        values,
        default: None,
        what,
    }
}

pub(super) const fn key(
    name: &'static str,
    values: Values,
    default: &'static str,
    what: &'static str,
) -> Key {
    Key {
        name,
        values,
        default: Some(default),
        what,
    }
}

/// Latest time of a scenario in us.
pub(super) const LATEST: f64 = 1e12;

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
    FM,
    ACENIC,
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
            "the first of `lanigon list`",
            "type of board, or one of its profiles (`lanigon list`)",
        ),
        key(
            "protocol",
            Choice(&["emp", "gm", "fm", "acenic"]),
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
            "symbols",
            Text,
            "none",
            "names for an image without them: a built-in image or an ELF file (with a `/`)",
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
        key(
            "board_memory_kb",
            Integer(1, 1 << 20),
            "the usual size of the board",
            "local memory of the boards: one of the sizes with which they are made",
        ),
        key("emp", Table("emp"), "none", "settings of EMP"),
        key("gm", Table("gm"), "none", "settings of GM"),
        key("fm", Table("fm"), "none", "settings of FM"),
        key(
            "acenic",
            Table("acenic"),
            "none",
            "settings of the AceNIC driver",
        ),
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
            Integer(1, 1024),
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
            Choice(&["emp", "gm", "fm", "acenic"]),
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
            "symbols",
            Text,
            "that of the file",
            "names for an image without them: a built-in image or an ELF file (with a `/`)",
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
        key(
            "board_memory_kb",
            Integer(1, 1 << 20),
            "that of the file",
            "local memory of the boards: one of the sizes with which they are made",
        ),
        key("emp", Table("emp"), "that of the file", "settings of EMP"),
        key("gm", Table("gm"), "that of the file", "settings of GM"),
        key("fm", Table("fm"), "that of the file", "settings of FM"),
        key(
            "acenic",
            Table("acenic"),
            "that of the file",
            "settings of the AceNIC driver",
        ),
        key(
            "costs",
            Table("costs"),
            "that of the file",
            "values in place of entries of the timing profile",
        ),
    ],
    includes: &[],
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
                "frames",
                "barrier",
                "reduction",
                "all-to-all-broadcast",
                "random-collectives",
                "multicast",
                "atomics",
                "lock",
                "idle",
                "start",
                "replay",
            ]),
            "the program; random-collectives: in each round a barrier, a reduction or an all-to-all broadcast at random; atomics: atomic operations on words of nodes; lock: a lock over these, acquired and released; multicast: messages along a tree; frames: frames of Ethernet by the AceNIC driver; replay: what a failed test recorded; idle: nodes that only load their firmware; start: nodes that start firmware of any kind and do nothing more",
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
            "ping-pong: two nodes; all-to-all, random: several; barrier, reduction, all-to-all-broadcast, random-collectives, atomics, lock: the members, by rank; multicast: the members; idle, start: any",
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
            "incast: pause between bursts; multicast: before each message",
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
            "lengths, in turn; all-to-all-broadcast: the length of a block, up to 1,048,576; random-collectives: the longest one; multicast: one length",
        ),
        key(
            "max_bytes",
            Integer(0, 16_777_208),
            "none",
            "random: lengths up to this one, instead of `bytes`",
        ),
        key(
            "window",
            Integer(1, 255),
            "2; of frames up to 128",
            "transmits that are posted at once; the most depends on protocol and length",
        ),
        key(
            "receives",
            Integer(1, 440),
            "as many as messages need",
            "receives that are posted at once; the most depends on protocol and length",
        ),
        key(
            "frames",
            Integer(1, 10_000_000),
            "1",
            "frames: of each sender to each receiver",
        ),
        key(
            "fragments",
            Integer(1, 16),
            "1",
            "frames: descriptors of a frame",
        ),
        key(
            "vlan",
            Integer(0, 0xFFFF),
            "none",
            "frames: VLAN tag that the boards insert and take out",
        ),
        key(
            "checksum",
            Flag,
            "false",
            "frames: UDP checksums that the boards compute and check",
        ),
        key(
            "gap_us",
            Number(0.0, 1e9),
            "0",
            "frames: pause of a sender after each frame",
        ),
        key(
            "patience_us",
            Number(1.0, 1e6),
            "20000",
            "frames: a receiver ends after so long without a frame",
        ),
        key(
            "algorithm",
            Choice(&[
                "pairwise-exchange",
                "gather-broadcast",
                "binomial",
                "tree",
                "recursive-doubling",
                "ring",
                "concurrent-broadcasting",
            ]),
            "the first one of the program",
            "barrier: pairwise-exchange, gather-broadcast; reduction: binomial, tree; all-to-all-broadcast: recursive-doubling, on hosts ring, on NICs concurrent-broadcasting",
        ),
        key(
            "on",
            Choice(&["host", "nic"]),
            "host; atomics, lock: nic",
            "collective and atomic operations: where they are executed",
        ),
        key(
            "per_node",
            Integer(1, 4),
            "1",
            "collective operations: members of each node, processes with ports of their own, whose ranks follow each other; the root is the first one of its node",
        ),
        key(
            "rounds",
            Integer(1, 1_000_000),
            "100",
            "collective operations: how often; multicast: for each leaf that answers",
        ),
        key(
            "degree",
            Integer(1, 255),
            "2",
            "gather-broadcast, tree: children of a node; reduction on the NIC: up to 9",
        ),
        key(
            "root",
            Node,
            "the first one",
            "gather-broadcast, reduction, multicast: the root of the tree",
        ),
        key(
            "operation",
            Choice(&["and", "or", "sum", "min", "max"]),
            "sum",
            "reduction: what is computed",
        ),
        key(
            "type",
            Choice(&["integer", "float"]),
            "integer",
            "reduction: values of 64 bits; and, or are for integers",
        ),
        key(
            "all",
            Flag,
            "false",
            "reduction on the NIC: all nodes get the result, not only the root",
        ),
        key(
            "compute_us",
            Number(0.0, 1e9),
            "0",
            "collective operations: computation before each round",
        ),
        key(
            "variation",
            Integer(0, 100),
            "0",
            "percentage by which each node computes longer or shorter at random, or pauses",
        ),
        key(
            "skew_us",
            Number(0.0, 1e9),
            "none",
            "collective operations: before each round a barrier, then a random delay up to this one",
        ),
        key(
            "last_late_us",
            Number(0.0, 1e9),
            "0",
            "collective operations: the last of `nodes` comes so much later to each round than the others",
        ),
        key(
            "tree",
            Choice(&["optimal", "binomial", "star"]),
            "optimal",
            "multicast: the best tree of the postal model for `lambda`, a binomial tree, or the root sends to all",
        ),
        key(
            "lambda",
            Integer(1, 256),
            "2",
            "multicast: time until a receiver can send on, in times between two sends",
        ),
        key(
            "send",
            Choice(&["multi-send", "unicast"]),
            "multi-send with FM, else unicast",
            "multicast: who copies a message for several nodes, the board or the host",
        ),
        key(
            "pipelined",
            Flag,
            "false",
            "multicast over FM: nodes send on each packet when it comes, not the whole message",
        ),
        key(
            "homes",
            Nodes,
            "the members",
            "atomics: the nodes whose words are changed",
        ),
        key(
            "home",
            Node,
            "the first member",
            "lock: the node with the word of the lock",
        ),
        key("words", Integer(1, 512), "4", "atomics: words of each home"),
        key(
            "operations",
            Choice(&[
                "random",
                "fetch-add",
                "fetch-write",
                "compare-swap",
                "compare-swap-miss",
            ]),
            "random",
            "atomics: which ones; compare-swap compares with the value that the member has seen last, compare-swap-miss with one that never stands there",
        ),
        key(
            "wait",
            Choice(&["poll", "spin-block", "block"]),
            "poll",
            "atomics, lock on hosts: how a server waits for requests",
        ),
        key(
            "reply",
            Choice(&["event", "memory"]),
            "event",
            "atomics, lock on boards: how a member gets a result, by an event or by a word in its memory",
        ),
        key(
            "mutex",
            Flag,
            "false",
            "atomics, lock on boards: boards keep operations apart from what their hosts do with the words",
        ),
        key(
            "count",
            Integer(1, 1_000_000),
            "100",
            "atomics: operations of each member; lock: how often each acquires it",
        ),
        key(
            "warm_up",
            Integer(0, 999_999),
            "0",
            "atomics, lock: how many of these do not count for the times; fewer than `count`",
        ),
        key(
            "counter",
            Flag,
            "false",
            "atomics, lock: homes that are no members count the iterations of a loop, once they have computed for 100 ms",
        ),
        key(
            "hold_us",
            Number(0.0, 1e9),
            "0",
            "lock: for so long a member holds it",
        ),
        key(
            "think_us",
            Number(0.0, 1e9),
            "0",
            "atomics, lock: pause after each operation or release",
        ),
        key("file", Text, "needed", "replay: the recording"),
        key("node", Node, "needed", "replay: the node"),
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
