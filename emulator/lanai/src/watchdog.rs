//! NRES: a packet that is blocked for too long is taken out of the network (docs/lanai.md, section 3.14).

use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::isr::Cause;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_state::state;
use emulator_wire::myrinet::Direction;

/// The option of `myrinet` that enables it.
const NRES: u32 = 1;

/// Since when packets are blocked.
#[derive(Debug, Default)]
pub struct Watchdog {
    /// The far end has stopped a packet that is being sent.
    sending: Option<SimTime>,
    /// The port has stopped a packet that is coming in.
    receiving: Option<SimTime>,
    /// An event is under way.
    pending: bool,
}

state!(Watchdog {
    sending,
    receiving,
    pending
});

impl Watchdog {
    /// Forgets what was blocked.
    pub const fn release(&mut self) {
        (self.sending, self.receiving) = (None, None);
    }
}

impl Fabric {
    /// Sets whether a packet is blocked from now on.
    pub(super) fn blocked(&mut self, direction: Direction, blocked: bool, ctx: &mut BoardContext) {
        let since = match direction {
            Direction::Send => &mut self.watchdog.sending,
            Direction::Receive => &mut self.watchdog.receiving,
        };
        match blocked {
            true => _ = since.get_or_insert(ctx.now),
            false => *since = None,
        }
        self.watch(ctx);
    }

    /// Schedules the next look, if NRES is enabled and anything is blocked.
    pub(super) fn watch(&mut self, ctx: &mut BoardContext) {
        let Watchdog {
            sending,
            receiving,
            pending,
        } = &mut self.watchdog;
        let first = sending.iter().chain(&*receiving).min().copied();
        let (Some(first), false) = (first, *pending) else {
            return;
        };
        if self.network_options() & NRES != 0 {
            self.watchdog.pending = true;
            let due = first.saturating_add(self.timing.port_timeout).max(ctx.now);
            ctx.schedule(due, Initiator::Block(0), BoardEvent::Watchdog);
        }
    }

    /// For this span NRES comes with an event that is under way, if at all.
    pub(super) fn watchdog_pause(&self) -> SimTime {
        let Watchdog {
            sending,
            receiving,
            pending,
        } = self.watchdog;
        match sending.is_none() && receiving.is_none() || pending {
            true => self.timing.port_timeout,
            // The CPU may enable it for a packet that is blocked already.
            false => SimTime::ZERO,
        }
    }

    /// Packets that have been blocked for too long are taken out.
    pub(super) fn watchdog_looks(&mut self, ctx: &mut BoardContext) {
        self.watchdog.pending = false;
        if self.network_options() & NRES == 0 {
            return;
        }
        let timeout = self.timing.port_timeout;
        let over = |since: Option<SimTime>| {
            since.is_some_and(|since| since.saturating_add(timeout) <= ctx.now)
        };
        let [sending, receiving] = [over(self.watchdog.sending), over(self.watchdog.receiving)];
        if sending {
            self.watchdog.sending = None;
            self.port
                .take_out(Direction::Send, ctx.now, &mut self.outbox);
            self.isr.raise(Cause::SendBlocked);
        }
        if receiving {
            self.watchdog.receiving = None;
            let lost = self.receiver.drop_waiting();
            self.lose_incoming(lost, ctx);
            self.port
                .take_out(Direction::Receive, ctx.now, &mut self.outbox);
            self.port.accept_bytes(ctx.now, &mut self.outbox);
        }
        if sending || receiving {
            self.raise(Cause::Nres, ctx);
        }
        self.watch(ctx);
    }

    /// Handles the loss or the return of the link's carrier.
    pub(super) fn carrier(&mut self, present: bool, ctx: &mut BoardContext) {
        if !present {
            self.isr.raise(Cause::BeatMissed);
            self.raise(Cause::LinkDown, ctx);
        }
    }
}
