//! Errors of processes, their starter and their sockets.

use std::io;
use std::path::PathBuf;

use lanigon_requests::{RequestError, VERSION};
use thiserror::Error;

/// Why the processes of a world cannot go on.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The user wants the end.
    #[error("the run was interrupted")]
    Interrupted,
    /// Another rank has failed.
    #[error("another rank has failed")]
    Over,
    /// Only servers are left, and no client.
    #[error("only servers are left")]
    AtRest,
    /// A process says something wrong.
    #[error("rank {rank}: {error}")]
    Request {
        /// Which.
        rank: usize,
        /// What.
        error: RequestError,
    },
    /// A process asks for what cannot be.
    #[error("rank {rank} {what}")]
    Refused {
        /// Which.
        rank: usize,
        /// What.
        what: String,
    },
    /// The program has ended before all ranks were there.
    #[error(
        "a program has ended, and {connected} of {ranks} ranks have begun {what} over the network of the world"
    )]
    Ended {
        /// How many were there.
        connected: usize,
        /// How many should be.
        ranks: usize,
        /// What they begin.
        what: &'static str,
    },
    /// A process was killed, or has ended without MPI_Finalize.
    #[error("rank {rank} has ended without MPI_Finalize")]
    Died {
        /// Which.
        rank: usize,
    },
    /// All processes wait for each other.
    #[error("all ranks wait, and no message is under way: {}", waiting.join("; "))]
    Deadlock {
        /// Who waits for what.
        waiting: Vec<String>,
    },
    /// The network below.
    #[error("rank {rank}: {reason}")]
    Network {
        /// Which.
        rank: usize,
        /// Why.
        reason: String,
    },
}

impl ProcessError {
    /// A rank asks for what cannot be.
    pub(crate) const fn refused(rank: usize, what: String) -> Self {
        Self::Refused { rank, what }
    }
}

/// Why processes cannot be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// A starter cannot be run.
    #[error("{}: {error}", program.display())]
    Starter {
        /// The starter.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Its version is not known.
    #[error("{}: `--version` says \"{version}\"; known are {known}", program.display())]
    Unknown {
        /// The starter.
        program: PathBuf,
        /// Its first line.
        version: String,
        /// What is known.
        known: &'static str,
    },
    /// The library for processes is missing.
    #[error("{} is missing: `cargo build --release -p {package}` builds it", path.display())]
    Library {
        /// Where it should be.
        path: PathBuf,
        /// Its package.
        package: &'static str,
    },
    /// A program cannot be run.
    #[error("{}: {error}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The socket.
    #[error("a socket for the processes: {0}")]
    Socket(io::Error),
}

/// The reason for which a greeting is refused, for the process's own message.
pub(crate) fn other_version(version: u64) -> String {
    format!(
        "speaks version {version} of the protocol, not {VERSION}: the provider and lanigon are built together"
    )
}
