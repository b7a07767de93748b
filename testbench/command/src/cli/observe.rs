//! The options of the files that a run writes whose standard output is taken by its programs.

use std::path::PathBuf;

use clap::Args;

use super::timeline::TimelineArgs;
use super::trace::RecordArgs;

/// Files of `launch` and `linux`.
#[derive(Debug, Args)]
pub struct ObserveArgs {
    /// Options of the trace.
    #[command(flatten)]
    pub record: RecordArgs,
    /// Write the frames on all wires into this file (pcapng, for Wireshark)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Options of the timeline.
    #[command(flatten)]
    pub timeline: TimelineArgs,
    /// Write the results as JSON into this file, in the form of `lanigon run --json`
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
