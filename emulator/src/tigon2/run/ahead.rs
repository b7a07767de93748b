//! Code in SRAM that is executed ahead of the other core (ARCHITECTURE.md, "The fast path").
//!
//! An instruction in SRAM that is in the cache costs no bus time, and so its place in the order of shared
//! accesses matters to one thing only: a store into code. Waiting for the other core before each
//! instruction would be exact and slow. So a core runs on, and keeps what it was like when it was last in
//! turn. If the other core then writes to code, or looks at this one, the core goes back there and
//! executes once more, in turn. Until it is in turn again it does nothing that anybody could see.

use crate::cpu::mips::exec::{Checkpoint, Core};
use crate::observe::instructions::InstructionLog;
use crate::state;

/// Whether a core is ahead, and where it would go back to.
#[derive(Debug, Default)]
pub(in crate::tigon2) struct RunAhead {
    /// The core has perhaps executed code of SRAM that was not in turn.
    active: bool,
    /// The core when it was last in turn.
    checkpoint: Checkpoint,
    /// Before this tick the core must not run ahead: somebody waits for it.
    careful_until: u64,
}

// A board at rest has no core ahead.
state!(RunAhead { careful_until } fixed { active, checkpoint });

impl RunAhead {
    /// Whether `core` may execute code of SRAM without being in turn.
    #[inline(always)]
    pub(in crate::tigon2) fn begin(&mut self, core: &Core) -> bool {
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
    pub(in crate::tigon2) const fn is_active(&self) -> bool {
        self.active
    }

    /// The core is in turn: what it executed was right.
    #[inline(always)]
    pub(in crate::tigon2) const fn settle(&mut self) {
        self.active = false;
    }

    /// Takes the core back, if it is ahead, and makes it go on in turn up to `tick`. What it did since leaves
    /// its log.
    pub(in crate::tigon2) fn go_back(
        &mut self,
        core: &mut Core,
        log: Option<&mut InstructionLog>,
        tick: u64,
    ) {
        if self.active {
            core.restore(&self.checkpoint);
            if let Some(log) = log {
                log.go_back();
            }
            self.active = false;
            self.careful_until = tick;
        }
    }
}
