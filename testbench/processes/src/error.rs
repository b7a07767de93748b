//! Errors of processes, their starter and their sockets.

use std::env;
use std::io;
use std::path::PathBuf;

use lanigon_requests::{RequestError, VERSION};
use thiserror::Error;

/// Reasons for which the processes of a world cannot go on.
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
        /// Rank of the process.
        rank: usize,
        /// Defect of the request.
        error: RequestError,
    },
    /// A process asks for what cannot be.
    #[error("rank {rank} {what}")]
    Refused {
        /// Rank of the process.
        rank: usize,
        /// The refused request.
        what: String,
    },
    /// The program has ended before all ranks were there.
    #[error(
        "a program has ended, and {connected} of {ranks} ranks have begun {what} over the network of the world: \
         a program that is linked statically, or with another library than that of its starter, never does"
    )]
    Ended {
        /// Number of processes that had connected.
        connected: usize,
        /// Number of processes that should connect.
        ranks: usize,
        /// Interface that the ranks begin to use.
        what: &'static str,
    },
    /// Processes have connected that no rank has said to start.
    #[error(
        "the program starts further ranks otherwise than by MPI_Comm_spawn of an MPI library that is loaded dynamically"
    )]
    Spawned,
    /// A rank starts more processes than there are places for.
    #[error(
        "MPI_Comm_spawn asks for {count} processes, and there are {universe} places, of which the ranks have {ranks}: `--universe`, or more nodes of the program, gives more"
    )]
    NoPlaces {
        /// Number of processes.
        count: usize,
        /// Number of ranks that begin together.
        ranks: usize,
        /// All places.
        universe: usize,
    },
    /// A process has called MPI_Abort.
    #[error("rank {rank} has called MPI_Abort with code {code}")]
    Aborted {
        /// Rank of the process.
        rank: usize,
        /// The code.
        code: i32,
    },
    /// A process was killed, or has ended without MPI_Finalize.
    #[error("rank {rank} has ended without MPI_Finalize")]
    Died {
        /// Rank of the process.
        rank: usize,
    },
    /// All processes wait for each other.
    #[error("all ranks wait, and no message is under way: {}", waiting.join("; "))]
    Deadlock {
        /// Description of each rank's wait.
        waiting: Vec<String>,
    },
    /// The network below.
    #[error("rank {rank}: {reason}")]
    Network {
        /// Rank of the process.
        rank: usize,
        /// The network's error.
        reason: String,
    },
}

impl ProcessError {
    /// A rank asks for what cannot be.
    pub(crate) const fn refused(rank: usize, what: String) -> Self {
        Self::Refused { rank, what }
    }
}

/// Reasons for which processes cannot be started.
#[derive(Debug, Error)]
pub enum StartError {
    /// A starter cannot be run.
    #[error("{}: {error}", program.display())]
    Starter {
        /// The starter.
        program: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The version of the starter is not known.
    #[error("{}: `--version` says \"{version}\"; known are {known}", program.display())]
    Unknown {
        /// The starter.
        program: PathBuf,
        /// First line of the starter's answer.
        version: String,
        /// Versions that are known.
        known: &'static str,
    },
    /// The library for processes is missing.
    #[error("{} is missing: `cargo build --release -p {package}` builds it", path.display())]
    Library {
        /// Path at which the library should be.
        path: PathBuf,
        /// Package that builds the library.
        package: &'static str,
    },
    /// A program cannot be run.
    #[error("{}: {error}", program.display())]
    Program {
        /// Path of the program.
        program: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// There can be no folder for the socket.
    #[error("no folder for the socket of processes in {} (TMPDIR): {error}", env::temp_dir().display())]
    Folder {
        /// The system's error.
        error: io::Error,
    },
    /// The socket cannot be made.
    #[error("a socket for the processes: {0}")]
    Socket(io::Error),
}

/// The reason for which a greeting is refused, for the process's own message.
pub(crate) fn other_version(version: u64) -> String {
    format!(
        "speaks version {version} of the protocol, not {VERSION}: the provider and lanigon are built together"
    )
}
