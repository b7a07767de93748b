//! `lanigon dissector`: the script by which Wireshark understands EMP frames.

use super::Status;
use crate::capture::dissector;
use crate::output;

/// Runs the command.
///
/// # Errors
/// If the script cannot be written.
pub fn run() -> anyhow::Result<Status> {
    output::print(&dissector::script())?;
    Ok(Status::Done)
}
