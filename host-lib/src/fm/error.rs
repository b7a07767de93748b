//! Errors: at start-up, of sends, of receives.

use defs::fm::map::{GLOBALS, MULTI_LIMIT, NODE_LIMIT, ROUTE_LIMIT, SRAM_BYTES};
use std::time::Duration;

use thiserror::Error;

use crate::lanai::LanaiError;
use crate::window::{PollError, VirtualAddress};

/// Start-up failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StartError {
    /// The own node is not in the route table.
    #[error("own node {node} is not one of the {nodes} routes")]
    Node {
        /// Own node number.
        node: u16,
        /// Routes given.
        nodes: usize,
    },
    /// More nodes than the firmware's tables hold.
    #[error("{nodes} nodes are more than {NODE_LIMIT}")]
    TooManyNodes {
        /// Routes given.
        nodes: usize,
    },
    /// A route has too many bytes.
    #[error("the route to node {node} has {length_bytes} bytes, more than {ROUTE_LIMIT}")]
    LongRoute {
        /// The node that it leads to.
        node: usize,
        /// Length of the route in bytes.
        length_bytes: usize,
    },
    /// The number of credits cannot be told apart from older ones.
    #[error("{credits} credits for each sender: 1 to 1024 are possible")]
    Credits {
        /// The setting.
        credits: u16,
    },
    /// The board cannot be brought up, or the image cannot be loaded.
    #[error(transparent)]
    Board(#[from] LanaiError),
    /// The image reaches into the memory that it shares with the host.
    #[error("the segment at {address:#x} ({length_bytes} bytes) ends above {GLOBALS:#x}")]
    Image {
        /// Start of the segment.
        address: u32,
        /// Length of the segment in bytes.
        length_bytes: usize,
    },
    /// The board has too little memory.
    #[error("the board has {sram_bytes:#x} bytes of memory, FM needs {SRAM_BYTES:#x}")]
    Sram {
        /// Bytes that the board has.
        sram_bytes: u32,
    },
    /// There is no contiguous memory for the receive queue, or none that the board can address.
    #[error("there is no contiguous memory of {bytes} bytes below 4 GB for the receive queue")]
    NoMemory {
        /// Bytes of the queue.
        bytes: u64,
    },
    /// The firmware does not answer.
    #[error("the firmware does not answer: waited for {waited_for} {polls} times")]
    Silent {
        /// The awaited state.
        waited_for: &'static str,
        /// Number of polls.
        polls: u32,
    },
}

/// A message, or a piece of it, was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// There are no destinations.
    #[error("a message needs a destination")]
    NoDestination,
    /// There are too many destinations.
    #[error("{count} destinations are more than {MULTI_LIMIT}")]
    TooManyDestinations {
        /// Number of destinations.
        count: usize,
    },
    /// The sender is a destination.
    #[error("node {node} is the sender and cannot be a destination")]
    ToItself {
        /// The own node.
        node: u16,
    },
    /// A node is a destination twice.
    #[error("node {node} is a destination twice")]
    Twice {
        /// The node that is listed twice.
        node: u16,
    },
    /// There is no such node.
    #[error("there is no node {node}: the route table has {nodes}")]
    UnknownNode {
        /// The unknown node.
        node: u16,
        /// Nodes of the route table.
        nodes: u16,
    },
    /// There is no route to a node.
    #[error("there is no route to node {node}")]
    Unreachable {
        /// The node without a route.
        node: u16,
    },
    /// The pieces are longer than the message.
    #[error("pieces of {bytes} bytes do not fit a message of {length}")]
    TooLong {
        /// Bytes of all pieces.
        bytes: u64,
        /// Length of the message.
        length: u32,
    },
    /// The message was ended too early.
    #[error("a message of {length} bytes was ended after {bytes}")]
    Incomplete {
        /// Bytes of all pieces.
        bytes: u32,
        /// Length of the message.
        length: u32,
    },
    /// A receiver returned no credit in time.
    #[error("node {node} returned no credit in {:?}", Duration::from_nanos(*timeout_ns))]
    NoCredit {
        /// The first node without.
        node: u16,
        /// The limit.
        timeout_ns: u64,
    },
    /// The board freed no send slot in time.
    #[error("the board freed no send slot in {:?}", Duration::from_nanos(*timeout_ns))]
    NoSlot {
        /// The limit.
        timeout_ns: u64,
    },
    /// The receive queue cannot be read.
    #[error("the receive queue at {:#x} is not mapped", .0.0)]
    NotMapped(VirtualAddress),
}

/// A packet was not handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReceiveError {
    /// A stream is open.
    #[error("a stream is open: nothing can be received before it is ended")]
    StreamOpen,
    /// No handler has the number of a packet. The packet is gone.
    #[error("node {sender} sent a packet for handler {handler}, which is not set")]
    NoHandler {
        /// Node that sent the packet.
        sender: u16,
        /// The handler's number.
        handler: u16,
    },
    /// A packet does not continue its message: one before it was lost. It is gone, and so is the message.
    #[error("a packet of node {sender} does not continue its message {message}")]
    Broken {
        /// Node that sent the packet.
        sender: u16,
        /// Number of the message.
        message: u16,
    },
    /// No packet came in time.
    #[error("no packet came in {:?}", Duration::from_nanos(*timeout_ns))]
    Nothing {
        /// The limit.
        timeout_ns: u64,
    },
    /// Credits could not be returned.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The receive queue cannot be read.
    #[error("the receive queue at {:#x} is not mapped", .0.0)]
    NotMapped(VirtualAddress),
}

/// The address of a poll's error; that of nothing for an empty list of words, which the library never polls.
pub(super) const fn address(error: PollError) -> VirtualAddress {
    match error {
        PollError::BadAddress(address) => address,
        PollError::TimedOut(_) | PollError::NoWords => VirtualAddress(0),
    }
}
