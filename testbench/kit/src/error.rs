//! What can go wrong with a test, in words that help.

use std::fmt;
use std::path::PathBuf;

use emulator::image::ImageError;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::EthernetError;
use host_lib::board::ChipError;
use host_lib::firmware;
use host_lib::window::VirtualAddress;
use thiserror::Error;

use lanigon_worlds::images::FirmwareError;

/// Why a kit could not be built, or a run did not end as it should.
///
/// Its `Debug` form is its `Display` form, so that a test which returns it shows what people can read.
#[derive(Error)]
pub enum KitError {
    /// The image's file is not there.
    #[error("there is no firmware image {}: {hint}", path.display())]
    NoImage {
        /// The file.
        path: PathBuf,
        /// How it is built.
        hint: String,
    },
    /// The image's file cannot be read, or the chip cannot run what is in it.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The chip cannot run an image that was given as bytes.
    #[error("the image given as bytes: {0}")]
    Image(#[from] ImageError),
    /// No node has firmware.
    #[error("no node has firmware: call firmware(\"path/to/image\")")]
    NoFirmware,
    /// The timing profile cannot be used.
    #[error("{0}")]
    Profile(String),
    /// A fault or a cable where there cannot be one.
    #[error(transparent)]
    World(#[from] EthernetError),
    /// A node that does not exist.
    #[error("there is no node {node}: the nodes are 0 to {last}")]
    NoSuchNode {
        /// Its number.
        node: usize,
        /// The last one that exists.
        last: usize,
    },
    /// A node's second host program.
    #[error("node {node} runs {program} already: a node has one host program")]
    SecondProgram {
        /// Which node.
        node: usize,
        /// The program that it has.
        program: String,
    },
    /// A program failed.
    #[error("node {node}: {program} failed at {at}: {error}")]
    Program {
        /// On which node.
        node: usize,
        /// Its name.
        program: String,
        /// When.
        at: SimTime,
        /// Why.
        error: HostError,
    },
    /// A CPU came to something that it cannot execute, or the firmware panicked.
    #[error("node {node}: {cpu} stopped: {reason}")]
    CpuStopped {
        /// On which node.
        node: usize,
        /// Which CPU.
        cpu: &'static str,
        /// Why, and where.
        reason: String,
    },
    /// Programs wait, and nothing can happen any more.
    #[error("deadlock at {at}: nothing can happen any more, and\n  {}", waits.join("\n  "))]
    Deadlock {
        /// When.
        at: SimTime,
        /// Who waits for what.
        waits: Vec<String>,
    },
    /// The time limit was reached before all programs had ended.
    #[error("the time limit was reached at {at} (max_time sets it):\n  {}", waits.join("\n  "))]
    TimeLimit {
        /// When.
        at: SimTime,
        /// Who was at what.
        waits: Vec<String>,
    },
    /// A snapshot that nobody could review.
    #[error(
        "a snapshot of {what} would have {lines} lines; {most} can be reviewed: select less \
         (probe, on, after, before)"
    )]
    LongSnapshot {
        /// Of which events.
        what: String,
        /// Its lines.
        lines: usize,
        /// Most lines.
        most: usize,
    },
    /// A trace or a capture cannot be written.
    #[error("{0}")]
    Trace(String),
}

impl fmt::Debug for KitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a host program failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// What it waited for did not come.
    #[error("{what} did not come within {within}; the last value was {last:#x}")]
    TimedOut {
        /// What it waited for.
        what: &'static str,
        /// How long.
        within: SimTime,
        /// What it read last.
        last: u32,
    },
    /// The chip did not come up.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// The firmware cannot be loaded.
    #[error(transparent)]
    Load(#[from] firmware::ImageError),
    /// The host has no more memory.
    #[error("the host has no {0} bytes of memory left")]
    NoMemory(u64),
    /// An address that is not mapped.
    #[error("nothing is mapped at {:#x}", .0.0)]
    NotMapped(VirtualAddress),
    /// Something of the test's own.
    #[error("{0}")]
    Other(String),
}

impl From<String> for HostError {
    fn from(text: String) -> Self {
        Self::Other(text)
    }
}

impl From<&str> for HostError {
    fn from(text: &str) -> Self {
        Self::Other(text.into())
    }
}
