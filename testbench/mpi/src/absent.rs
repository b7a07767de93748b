//! Substitute of MPI in a program without it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emulator::sim::ranks::Transport;

use crate::MpiError;

/// A process's part in MPI, which this program does not contain: there is none.
#[derive(Debug)]
pub enum Session {}

impl Session {
    /// Begins MPI.
    ///
    /// # Errors
    /// Always: the program contains no MPI.
    pub const fn begin() -> Result<Self, MpiError> {
        Err(MpiError::NotBuilt)
    }

    /// Carries the messages of a run.
    #[must_use]
    pub fn transport(&self, _ends: Arc<AtomicBool>) -> Box<dyn Transport> {
        match *self {}
    }

    /// Ends MPI.
    pub fn finish(self) {
        match self {}
    }
}
