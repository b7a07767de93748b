//! `lanigon completions` and `lanigon man`: documents from the definition of the options.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;
use lanigon_worlds::scenario::reference;

use super::Status;
use crate::cli::Cli;
use crate::output;

/// Prints completions for a shell.
///
/// # Errors
/// If they cannot be written.
pub fn completions(shell: Shell) -> anyhow::Result<Status> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "lanigon", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Status::Done)
}

/// Prints the JSON schema of scenarios, or the reference of their keys.
///
/// # Errors
/// If it cannot be written.
pub fn schema(as_reference: bool) -> anyhow::Result<Status> {
    match as_reference {
        true => output::print(&reference::markdown(lanigon_workloads::ALL))?,
        false => output::print_json(&reference::schema(lanigon_workloads::ALL))?,
    }
    Ok(Status::Done)
}

/// Writes a manual page of each command into a folder.
///
/// # Errors
/// If a page cannot be written.
pub fn manual(folder: &Path) -> anyhow::Result<Status> {
    let shown = || folder.display().to_string();
    std::fs::create_dir_all(folder).with_context(shown)?;
    let command = Cli::command().disable_help_subcommand(true);
    clap_mangen::generate_to(command, folder).with_context(shown)?;
    Ok(Status::Done)
}
