//! Collective operations: their descriptors in SRAM, their packets, their events (docs/collectives.md).
//!
//! An **endpoint** is a word: node in the upper half, port in bits 15 to 8.
//!
//! **Barrier.** The process writes the endpoints that the operation uses into one of its port's two [lists](peer_list), and a send slot of type
//! [`BARRIER`]: number of entries in the upper half, the algorithm in bits 15 to 8, with [`SECOND_LIST`]. The process is told of the end
//! before the last packets have left, so the next barrier has the other list, unless it has the same entries. Pairwise exchange: entries in the order of the
//! steps, each with [`STEP_SEND`], [`STEP_WAIT`] or both. Gather-broadcast: the parent first, if there is one
//! ([`TREE_PARENT`]), then the children.
//!
//! **Reduction.** The process writes one of its port's [descriptors](descriptor), and a send slot of type [`REDUCE`] with the
//! descriptor's number in bits 15 to 8:
//!
//! | word | content |
//! |------|---------|
//! | 0, 1 | the own value |
//! | 2 | tag: the same in all processes of an operation, another one for each operation under way |
//! | 3 | number of children; flags [`REDUCE_PARENT`], [`REDUCE_ALL`] in bits 15 to 8; [`Operation`] |
//! | 4 | the parent |
//! | 5 to 13 | the children |
//!
//! A port has one barrier and [`DESCRIPTOR_COUNT`] reductions under way at most. Each ends with one event of type
//! [`COMPLETED`](super::event::COMPLETED).

use super::map::{NODE_LIMIT, peer};
use super::packet::SUBTYPE_BASE;
use super::port::PORT_COUNT;

/// Type of a send slot: a barrier.
#[doc(alias = "gm_barrier_send_with_callback")]
pub const BARRIER: u32 = 110;
/// Type of a send slot: a reduction.
pub const REDUCE: u32 = 111;

/// Algorithm of a barrier: pairwise exchange.
pub const EXCHANGE: u32 = 0;
/// Algorithm of a barrier: gather-broadcast, at the root of the tree.
pub const TREE_ROOT: u32 = 1;
/// Algorithm of a barrier: gather-broadcast, with a parent.
pub const TREE_PARENT: u32 = 2;

/// Added to the algorithm: the entries are in the second list.
pub const SECOND_LIST: u32 = 0x80;

/// In an entry of an exchange: a packet is sent to the endpoint.
pub const STEP_SEND: u32 = 1;
/// In an entry of an exchange: a packet of the endpoint is awaited.
pub const STEP_WAIT: u32 = 2;

/// Flag of a reduction: there is a parent.
pub const REDUCE_PARENT: u32 = 1;
/// Flag of a reduction: all processes get the result.
pub const REDUCE_ALL: u32 = 2;

/// Most children of a process in a reduction (dissertation-133).
pub const CHILD_LIMIT: u32 = 9;
/// Bytes of a descriptor (dissertation-129).
pub const DESCRIPTOR_BYTES: u32 = 64;
/// Reductions that a port has under way at most.
pub const DESCRIPTOR_COUNT: u32 = 8;
/// Words of a descriptor, in bytes from its beginning: the value.
pub const DESCRIPTOR_VALUE: u32 = 0;
/// Offset of the operation's tag.
pub const DESCRIPTOR_TAG: u32 = 8;
/// Offset of the number of children, flags and operation.
pub const DESCRIPTOR_KIND: u32 = 12;
/// Offset of the parent's endpoint.
pub const DESCRIPTOR_PARENT: u32 = 16;
/// Offset of the children's endpoints.
pub const DESCRIPTOR_CHILDREN: u32 = 20;

/// Operations of reductions on two values of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Operation {
    /// Bits that both have.
    And = 0,
    /// Bits that one of them has.
    Or = 1,
    /// Sum of integers, modulo 2^64.
    Sum = 2,
    /// The smaller of two integers without sign.
    Min = 3,
    /// The larger one.
    Max = 4,
    /// Sum of IEEE doubles, rounded to nearest, ties to even.
    DoubleSum = 5,
    /// The smaller of two doubles; not a number if one of them is none; -0 is less than 0.
    DoubleMin = 6,
    /// The larger one, in the same way.
    DoubleMax = 7,
    /// The smaller of two integers with sign.
    SignedMin = 8,
    /// The larger one.
    SignedMax = 9,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 10] = [
        Self::And,
        Self::Or,
        Self::Sum,
        Self::Min,
        Self::Max,
        Self::DoubleSum,
        Self::DoubleMin,
        Self::DoubleMax,
        Self::SignedMin,
        Self::SignedMax,
    ];
}

/// Subtype of a packet: a step of an exchange.
pub const STEP: u32 = SUBTYPE_BASE + 80;
/// Subtype of a packet: all children have come to the barrier.
pub const GATHER: u32 = SUBTYPE_BASE + 81;
/// Subtype of a packet: all processes have come to the barrier.
pub const RELEASE: u32 = SUBTYPE_BASE + 82;
/// Subtype of a packet: one of the three before was for a port that was closed then and is open now.
pub const AGAIN: u32 = SUBTYPE_BASE + 83;
/// Subtype of a packet: the value of a process and its children.
pub const PARTIAL: u32 = SUBTYPE_BASE + 84;
/// Subtype of a packet: the value of all.
pub const RESULT: u32 = SUBTYPE_BASE + 85;
/// Subtype of a packet: a [`PARTIAL`] was for a port that was closed then and is open now; it comes back.
pub const PARTIAL_AGAIN: u32 = SUBTYPE_BASE + 86;
/// Number of subtypes of collective operations.
pub const SUBTYPES: u32 = 7;
/// Bytes behind the header of all of them: what an ack would have as its sequence number, so that operations that follow each other need
/// no acks.
pub const ACKED_BYTES: u32 = 4;
/// Bytes of the last three behind these: tag, value.
pub const VALUE_BYTES: u32 = 12;

/// Opening of a port: counts from 1 to this, then from 1 again. Word 3 of these packets has the sender's opening instead of a length.
pub const OPENINGS: u32 = 31;

/// Packets with operations that are taken and not used yet, at most; a further one waits at its sender.
pub const UNEXPECTED: u32 = 256;
/// Packets with values that are taken and not used yet, at most; a further one waits at its sender.
pub const UNEXPECTED_VALUES: u32 = 192;
/// Values of ports of the own board that are not used yet, at most.
pub const LOCAL_VALUES: u32 = 64;

/// First byte of what only collective operations need. Boards with less than [`COLLECTIVES_END`] bytes have none.
pub const COLLECTIVES: u32 = peer(NODE_LIMIT).next_multiple_of(0x1000);
/// Lists of endpoints of the ports.
pub const LISTS: u32 = COLLECTIVES;
/// Bytes of a list of endpoints. A port has two.
pub const LIST_BYTES: u32 = 4 * NODE_LIMIT;
/// Control blocks of the ports' operations.
pub const BLOCKS: u32 = LISTS + 2 * PORT_COUNT * LIST_BYTES;
/// Bytes of a control block: [`DESCRIPTOR_COUNT`] descriptors, then the firmware's words.
pub const BLOCK_BYTES: u32 = 0x800;
/// Records of packets.
pub const COLLECTIVE_RECORDS: u32 = BLOCKS + PORT_COUNT * BLOCK_BYTES;
/// Number of records of packets of collective operations.
pub const COLLECTIVE_RECORD_COUNT: u32 = 256;
/// Values that no operation has asked for yet.
pub const VALUES: u32 = COLLECTIVE_RECORDS + COLLECTIVE_RECORD_COUNT * 64;
/// Bytes of a buffer of an early value.
pub const VALUE_BUFFER_BYTES: u32 = 32;
/// Packets from a port of the own board.
pub const LOCAL: u32 = VALUES + (UNEXPECTED_VALUES + LOCAL_VALUES) * VALUE_BUFFER_BYTES;
/// Number of packets between ports of one board that can wait.
pub const LOCAL_COUNT: u32 = 128;
/// Bytes of a packet between ports of one board.
pub const LOCAL_BYTES: u32 = 16;
/// A byte for each port of the own board and each other endpoint: packets of barriers that came early. 64 bytes for each node,
/// 8 of these for each port.
pub const NOTES: u32 = LOCAL + LOCAL_COUNT * LOCAL_BYTES;
/// Bytes of a node.
pub const NOTE_BYTES: u32 = 64;
/// End of the memory for collective operations.
pub const COLLECTIVES_END: u32 = NOTES + NODE_LIMIT * NOTE_BYTES;

const _: () = assert!(COLLECTIVES_END <= 0xD_0000);

/// SRAM address of a port's first (0) or second (1) list of endpoints.
#[must_use]
pub const fn peer_list(port: u32, list: u32) -> u32 {
    LISTS + (2 * port + list) * LIST_BYTES
}

/// SRAM address of a descriptor of a port.
#[must_use]
pub const fn descriptor(port: u32, number: u32) -> u32 {
    BLOCKS + port * BLOCK_BYTES + number * DESCRIPTOR_BYTES
}

/// The word of an endpoint.
#[must_use]
pub const fn endpoint(node: u32, port: u32) -> u32 {
    node << 16 | port << 8
}
