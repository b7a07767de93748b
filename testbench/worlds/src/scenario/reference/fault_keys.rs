//! The keys of faults.

use super::Values::{Choice, Ends, Flag, Integer, Node, Nodes, Number};
use super::keys::{LATEST, key, need};
use super::{Key, TableDoc, Values, names};
use crate::scenario::faults::{CHANNELS, KINDS, PACKETS, PRIORITIES, VERBS};

/// Longest delay of a frame in us.
const DELAY: f64 = 6e7;
/// Largest number of hits of a fault.
const HITS: u64 = 1 << 30;
const RATE: Values = Number(0.0, 1.0);

const RATES: &[Key] = &[
    key("loss", RATE, "0", "share of frames that are lost"),
    key(
        "duplication",
        RATE,
        "0",
        "share of frames that come twice; not at ports of Myrinet crossbars",
    ),
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
        "longest time of that",
    ),
];

pub(super) const FAULTS: TableDoc = TableDoc {
    name: "faults",
    written: "[faults]",
    what: "Random faults on all links, from the scenario's seed.",
    keys: RATES,
    includes: &[],
};

pub(super) const FAULT: TableDoc = TableDoc {
    name: "fault",
    written: "[[fault]]",
    what: "A fault. drop, duplicate, delay and corrupt select frames of EMP, packets of GM, or Ethernet frames of programs (`run = \"frames\"`); the first one, unless `times` or `always` says otherwise. random hits at rates.",
    keys: &[
        need("do", Choice(const { &names(&VERBS) }), "what happens"),
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
            "corrupt: index of the damaged byte, from 0; shorter frames or packets are not selected",
        ),
        key(
            "valid_fcs",
            Flag,
            "false",
            "corrupt: with a right check sequence",
        ),
        key(
            "frame",
            Choice(const { &names(&KINDS) }),
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
            "number of an EMP message or an Ethernet frame, from 0, of its sender to its receiver",
        ),
        key(
            "packet",
            Choice(const { &names(&PACKETS) }),
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
            Choice(const { &names(&PRIORITIES) }),
            "any",
            "priority of a GM packet",
        ),
        key(
            "nth",
            Integer(1, HITS),
            "1",
            "GM, Ethernet frames: the nth of each sender that matches",
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
            "frames that leave from then on, from the start of the programs",
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
            "random, cut, replug: the link between two ends, instead of `nodes`",
        ),
        key(
            "at_us",
            Number(0.0, LATEST),
            "needed",
            "cut, replug, reset, reset-board, stall-dma: when",
        ),
        key(
            "for_us",
            Number(1e-6, LATEST),
            "for good; stall-dma: needed",
            "cut, stall-dma: how long; replug: how long the cable is in no port",
        ),
        key(
            "ends",
            Ends,
            "needed",
            "replug: the cable's ends afterwards, of switches as `\"name:3\"`",
        ),
        key(
            "node",
            Node,
            "needed",
            "stall-dma, reset, reset-board: the node",
        ),
        key(
            "channel",
            Choice(const { &names(&CHANNELS) }),
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
    ],
    includes: &["faults"],
};
