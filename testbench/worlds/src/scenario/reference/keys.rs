//! The keys.

use super::Values::{Choice, Integer, Number, Table, Tables, Text};
use super::fault_keys::{FAULT, FAULTS};
use super::network_keys::{CABLE, LINK, NETWORK, SWITCH, SWITCH_KEYS};
use super::program_keys::PROGRAM;
use super::protocol_keys::{ACENIC, EMP, FM, GM};
use super::{Key, TableDoc, Values, names};
use crate::scenario::nodes::{MOST_NODES, PROTOCOLS};

/// A key that must be there, where it applies.
#[must_use]
pub const fn need(name: &'static str, values: Values, what: &'static str) -> Key {
    Key {
        name,
        values,
        default: None,
        what,
    }
}

/// A key with a default.
#[must_use]
pub const fn key(
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

/// A constant as text: the defaults of protocols stand in one place.
pub(super) struct Decimal<const VALUE: u32>;

impl<const VALUE: u32> Decimal<VALUE> {
    const DIGITS: [u8; 10] = {
        let (mut digits, mut rest, mut index) = ([b'0'; 10], VALUE, 10);
        while rest > 0 {
            index -= 1;
            digits[index] += (rest % 10) as u8;
            rest /= 10;
        }
        digits
    };
    /// Decimal digits of the number.
    pub(super) const TEXT: &'static str = {
        let length = match VALUE.checked_ilog10() {
            Some(power) => power as usize + 1,
            None => 1,
        };
        match str::from_utf8(Self::DIGITS.split_at(10 - length).1) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    };
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
#[must_use]
pub fn table(name: &str) -> Option<&'static TableDoc> {
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
            "the run ends then, from the start of the programs",
        ),
        key(
            "quiet_us",
            Number(0.0, LATEST),
            "1e7",
            "the run ends, and says who waits for what, when only timers have happened for so long (no frame moved, no program began or ended, no CPU, DMA channel or program was busy for a tenth of it), or only boards have worked for ten times as long (not with `run = \"start\"`). Waits with a known end go on. 0: never, usual with `run = \"linux\"`",
        ),
        key(
            "board",
            Text,
            "the first of `lanigon list`",
            "type of board, or one of its profiles",
        ),
        key(
            "protocol",
            Choice(const { &names(&PROTOCOLS) }),
            "that of the board",
            "whose firmware and library programs use; `[emp]` or `[gm]` alone say it too",
        ),
        key(
            "image",
            Text,
            "that of the protocol",
            "firmware of all nodes: a built-in image, or a file (with a `/`), relative to the scenario",
        ),
        key(
            "symbols",
            Text,
            "none",
            "names for an image without them: a built-in image or an ELF file",
        ),
        key(
            "profile",
            Text,
            "that of the board",
            "timing profile: a built-in one, or a file as of `image`",
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
            "the usual size",
            "local memory of the boards, of the sizes made",
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
    what: "A node with a name, or a group of nodes; instead of `network.nodes`.",
    keys: &[
        need("name", Text, "letters, digits, - and _, a letter first"),
        key(
            "count",
            Integer(1, MOST_NODES as u64),
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
            Choice(const { &names(&PROTOCOLS) }),
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
            "names for an image without them: a built-in image or an ELF file",
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
            "local memory of the boards, of the sizes made",
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

const COSTS: TableDoc = TableDoc {
    name: "costs",
    written: "[costs]",
    what: "Values in place of entries of the timing profile, by the names in its file: `[costs.core]` with `clock = 44_000_000`, or `\"core.clock\" = 44_000_000`; `lanigon unpack` writes the profiles into a folder.",
    keys: &[],
    includes: &[],
};
