//! Errors of a shared memory.

use thiserror::Error;

use super::{MOST_EARLY, MOST_NODES, MOST_PARTS};
use crate::gm::atomic::AtomicError;
use crate::gm::collective::PostError;
use crate::gm::{ChannelError, MemoryError, PortError, ReceiveError, SendError, Status};

/// A shared memory cannot do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DsmError {
    /// A number of nodes that no memory can have.
    #[error("a shared memory has 1 to {MOST_NODES} nodes, not {nodes}")]
    Nodes {
        /// Number of nodes.
        nodes: usize,
    },
    /// A page of this size is not possible.
    #[error("a page of {bytes} bytes: its size is a power of two from 64 to 65536")]
    PageSize {
        /// Bytes of a page.
        bytes: u32,
    },
    /// Settings that do not fit together.
    #[error("diffs by put need the protocol ardmar, and no search for races")]
    Combination,
    /// A page cannot be fetched in so many parts.
    #[error(
        "{parts} parts of a page: a power of two up to {MOST_PARTS}, each of 32 bytes at least"
    )]
    Parts {
        /// Number of parts.
        parts: u32,
    },
    /// A handler sends a page as a whole.
    #[error("pages in parts need the protocol ardmar")]
    PartsOfHandlers,
    /// Not so many pages can be fetched early at a time.
    #[error("{fetches} early fetches at a time are more than {MOST_EARLY}")]
    EarlyFetches {
        /// Number of pages.
        fetches: u32,
    },
    /// The own endpoint is not among the members.
    #[error("the own node is not among the members")]
    NotMember,
    /// The pages of the memory are used up.
    #[error("{pages} more pages are needed, {left} are left")]
    TooFewPages {
        /// Pages of the new region.
        pages: u64,
        /// Pages that no region has.
        left: u32,
    },
    /// An access outside of a region.
    #[error("elements {first} to {end} of a region of {length}")]
    OutOfRange {
        /// First element.
        first: usize,
        /// The element behind the last one.
        end: usize,
        /// Elements of the region.
        length: usize,
    },
    /// There is no such lock.
    #[error("there is no lock {lock}: the memory has {locks}")]
    NoLock {
        /// Number of the lock.
        lock: u32,
        /// Number of locks.
        locks: u32,
    },
    /// A lock is acquired that the node has, or released that it does not have.
    #[error("lock {lock} is {}", if *held { "held by this node already" } else { "not held by this node" })]
    LockState {
        /// Number of the lock.
        lock: u32,
        /// Whether the node has it.
        held: bool,
    },
    /// A node does not answer any more.
    #[error("node {rank} of the shared memory is gone: {}", status.name())]
    NodeGone {
        /// Rank of the node.
        rank: usize,
        /// Status with which the board ended a message to the node.
        status: Status,
    },
    /// A message of another node is not one of this library.
    #[error("a message of node {rank} is damaged")]
    Damaged {
        /// Rank of the message's sender.
        rank: usize,
    },
    /// A message of an endpoint that is not a member.
    #[error("a message of an endpoint that is not a member")]
    Stranger,
    /// The write notices of a lock's last users are not kept any more.
    #[error("node {rank} has written more pages since the last barrier than its log can hold")]
    LogFull {
        /// The node whose log is full.
        rank: usize,
    },
    /// Memory that the board may use.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The own port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Messages.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A put or get was refused.
    #[error(transparent)]
    Send(#[from] SendError),
    /// An event.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// An operation of the board was refused.
    #[error(transparent)]
    Post(#[from] PostError),
    /// An atomic operation.
    #[error(transparent)]
    Atomic(#[from] AtomicError),
}
