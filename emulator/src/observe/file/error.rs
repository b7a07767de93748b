//! What can be wrong with a trace file.

use std::io;

use super::chunk::VERSION;
use crate::observe::instructions::decode::DecodeError;
use crate::sim::time::SimTime;

/// Why a file cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// The system says so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something else.
    #[error(
        "this is no trace file: it does not begin like one (a trace as text needs no tool: grep and less read it)"
    )]
    Foreign,
    /// Of another version.
    #[error("a trace file of version {0}; this program reads version {VERSION}: record it again")]
    Version(u32),
    /// It ends before its end mark.
    #[error("the file is cut off: whole up to {whole_until}, {events} events")]
    Truncated {
        /// The time up to which nothing is missing.
        whole_until: SimTime,
        /// Events up to there.
        events: u64,
    },
    /// Its bytes are not what was written.
    #[error(
        "the file is damaged at byte {at} ({what}): whole up to {whole_until}, {events} events"
    )]
    Damaged {
        /// Where the damaged chunk begins.
        at: u64,
        /// What is wrong.
        what: &'static str,
        /// The time up to which nothing is missing.
        whole_until: SimTime,
        /// Events up to there.
        events: u64,
    },
    /// What should be instructions is none.
    #[error(transparent)]
    Instructions(#[from] DecodeError),
}

impl TraceFileError {
    /// Whether the file is a trace up to some place.
    #[must_use]
    pub const fn leaves_events(&self) -> bool {
        !matches!(self, Self::Io(_) | Self::Foreign | Self::Version(_))
    }
}
