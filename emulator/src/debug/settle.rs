//! After an interrupt.

use super::history::{DebugError, History};

impl History {
    /// Brings the world to where all of it has come, after something was interrupted: its nodes may then stand at different
    /// times. Whoever interrupted must have stopped to.
    ///
    /// # Errors
    /// If a state cannot be taken up, or somebody interrupts again.
    pub fn settle(&mut self) -> Result<(), DebugError> {
        let time = self.now();
        let from = self.states_before(time).first().copied();
        self.take_up(from.unwrap_or_else(|| self.begin()))?;
        self.go_to(time)
    }
}
