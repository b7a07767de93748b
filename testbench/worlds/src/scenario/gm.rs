//! Settings of GM.

use defs::gm::map::{DEFAULT_FATAL_TICKS, DEFAULT_RESEND_TICKS, TICK_HALF_US};
use host_lib::gm::Config;

use super::error::ScenarioError;
use super::table::Table;

/// A tick of the firmware's timer, in us.
const TICK_US: u32 = TICK_HALF_US / 2;
/// Longest time before packets are sent again, in us: 10 s.
const LONGEST_RESEND_US: u64 = 10_000_000;
/// Longest time before a send fails, in us: 10 minutes.
const LONGEST_FATAL_US: u64 = 600_000_000;

/// GM settings of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GmSettings {
    /// Time after which unacknowledged packets are sent again, in us.
    pub resend_us: u32,
    /// Time without progress after which a send fails, in us.
    pub fatal_us: u32,
}

impl Default for GmSettings {
    fn default() -> Self {
        Self {
            resend_us: DEFAULT_RESEND_TICKS * TICK_US,
            fatal_us: DEFAULT_FATAL_TICKS * TICK_US,
        }
    }
}

impl GmSettings {
    /// Copies the settings into a node's configuration, in whole ticks of the firmware's timer: parts of a tick count as one.
    pub const fn apply(&self, config: &mut Config) {
        config.resend_ticks = self.resend_us.div_ceil(TICK_US);
        config.fatal_ticks = self.fatal_us.div_ceil(TICK_US);
    }

    /// These settings with the changes of a table.
    pub(super) fn read(self, table: Option<Table<'_>>) -> Result<Self, ScenarioError> {
        let Some(mut table) = table else {
            return Ok(self);
        };
        let resend = u64::from(TICK_US)..=LONGEST_RESEND_US;
        let fatal = u64::from(TICK_US)..=LONGEST_FATAL_US;
        let settings = Self {
            resend_us: table.integer("resend_us", resend, self.resend_us)?,
            fatal_us: table.integer("fatal_us", fatal, self.fatal_us)?,
        };
        if settings.fatal_us < settings.resend_us {
            let (fatal, resend) = (settings.fatal_us, settings.resend_us);
            let reason = format!(
                "a send would fail after {fatal} us (fatal_us), before its packets are sent again, after {resend} us (resend_us)"
            );
            return Err(table.place.refuse(reason));
        }
        table.finish()?;
        Ok(settings)
    }
}
