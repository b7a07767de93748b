//! The keys of networks.

use super::Values::{Choice, Ends, Entries, Integer, Number, Table, Text};
use super::keys::{key, need};
use super::{TableDoc, names};
use crate::scenario::network::FORWARDING;
use crate::scenario::nodes::MOST_NODES;
use crate::scenario::topology::SHAPES;

pub(super) const NETWORK: TableDoc = TableDoc {
    name: "network",
    written: "[network]",
    what: "Nodes and what joins them.",
    keys: &[
        need(
            "topology",
            Choice(const { &names(&SHAPES) }),
            "pair: each two nodes by a cable; loop: each node's cable leads back (Myrinet); star: one switch; tree: switches with `ports`; clos: one to three stages of crossbars (Myrinet); custom: `[[switch]]` and `[[link]]`",
        ),
        key(
            "nodes",
            Integer(1, MOST_NODES as u64),
            "2 for pair; else needed without [[node]]",
            "nodes, named by their numbers from 0; at most 256 with EMP",
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

pub(super) const LINK: TableDoc = TableDoc {
    name: "link-keys",
    written: "link = { ... }, uplink = { ... }",
    what: "Properties of cables, in `[network]` (`uplink`: those between switches of tree and clos) and in each `[[link]]`.",
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
            "length, for the propagation time",
        ),
        key(
            "propagation_ns",
            Number(0.0, 1e9),
            "that of the length",
            "propagation time instead of the length; not 0; of Myrinet at most 1 ms",
        ),
    ],
    includes: &[],
};

pub(super) const SWITCH_KEYS: TableDoc = TableDoc {
    name: "network.switch",
    written: "switch = { ... }",
    what: "Properties of switches, in `[network]` and in each `[[switch]]`.",
    keys: &[
        key(
            "forwarding",
            Choice(const { &names(&FORWARDING) }),
            "store-and-forward",
            "Ethernet: when a frame goes on",
        ),
        key(
            "latency_ns",
            Number(0.0, 1e9),
            "1000; crossbars: of the profile",
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
            "of the profile",
            "Myrinet: fill of a port's slack buffer that says STOP",
        ),
        key(
            "go_bytes",
            Integer(0, (1 << 20) - 1),
            "of the profile",
            "Myrinet: fill that says GO; below `stop_bytes`",
        ),
        key(
            "watchdog_us",
            Number(1e-3, 1e9),
            "of the profile",
            "Myrinet: a packet whose head waits so long is taken out",
        ),
    ],
    includes: &[],
};

pub(super) const SWITCH: TableDoc = TableDoc {
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

pub(super) const CABLE: TableDoc = TableDoc {
    name: "link",
    written: "[[link]]",
    what: "A cable of a network with `topology = \"custom\"`.",
    keys: &[need(
        "between",
        Ends,
        "its ends; a switch without a port: the next free one",
    )],
    includes: &["link-keys"],
};
