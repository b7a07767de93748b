//! Traffic of a board's port: the units that it sent and received, and those that it dropped.

use super::context::Context;
use emulator_base::initiator::Initiator;
use emulator_observe::event::{DropReason, TraceKind};
use emulator_state::value_struct;
use emulator_wire::medium::{Medium, Outbox};

/// Number of dropped units for each reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropCounts([u64; DropReason::ALL.len()]);

value_struct!(DropCounts { 0: counts });

impl DropCounts {
    /// Number of units dropped for this reason.
    #[must_use]
    pub const fn of(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Number of dropped units.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Units that a board sent and received since power-on; a reset leaves the counts alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Units that began to leave, with a carrier or without.
    pub sent: u64,
    /// Units that were on their way to the board.
    pub announced: u64,
    /// Units of those that the firmware was given.
    pub stored: u64,
    /// Units of those whose status says that they are damaged or cut short.
    pub damaged: u64,
    /// Units of those announced that the firmware was not given.
    pub dropped: DropCounts,
}

value_struct!(Traffic {
    sent: sent,
    announced: announced,
    stored: stored,
    damaged: damaged,
    dropped: dropped
});

impl Traffic {
    /// Units that are on their way to the board, or come in.
    #[must_use]
    pub fn coming(&self) -> u64 {
        let over = self.stored + self.dropped.total();
        self.announced.saturating_sub(over)
    }

    /// Counts, records and reports a unit that the firmware is not given.
    pub fn drop_unit<M: Medium, E>(
        &mut self,
        unit: M::Unit,
        reason: DropReason,
        outbox: &mut Outbox<M>,
        ctx: &mut Context<'_, E>,
    ) {
        self.dropped.0[reason as usize] += 1;
        outbox.drop_unit(ctx.now, unit, reason);
        let kind = TraceKind::FrameDropped { reason };
        ctx.trace.record(ctx.now, Initiator::Receiver, kind);
    }
}
