//! Records the initiators that set bits of the event registers ([`Details::EVENTS`]), without side effects.
//!
//! Writes and devices set bits when they act. The timer's bits are set by time alone: they are
//! recorded when the node has reached a time, or before a change of the timer.

use crate::fabric::{BoardContext, Fabric};
use defs::tigon2::banks::MOST_CPUS;
use defs::tigon2::event::TIMER;
use emulator_base::initiator::{Actor, Initiator};
use emulator_base::time::SimTime;
use emulator_observe::event::{Details, TraceKind};
use emulator_observe::tracer::Tracer;

const INSTANT: SimTime = SimTime::from_ps(1);

impl Fabric {
    /// Executes an action of `who` at `ctx.now`, and records the event bits that it sets.
    #[inline(always)]
    pub(crate) fn telling<T>(
        &mut self,
        who: Actor,
        ctx: &mut BoardContext,
        act: impl FnOnce(&mut Self, &mut BoardContext) -> T,
    ) -> T {
        let (now, tells) = (ctx.now, ctx.trace.wants(Details::EVENTS));
        let before = tells.then(|| self.values_before(now, ctx.trace));
        // Called in one place only, so that it is compiled in place.
        let result = act(self, ctx);
        if let Some(before) = before {
            self.tell_raised(before, now, who, ctx.trace);
        }
        result
    }

    /// The values before an action, when the timer's bits up to then are recorded.
    #[cold]
    fn values_before(&mut self, now: SimTime, trace: &mut Tracer) -> [u32; MOST_CPUS] {
        self.tell_timer_before(now.saturating_add(INSTANT), trace);
        self.event_values(now)
    }

    /// Records the bits that an action of `who` has set since `before`.
    #[cold]
    fn tell_raised(&self, before: [u32; MOST_CPUS], now: SimTime, who: Actor, trace: &mut Tracer) {
        for (cpu, (before, after)) in (0..).zip(before.into_iter().zip(self.event_values(now))) {
            let bits = after & !before;
            if bits != 0 {
                let kind = TraceKind::EventRaised { cpu, bits };
                trace.record_detail(now, who.initiator, who.pc, kind);
            }
        }
    }

    /// The event registers; 0 for CPUs that the board does not have.
    fn event_values(&self, now: SimTime) -> [u32; MOST_CPUS] {
        let value = |cpu| self.read_event(cpu, now);
        let has = |cpu| cpu < self.cpus.count();
        std::array::from_fn(|cpu| if has(cpu) { value(cpu) } else { 0 })
    }

    /// Records the timer bits set before `until`, since the last call.
    #[cold]
    pub(crate) fn tell_timer_before(&mut self, until: SimTime, trace: &mut Tracer) {
        for cpu in 0..self.cpus.count() {
            let who = Initiator::Cpu(cpu as u8);
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
