//! The commands of `lanigon`.

pub mod acenic;
pub mod bench;
mod debug;
mod dissector;
pub mod exec;
mod gdb;
pub mod image;
pub mod ledger;
pub mod list;
mod new;
pub mod profile;
mod reproduce;
pub mod run;
pub mod timeline;
pub mod trace;

use std::process::ExitCode;

use crate::cli::Command;
use crate::interrupt::EXIT_CODE;
use crate::output::WriteError;
use lanigon_worlds::interrupt::Interrupt;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All is well.
    Done,
    /// It was carried out, and a check failed or the guest faulted.
    Failed,
    /// The request was wrong.
    Refused,
    /// The user interrupted it; what there was has been shown.
    Interrupted,
}

impl Status {
    /// What an error means: a wrong request, unless only its result could not be written.
    #[must_use]
    pub fn of_error(error: &anyhow::Error) -> Self {
        if error.is::<WriteError>() {
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
        })
    }
}

/// Whether a command leaves nothing half done when it is interrupted, and need not look at [`Interrupt`].
#[must_use]
pub const fn ends_at_once(command: &Command) -> bool {
    matches!(command, Command::Trace(_))
}

/// Carries out a command.
///
/// # Errors
/// If the request is wrong, or the result cannot be written.
pub fn run(command: &Command, interrupt: &Interrupt) -> anyhow::Result<Status> {
    match command {
        Command::Reproduce(args) => reproduce::run(args, interrupt),
        Command::Run(args) => run::run(args, interrupt),
        Command::Gdb(args) => gdb::run(args, interrupt),
        Command::Trace(args) => trace::run(args),
        Command::Ledger(args) => ledger::run(args, interrupt),
        Command::Timeline(args) => timeline::run(args, interrupt),
        Command::Exec(args) => exec::run(args, interrupt),
        Command::Acenic(args) => acenic::run(args, interrupt),
        Command::Image(args) => image::run(args),
        Command::Dissector => dissector::run(),
        Command::List(args) => list::run(args),
        Command::New(args) => new::run(args),
        Command::Debug(args) => debug::run(args, interrupt),
        Command::Profile(args) => profile::run(args, interrupt),
        Command::Bench(args) => bench::run(args, interrupt),
    }
}
