//! Settings of FM.

use host_lib::fm::{Config, USUAL_CREDITS};

use super::error::ScenarioError;
use super::table::Table;

/// Default of it, in us.
const DEFAULT_TIMEOUT_US: u32 = 1_000_000;

/// FM settings of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FmSettings {
    /// Packet buffers for each other node, and so its credits.
    pub credits: u16,
    /// Whether the processor combines writes to the board.
    pub combine_writes: bool,
    /// Longest wait of a call, in us: for credits, for a send slot, for a packet. FM itself waits for ever.
    pub timeout_us: u32,
}

impl Default for FmSettings {
    fn default() -> Self {
        Self {
            credits: USUAL_CREDITS,
            combine_writes: false,
            timeout_us: DEFAULT_TIMEOUT_US,
        }
    }
}

impl FmSettings {
    /// Longest wait of a call, in ns.
    #[must_use]
    pub const fn timeout_ns(&self) -> u64 {
        self.timeout_us as u64 * 1000
    }

    /// Copies the settings into a node's configuration.
    pub const fn apply(&self, config: &mut Config) {
        config.credits = self.credits;
        config.combines_writes = self.combine_writes;
        config.timeout_ns = Some(self.timeout_ns());
    }

    /// These settings with the changes of a table.
    pub(super) fn read(self, table: Option<Table<'_>>) -> Result<Self, ScenarioError> {
        let Some(mut table) = table else {
            return Ok(self);
        };
        let settings = Self {
            credits: table.integer("credits", self.credits)?,
            combine_writes: table.flag("combine_writes", self.combine_writes)?,
            timeout_us: table.integer("timeout_us", self.timeout_us)?,
        };
        table.finish()?;
        Ok(settings)
    }
}
