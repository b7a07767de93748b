//! `lanigon dissector`: the Wireshark dissector for EMP frames, and for Myrinet packets with GM or FM.

use super::Status;
use crate::output;
use lanigon_analysis::capture::dissector;

/// Runs the command.
///
/// # Errors
/// If the script cannot be written.
pub fn run() -> anyhow::Result<Status> {
    output::print(&dissector::script())?;
    Ok(Status::Done)
}
