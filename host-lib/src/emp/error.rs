//! Errors: at start-up, at a post, and during a transfer.

use defs::emp::descriptor::{INDIRECT_PAGES, MESSAGE_LIMIT_BYTES};
use defs::emp::frame::FRAME_LIMIT;
use defs::emp::frame::GROUP_LIMIT;
use thiserror::Error;

use super::config::{MAXIMUM_FRAME_PAYLOAD_BYTES, MINIMUM_FRAME_PAYLOAD_BYTES};
use super::settings::{MAXIMUM_RECEIVE_TIMEOUT_US, MAXIMUM_RETRY_LIMIT, TIMEOUT_US_RANGE};
use super::transfer::{Direction, Source, Tag};
use crate::board::ChipError;
use crate::firmware::ImageError;
use crate::window::{PhysicalAddress, VirtualAddress};

/// An invalid [`Config`](super::Config).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// The own node is not in the route table.
    #[error("own node {node} is not one of the {nodes} routes")]
    Node {
        /// Own node number.
        node: u16,
        /// Routes given.
        nodes: usize,
    },
    /// The ack group is empty, or too large for a frame's header.
    #[error("an ack group of {ack_group} frames is not between 1 and {GROUP_LIMIT}")]
    AckGroup {
        /// Frames asked for.
        ack_group: u32,
    },
    /// The first timeout is too short or too long for the NIC's timer.
    #[error(
        "a retransmission timeout of {timeout_us} us is not between {} and {}",
        TIMEOUT_US_RANGE.start(),
        TIMEOUT_US_RANGE.end()
    )]
    Timeout {
        /// Timeout asked for.
        timeout_us: u32,
    },
    /// More retries than the firmware counts.
    #[error("a retry limit of {retry_limit} is more than {MAXIMUM_RETRY_LIMIT}")]
    RetryLimit {
        /// Retries asked for.
        retry_limit: u32,
    },
    /// The receive timeout is 0, or too long for the NIC's timer.
    #[error(
        "a receive timeout of {receive_timeout_us} us is not between 1 and \
         {MAXIMUM_RECEIVE_TIMEOUT_US}"
    )]
    ReceiveTimeout {
        /// Timeout asked for.
        receive_timeout_us: u32,
    },
    /// A frame size that Ethernet does not carry.
    #[error(
        "a frame's payload of {frame_bytes} bytes is not between \
         {MINIMUM_FRAME_PAYLOAD_BYTES} and {MAXIMUM_FRAME_PAYLOAD_BYTES}"
    )]
    FrameBytes {
        /// Payload asked for.
        frame_bytes: u32,
    },
}

/// EMP could not be started on a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Bring-up of the chip failed.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The image cannot be loaded.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// CPU A stopped during start-up.
    #[error("CPU A halted at {program_counter:#x} while the host waited for {waited_for}")]
    Halted {
        /// The condition that the host waited for.
        waited_for: &'static str,
        /// Program counter of CPU A.
        program_counter: u32,
    },
    /// The firmware runs but does not answer.
    #[error("the firmware did not answer within {polls} polls: {waited_for}")]
    Silent {
        /// The condition that the host waited for.
        waited_for: &'static str,
        /// Number of polls.
        polls: u32,
    },
    /// The firmware reports an impossible address of a table.
    #[error("the firmware places its {table} at {address:#x}, outside SRAM or unaligned")]
    TableAddress {
        /// Name of the table.
        table: &'static str,
        /// Reported address.
        address: u32,
    },
    /// More nodes than the firmware's route table holds.
    #[error("{routes} routes do not fit the firmware's table of {capacity}")]
    TooManyRoutes {
        /// Routes given.
        routes: usize,
        /// Entries of the table.
        capacity: u32,
    },
}

/// A post failed. The NIC got nothing, and no descriptor is in use for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PostError {
    /// All descriptors are in use: wait for a transfer first.
    #[error("the {direction} needs {needed} descriptors, {free} are free")]
    NoDescriptors {
        /// Direction of the transfers that the pool is for.
        direction: Direction,
        /// Descriptors that the transfer needs.
        needed: usize,
        /// Descriptors that are free.
        free: usize,
    },
    /// The message is longer than a descriptor can describe.
    #[error("a message of {length_bytes} bytes is longer than {MESSAGE_LIMIT_BYTES}")]
    TooLong {
        /// Length asked for.
        length_bytes: u64,
    },
    /// The message to send has more frames than the firmware can name.
    #[error(
        "a message of {length} bytes is longer than {most}, {FRAME_LIMIT} frames with frame_bytes = {frame_bytes}"
    )]
    TooManyFrames {
        /// Length of the message in bytes.
        length: u32,
        /// The longest one.
        most: u32,
        /// Payload of a frame.
        frame_bytes: u32,
    },
    /// The message has more pieces of pages than a descriptor can hold.
    #[error("the message lies in {pages} pieces of pages, a descriptor names {INDIRECT_PAGES}")]
    TooManyPages {
        /// Pieces of pages.
        pages: usize,
    },
    /// The buffer is not mapped.
    #[error("the buffer of {length_bytes} bytes at {:#x} is not mapped", address.0)]
    Unmapped {
        /// Start of the buffer.
        address: VirtualAddress,
        /// Length of the buffer.
        length_bytes: u32,
    },
    /// The buffer's memory is beyond the 48 bits of a page entry.
    #[error("physical address {:#x} does not fit the 48 bits of a page entry", address.0)]
    Unreachable {
        /// The physical address.
        address: PhysicalAddress,
    },
    /// No such node.
    #[error("node {node} is not in the route table of {nodes}")]
    UnknownNode {
        /// Node asked for.
        node: u16,
        /// Nodes of the table.
        nodes: u16,
    },
    /// The tag value means "any tag" to the NIC.
    #[error("the tag 0xffff stands for any tag and cannot be used as a value")]
    ReservedTag,
    /// The system has no memory for the page list of a long message.
    #[error("no host page for the page list of a long message")]
    NoListPage,
}

/// A posted transfer failed. Its descriptors are free again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{direction} ({peer}, {tag}) failed: {failure}")]
pub struct TransferError {
    /// Transmit or receive.
    pub direction: Direction,
    /// The other node: as posted, or as arrived.
    pub peer: Source,
    /// The tag: as posted, or as arrived.
    pub tag: Tag,
    /// The cause.
    pub failure: Failure,
}

/// Cause of a failed transfer: the NIC's completion codes (`defs::emp::descriptor::Code`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Failure {
    /// The message was longer than the posted buffer.
    #[error("the message of {message_length} bytes was cut to {received}")]
    Truncated {
        /// Bytes that were sent.
        message_length: u32,
        /// Bytes that were delivered.
        received: u32,
    },
    /// The NIC found the descriptor invalid.
    #[error("the NIC rejects the descriptor")]
    BadDescriptor,
    /// The NIC's DMA could not reach the buffer.
    #[error("a DMA to or from host memory failed")]
    HostMemory,
    /// The NIC's route table has no such node.
    #[error("the NIC has no route to the node")]
    UnknownNode,
    /// Transmit: the peer did not acknowledge within the retries. Receive: the sender has abandoned the
    /// message, has restarted, or was silent for longer than a live sender can be.
    #[error("the other node is silent or has given up")]
    Timeout,
    /// The NIC ran out of records.
    #[error("the NIC's memory for transfers ran out")]
    NoResources,
    /// The posted receive was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The NIC returned the descriptor with an invalid status.
    #[error("the NIC completed it with the invalid status {status:#010x}")]
    BadStatus {
        /// The status word.
        status: u32,
    },
}
