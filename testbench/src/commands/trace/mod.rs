//! `lanigon trace`: looks into a recorded trace.

mod show;

use super::Status;
use crate::trace::args::{TraceArgs, TraceCommand};

/// Runs the command.
///
/// # Errors
/// If the request is wrong, a file is no trace, or the result cannot be written.
pub fn run(args: &TraceArgs) -> anyhow::Result<Status> {
    match &args.command {
        TraceCommand::Show(args) => show::run(args),
    }
}
