//! Errors of trace files.

use std::io;

use super::chunk::VERSION;
use crate::instructions::decode::DecodeError;
use emulator_base::time::SimTime;

/// Reason for which a file cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a trace file.
    #[error(
        "this is no trace file: it does not begin like one (a trace as text needs no tool: grep and less read it)"
    )]
    Foreign,
    /// The file has another version.
    #[error("a trace file of version {0}; this program reads version {VERSION}: record it again")]
    Version(u32),
    /// The file ends before its end mark.
    #[error("the file is cut off: whole up to {whole_until}, {events} events")]
    Truncated {
        /// Time up to which the file is complete.
        whole_until: SimTime,
        /// Number of events up to that time.
        events: u64,
    },
    /// The file's bytes are damaged.
    #[error(
        "the file is damaged at byte {at} ({what}): whole up to {whole_until}, {events} events"
    )]
    Damaged {
        /// Start of the damaged chunk.
        at: u64,
        /// Description of the defect.
        what: &'static str,
        /// Time up to which the file is complete.
        whole_until: SimTime,
        /// Number of events up to that time.
        events: u64,
    },
    /// An instruction stream is invalid.
    #[error(transparent)]
    Instructions(#[from] DecodeError),
}

impl TraceFileError {
    /// Whether events before the error are valid.
    #[must_use]
    pub const fn leaves_events(&self) -> bool {
        !matches!(self, Self::Io(_) | Self::Foreign | Self::Version(_))
    }
}
