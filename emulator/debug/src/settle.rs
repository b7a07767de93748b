//! Recovery from an interrupt.

use super::history::{DebugError, History};
use emulator_base::time::SimTime;

impl History {
    /// Moves all nodes to the time of the latest one after an interrupted operation, which may leave nodes
    /// at different times. The interrupt flag must be clear.
    ///
    /// # Errors
    /// If a checkpoint cannot be loaded, or the operation is interrupted.
    pub fn settle(&mut self) -> Result<(), DebugError> {
        let nodes = self.world().nodes.iter();
        let farthest = nodes.map(|node| node.now()).max();
        self.run_to(farthest.unwrap_or(SimTime::ZERO))
    }
}
