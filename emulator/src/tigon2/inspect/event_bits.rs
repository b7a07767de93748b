//! Records the initiators that set bits of the event registers ([`Details::EVENTS`]), without side effects.
//!
//! Writes and devices set bits when they act. The timer's bits are set by time alone: they are
//! recorded when the node has reached a time, or before a change of the timer.

use crate::observe::event::{Details, TraceKind};
use crate::observe::tracer::Tracer;
use crate::sim::initiator::{Actor, Initiator};
use crate::sim::time::SimTime;
use crate::tigon2::fabric::{BoardContext, Fabric};
use defs::tigon2::event::TIMER;

const INSTANT: SimTime = SimTime::from_ps(1);

impl Fabric {
    /// Executes an action of `who` at `ctx.now`, and records the event bits that it sets.
    #[inline(always)]
    pub(in crate::tigon2) fn telling<T>(
        &mut self,
        who: Actor,
        ctx: &mut BoardContext,
        act: impl FnOnce(&mut Self, &mut BoardContext) -> T,
    ) -> T {
        if !ctx.trace.wants(Details::EVENTS) {
            return act(self, ctx);
        }
        let now = ctx.now;
        self.tell_timer_before(now.saturating_add(INSTANT), ctx.trace);
        let before = self.event_values(now);
        let result = act(self, ctx);
        for (cpu, (before, after)) in (0..).zip(before.into_iter().zip(self.event_values(now))) {
            let bits = after & !before;
            if bits != 0 {
                let kind = TraceKind::EventRaised { cpu, bits };
                ctx.trace.record_detail(now, who.initiator, who.pc, kind);
            }
        }
        result
    }

    fn event_values(&self, now: SimTime) -> [u32; 2] {
        [0, 1].map(|cpu| self.read_event(cpu, now))
    }

    /// Records the timer bits set before `until`, since the last call.
    #[cold]
    pub(in crate::tigon2) fn tell_timer_before(&mut self, until: SimTime, trace: &mut Tracer) {
        for (cpu, who) in [Initiator::Cpu(0), Initiator::Cpu(1)]
            .into_iter()
            .enumerate()
        {
            let changes = |time| self.timer.next_change(cpu, time);
            let mut time = changes(self.unrecorded_from.saturating_sub(INSTANT));
            while time < until {
                if self.timer.reached(cpu, time) {
                    let (cpu, bits) = (cpu as u32, 1 << TIMER);
                    trace.record_detail(time, who, None, TraceKind::EventRaised { cpu, bits });
                }
                time = changes(time);
            }
        }
        self.unrecorded_from = self.unrecorded_from.max(until);
    }
}
