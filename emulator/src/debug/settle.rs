//! After an interrupt.

use super::history::{DebugError, History};
use crate::sim::time::SimTime;

impl History {
    /// Brings all of the world to where some of it has come, after something was interrupted: its nodes may then stand at
    /// different times. Whoever interrupted must have stopped to.
    ///
    /// # Errors
    /// If a state cannot be taken up, or somebody interrupts again.
    pub fn settle(&mut self) -> Result<(), DebugError> {
        let nodes = self.world().nodes.iter();
        let farthest = nodes.map(|node| node.now()).max();
        self.run_to(farthest.unwrap_or(SimTime::ZERO))
    }
}
