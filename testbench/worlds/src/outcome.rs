//! The results of host programs and of runs.

use std::sync::{Arc, Mutex, PoisonError};

use emulator::sim::world::RunEnd;

/// Why a run that should have completed did not.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A host program reported an error.
    #[error("{program}: {message}")]
    Program {
        /// The program.
        program: &'static str,
        /// What it said.
        message: String,
    },
    /// Programs wait and nothing can happen.
    #[error("every program waits and nothing can happen any more:\n  {}", .0.join("\n  "))]
    Deadlock(Vec<String>),
    /// The time limit was reached.
    #[error("the limit of simulated time was reached:\n  {}", .0.join("\n  "))]
    TimeLimit(Vec<String>),
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// Turns the end of a run that should have completed into a result.
///
/// # Errors
/// Every end but completion.
pub fn completed(end: RunEnd) -> Result<(), RunError> {
    match end {
        RunEnd::Completed => Ok(()),
        RunEnd::Deadlock(lines) => Err(RunError::Deadlock(lines)),
        RunEnd::TimeLimit(lines) => Err(RunError::TimeLimit(lines)),
        RunEnd::Interrupted => Err(RunError::Interrupted),
    }
}

/// What a program leaves for the one who started it.
#[derive(Debug)]
pub struct Outcome<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for Outcome<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Outcome<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Outcome<T> {
    /// Leaves a value.
    pub fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// Takes the value, if one was left.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Looks at the value.
    pub fn with<R>(&self, look: impl FnOnce(&mut Option<T>) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
