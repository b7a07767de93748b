//! MPI between the processes of a run: `mpirun -n 2 lanigon run SCENARIO`.
//!
//! [`launch()`] tells whether a launcher of MPI has started this process. A [`Session`] is the process's part in MPI, from its start to its end, and
//! gives a `Transport` for the run. Without the feature `mpi` a session cannot begin, and nothing of MPI is needed to build this.

#[cfg(not(feature = "mpi"))]
mod absent;
mod launch;
#[cfg(feature = "mpi")]
mod session;
#[cfg(feature = "mpi")]
mod transport;

#[cfg(not(feature = "mpi"))]
pub use absent::Session;
pub use launch::{Launch, launch};
#[cfg(feature = "mpi")]
pub use session::Session;

/// Reasons for which MPI cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MpiError {
    /// The program contains no MPI.
    #[error("this lanigon is built without MPI (make install ARGS='--features mpi')")]
    NotBuilt,
    /// A process can use MPI once.
    #[error("this process has used MPI before")]
    Used,
    /// The library allows calls by the first thread only, or is for processes of one thread.
    #[error("the MPI library does not allow threads: {0}")]
    Threads(String),
}
