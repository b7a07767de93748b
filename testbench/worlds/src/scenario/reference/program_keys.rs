//! Keys of programs.

use super::Values::{Choice, Flag, Integer, Lengths, Node, Nodes, Number, Text};
use super::keys::{key, need};
use super::{TableDoc, names};
use crate::scenario::control::FORMATS;
use crate::scenario::programs::{LONGEST_US, MOST_MESSAGES, NAMES};

pub(super) const PROGRAM: TableDoc = TableDoc {
    name: "program",
    written: "[[program]]",
    what: "Host programs. Those that exchange messages check each one: once, in order, every byte.",
    keys: &[
        need(
            "run",
            Choice(const { &names(&NAMES) }),
            "one of these or of the tables below; frames: Ethernet frames by the AceNIC driver; replay: the recording of a failed test; mcp-mailbox, mcp-shmem: hosts of control programs of real Myrinet adapters, which `image` names; idle: nodes load their firmware only; start: firmware of any kind",
        ),
        key(
            "start_us",
            Number(0.0, LONGEST_US),
            "0",
            "its start, from that of all programs; mcp-shmem, and mcp-mailbox of one node: from power-on",
        ),
        key(
            "nodes",
            Nodes,
            "needed",
            "ping-pong: two nodes; all-to-all, random: several; idle, start, mcp-shmem: any; mcp-mailbox: any, several exchange frames",
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
            Number(0.0, LONGEST_US),
            "0",
            "incast: pause between bursts",
        ),
        key(
            "messages",
            Integer(1, MOST_MESSAGES),
            "1",
            "of each sender to each receiver; random: of each node; ping-pong: there and back each",
        ),
        key(
            "bytes",
            Lengths(16_777_208),
            "needed, or max_bytes",
            "lengths, in turn; mcp-mailbox: multiples of 4 from 64 to 8,432, or 64",
        ),
        key(
            "max_bytes",
            Integer(0, 16_777_208),
            "none",
            "random: lengths up to this, instead of `bytes`",
        ),
        key(
            "window",
            Integer(1, 255),
            "2; of frames up to 128",
            "transmits posted at once; the most depends on protocol and length",
        ),
        key(
            "receives",
            Integer(1, 440),
            "as needed",
            "receives posted at once; the most depends on protocol and length",
        ),
        key(
            "frames",
            Integer(1, MOST_MESSAGES),
            "1",
            "frames, mcp-mailbox: of each sender to each receiver",
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
            "frames: VLAN tag, which boards insert and take out",
        ),
        key(
            "checksum",
            Flag,
            "false",
            "frames: boards compute and check UDP checksums",
        ),
        key(
            "gap_us",
            Number(0.0, LONGEST_US),
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
            "format",
            Choice(const { &names(&FORMATS) }),
            "the file tells",
            "mcp-mailbox, mcp-shmem: format of the control program",
        ),
        key(
            "skip_bytes",
            Integer(0, 1 << 20),
            "the file tells",
            "mcp-mailbox, mcp-shmem: bytes of a raw file before the image",
        ),
        key("file", Text, "needed", "replay: the recording"),
        key("node", Node, "needed", "replay: the node"),
    ],
    includes: &[],
};
