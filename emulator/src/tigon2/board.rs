//! The Tigon2 board: two cores and the fabric between them.
//!
//! The cores share SRAM, registers and the semaphore. A core's shared accesses take effect in the
//! order of their time, CPU A before CPU B at the same tick, and after every event that is due: a core
//! that would overtake somebody waits, standing before the instruction, and the other one runs.

use std::sync::Arc;

use defs::tigon2::map::{SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, WINDOW_VIEW};
use defs::tigon2::regs::{self, HostControl};

use super::bus::CpuBus;
use super::cores::{
    ControlEffect, CorePrivate, CoreUnit, StopReason, owner_of, read_control, write_control,
};
use super::event::EventRegisters;
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::mailbox::Mailbox;
use super::probes::{ProbeTable, StageState};
use super::sram::SramSize;
use super::timing::Timing;
use super::window::Target;
use crate::cpu::clock::TICKS_PER_CYCLE;
use crate::cpu::mips::exec::{self, Core, CoreTiming, Exit, Pause};
use crate::observe::event::TraceKind;
use crate::sim::board::{Board, Context};
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::wire::frame::Frame;
use crate::wire::link::Link;

/// A board.
#[derive(Debug)]
pub struct Tigon2 {
    /// CPU A and CPU B.
    pub cores: [CoreUnit; 2],
    /// Everything else.
    pub fabric: Fabric,
    /// The firmware's probes.
    pub probes: ProbeTable,
    /// The cores' stages.
    pub stages: [StageState; 2],
    /// Whether idle loops may be skipped (the result is the same).
    pub skip_idle: bool,
    /// No core may execute more instructions than this.
    pub instruction_limit: u64,
}

/// What a core is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Activity {
    /// It is halted, or may not execute more.
    Stopped,
    /// It repeats the rounds of its idle loop.
    Idle,
    /// It executes.
    Busy,
}

impl Tigon2 {
    /// A board after power-on: both cores halted.
    #[must_use]
    pub fn new(sram: SramSize, timing: Timing) -> Self {
        let unit = |who, scratchpad_bytes| {
            let mut core = Core::default();
            core.timing = CoreTiming {
                instruction_cycles: timing.instruction_cycles,
                taken_branch_cycles: timing.taken_branch_cycles,
                annulled_slot_cycles: timing.annulled_slot_cycles,
            };
            CoreUnit {
                core,
                private: CorePrivate::new(who, scratchpad_bytes, timing.instruction_cache_bytes),
            }
        };
        Self {
            cores: [
                unit(Initiator::CpuA, SCRATCHPAD_A_BYTES),
                unit(Initiator::CpuB, SCRATCHPAD_B_BYTES),
            ],
            fabric: Fabric::new(sram, timing),
            probes: ProbeTable::default(),
            stages: Default::default(),
            skip_idle: true,
            instruction_limit: u64::MAX,
        }
    }

    /// Releases a core at `pc` at `ctx.now`, as a host would through its registers.
    pub fn start_core(&mut self, index: usize, pc: u32, ctx: &mut BoardContext) {
        let as_b = regs::CPU_B * index as u32;
        self.window_write(regs::CPU_PC + as_b, pc, ctx);
        self.window_write(regs::CPU_STATE + as_b, 0, ctx);
    }

    /// How long a core has been at work: neither halted nor in whole rounds of its idle loop.
    #[must_use]
    pub fn busy_time(&self, cpu: usize) -> SimTime {
        let CoreUnit { core, private } = &self.cores[cpu];
        let rest = core.clock.halted + private.idle.skipped_ticks();
        self.fabric
            .ticks
            .time_of(core.clock.now.saturating_sub(rest))
    }

    /// Instructions that the core may execute in all.
    fn limit_of(&self, index: usize) -> u64 {
        let step = self.cores[index].private.step_until;
        step.map_or(self.instruction_limit, |until| {
            until.min(self.instruction_limit)
        })
    }

    /// Whether the core executes instructions and may execute more.
    fn runnable(&self, index: usize) -> bool {
        let unit = &self.cores[index];
        unit.private.running() && unit.core.instructions() < self.limit_of(index)
    }

    /// Halts the cores that were to execute a single instruction and have done so.
    fn end_steps(&mut self) {
        for unit in &mut self.cores {
            let done = unit.core.instructions();
            if unit.private.step_until.is_some_and(|until| done >= until) {
                unit.private.halt();
            }
        }
    }

    /// What both cores are at.
    #[inline(always)]
    fn activities(&self) -> [Activity; 2] {
        [0, 1].map(|cpu| {
            if !self.runnable(cpu) {
                Activity::Stopped
            } else if self.cores[cpu].private.idle.idle().is_some() {
                Activity::Idle
            } else {
                Activity::Busy
            }
        })
    }

    /// The runnable core that is behind; A if both are at the same tick.
    #[inline(always)]
    fn behind(&self, activities: [Activity; 2]) -> Option<usize> {
        let now = |index: usize| self.cores[index].core.clock.now;
        match activities.map(|activity| activity != Activity::Stopped) {
            [true, true] => Some(usize::from(now(1) < now(0))),
            [true, false] => Some(0),
            [false, true] => Some(1),
            [false, false] => None,
        }
    }

    /// Whether the timer event of an idle core has changed since that core last looked: it will find
    /// out in the round that it is in.
    fn timer_is_news(&self, cpu: usize, now: SimTime) -> bool {
        let seen = |value: u32| value & 1 << defs::tigon2::event::TIMER != 0;
        let idle_at = self.cores[cpu].private.idle.idle_at();
        idle_at.is_some_and(|value| seen(value) != self.fabric.timer.reached(cpu, now))
    }

    /// Skips whole rounds of an idle loop up to `end`, or to the timer's next change. Nobody but an
    /// event can wake the core: the other one is halted or idles too.
    fn skip_idle_rounds(&mut self, index: usize, end: u64) {
        let Some(round) = self.cores[index].private.idle.idle() else {
            return;
        };
        // What is skipped cannot be taken back.
        self.cores[index].go_back(0);
        let now = self.fabric.ticks.time_of(self.cores[index].core.clock.now);
        if (0..2).any(|cpu| self.timer_is_news(cpu, now)) {
            return;
        }
        let limit = self.limit_of(index);
        let unit = &mut self.cores[index];
        // The other core idles too, if it runs: its timer may wake it, and it this one.
        let change = [0, 1].map(|cpu| self.fabric.timer.next_change(cpu, now));
        let target = end.min(self.fabric.ticks.first_at(change[0].min(change[1])));
        let rounds = target.saturating_sub(unit.core.clock.now) / round.ticks.max(1);
        let room = limit - unit.core.instructions();
        let rounds = rounds.min(room / round.instructions.max(1));
        if rounds > 0 {
            unit.core.skip(
                rounds * round.instructions,
                rounds * round.cycles,
                rounds * round.ticks,
            );
            unit.private.idle.skipped(round, rounds);
        }
    }

    /// Lets the core `first` run up to `end` or until it must give way; if both cores are busy, they
    /// take turns, each until it would overtake the other. Gives the core that came back last, and
    /// why.
    fn run_from(
        &mut self,
        first: usize,
        activities: [Activity; 2],
        end: u64,
        ctx: &mut BoardContext,
    ) -> (usize, Exit) {
        // Up to there neither core exceeds its limit of instructions: the loop need not count.
        let safe = |cpu: usize| self.cores[cpu].core.safe_until(self.limit_of(cpu));
        let take_turns = activities == [Activity::Busy; 2];
        let until = end.min(safe(first));
        let until = if take_turns {
            until.min(safe(1 - first))
        } else {
            until
        };
        let other = activities[1 - first];
        let other_runs = other != Activity::Stopped;
        let may_idle = self.skip_idle && other != Activity::Busy;
        let [a, b] = &mut self.cores;
        let (me, other) = if first == 0 { (a, b) } else { (b, a) };
        let mut core = &mut me.core;
        let mut bus = CpuBus {
            private: &mut me.private,
            other_core: &mut other.core,
            other_private: &mut other.private,
            fabric: &mut self.fabric,
            ctx,
            probes: &self.probes,
            stages: &mut self.stages,
            goes_first: u64::from(first == 0),
            limit: end,
            other_runs,
            turns_until: if take_turns { until } else { 0 },
            may_idle,
        };
        if other_runs {
            bus.set_limit(end);
        }
        loop {
            match exec::run_until(core, &mut bus, until) {
                // Nothing but the other core's time can have stopped an access here: it is behind.
                Pause::Wait if core.clock.now < bus.turns_until => {
                    bus.change_core(&mut core, until)
                }
                pause => return (bus.private.index(), core.take_exit(pause)),
            }
        }
    }

    /// Lets the cores run up to `end`; `false` if one started a device before it.
    fn run_cores_to(&mut self, end: u64, ctx: &mut BoardContext) -> bool {
        loop {
            let activities = self.activities();
            let Some(behind) = self.behind(activities) else {
                return true;
            };
            if self.cores[behind].core.clock.now >= end {
                return true;
            }
            if self.skip_idle && activities[1 - behind] != Activity::Busy {
                self.skip_idle_rounds(behind, end);
            }
            let (index, exit) = self.run_from(behind, activities, end, ctx);
            self.end_steps();
            match exit {
                Exit::Until | Exit::Limit | Exit::Wait => {}
                Exit::Yield => return false,
                Exit::Break { code } => self.core_stopped(index, StopReason::Break { code }, ctx),
                Exit::Fault(fault) => {
                    let text: Arc<str> = fault.to_string().into();
                    self.core_stopped(index, StopReason::Fault(text), ctx);
                }
            }
        }
    }

    /// A core stopped by itself.
    fn core_stopped(&mut self, index: usize, reason: StopReason, ctx: &mut BoardContext) {
        let unit = &mut self.cores[index];
        let text: Arc<str> = match &reason {
            StopReason::Break { code } => format!("break {code}").into(),
            StopReason::Fault(fault) => Arc::clone(fault),
        };
        unit.private.halt();
        unit.private.stopped = Some(reason);
        let kind = TraceKind::CoreStopped {
            pc: unit.core.pc(),
            reason: text,
        };
        let now = self.fabric.ticks.time_of(unit.core.clock.now);
        ctx.trace.record(now, unit.private.who, kind);
    }

    /// Why a core stopped by itself, if it did.
    #[must_use]
    pub fn stop_reason(&self, index: usize) -> Option<&StopReason> {
        self.cores[index].private.stopped.as_ref()
    }

    /// Idle cores that fell behind come to the present, and see what the event registers depended on
    /// until now.
    fn catch_up(&mut self, inputs: (EventRegisters, Mailbox), ctx: &mut BoardContext) {
        let (events, mailbox) = inputs;
        let events = std::mem::replace(&mut self.fabric.events, events);
        let mailbox = std::mem::replace(&mut self.fabric.mailbox, mailbox);
        let now = ctx.now;
        let there = self.run_cores(now, ctx);
        debug_assert!(there, "an idle core started a device");
        ctx.now = now;
        self.fabric.events = events;
        self.fabric.mailbox = mailbox;
    }

    /// Whether a core's idle loop looks at more than its event register.
    fn watching(&self) -> bool {
        self.cores.iter().any(|unit| unit.private.idle.watches())
    }

    /// Something that a core may be waiting for has perhaps changed.
    fn wake_cores(&mut self) {
        for unit in &mut self.cores {
            unit.private.idle.wake();
        }
    }

    /// What the cores' event registers depend on, apart from the timer.
    fn event_inputs(&self) -> [u32; 2] {
        [0, 1].map(|cpu| {
            self.fabric
                .events
                .read(cpu, self.fabric.mailbox.read(cpu), 0)
        })
    }

    fn write_control_register(
        &mut self,
        owner: usize,
        offset: u32,
        value: u32,
        ctx: &mut BoardContext,
    ) -> bool {
        let unit = &mut self.cores[owner];
        let as_a = offset - regs::CPU_B * owner as u32;
        let sram = &mut self.fabric.sram;
        let effect = write_control(&mut unit.core, &mut unit.private, sram, as_a, value);
        let Some(effect) = effect else {
            return false;
        };
        match effect {
            ControlEffect::Started => {
                let clock = &mut unit.core.clock;
                clock.start_at(self.fabric.ticks.first_at(ctx.now));
                unit.private.stopped = None;
                let kind = TraceKind::CoreStarted { pc: unit.core.pc() };
                ctx.trace.record(ctx.now, unit.private.who, kind);
            }
            ControlEffect::Ignored => {
                let text = format!("write of {offset:#05x} while the CPU runs: no effect");
                Fabric::mistake(Initiator::Host, text, ctx);
            }
            ControlEffect::Stored | ControlEffect::Halted | ControlEffect::Stepped => {}
        }
        true
    }

    fn reset_chip(&mut self) {
        self.fabric.reset();
        for (unit, stage) in self.cores.iter_mut().zip(&mut self.stages) {
            unit.private.halt();
            unit.private.stopped = None;
            stage.abandon();
            unit.core.clock.ticks_per_cycle = TICKS_PER_CYCLE;
        }
    }

    fn host_writes_register(&mut self, offset: u32, value: u32, ctx: &mut BoardContext) {
        if let Some(owner) = owner_of(offset)
            && self.write_control_register(owner, offset, value, ctx)
        {
            return;
        }
        if offset == regs::HOST_CONTROL && value & HostControl::RESET.bits() != 0 {
            self.reset_chip();
        }
        self.fabric
            .write_register(offset, value, Initiator::Host, ctx);
    }
}

impl Board for Tigon2 {
    type Event = BoardEvent;

    fn handle(&mut self, event: BoardEvent, ctx: &mut Context<'_, BoardEvent>) {
        let before = self.event_inputs();
        let inputs = (self.fabric.events.clone(), self.fabric.mailbox.clone());
        match event {
            BoardEvent::Dma(step) => self.fabric.dma_step(step, ctx),
            BoardEvent::TxBurst(burst) => self.fabric.tx_burst(burst, ctx),
            BoardEvent::TxDone => self.fabric.tx_done(ctx),
            BoardEvent::RxBurst { frame, offset } => self.fabric.rx_burst(frame, offset, ctx),
            BoardEvent::RxDone {
                index,
                address,
                status_length,
            } => self.fabric.rx_done(index, address, status_length, ctx),
            BoardEvent::ConfigWord => self.fabric.config_word(),
            BoardEvent::Signal { present } => self.fabric.signal_changes(present, ctx),
        }
        let changed = self.event_inputs() != before;
        if changed {
            self.catch_up(inputs, ctx);
        }
        for unit in &mut self.cores {
            if changed || unit.private.idle.watches() {
                unit.private.idle.wake();
            }
        }
    }

    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, BoardEvent>) -> bool {
        let end = self.fabric.ticks.first_at(until);
        let done = self.run_cores_to(end, ctx);
        for unit in &mut self.cores {
            // Either both have come to `end`, and what they executed before it was right; or one of them
            // has written to a register, and the other one was not ahead of that.
            debug_assert!(done || !unit.private.ahead.is_active());
            unit.private.ahead.settle();
        }
        done
    }

    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, BoardEvent>) -> u32 {
        match self.fabric.window.target(offset) {
            Target::Register(_) => {}
            Target::Sram(_) => {
                let tick = self.fabric.ticks.first_at(ctx.now);
                let cycles = self.fabric.timing.sram_word_cycles;
                self.fabric.sram.take_bus_at(tick, cycles);
            }
            Target::Nothing => {
                let text = format!("read of window offset {offset:#x}: nothing answers");
                Fabric::mistake(Initiator::Host, text, ctx);
            }
        }
        self.window_peek(offset, ctx.now)
    }

    fn window_peek(&self, offset: u32, now: SimTime) -> u32 {
        match self.fabric.window.target(offset) {
            Target::Register(offset) => owner_of(offset)
                .and_then(|owner| {
                    let unit = &self.cores[owner];
                    let as_a = offset - regs::CPU_B * owner as u32;
                    read_control(&unit.core, &unit.private, &self.fabric.sram, as_a)
                })
                .unwrap_or_else(|| self.fabric.read_register(offset, now)),
            Target::Sram(address) => self.fabric.sram.word(address),
            Target::Nothing => 0,
        }
    }

    fn window_peek_after(&self, write: (u32, u32), offset: u32, now: SimTime) -> u32 {
        let mut window = self.fabric.window;
        if write.0 == regs::WINDOW_BASE {
            window.set_base(write.1);
        }
        match window.target(offset) {
            Target::Sram(address) => self.fabric.sram.word(address),
            _ => self.window_peek(offset, now),
        }
    }

    fn reset(&mut self) {
        self.reset_chip();
        // The frame is on the wire; nobody waits for its end.
        self.fabric.mac.sending = None;
    }

    fn outlives_reset(event: &BoardEvent) -> bool {
        match event {
            BoardEvent::RxBurst { .. } | BoardEvent::ConfigWord | BoardEvent::Signal { .. } => true,
            BoardEvent::Dma(_)
            | BoardEvent::TxBurst(_)
            | BoardEvent::TxDone
            | BoardEvent::RxDone { .. } => false,
        }
    }

    fn interrupt_line(&self) -> bool {
        self.fabric.interrupt_line
    }

    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, BoardEvent>) {
        self.wake_cores();
        match self.fabric.window.target(offset) {
            Target::Register(offset) => self.host_writes_register(offset, value, ctx),
            Target::Sram(address) => {
                self.fabric.host_writes_sram(address, value, ctx);
                if offset < WINDOW_VIEW {
                    self.fabric.mailbox_written(address, value, ctx);
                }
            }
            Target::Nothing => {
                let text = format!("write of window offset {offset:#x}: nothing answers");
                Fabric::mistake(Initiator::Host, text, ctx);
            }
        }
    }

    fn frame_arrives(
        &mut self,
        frame: Frame,
        first_bit: SimTime,
        ctx: &mut Context<'_, BoardEvent>,
    ) {
        self.fabric.frame_begins(frame, first_bit, ctx);
    }

    fn plug_in(&mut self) {
        self.fabric.serdes.signal = true;
    }

    fn set_link(&mut self, link: Link) {
        self.fabric.link = link;
    }

    fn schedule_signal(&mut self, present: bool, time: SimTime, ctx: &mut Context<'_, BoardEvent>) {
        let event = BoardEvent::Signal { present };
        ctx.schedule(time, Initiator::MacReceive, event);
    }

    fn next_activity(&self, now: SimTime) -> SimTime {
        let activities = self.activities();
        if activities.contains(&Activity::Busy) {
            return now;
        }
        let mut next = SimTime::MAX;
        for (index, unit) in self.cores.iter().enumerate() {
            let Some(value) = unit.private.idle.idle_at() else {
                continue;
            };
            if activities[index] == Activity::Stopped {
                continue;
            }
            let seen = value & 1 << defs::tigon2::event::TIMER != 0;
            // A bit that was seen falls half an hour from now; nobody waits for that.
            if !seen && self.fabric.timer.reached(index, now) {
                return now;
            }
            if !seen {
                next = next.min(self.fabric.timer.next_change(index, now));
            }
        }
        next
    }

    fn idle_cores_ignore(&self, event: &BoardEvent) -> bool {
        // They take the SRAM bus, which an idle loop does not use, and perhaps write to SRAM, which
        // only matters where the loop itself stands. If they raise an event after all, `handle`
        // brings the cores there.
        let spared = |(at, length)| !self.fabric.sram.holds_decoded(at, length);
        let spares_code = match event {
            BoardEvent::TxBurst(_) => true,
            BoardEvent::Dma(step) => self.fabric.dma_writes(step).is_none_or(spared),
            BoardEvent::RxBurst { offset, .. } => {
                self.fabric.rx_writes(*offset).into_iter().all(spared)
            }
            _ => false,
        };
        spares_code && !self.watching()
    }

    fn idle_cores_ignore_read(&self, offset: u32) -> bool {
        matches!(self.fabric.window.target(offset), Target::Sram(_))
    }

    fn bus_lead(&self) -> SimTime {
        self.fabric.bus_lead()
    }

    fn transmitter_free_at(&self) -> SimTime {
        self.fabric.wire_free_at
    }

    fn describe_cores(&self) -> Vec<String> {
        let describe = |unit: &CoreUnit| {
            let state = match &unit.private.stopped {
                Some(StopReason::Break { code }) => format!("stopped by break {code}"),
                Some(StopReason::Fault(fault)) => format!("stopped: {fault}"),
                None if !unit.private.running() => "halted".into(),
                None if unit.private.idle.idle().is_some() => "idle".into(),
                None => "running".into(),
            };
            format!("{} {state} at pc {:#x}", unit.private.who, unit.core.pc())
        };
        self.cores.iter().map(describe).collect()
    }
}
