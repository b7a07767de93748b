//! Scheduling of the cores: they take turns, idle rounds are skipped, and the host's polls are executed in between.

use std::sync::Arc;

use defs::tigon2::banks::{CHIP_CPUS, MOST_CPUS};

use crate::board::Tigon2;
use crate::cores::CoreUnit;
use crate::fabric::BoardContext;
use crate::inspect::handlers::Dispatch;
use crate::inspect::instruction_log::{self, standing};
use crate::run::bus::CpuBus;
use crate::run::pair::{self, divide};
use crate::run::period;
use crate::run::rest::part;
use crate::run::turn::Turn;
use emulator_base::time::SimTime;
use emulator_board::poller;
use emulator_board::{Board, Ran, StopReason};
use emulator_cpu::exit::break_number;
use emulator_cpu::mips::exec::{self, Exit, Pause};
use emulator_cpu::shell::Shell;
use emulator_observe::event::Details;
use emulator_observe::instructions::InstructionLog;

/// Fewer periods than that are not worth a search.
const LEAST_PERIODS: u64 = 4;

/// Activity of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CoreActivity {
    /// The core is halted, or may not execute more.
    Stopped,
    /// The core repeats the rounds or periods of its idle loop.
    Idle,
    /// The core executes.
    Busy,
}

impl Tigon2 {
    /// Largest number of instructions of a core.
    pub(crate) fn limit_of(&self, index: usize) -> u64 {
        self.limit(&self.cores[index])
    }

    /// Largest number of instructions of a core.
    #[inline(always)]
    fn limit(&self, unit: &CoreUnit) -> u64 {
        let step = unit.private.step_until.unwrap_or(u64::MAX);
        let held = self.held_after[unit.private.index() % MOST_CPUS];
        step.min(self.instruction_limit).min(held)
    }

    /// Whether the core executes instructions and may execute more.
    #[inline(always)]
    fn runnable(&self, unit: &CoreUnit) -> bool {
        unit.private.running() && unit.core.instructions() < self.limit(unit)
    }

    /// Halts the cores that have completed a single step.
    fn end_steps(&mut self) {
        pair::for_each(&mut self.cores, |unit| {
            let done = unit.core.instructions();
            if unit.private.step_until.is_some_and(|until| done >= until) {
                unit.private.halt();
            }
        });
    }

    /// Activity of a core.
    #[inline(always)]
    pub(crate) fn activity(&self, unit: &CoreUnit) -> CoreActivity {
        if !self.runnable(unit) {
            CoreActivity::Stopped
        } else if unit.private.does_nothing() {
            CoreActivity::Idle
        } else {
            CoreActivity::Busy
        }
    }

    /// Whether the timer event of an idle core has changed since its last poll: the core will see the
    /// change in its current round.
    fn timer_is_news(&self, cpu: usize, now: SimTime) -> bool {
        let seen = |value: u32| value & 1 << defs::tigon2::event::TIMER != 0;
        let idle_at = self.cores[cpu].private.idle.idle_at();
        idle_at.is_some_and(|value| seen(value) != self.fabric.timer.reached(cpu, now))
    }

    /// Whether the idle loop of another core reads this core's alarm.
    fn alarm_is_read(&self, cpu: usize) -> bool {
        let alarm = self.cores[cpu].private.alarm;
        pair::any(&self.cores, |unit| {
            unit.private.index() != cpu && unit.private.idle.has_read(alarm)
        })
    }

    /// Until when no other core surely affects this one.
    fn quiet_around(&self, cpu: usize, now: SimTime) -> SimTime {
        if self.cores.len() == CHIP_CPUS {
            return self.quiet_until(1 - cpu, now);
        }
        let others = (0..self.cores.len()).filter(|other| *other != cpu);
        let quiet = others.map(|other| self.quiet_until(other, now));
        quiet.min().unwrap_or(SimTime::MAX)
    }

    /// Until when an idle or stopped core surely does not affect the others.
    fn quiet_until(&self, cpu: usize, now: SimTime) -> SimTime {
        match self.cores[cpu].private.idle.rest() {
            // A period may move the alarm at any time.
            Some(_) if self.alarm_is_read(cpu) => now,
            Some(rest) => rest.until.max(now),
            None if self.timer_is_news(cpu, now) => now,
            None => self.fabric.timer.next_change(cpu, now),
        }
    }

    /// Skips whole periods or rounds of an idle core up to `end`. Only an event can wake it: the other cores are halted
    /// or idle.
    fn skip_idle_loop(&mut self, index: usize, end: u64, ctx: &mut BoardContext) {
        let unit = &mut self.cores[index];
        if !unit.private.does_nothing() {
            return;
        }
        // What is skipped cannot be rolled back.
        unit.go_back(ctx.trace.instructions_mut(index), 0);
        let now = self.fabric.ticks.time_of(unit.core.clock.now);
        // Another core's timer may wake it, and it may wake this one.
        let quiet = self.fabric.ticks.first_at(self.quiet_around(index, now));
        let end = end.min(quiet);
        if ctx.trace.is_watched() {
            self.cores[index].private.idle.end_period();
        } else {
            self.skip_periods(index, end);
        }
        self.skip_rounds(index, end, ctx);
    }

    /// Skips whole rounds up to `end`, or to the next change of the core's own timer event.
    fn skip_rounds(&mut self, index: usize, end: u64, ctx: &mut BoardContext) {
        let now = self.fabric.ticks.time_of(self.cores[index].core.clock.now);
        if self.timer_is_news(index, now) {
            return;
        }
        let change = self.fabric.timer.next_change(index, now);
        let target = end.min(self.fabric.ticks.first_at(change));
        let room = self.limit_of(index) - self.cores[index].core.instructions();
        let CoreUnit { core, private } = &mut self.cores[index];
        let skipped = private.idle.skip_rounds(core, target, room);
        if let (Some((round, rounds)), Some(log)) = (skipped, ctx.trace.instructions_mut(index)) {
            log.rounds(round.instructions, rounds, round.ticks);
        }
    }

    /// Skips whole periods of a loop that follows the timer, up to `end`. The period is proved for the state in which the
    /// core stands.
    fn skip_periods(&mut self, index: usize, end: u64) {
        let limit = self.limit_of(index);
        let alarm_is_read = self.alarm_is_read(index);
        let CoreUnit { core, private } = &mut self.cores[index];
        let Some(rest) = private.idle.rest() else {
            return;
        };
        // In the middle of idle rounds the search would pass over the end of a period.
        if private.idle.idle().is_some() || !private.idle.may_skip_periods(core) {
            return;
        }
        let now = core.clock.now;
        private.idle.pause_until(now + rest.ticks);
        let end = end.min(self.fabric.ticks.first_at(rest.until));
        if end.saturating_sub(now) < LEAST_PERIODS * rest.ticks {
            return;
        }
        let found = period::find(core, private, &self.fabric, &self.probes);
        private
            .idle
            .end_search(found.as_ref().map(period::Period::rest));
        let Some(period) = found else {
            return;
        };
        let end = end.min(self.fabric.ticks.first_at(period.until));
        let times = end.saturating_sub(now) / period.round.ticks;
        let times = times.min((limit - core.instructions()) / period.round.instructions);
        if times < LEAST_PERIODS || period.moves_alarm && alarm_is_read {
            return;
        }
        period.repeat(times, core, private, &mut self.fabric);
        private.idle.pause_until(end);
    }

    /// Runs the first core of a turn up to `end` or until it must yield; if two cores take turns, each runs until it would
    /// overtake the other. A core that runs `ALONE` continues up to `far`, past fruitless polls and the board's events.
    /// Returns the core that returned last, the reason, and what the node must look at.
    #[inline(always)]
    fn run_from<const ALONE: bool, const LOGGED: bool>(
        &mut self,
        turn: Turn,
        (end, far): (u64, u64),
        [log, other_log]: [Option<&mut InstructionLog>; 2],
        ctx: &mut BoardContext,
    ) -> (usize, Exit, Option<Ran>) {
        // Up to this tick neither core exceeds its limit of instructions: the loop need not count.
        let safe = |cpu: usize| self.cores[cpu].core.safe_until(self.limit_of(cpu));
        let Turn { first, other, .. } = turn;
        let end = end.min(turn.until);
        let mut safe_until = safe(first);
        if turn.takes_turns {
            safe_until = safe_until.min(safe(other));
        }
        let mut until = end.min(safe_until);
        let may_idle = self.skip_idle && turn.others != CoreActivity::Busy;
        let watched = LOGGED || ctx.trace.is_watched();
        let goes_first = u64::from(first < other);
        let (me, other, mut further) = part(&mut self.cores, first, other, &mut self.further);
        let mut core = &mut me.core;
        let mut bus = CpuBus::<ALONE, LOGGED> {
            private: &mut me.private,
            other_core: &mut other.core,
            other_private: &mut other.private,
            rest: further.as_mut(),
            log,
            other_log,
            fabric: &mut self.fabric,
            ctx,
            probes: &self.probes,
            stages: &mut self.stages,
            goes_first,
            limit: end,
            turns_until: if turn.takes_turns { until } else { 0 },
            may_idle,
            skips_periods: self.skip_idle && self.skip_periods && !watched,
            ran: None,
        };
        if ALONE {
            bus.private.ahead.settle();
        } else {
            bus.set_limit(end);
        }
        loop {
            match exec::run_until(core, &mut bus, until) {
                // Only the other core's time can have stopped an access here: that core is behind.
                Pause::Wait if !ALONE && core.clock.now < bus.turns_until => {
                    bus.change_core(&mut core, until)
                }
                Pause::Until | Pause::Wait
                    if ALONE && bus.limit < far && core.clock.now >= bus.limit =>
                {
                    if let Some(ran) = bus.continue_core(far) {
                        return (first, Exit::Yield, Some(ran));
                    }
                    until = bus.limit.min(safe_until);
                }
                pause => {
                    let exit = core.take_exit(pause);
                    return (bus.private.index(), exit, bus.ran);
                }
            }
        }
    }

    /// As [`run_from`](Self::run_from), and logs the executed instructions.
    // Two more copies of the core's loop, for logs: kept apart from the two without.
    #[inline(never)]
    fn run_logged(
        &mut self,
        turn: Turn,
        ends: (u64, u64),
        ctx: &mut BoardContext,
    ) -> (usize, Exit, Option<Ran>) {
        let mut kept = ctx.trace.lend_instructions();
        let logs = match kept.as_deref_mut() {
            Some(logs) => {
                let (own, other, _) = divide(logs, turn.first, turn.other);
                [Some(own), Some(other)]
            }
            None => [None, None],
        };
        let ran = match turn.others {
            CoreActivity::Stopped => self.run_from::<true, true>(turn, ends, logs, ctx),
            _ => self.run_from::<false, true>(turn, ends, logs, ctx),
        };
        for (log, unit) in kept.iter_mut().flatten().zip(&self.cores) {
            if ![turn.first, turn.other].contains(&unit.private.index()) {
                for record in &self.further.decoded {
                    log.note_before(standing(&unit.core), *record);
                }
            }
            if log.runs() {
                log.ends(unit.core.clock.now, standing(&unit.core));
            }
        }
        self.further.decoded.clear();
        ctx.trace.take_instructions_back(kept);
        ran
    }

    /// Rolls back the cores that are ahead of what one is about to change.
    #[cold]
    fn recall(&mut self, ctx: &mut BoardContext) {
        let until = std::mem::take(&mut self.further.recalled_until);
        for (index, unit) in self.cores.iter_mut().enumerate() {
            unit.go_back(ctx.trace.instructions_mut(index), until);
        }
    }

    /// Whether each core is halted, or has reached `end`.
    #[inline(always)]
    fn stand_at(&self, end: u64) -> bool {
        let runs = |unit: &CoreUnit| unit.core.clock.now < end && unit.private.running();
        !pair::any(&self.cores, runs)
    }

    /// Runs the cores up to `end`; a busy one that runs alone continues up to `far`.
    fn run_cores_to(&mut self, end: u64, far: u64, ctx: &mut BoardContext) -> Ran {
        loop {
            let Some(turn) = self.next_turn() else {
                return Ran::There;
            };
            if self.cores[turn.first].core.clock.now >= end {
                return Ran::There;
            }
            if self.skip_idle && turn.others != CoreActivity::Busy {
                self.skip_idle_loop(turn.first, end, ctx);
            }
            let far = match turn.activity {
                CoreActivity::Busy => far,
                _ => end,
            };
            let alone = turn.others == CoreActivity::Stopped;
            let ends = (end, far);
            let (index, exit, ran) = match (alone, ctx.trace.keeps_instructions()) {
                (true, false) => self.run_from::<true, false>(turn, ends, [None, None], ctx),
                (false, false) => self.run_from::<false, false>(turn, ends, [None, None], ctx),
                (_, true) => self.run_logged(turn, ends, ctx),
            };
            if self.further.recalled_until != 0 {
                self.recall(ctx);
            }
            self.end_steps();
            match exit {
                Exit::Until | Exit::Limit | Exit::Wait => {}
                Exit::Yield => return ran.unwrap_or(Ran::Changed),
                Exit::Break { code } => {
                    let code = break_number(code);
                    self.core_stopped(index, StopReason::Break { code }, None, ctx);
                }
                Exit::Fault(fault) => {
                    let text: Arc<str> = fault.to_string().into();
                    self.core_stopped(
                        index,
                        StopReason::Fault(text, fault.kind()),
                        fault.blamed(),
                        ctx,
                    );
                }
            }
            if let Some(ran) = ran {
                return ran;
            }
        }
    }

    /// Runs the cores up to `until`. A busy one that runs alone may continue up to `beyond`, and execute events
    /// on the way.
    pub(crate) fn run_up_to(
        &mut self,
        until: SimTime,
        beyond: SimTime,
        ctx: &mut BoardContext,
    ) -> Ran {
        let marks = ctx.trace.wants(Details::HANDLERS);
        if self.marks_dispatch != marks {
            self.mark_dispatch(marks);
        }
        if ctx.trace.begins_instructions() {
            instruction_log::begin(&mut self.cores, &self.fabric, ctx.trace);
        }
        let ran = self.run_and_poll(until, beyond, ctx);
        pair::for_each(&mut self.cores, |unit| {
            // Either all have reached `until`, which confirms their execution up to it; or one of them
            // has written to a register, and the others were not ahead of that.
            debug_assert!(ran == Ran::There || !unit.private.ahead.is_active());
            unit.private.ahead.settle();
        });
        ran
    }

    /// Sets whether each `JOFF` carries a probe. No core may be ahead.
    #[cold]
    fn mark_dispatch(&mut self, marks: bool) {
        self.marks_dispatch = marks;
        self.forget_all_code();
        for unit in &mut self.cores {
            unit.private.dispatch = Dispatch::default();
        }
    }

    /// Like [`run_up_to`](Self::run_up_to), and executes the host's polls before `until`.
    fn run_and_poll(&mut self, until: SimTime, beyond: SimTime, ctx: &mut BoardContext) -> Ran {
        loop {
            // The polled word cannot change while the cores are inactive.
            if ctx.poller.next_time() < until
                && self.next_activity(ctx.now) >= until
                && !poller::run_idle_polls(self, until, ctx)
            {
                return Ran::Changed;
            }
            let poll = ctx.poller.next_time();
            let end = self.fabric.ticks.first_at(poll.min(until));
            let far = self.fabric.ticks.first_at(beyond);
            // Often they are there: the last instruction before `end` passes it.
            if !self.stand_at(end) {
                let ran = self.run_cores_to(end, far, ctx);
                if ran != Ran::There {
                    return ran;
                }
            }
            // All have reached `end`, which confirms their execution up to it, before the host's poll.
            pair::for_each(&mut self.cores, CoreUnit::settle);
            if poll >= until {
                return Ran::There;
            }
            let due = ctx.poller.next_time() == poll;
            if due && !poller::step(ctx, |access, now| self.fruitless_poll(access, now)) {
                return match ctx.queue.next_time() == poll {
                    true => Ran::Due,
                    false => Ran::Changed,
                };
            }
        }
    }
}
