//! `lanigon trace`: analysis of a recorded trace.

mod diff;
mod grep;
mod instructions;
mod show;
mod stats;

use super::Status;
use crate::cli::trace::{TraceArgs, TraceCommand};
use lanigon_analysis::trace::open::Ending;

/// Runs the command.
///
/// # Errors
/// If the request is invalid, a file is no trace, or the result cannot be written.
pub fn run(args: &TraceArgs) -> anyhow::Result<Status> {
    match &args.command {
        TraceCommand::Show(args) => show::run(args),
        TraceCommand::Instructions(args) => instructions::run(args),
        TraceCommand::Grep(args) => grep::run(args),
        TraceCommand::Stats(args) => stats::run(args),
        TraceCommand::Diff(args) => diff::run(args),
    }
}

/// Status of a command: a broken trace is shown as far as it is valid, and the command fails.
const fn status(ending: Ending) -> Status {
    match ending {
        Ending::Whole => Status::Done,
        Ending::Broken => Status::Failed,
    }
}
