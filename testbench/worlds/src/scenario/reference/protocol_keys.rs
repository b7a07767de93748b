//! Keys of the settings of protocols.

use defs::emp::control;
use defs::emp::frame::GROUP_LIMIT;
use host_lib::acenic::{JUMBO_MTU, STANDARD_MTU};
use host_lib::emp::{
    MAXIMUM_FRAME_PAYLOAD_BYTES, MAXIMUM_RECEIVE_TIMEOUT_US, MAXIMUM_RETRY_LIMIT,
    MINIMUM_FRAME_PAYLOAD_BYTES, TIMEOUT_US_RANGE,
};
use host_lib::fm::MOST_CREDITS;

use super::Values::{Choice, Flag, Integer};
use super::keys::{Decimal, key};
use super::{TableDoc, names};
use crate::scenario::{acenic, gm};

pub(super) const EMP: TableDoc = TableDoc {
    name: "emp",
    written: "[emp], emp = { ... }",
    what: "Settings of EMP (docs/emp.md), of all nodes or of a `[[node]]`.",
    keys: &[
        key(
            "ack_group",
            Integer(1, GROUP_LIMIT as u64),
            Decimal::<{ control::DEFAULT_ACK_GROUP }>::TEXT,
            "frames for each ack",
        ),
        key(
            "frame_bytes",
            Integer(
                MINIMUM_FRAME_PAYLOAD_BYTES as u64,
                MAXIMUM_FRAME_PAYLOAD_BYTES as u64,
            ),
            Decimal::<{ control::DEFAULT_FRAME_BYTES }>::TEXT,
            "payload of an Ethernet frame",
        ),
        key(
            "timeout_us",
            Integer(
                *TIMEOUT_US_RANGE.start() as u64,
                *TIMEOUT_US_RANGE.end() as u64,
            ),
            Decimal::<{ control::DEFAULT_TIMEOUT_US }>::TEXT,
            "frames without an ack are sent again after it",
        ),
        key(
            "retry_limit",
            Integer(0, MAXIMUM_RETRY_LIMIT as u64),
            Decimal::<{ control::DEFAULT_RETRY_LIMIT }>::TEXT,
            "a message fails after so many times",
        ),
        key(
            "flow_control",
            Flag,
            "false",
            "senders slow down for receivers short of buffers",
        ),
        key(
            "receive_timeout_us",
            Integer(0, MAXIMUM_RECEIVE_TIMEOUT_US as u64),
            "when the sender is gone",
            "a partly filled receive fails after it; 0: never",
        ),
    ],
    includes: &[],
};

pub(super) const GM: TableDoc = TableDoc {
    name: "gm",
    written: "[gm], gm = { ... }",
    what: "Settings of GM (docs/gm.md), of all nodes or of a `[[node]]`.",
    keys: &[
        key(
            "routes",
            Choice(const { &names(&gm::ROUTES) }),
            "computed",
            "hosts compute the routes, or a mapper explores the network",
        ),
        key(
            "mapper",
            Flag,
            "false",
            "the host of this node is the mapper; default: the last node of each part of the network",
        ),
        key(
            "verify_us",
            Integer(0, gm::LONGEST_FATAL_US),
            "10000",
            "pause until the mapper looks for changes again; 0: it does not",
        ),
        key(
            "resend_us",
            Integer(gm::TICK_US as u64, gm::LONGEST_RESEND_US),
            "10000",
            "packets without an ack are sent again after it",
        ),
        key(
            "fatal_us",
            Integer(gm::TICK_US as u64, gm::LONGEST_FATAL_US),
            "60000000",
            "a send fails after so long without progress",
        ),
        key(
            "collective_us",
            Integer(gm::TICK_US as u64, gm::LONGEST_FATAL_US),
            "60000000",
            "a collective operation of the board fails after so long",
        ),
    ],
    includes: &[],
};

pub(super) const FM: TableDoc = TableDoc {
    name: "fm",
    written: "[fm], fm = { ... }",
    what: "Settings of FM (docs/fm.md), of all nodes or of a `[[node]]`.",
    keys: &[
        key(
            "credits",
            Integer(1, MOST_CREDITS as u64),
            "16",
            "packet buffers, and so credits, for each other node; equal on all nodes",
        ),
        key(
            "combine_writes",
            Flag,
            "false",
            "the processor combines writes to the board",
        ),
        key(
            "timeout_us",
            Integer(1, 600_000_000),
            "1000000",
            "a wait for credits, a send slot or a packet fails after it",
        ),
    ],
    includes: &[],
};

pub(super) const ACENIC: TableDoc = TableDoc {
    name: "acenic",
    written: "[acenic], acenic = { ... }",
    what: "Settings of the AceNIC driver (docs/acenic.md), of all nodes or of a `[[node]]`.",
    keys: &[
        key(
            "mtu",
            Integer(STANDARD_MTU as u64, JUMBO_MTU as u64),
            "1518",
            "longest frame without FCS, with a tag, in bytes",
        ),
        key(
            "rx_ticks_us",
            Integer(0, 1_000_000),
            "120",
            "a received frame is reported by then",
        ),
        key(
            "tx_ticks_us",
            Integer(0, 1_000_000),
            "400",
            "a sent frame is reported by then",
        ),
        key(
            "rx_frames",
            Integer(1, 511),
            "25",
            "so many received frames are reported at once",
        ),
        key(
            "tx_descriptors",
            Integer(1, 511),
            "60",
            "so many sent descriptors are reported at once",
        ),
        key(
            "assist",
            Choice(const { &names(&acenic::ASSISTS) }),
            "software",
            "who runs the DMA rings: the second CPU, or the chip",
        ),
    ],
    includes: &[],
};
