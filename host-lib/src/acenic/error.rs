//! Errors of the driver, by the time of their detection.

use thiserror::Error;

use super::event::Event;
use super::receive::RingKind;
use crate::address::MacAddress;
use crate::board::ChipError;
use crate::firmware::ImageError;
use crate::window::VirtualAddress;

/// Host memory is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// No contiguous memory is left.
    #[error("the host has no {bytes} bytes of contiguous memory")]
    Exhausted {
        /// Bytes asked for.
        bytes: u32,
    },
    /// The driver's own memory is no longer mapped.
    #[error("the driver's memory at {:#x} is not mapped", address.0)]
    Unmapped {
        /// The first address that is not mapped.
        address: VirtualAddress,
    },
}

/// Invalid settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// Too many buffers: one entry of a ring always stays free.
    #[error("{buffers} buffers for the {ring} ring: it holds {} at most", entries - 1)]
    Buffers {
        /// Name of the ring.
        ring: &'static str,
        /// Requested number of buffers.
        buffers: u32,
        /// Entries of the ring.
        entries: u32,
    },
    /// Invalid size of the return ring.
    #[error("a return ring of {entries} entries: it has 2048 at most")]
    ReturnEntries {
        /// Requested number of entries.
        entries: u32,
    },
    /// A group address cannot be a node's own.
    #[error("the own address is a group address")]
    GroupAddress,
}

/// The serial EEPROM cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EepromError {
    /// A byte was not acknowledged.
    #[error("the EEPROM does not acknowledge {sent} (reading address {address:#x})")]
    NoAcknowledge {
        /// Description of the bytes sent.
        sent: &'static str,
        /// The address to be read.
        address: u16,
    },
    /// The EEPROM contains no node address.
    #[error("the EEPROM holds no Ethernet address (words {high:#010x} and {low:#010x})")]
    NoAddress {
        /// First word.
        high: u32,
        /// Second word.
        low: u32,
    },
}

/// The adapter's start failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StartError {
    /// Invalid settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Host memory is missing.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Bring-up of the chip failed.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The EEPROM cannot be read.
    #[error(transparent)]
    Eeprom(#[from] EepromError),
    /// The image cannot be loaded.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// SRAM does not hold what was loaded.
    #[error("SRAM at {address:#x} reads {read:#010x} after {written:#010x} was loaded")]
    Load {
        /// SRAM address.
        address: u32,
        /// Word written.
        written: u32,
        /// Word read.
        read: u32,
    },
}

/// A wait failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WaitError {
    /// The condition did not come true in time.
    #[error("waited {} ms for {what}{}", timeout_ns / 1_000_000, unheard(*.pending))]
    Timeout {
        /// The condition that was waited for.
        what: &'static str,
        /// Length of the wait.
        timeout_ns: u64,
        /// The firmware has reported events for which it raised no interrupt.
        pending: bool,
    },
    /// CPU A is halted.
    #[error("CPU A has halted at pc {program_counter:#x}, while waiting for {what}")]
    Halted {
        /// The condition that was waited for.
        what: &'static str,
        /// Program counter of CPU A.
        program_counter: u32,
    },
    /// The firmware reported an error.
    #[error("the firmware reports: {event}, while waiting for {what}")]
    Reported {
        /// The condition that was waited for.
        what: &'static str,
        /// The firmware's event.
        event: Event,
    },
    /// The driver's settings turn reports of statistics off.
    #[error("the firmware reports no statistics: statistics_ticks is 0")]
    NoReports,
    /// Host memory is missing.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

const fn unheard(pending: bool) -> &'static str {
    if pending {
        " (its event ring has news, but no interrupt came)"
    } else {
        ""
    }
}

/// A frame cannot be sent. The firmware got nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// Too few free descriptors: wait until the firmware has taken some.
    #[error("the frame needs {needed} send descriptors, {free} are free")]
    Full {
        /// Descriptors that the frame needs.
        needed: u32,
        /// Descriptors that are free.
        free: u32,
    },
    /// Shorter than an Ethernet header, or longer than a buffer.
    #[error("a frame of {length_bytes} bytes: {least} to {most} can be sent")]
    Length {
        /// Bytes of the frame, or of its longest fragment.
        length_bytes: usize,
        /// Bytes of the shortest frame.
        least: usize,
        /// Bytes of the longest frame.
        most: usize,
    },
    /// A fragment is empty.
    #[error("fragment {index} is empty")]
    EmptyFragment {
        /// Index of the fragment.
        index: usize,
    },
    /// Host memory is missing.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A command cannot be given, or was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Too few free entries: wait until the firmware has taken some.
    #[error("the command needs {needed} entries of the command ring, {free} are free")]
    Full {
        /// Entries that the command needs.
        needed: u32,
        /// Entries that are free.
        free: u32,
    },
    /// The address of a multicast command is no group address.
    #[error("{address} is not a group address")]
    NotGroup {
        /// The refused address.
        address: MacAddress,
    },
    /// The firmware's consumer index is invalid.
    #[error("the firmware's command consumer index is {consumer}")]
    Consumer {
        /// The index.
        consumer: u32,
    },
    /// The firmware does not take the command.
    #[error(transparent)]
    NotTaken(#[from] WaitError),
}

/// Invalid data of a firmware in host memory. The driver continues as well as possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Mistake {
    /// An index beyond its ring.
    #[error("{index} = {value} does not exist")]
    Index {
        /// The index.
        index: &'static str,
        /// The firmware's value of the index.
        value: u32,
    },
    /// More descriptors sent than were posted.
    #[error("send consumer index = {value}: {posted} descriptors were posted from {first} on")]
    NotPosted {
        /// The index.
        value: u32,
        /// The previous index.
        first: u32,
        /// Descriptors posted since the previous index.
        posted: u32,
    },
    /// A returned descriptor refers to a buffer that the firmware does not own.
    #[error("return descriptor {entry}: buffer {buffer} of the {ring} ring is not posted")]
    NoSuchBuffer {
        /// Index in the return ring.
        entry: u32,
        /// The ring in the descriptor.
        ring: RingKind,
        /// The buffer in the descriptor.
        buffer: u32,
    },
    /// A frame is longer than its buffer.
    #[error("return descriptor {entry}: {length_bytes} bytes in a {ring} buffer of {buffer_bytes}")]
    TooLong {
        /// Index in the return ring.
        entry: u32,
        /// The buffer's ring.
        ring: RingKind,
        /// Length in the descriptor.
        length_bytes: u32,
        /// Bytes of the buffer.
        buffer_bytes: u32,
    },
    /// The driver's opaque word has changed.
    #[error("return descriptor {entry}: opaque word {found:#x}, posted was {posted:#x}")]
    Opaque {
        /// Index in the return ring.
        entry: u32,
        /// Posted value.
        posted: u32,
        /// Returned value.
        found: u32,
    },
}
