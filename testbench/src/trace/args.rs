//! Options of `lanigon trace`, and of the commands that record traces.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use emulator::observe::event::Details;

use super::record;

/// Options of commands that record a trace.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Write every event of all nodes into this file, for `lanigon trace`; as text if its name ends in .txt
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Record these kinds of events too: registers, handlers, semaphore, rings, host, frames, or all
    #[arg(long, value_name = "LIST", value_parser = record::details, requires = "trace")]
    pub details: Option<Details>,
}

/// Options of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// What to do with a trace.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show events, a line each
    Show(ShowArgs),
}

/// Options of `trace show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns: time in microseconds since power-on, place (n0: node 0, s0: switch 0), block, what happened, and the function
whose instruction caused it.

Examples:
  lanigon trace show pair.trace
  lanigon trace show pair.trace --json | head")]
pub struct ShowArgs {
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print one JSON object for each event
    #[arg(long)]
    pub json: bool,
}
