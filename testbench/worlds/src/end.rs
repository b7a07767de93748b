//! Ends of host programs and of runs.

use std::sync::{Arc, Mutex, PoisonError};

use emulator::sim::world::RunEnd;

/// Reason why a run did not complete.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A host program reported an error.
    #[error("{program}: {message}")]
    Program {
        /// The program.
        program: &'static str,
        /// Text of the program's error.
        message: String,
    },
    /// Programs are waiting, and nothing can happen.
    #[error("every program waits and nothing can happen any more:\n  {}", .0.join("\n  "))]
    Deadlock(Vec<String>),
    /// Programs are waiting, and nothing but timers has happened for a long time.
    #[error("every program waits and nothing but timers happens any more:\n  {}", .0.join("\n  "))]
    Quiet(Vec<String>),
    /// The time limit was reached.
    #[error("the limit of simulated time was reached:\n  {}", .0.join("\n  "))]
    TimeLimit(Vec<String>),
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// Converts the end of a run into a result.
///
/// # Errors
/// Every end but completion.
pub fn completed(end: RunEnd) -> Result<(), RunError> {
    match end {
        RunEnd::Completed => Ok(()),
        RunEnd::Deadlock(lines) => Err(RunError::Deadlock(lines)),
        RunEnd::Quiet(lines) => Err(RunError::Quiet(lines)),
        RunEnd::TimeLimit(lines) => Err(RunError::TimeLimit(lines)),
        RunEnd::Interrupted => Err(RunError::Interrupted),
    }
}

/// Shared slot for the result of a program.
#[derive(Debug)]
pub struct ResultSlot<T>(Arc<Mutex<Option<T>>>);

impl<T> Clone for ResultSlot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for ResultSlot<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> ResultSlot<T> {
    /// Stores the result.
    pub fn set(&self, value: T) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
    }

    /// Takes the result, if there is one.
    pub fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Accesses the slot.
    pub fn with<R>(&self, look: impl FnOnce(&mut Option<T>) -> R) -> R {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
