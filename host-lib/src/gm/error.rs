//! Errors: at start-up, of ports and memory, of sends and receives.

use defs::gm::map::{GLOBALS, ROUTE_LIMIT};
use thiserror::Error;

use crate::board::ChipError;
use crate::firmware::ImageError;
use crate::lanai::LanaiError;
use crate::window::VirtualAddress;

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
    #[error("{nodes} nodes are more than {limit}")]
    TooManyNodes {
        /// Routes given.
        nodes: usize,
        /// Most nodes of the firmware.
        limit: u32,
    },
    /// A route has too many bytes.
    #[error("the route to node {node} has {length_bytes} bytes, more than {ROUTE_LIMIT}")]
    LongRoute {
        /// The node that it leads to.
        node: usize,
        /// Length of the route in bytes.
        length_bytes: usize,
    },
    /// A board with a LANai cannot be brought up, or the image cannot be loaded.
    #[error(transparent)]
    Lanai(#[from] LanaiError),
    /// A Tigon2 cannot be brought up.
    #[error(transparent)]
    Tigon2(#[from] ChipError),
    /// The image cannot be loaded into a Tigon2.
    #[error(transparent)]
    Tigon2Image(#[from] ImageError),
    /// The image reaches into the memory that it shares with the host.
    #[error("the segment at {address:#x} ({length_bytes} bytes) ends above {GLOBALS:#x}")]
    ImageTooLarge {
        /// Start of the segment.
        address: u32,
        /// Length of the segment in bytes.
        length_bytes: usize,
    },
    /// The board has too little memory.
    #[error("the board has {sram_bytes:#x} bytes of memory, GM needs {needed:#x}")]
    Sram {
        /// Bytes that the board has.
        sram_bytes: u32,
        /// Bytes that it needs.
        needed: u32,
    },
    /// The page table's size is not a power of two up to 2^20.
    #[error("a page table of {buckets} buckets: it has to be a power of two, at most 2^20")]
    PageTable {
        /// Buckets of the configuration.
        buckets: u32,
    },
    /// There is no contiguous memory for the page table.
    #[error("there is no contiguous memory for the page table")]
    NoMemory,
    /// Each port can have a process of its own, and no more.
    #[error("the board has as many processes as ports")]
    Processes,
    /// The firmware does not answer.
    #[error("the firmware does not answer: waited for {waited_for} {polls} times")]
    Silent {
        /// The awaited state.
        waited_for: &'static str,
        /// Number of polls.
        polls: u32,
    },
}

/// A port cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PortError {
    /// There is no such port.
    #[error("there is no port {port}")]
    Unknown {
        /// The unknown port.
        port: u8,
    },
    /// The port is open already.
    #[error("port {port} is open already")]
    AlreadyOpen {
        /// The open port.
        port: u8,
    },
    /// The port is not open.
    #[error("port {port} is not open")]
    NotOpen {
        /// The closed port.
        port: u8,
    },
    /// Another process has the port.
    #[error("another process has port {port}")]
    Busy {
        /// The port of the other process.
        port: u8,
    },
    /// There is no memory for the receive queue.
    #[error("there is no contiguous memory for the receive queue")]
    NoMemory,
    /// The firmware does not answer.
    #[error("the firmware does not carry out a command on port {port}")]
    Silent {
        /// The port of the command.
        port: u8,
    },
}

/// Memory cannot be used by the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// Memory that a call names is not registered with the board, or not all of it: [`Gm::register`](super::Gm::register) and
    /// [`Gm::allocate_dma`](super::Gm::allocate_dma) register memory.
    #[error("{length} bytes at {:#x} are not registered", address.0)]
    Unregistered {
        /// First byte.
        address: VirtualAddress,
        /// Number of bytes.
        length: u32,
    },
    /// The page table has no place for a page.
    #[error("the page table has no place for the page at {:#x}", .0.0)]
    PageTableFull(VirtualAddress),
    /// The firmware does not answer.
    #[error("the firmware does not carry out a command")]
    Silent,
    /// The program has no memory at the address: its own pages are not mapped. Registered or not, no program can read or write there.
    #[error("the memory at {:#x} is not mapped", .0.0)]
    NotMapped(VirtualAddress),
    /// There is no more contiguous memory.
    #[error("there is no contiguous memory for DMA")]
    NoMemory,
}

/// A message was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// The own port cannot be used.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The buffer cannot be used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// All send tokens of the port are in use.
    #[error("port {port} has no free send token")]
    NoToken {
        /// The port without a free token.
        port: u8,
    },
    /// There is no such node.
    #[error("there is no node {node}: the route table has {nodes}")]
    UnknownNode {
        /// The unknown node.
        node: u16,
        /// Nodes of the route table.
        nodes: u16,
    },
    /// There is no such port.
    #[error("no node has a port {port}")]
    UnknownPort {
        /// The unknown port.
        port: u8,
    },
    /// The message is longer than its size, or than [`MOST_BYTES`](super::MOST_BYTES).
    #[error("a message of {length} bytes does not fit size {size}")]
    TooLong {
        /// Length in bytes.
        length: u32,
        /// Size of the receive buffer that it is for.
        size: u8,
    },
}

/// A receive buffer was not provided, or no event was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ReceiveError {
    /// The port cannot be used.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The buffer cannot be used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// All receive tokens of the port are in use.
    #[error("port {port} has no free receive token")]
    NoToken {
        /// The port without a free token.
        port: u8,
    },
    /// The size does not exist, or the buffer is smaller than a message of the size.
    #[error("a buffer of {length} bytes cannot take messages of size {size}")]
    Size {
        /// Bytes of the buffer.
        length: u32,
        /// The size that was asked for.
        size: u8,
    },
    /// The firmware has written an event that does not exist.
    #[error("the receive queue holds the unknown event {event:#x}")]
    UnknownEvent {
        /// The event's last word.
        event: u32,
    },
}
