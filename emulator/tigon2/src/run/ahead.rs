//! Speculative execution of SRAM code ahead of the other core (docs/design.md).
//!
//! A cached instruction in SRAM costs no bus time, so its place in the order of shared
//! accesses matters only to a store into code. Waiting for the other core before each
//! instruction would be exact and slow. So a core runs on, and keeps a checkpoint of its last moment in
//! turn. If the other core writes to code, or reads this one's registers, the core rolls back to the checkpoint and
//! executes again, in turn. While it is ahead it has no effects outside of its registers.

use crate::inspect::instruction_log::standing;
use emulator_cpu::mips::exec::{Checkpoint, Core};
use emulator_observe::instructions::InstructionLog;
use emulator_state::state;

/// Whether a core is ahead, and its checkpoint.
#[derive(Debug, Default)]
pub(crate) struct RunAhead {
    /// The core may have executed SRAM code out of turn.
    active: bool,
    /// The core at its last moment in turn.
    checkpoint: Checkpoint,
    /// The core must not run ahead before this tick, because another actor waits for it.
    careful_until: u64,
}

// A board at rest has no core ahead.
state!(RunAhead { careful_until } fixed { active, checkpoint });

impl RunAhead {
    /// Whether `core` may execute SRAM code out of turn.
    #[inline(always)]
    pub(crate) fn begin(&mut self, core: &Core) -> bool {
        if !self.active {
            if core.clock.now < self.careful_until {
                return false;
            }
            core.save(&mut self.checkpoint);
            self.active = true;
        }
        true
    }

    /// Whether the core is ahead.
    #[inline(always)]
    pub(crate) const fn is_active(&self) -> bool {
        self.active
    }

    /// Confirms the execution: the core is in turn.
    #[inline(always)]
    pub(crate) const fn settle(&mut self) {
        self.active = false;
    }

    /// Rolls the core back, if it is ahead, and makes it continue in turn up to `tick`. Removes the undone
    /// execution from its log.
    pub(crate) fn go_back(&mut self, core: &mut Core, log: Option<&mut InstructionLog>, tick: u64) {
        if self.active {
            core.restore(&self.checkpoint);
            if let Some(log) = log {
                log.go_back(core.clock.now, standing(core));
            }
            self.active = false;
            self.careful_until = tick;
        }
    }
}
