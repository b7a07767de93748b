//! Keys of a program that exchanges frames as fast as it goes.

use defs::ethernet::MOST_BATCH;
use host_lib::ethernet::Ordering;
use lanigon_worlds::keys;
use lanigon_worlds::scenario::ScenarioError;
use lanigon_worlds::scenario::nodes::Nodes;
use lanigon_worlds::scenario::reference::Values::{Choice, Flag, Integer, Node as NodeOf};
use lanigon_worlds::scenario::reference::{key, names, need};
use lanigon_worlds::scenario::table::Table;

use super::EthernetSettings;
use super::workload::EthernetProgram;

/// Most frames of a sender.
const MOST_FRAMES: u64 = 10_000_000;
/// Frames of Ethernet, with FCS.
const SHORTEST_BYTES: u64 = 64;
const LONGEST_BYTES: u64 = 1518;

const ORDERINGS: [(&str, Ordering); 2] = [("locks", Ordering::Locks), ("bits", Ordering::Bits)];

keys! {
    FROM = need("from", NodeOf, "the sender");
    TO = need("to", NodeOf, "the receiver");
    BOTH = key("both", Flag, "false", "both send");
    FRAMES = key("frames", Integer(1, MOST_FRAMES), "1000", "of a sender");
    BYTES = key(
        "bytes",
        Integer(SHORTEST_BYTES, LONGEST_BYTES),
        "1518",
        "with FCS",
    );
    INTERVAL_NS = key(
        "interval_ns",
        Integer(0, 1_000_000_000),
        "0",
        "0: as fast as it goes",
    );
    ORDER = key(
        "order",
        Choice(const { &names(&ORDERINGS) }),
        "locks",
        "how it is restored",
    );
    BATCH = key(
        "batch",
        Integer(1, MOST_BATCH as u64),
        "8",
        "most frames of a CPU at a time",
    );
}

/// Reads nodes and settings of a program.
pub(super) fn read(table: &mut Table<'_>, nodes: &Nodes) -> Result<EthernetProgram, ScenarioError> {
    let from = nodes.resolve_one(&table.want(&FROM)?)?;
    let item = table.want(&TO)?;
    let to = nodes.resolve_one(&item)?;
    if from == to {
        return Err(item.place.refuse("a node sends no frames to itself"));
    }
    let ordering = table.choose(&ORDER, "order", &ORDERINGS)?;
    let settings = EthernetSettings {
        both: table.is_set(&BOTH)?,
        frames: table.whole(&FRAMES)?,
        bytes: table.whole(&BYTES)?,
        interval_ns: table.whole(&INTERVAL_NS)?,
        ordering: ordering.unwrap_or(Ordering::Locks),
        batch: table.whole(&BATCH)?,
    };
    Ok(EthernetProgram { from, to, settings })
}
