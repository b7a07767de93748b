//! A process's part in MPI, from its start to its end.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::ranks::Transport;
use mpi::Threading;
use mpi::environment::Universe;

use crate::MpiError;
use crate::transport::RankMessages;

/// A process's part in MPI.
///
/// [`finish`](Self::finish) waits for all other processes. A session that is dropped without it does not wait: the run has failed, and the launcher
/// ends the other processes when this one ends.
pub struct Session(ManuallyDrop<Arc<Universe>>);

impl Session {
    /// Begins MPI: waits for the other processes.
    ///
    /// # Errors
    /// If the process has used MPI before, or the library does not fit a program with threads. All other errors are the library's: it says so
    /// itself, and ends all processes.
    pub fn begin() -> Result<Self, MpiError> {
        // The threads of a run call it one after the other.
        let wanted = Threading::Serialized;
        let begun = mpi::initialize_with_threading(wanted);
        let (universe, allowed) = begun.ok_or(MpiError::Used)?;
        let session = Self(ManuallyDrop::new(Arc::new(universe)));
        if allowed < wanted {
            session.finish();
            return Err(MpiError::Threads(format!("{allowed:?}")));
        }
        let library = mpi::environment::library_version().unwrap_or_default();
        log::info!(target: "ranks", "{}", library.trim_end_matches('\0'));
        Ok(session)
    }

    /// Carries the messages of a run. `ends`: the user wants it to end; then a rank that sends nothing for a while is given up.
    #[must_use]
    pub fn transport(&self, ends: Arc<AtomicBool>) -> Box<dyn Transport> {
        Box::new(RankMessages::new(Arc::clone(&self.0), ends))
    }

    /// Ends MPI. Every process must do so, after its transports are dropped.
    pub fn finish(self) {
        drop(ManuallyDrop::into_inner(self.0));
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
