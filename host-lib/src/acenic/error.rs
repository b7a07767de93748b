//! What can go wrong, by when it is found.

use thiserror::Error;

use super::event::Event;
use super::receive::RingKind;
use crate::address::MacAddress;
use crate::board::ChipError;
use crate::firmware::ImageError;
use crate::window::VirtualAddress;

/// The host's memory does not do what the driver needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// There is no more.
    #[error("the host has no {bytes} bytes of contiguous memory")]
    Exhausted {
        /// Bytes asked for.
        bytes: u32,
    },
    /// The driver's own memory has gone.
    #[error("the driver's memory at {:#x} is not mapped", address.0)]
    Unmapped {
        /// The first address that is not mapped.
        address: VirtualAddress,
    },
}

/// Settings that make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A ring always has a free entry.
    #[error("{buffers} buffers for the {ring} ring: it holds {} at most", entries - 1)]
    Buffers {
        /// The ring.
        ring: &'static str,
        /// Buffers asked for.
        buffers: u32,
        /// Entries of the ring.
        entries: u32,
    },
    /// No such ring.
    #[error("a return ring of {entries} entries: it has 2048 at most")]
    ReturnEntries {
        /// Entries asked for.
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
        /// What had been sent to it.
        sent: &'static str,
        /// The address that was to be read.
        address: u16,
    },
    /// What stands there is no address of a node.
    #[error("the EEPROM holds no Ethernet address (words {high:#010x} and {low:#010x})")]
    NoAddress {
        /// First word.
        high: u32,
        /// Second word.
        low: u32,
    },
}

/// The adapter did not start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StartError {
    /// Settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Host memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The chip.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The EEPROM.
    #[error(transparent)]
    Eeprom(#[from] EepromError),
    /// The firmware's place.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// SRAM does not keep what was loaded.
    #[error("SRAM at {address:#x} reads {read:#010x} after {written:#010x} was loaded")]
    Load {
        /// Where.
        address: u32,
        /// What was written.
        written: u32,
        /// What is there.
        read: u32,
    },
}

/// Something was waited for, and did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WaitError {
    /// The time is over.
    #[error("waited {} ms for {what}{}", timeout_ns / 1_000_000, unheard(*.pending))]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        timeout_ns: u64,
        /// The firmware has reported events for which it raised no interrupt.
        pending: bool,
    },
    /// CPU A stands still.
    #[error("CPU A has halted at pc {program_counter:#x}, while waiting for {what}")]
    Halted {
        /// What was waited for.
        what: &'static str,
        /// Where CPU A stands.
        program_counter: u32,
    },
    /// The firmware reports an error instead.
    #[error("the firmware reports: {event}, while waiting for {what}")]
    Reported {
        /// What was waited for.
        what: &'static str,
        /// The event.
        event: Event,
    },
    /// Host memory.
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

/// A frame cannot be sent. Nothing was handed to the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SendError {
    /// Wait until the firmware has taken some.
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
    /// A descriptor with no bytes means nothing.
    #[error("fragment {index} is empty")]
    EmptyFragment {
        /// Its number.
        index: usize,
    },
    /// Host memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A command cannot be given, or was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Wait until the firmware has taken some.
    #[error("the command needs {needed} entries of the command ring, {free} are free")]
    Full {
        /// Entries that the command needs.
        needed: u32,
        /// Entries that are free.
        free: u32,
    },
    /// A multicast command with another address.
    #[error("{address} is not a group address")]
    NotGroup {
        /// The address.
        address: MacAddress,
    },
    /// The firmware has written nonsense to its consumer index.
    #[error("the firmware's command consumer index is {consumer}")]
    Consumer {
        /// The index.
        consumer: u32,
    },
    /// The firmware does not take it.
    #[error(transparent)]
    NotTaken(#[from] WaitError),
}

/// Something that a sound firmware never writes to host memory. The driver goes on as well as it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Mistake {
    /// An index beyond its ring.
    #[error("{index} = {value} does not exist")]
    Index {
        /// The index.
        index: &'static str,
        /// Its value.
        value: u32,
    },
    /// More descriptors sent than were posted.
    #[error("send consumer index = {value}: {posted} descriptors were posted from {first} on")]
    NotPosted {
        /// The index.
        value: u32,
        /// The index before.
        first: u32,
        /// Descriptors posted since.
        posted: u32,
    },
    /// A returned descriptor names a buffer that the firmware does not have.
    #[error("return descriptor {entry}: buffer {buffer} of the {ring} ring is not posted")]
    NoSuchBuffer {
        /// Index in the return ring.
        entry: u32,
        /// The ring that it names.
        ring: RingKind,
        /// The buffer that it names.
        buffer: u32,
    },
    /// A frame longer than its buffer.
    #[error("return descriptor {entry}: {length_bytes} bytes in a {ring} buffer of {buffer_bytes}")]
    TooLong {
        /// Index in the return ring.
        entry: u32,
        /// The buffer's ring.
        ring: RingKind,
        /// Bytes that it says.
        length_bytes: u32,
        /// Bytes of the buffer.
        buffer_bytes: u32,
    },
    /// The driver's own word has changed.
    #[error("return descriptor {entry}: opaque word {found:#x}, posted was {posted:#x}")]
    Opaque {
        /// Index in the return ring.
        entry: u32,
        /// What was posted.
        posted: u32,
        /// What came back.
        found: u32,
    },
}
