//! The commands of `lanigon`.

pub mod acenic;
pub mod bench;
mod board;
mod debug;
mod dissector;
mod doctor;
mod documents;
pub mod exec;
mod gdb;
pub mod image;
mod instructions;
mod launch;
pub mod ledger;
pub mod linux;
pub mod list;
pub mod myrinet;
mod new;
mod plan;
pub mod profile;
mod reproduce;
pub mod run;
mod sweep;
pub mod timeline;
pub mod trace;
mod unpack;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use emulator::sim::ranks::RankError;

use crate::cli::Command;
use crate::interrupt::EXIT_CODE;
use crate::output::WriteError;
use lanigon_sweep::error::SweepError;
use lanigon_worlds::files::own;
use lanigon_worlds::interrupt::Interrupt;

/// Result of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Done,
    /// The command was executed, and a check failed or the guest faulted.
    Failed,
    /// The request was invalid.
    Refused,
    /// The user interrupted it; partial results were shown.
    Interrupted,
    /// A program of the user has ended with this exit code.
    Program(u8),
}

impl Status {
    /// Status of an error: an invalid request, unless the output failed or another process of a run is gone.
    #[must_use]
    pub fn of_error(error: &anyhow::Error) -> Self {
        let store = error.downcast_ref::<SweepError>();
        let written = store.is_some_and(|error| matches!(error, SweepError::Io { .. }));
        if error.is::<WriteError>() || error.is::<RankError>() || written {
            Self::Failed
        } else {
            Self::Refused
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Refused => 2,
            Status::Interrupted => EXIT_CODE,
            Status::Program(code) => code,
        })
    }
}

/// Whether a command may end immediately when interrupted, without checking [`Interrupt`].
#[must_use]
pub const fn ends_at_once(command: &Command) -> bool {
    matches!(command, Command::Trace(_))
}

/// Sets the folder from which images, scenarios and profiles are taken before those in the program.
///
/// # Errors
/// If there is no such folder.
pub fn use_data_folder(folder: Option<&Path>) -> anyhow::Result<()> {
    match folder {
        Some(folder) => {
            own::set_folder(folder).with_context(|| format!("--data {}", folder.display()))
        }
        None => Ok(()),
    }
}

/// Executes a command.
///
/// # Errors
/// If the request is invalid, or the result cannot be written.
pub fn run(command: &Command, interrupt: &Interrupt) -> anyhow::Result<Status> {
    match command {
        Command::Reproduce(args) => reproduce::run(args, interrupt),
        Command::Run(args) => run::run(args, interrupt),
        Command::Launch(args) => launch::run(args, interrupt),
        Command::Linux(args) => linux::run(args, interrupt),
        Command::Plan(plan) => plan::run(plan, interrupt),
        Command::Sweep(args) => sweep::run(args, interrupt),
        Command::Gdb(args) => gdb::run(args, interrupt),
        Command::Trace(args) => trace::run(args),
        Command::Ledger(args) => ledger::run(args, interrupt),
        Command::Timeline(args) => timeline::run(args, interrupt),
        Command::Exec(args) => exec::run(args, interrupt),
        Command::Acenic(args) => acenic::run(args, interrupt),
        Command::Myrinet(args) => myrinet::run(args, interrupt),
        Command::Image(args) => image::run(args),
        Command::Dissector => dissector::run(),
        Command::Doctor(args) => doctor::run(args),
        Command::List(args) => list::run(args),
        Command::New(args) => new::run(args),
        Command::Debug(args) => debug::run(args, interrupt),
        Command::Profile(args) => profile::run(args, interrupt),
        Command::Bench(args) => bench::run(args, interrupt),
        Command::Unpack(args) => unpack::run(args),
        Command::Completions { shell } => documents::completions(*shell),
        Command::Schema { reference } => documents::schema(*reference),
        Command::Man { folder } => documents::manual(folder),
    }
}
