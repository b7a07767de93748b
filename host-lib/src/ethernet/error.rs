//! Errors of the driver.

use thiserror::Error;

use crate::acenic::MemoryError;
use crate::board::ChipError;
use crate::firmware::ImageError;

/// The driver cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EthernetError {
    /// Bring-up of the chip failed.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The image does not fit the board.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// Host memory is exhausted, or not mapped.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The firmware cannot use the host's memory.
    #[error("the rings lie above 4 GB, where the firmware has no addresses")]
    HighMemory,
    /// The number of frames of a piece of work is none.
    #[error(
        "a CPU takes 1 to {} frames at a time, not {batch}",
        defs::ethernet::MOST_BATCH
    )]
    Batch {
        /// Number in the settings.
        batch: u32,
    },
    /// The firmware does not say that it serves the rings.
    #[error("the firmware does not start: is it an Ethernet firmware for this host protocol?")]
    NotReady,
    /// CPU A has halted.
    #[error("CPU A has halted at pc {pc:#x}")]
    Halted {
        /// Program counter of CPU A.
        pc: u32,
    },
    /// A frame to send is too short or too long.
    #[error(
        "a frame has {} to {} bytes without FCS, not {bytes}",
        defs::ethernet::SHORTEST_BYTES,
        defs::ethernet::LONGEST_BYTES
    )]
    Length {
        /// Bytes of the frame.
        bytes: usize,
    },
    /// The send ring has no room.
    #[error("the send ring is full")]
    RingFull,
    /// The board has misinformed the driver.
    #[error(transparent)]
    Mistake(#[from] Mistake),
}

/// Invalid information of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Mistake {
    /// Number of sent frames.
    #[error("the board reports {index} sent frames, which were not posted")]
    Sent {
        /// Number that the board reports.
        index: u32,
    },
    /// Number of returned frames.
    #[error("the board reports {index} returned frames, for which it has no buffers")]
    Returned {
        /// Number that the board reports.
        index: u32,
    },
    /// Length of a frame.
    #[error("entry {entry} of the return ring is {word:#x}: longer than a buffer")]
    Length {
        /// Index in the return ring.
        entry: u32,
        /// Word of the entry.
        word: u32,
    },
}
