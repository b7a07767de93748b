//! Errors of tests.

use std::fmt;
use std::path::PathBuf;

use emulator::image::ImageError;
use emulator::sim::time::SimTime;
use host_lib::board::ChipError;
use host_lib::firmware;
use host_lib::lanai::LanaiError;
use host_lib::window::VirtualAddress;
use thiserror::Error;

use lanigon_worlds::boards::StartError;
use lanigon_worlds::builder::WorldError;
use lanigon_worlds::images::FirmwareError;
use lanigon_worlds::races::NoRaces;

/// Error of building a kit or of a run.
///
/// The `Debug` form is the `Display` form, so that a test which returns the error prints readable text.
#[derive(Error)]
pub enum KitError {
    /// The image's file does not exist.
    #[error("there is no firmware image {}: {hint}", path.display())]
    NoImage {
        /// The file.
        path: PathBuf,
        /// Advice for building it.
        hint: String,
    },
    /// The image's file cannot be read, or is no image for the chip.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// The bytes are no image for the chip.
    #[error("the image given as bytes: {0}")]
    Image(#[from] ImageError),
    /// No node has firmware.
    #[error("no node has firmware: call firmware(\"path/to/image\")")]
    NoFirmware,
    /// The timing profile is invalid.
    #[error("{0}")]
    Profile(String),
    /// There is no type of board and no built-in profile with this name.
    #[error("there is no board \"{name}\"; there are {known}")]
    NoSuchBoard {
        /// Name that was given.
        name: String,
        /// Names of all boards and built-in profiles.
        known: String,
    },
    /// The world cannot be built, or a fault cannot be installed.
    #[error(transparent)]
    World(#[from] WorldError),
    /// Races are looked for where no board can.
    #[error(transparent)]
    Races(#[from] NoRaces),
    /// The largest crossbar is too small.
    #[error("{0} nodes do not fit on a crossbar: it has at most 32 ports")]
    Crossbar(usize),
    /// The operation is for boards on Ethernet.
    #[error("{what} needs Ethernet; boards of type {board} are on Myrinet")]
    NeedsEthernet {
        /// The operation.
        what: &'static str,
        /// The type of the boards.
        board: &'static str,
    },
    /// The node does not exist.
    #[error("there is no node {node}: the nodes are 0 to {last}")]
    NoSuchNode {
        /// Number of the node.
        node: usize,
        /// The last node.
        last: usize,
    },
    /// The node has a host program already.
    #[error("node {node} runs {program} already: a node has one host program")]
    SecondProgram {
        /// Number of the node.
        node: usize,
        /// Program that the node has already.
        program: String,
    },
    /// A program failed.
    #[error("node {node}: {program} failed at {at}: {error}{}", running.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Program {
        /// Number of the node.
        node: usize,
        /// Name of the program.
        program: String,
        /// Time of the failure.
        at: SimTime,
        /// Reason.
        error: HostError,
        /// After a wait that reached its limit: one line per CPU that does not idle, with its place.
        running: Vec<String>,
    },
    /// A CPU reached an invalid instruction, or the firmware panicked.
    #[error("node {node}: {cpu} stopped: {reason}")]
    CpuStopped {
        /// Number of the node.
        node: usize,
        /// The CPU.
        cpu: &'static str,
        /// Reason and place.
        reason: String,
    },
    /// Programs are waiting, and nothing can happen any more.
    #[error("deadlock at {at}: nothing can happen any more, and\n  {}", waits.join("\n  "))]
    Deadlock {
        /// Time.
        at: SimTime,
        /// One line per waiting program, and per CPU that does not idle.
        waits: Vec<String>,
    },
    /// The time limit was reached before all programs had ended.
    #[error("the time limit was reached at {at} (max_time sets it):\n  {}", waits.join("\n  "))]
    TimeLimit {
        /// Time.
        at: SimTime,
        /// One line per running program, and per CPU that does not idle, with its place.
        waits: Vec<String>,
    },
    /// A snapshot is too long for a review.
    #[error(
        "a snapshot of {what} would have {lines} lines; {most} can be reviewed: select less \
         (probe, on, after, before)"
    )]
    LongSnapshot {
        /// Description of the selection.
        what: String,
        /// Number of lines.
        lines: usize,
        /// Limit of lines.
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

/// Reason of a host program's failure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum HostError {
    /// A condition did not become true in time.
    #[error("{what} did not come within {within}; the last value was {last:#x}")]
    TimedOut {
        /// The condition.
        what: &'static str,
        /// Length of the wait.
        within: SimTime,
        /// The last value read.
        last: u32,
    },
    /// Bring-up of the chip failed.
    #[error(transparent)]
    Chip(#[from] ChipError),
    /// A board with a LANai does not come up, or its firmware does not fit.
    #[error(transparent)]
    Lanai(#[from] LanaiError),
    /// The firmware cannot be loaded.
    #[error(transparent)]
    Load(#[from] firmware::ImageError),
    /// Host memory is exhausted.
    #[error("the host has no {0} bytes of memory left")]
    NoMemory(u64),
    /// The address is not mapped.
    #[error("nothing is mapped at {:#x}", .0.0)]
    NotMapped(VirtualAddress),
    /// An error of the test's own.
    #[error("{0}")]
    Other(String),
}

impl From<StartError> for HostError {
    fn from(error: StartError) -> Self {
        match error {
            StartError::Chip(error) => Self::Chip(error),
            StartError::Load(error) => Self::Load(error),
            StartError::Lanai(error) => Self::Lanai(error),
        }
    }
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
