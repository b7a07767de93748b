//! The Tigon2 board: two cores and the fabric between them.
//!
//! The cores share SRAM, registers and the semaphore. A core's shared accesses take effect in the
//! order of their time, CPU A before CPU B at equal ticks, and after every event that is due: a core
//! that would overtake another actor waits before the instruction, and the other core runs.

use std::sync::Arc;

use defs::tigon2::map::{SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, WINDOW_VIEW};
use defs::tigon2::regs;

use super::access::{Chip, read_register};
use super::cores::{CorePrivate, CoreUnit};
use super::event::EventRegisters;
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::mailbox::Mailbox;
use super::map;
use super::run::turns::CoreActivity;
use super::sram::SramSize;
use super::timing::Timing;
use super::window::Target;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_base::unit::Arrival;
use emulator_board::events::{PollAccess, PollRequest};
use emulator_board::{Board, Context, CpuId, NothingThere, Ran, SharedCode, StopReason};
use emulator_board::{ProbeTable, StageState};
use emulator_cpu::mips::exec::{Core, CoreTiming};
use emulator_observe::event::{Details, TraceKind};
use emulator_observe::tracer::Tracer;
use emulator_state::state;
use emulator_wire::ethernet::Ethernet;
use emulator_wire::ethernet::frame::Frame;
use emulator_wire::ethernet::link::Link;
use emulator_wire::medium::Outbox;

/// The time up to which a core that repeats a period is left alone at most.
const LONGEST_REST: SimTime = SimTime::from_us(1_000_000);

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
    /// Whether idle loops may be skipped (with identical results).
    pub skip_idle: bool,
    /// Whether whole periods of idle loops that follow the timer may be skipped too.
    pub skip_periods: bool,
    /// Whether each `JOFF` carries a probe, because an observer records handlers.
    pub(super) marks_dispatch: bool,
    /// Largest number of instructions of each core.
    pub instruction_limit: u64,
    /// For a debugger: each core stops once it has executed this many instructions.
    pub(super) held_after: [u64; 2],
}

state!(Tigon2 { fabric } lists { cores, stages } fixed {
    probes,
    skip_idle,
    skip_periods,
    marks_dispatch,
    instruction_limit,
    held_after
});

impl Tigon2 {
    /// Discards all decoded instructions. For a board at rest.
    pub(super) fn forget_all_code(&mut self) {
        self.fabric.sram.forget_all_code();
        for unit in &mut self.cores {
            unit.private.scratchpad.forget_all_code();
        }
    }

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
                unit(Initiator::Cpu(0), SCRATCHPAD_A_BYTES),
                unit(Initiator::Cpu(1), SCRATCHPAD_B_BYTES),
            ],
            fabric: Fabric::new(sram, timing),
            probes: ProbeTable::default(),
            stages: Default::default(),
            skip_idle: true,
            skip_periods: true,
            marks_dispatch: false,
            instruction_limit: u64::MAX,
            held_after: [u64::MAX; 2],
        }
    }

    /// Releases a core at `pc` at `ctx.now`, as a host would through its registers.
    pub fn start_core(&mut self, index: usize, pc: u32, ctx: &mut BoardContext) {
        let as_b = regs::CPU_B * index as u32;
        self.window_write(regs::CPU_PC + as_b, pc, ctx);
        self.window_write(regs::CPU_STATE + as_b, 0, ctx);
    }

    /// Total time in which a core was neither halted nor in rounds of its idle loop that were like the ones before.
    #[must_use]
    pub fn busy_time(&self, cpu: usize) -> SimTime {
        let CoreUnit { core, private } = &self.cores[cpu];
        let rest = core.clock.halted + private.idle.idle_ticks();
        self.fabric
            .ticks
            .time_of(core.clock.now.saturating_sub(rest))
    }

    /// Handles a core that stopped by itself.
    pub(super) fn core_stopped(
        &mut self,
        index: usize,
        reason: StopReason,
        blamed: Option<u32>,
        ctx: &mut BoardContext,
    ) {
        let unit = &mut self.cores[index];
        unit.private.blamed = blamed;
        let text: Arc<str> = reason.to_string().into();
        unit.private.halt();
        unit.private.stopped = Some(reason);
        let kind = TraceKind::CoreStopped {
            pc: unit.core.pc(),
            reason: text,
        };
        let now = self.fabric.ticks.time_of(unit.core.clock.now);
        let pc = Some(unit.core.pc());
        ctx.trace.record_at(now, unit.private.who, pc, kind);
    }

    /// Reason why a core stopped by itself, if it did.
    #[must_use]
    pub fn stop_reason(&self, index: usize) -> Option<&StopReason> {
        self.cores[index].private.stopped.as_ref()
    }

    /// Brings lagging idle cores to the current time, with the values on which the event registers depended
    /// until now.
    fn catch_up(&mut self, inputs: (EventRegisters, Mailbox), ctx: &mut BoardContext) {
        let (events, mailbox) = inputs;
        let events = std::mem::replace(&mut self.fabric.events, events);
        let mailbox = std::mem::replace(&mut self.fabric.mailbox, mailbox);
        let now = ctx.now;
        let ran = self.run_up_to(now, now, ctx);
        debug_assert!(ran == Ran::There, "an idle core started a device");
        ctx.now = now;
        self.fabric.events = events;
        self.fabric.mailbox = mailbox;
    }

    /// Whether an event leaves all decoded code in SRAM as it is.
    fn spares_code(&self, event: &BoardEvent) -> bool {
        let spared = |(at, length)| !self.fabric.sram.holds_decoded(at, length);
        match event {
            BoardEvent::Dma(step) => self.fabric.dma_writes(step).is_none_or(spared),
            BoardEvent::RxBurst { offset, .. } => {
                self.fabric.rx_writes(*offset).into_iter().all(spared)
            }
            _ => true,
        }
    }

    /// Whether a core's idle loop reads more than its event register.
    fn watching(&self) -> bool {
        self.cores.iter().any(|unit| unit.private.idle.watches())
    }

    /// Makes idle cores check again, after a change of a value that they may poll.
    pub(super) fn wake_cores(&mut self) {
        for unit in &mut self.cores {
            unit.private.idle.wake();
        }
    }

    /// The parts reachable by a register access.
    fn chip(&mut self) -> Chip<'_> {
        Chip {
            cores: self
                .cores
                .each_mut()
                .map(|unit| (&mut unit.core, &mut unit.private)),
            fabric: &mut self.fabric,
            stages: &mut self.stages,
        }
    }

    /// Writes a register for the host or a debugger.
    pub(super) fn outsider_writes_register(
        &mut self,
        offset: u32,
        value: u32,
        who: Initiator,
        ctx: &mut BoardContext,
    ) {
        let tick = self.fabric.ticks.first_at(ctx.now);
        self.chip()
            .write_register(offset, value, who.into(), tick, ctx);
    }

    /// Value of a register, without side effects.
    pub(super) fn register(&self, offset: u32, now: SimTime) -> u32 {
        let core = |owner: usize| {
            let unit = &self.cores[owner];
            (&unit.core, &unit.private)
        };
        read_register(&self.fabric, core, offset, now)
    }
}

impl Board for Tigon2 {
    type Event = BoardEvent;
    type Medium = Ethernet;

    fn handle(&mut self, event: BoardEvent, ctx: &mut Context<'_, BoardEvent>) {
        let writes_code = !self.spares_code(&event);
        let inputs = (self.fabric.events.clone(), self.fabric.mailbox.clone());
        let changed = self.fabric.handle(event, ctx);
        if changed {
            self.catch_up(inputs, ctx);
        }
        for unit in &mut self.cores {
            if changed || unit.private.idle.watches() {
                unit.private.idle.wake();
            } else if writes_code {
                unit.private.idle.end_period();
            }
        }
    }

    fn share_code(&mut self, shared: &SharedCode) {
        for unit in &mut self.cores {
            unit.private.scratchpad.share_code(&shared.scratchpads);
        }
    }

    #[inline]
    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, BoardEvent>) -> Ran {
        let beyond = ctx.horizon.max(until);
        self.run_up_to(until, beyond, ctx)
    }

    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, BoardEvent>) -> u32 {
        let value = self.window_peek(offset, ctx.now);
        if self.fabric.races.is_some() {
            self.host_reads(offset, value, ctx.now);
        }
        match self.fabric.window.target(offset) {
            Target::Register(offset) if ctx.trace.wants(Details::REGISTERS) => {
                let address = map::register_address(offset);
                let kind = TraceKind::RegisterRead { address, value };
                ctx.trace
                    .record_detail(ctx.now, Initiator::Host, None, kind);
            }
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
        value
    }

    fn window_peek(&self, offset: u32, now: SimTime) -> u32 {
        match self.fabric.window.target(offset) {
            Target::Register(offset) => self.register(offset, now),
            Target::Sram(address) => self.fabric.sram.word(address),
            Target::Nothing => 0,
        }
    }

    fn window_peek_after(&self, write: (u32, u32), offset: u32, now: SimTime) -> Option<u32> {
        let mut window = self.fabric.window;
        if write.0 == regs::WINDOW_BASE {
            window.set_base(write.1);
        }
        Some(match window.target(offset) {
            Target::Sram(address) => self.fabric.sram.word(address),
            _ => self.window_peek(offset, now),
        })
    }

    fn reset(&mut self, ctx: &mut BoardContext) {
        self.chip().reset(ctx);
        // The frame is on the wire; its end is no longer relevant.
        self.fabric.mac.sending = None;
        self.fabric.sram.bus_mut().stop_bursts();
    }

    fn outlives_reset(event: &BoardEvent) -> bool {
        match event {
            BoardEvent::RxBurst { .. } | BoardEvent::ConfigWord | BoardEvent::Signal { .. } => true,
            BoardEvent::Dma(_) | BoardEvent::TxDone | BoardEvent::RxDone { .. } => false,
        }
    }

    fn start_recording(&mut self, now: SimTime) {
        self.fabric.unrecorded_from = now;
        for unit in &mut self.cores {
            unit.private.idle.end_period();
        }
    }

    fn record_before(&mut self, time: SimTime, trace: &mut Tracer) {
        self.fabric.tell_timer_before(time, trace);
    }

    fn interrupt_line(&self) -> bool {
        self.fabric.interrupt_line
    }

    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, BoardEvent>) {
        self.wake_cores();
        match self.fabric.window.target(offset) {
            Target::Register(offset) => {
                self.outsider_writes_register(offset, value, Initiator::Host, ctx);
            }
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

    fn unit_arrives(&mut self, arrival: Arrival<Frame>, ctx: &mut Context<'_, BoardEvent>) {
        self.fabric.frame_begins(arrival.unit, arrival.head, ctx);
    }

    fn outbox(&mut self) -> &mut Outbox<Ethernet> {
        &mut self.fabric.outbox
    }

    fn plug_in(&mut self, link: &Link) {
        self.fabric.link = *link;
        self.fabric.serdes.signal = true;
    }

    fn schedule_carrier(
        &mut self,
        present: bool,
        time: SimTime,
        ctx: &mut Context<'_, BoardEvent>,
    ) {
        let event = BoardEvent::Signal { present };
        ctx.schedule(time, Initiator::Receiver, event);
    }

    fn next_activity(&self, now: SimTime) -> SimTime {
        // Mostly the first one is busy.
        if [0, 1]
            .iter()
            .any(|&cpu| self.activity(cpu) == CoreActivity::Busy)
        {
            return now;
        }
        let activities = self.activities();
        let mut next = SimTime::MAX;
        for (index, unit) in self.cores.iter().enumerate() {
            if activities[index] == CoreActivity::Stopped {
                continue;
            }
            if let Some(rest) = unit.private.idle.rest() {
                // The loop goes on by itself for ever: the board is never idle for good.
                next = next.min(rest.until).min(now.saturating_add(LONGEST_REST));
                continue;
            }
            let Some(value) = unit.private.idle.idle_at() else {
                continue;
            };
            let seen = value & 1 << defs::tigon2::event::TIMER != 0;
            // A set bit is cleared half an hour from now, which no firmware waits for.
            if !seen && self.fabric.timer.reached(index, now) {
                return now;
            }
            if !seen {
                next = next.min(self.fabric.timer.next_change(index, now));
            }
        }
        next
    }

    #[inline]
    fn idle_cores_ignore(&self, event: &BoardEvent) -> bool {
        // They take the SRAM bus, which an idle loop does not use, and may write to SRAM, which
        // only matters to the loop's own code. If they set an event bit after all, `handle`
        // brings the cores to this time.
        let only_writes = matches!(event, BoardEvent::Dma(_) | BoardEvent::RxBurst { .. });
        only_writes && self.spares_code(event) && !self.watching()
    }

    fn is_memory(&self, offset: u32) -> bool {
        matches!(self.fabric.window.target(offset), Target::Sram(_))
    }

    fn moves_view(&self, (offset, _): (u32, u32)) -> bool {
        self.fabric.window.target(offset) == Target::Register(regs::WINDOW_BASE)
    }

    #[inline]
    fn fruitless_poll(&mut self, access: PollAccess<'_>, now: SimTime) -> bool {
        let [a, b] = &self.cores;
        let tick = self.fabric.ticks.first_at(now);
        self.fabric
            .fruitless_poll(access, [&a.private, &b.private], tick)
    }

    fn poll_write(&mut self, write: (u32, u32), ctx: &mut Context<'_, BoardEvent>) {
        if !self.moves_view(write) || !self.fruitless_poll(PollAccess::Move(write), ctx.now) {
            return self.window_write(write.0, write.1, ctx);
        }
        if ctx.trace.wants(Details::REGISTERS) {
            let address = map::register_address(write.0);
            let value = write.1;
            let kind = TraceKind::RegisterWrite { address, value };
            ctx.trace
                .record_detail(ctx.now, Initiator::Host, None, kind);
        }
    }

    fn skip_polls(
        &mut self,
        poll: &PollRequest,
        first: SimTime,
        period_ps: u64,
        times: u64,
    ) -> bool {
        self.fabric.skip_polls(poll, first, period_ps, times)
    }

    #[inline]
    fn bus_lead(&self) -> SimTime {
        self.fabric.bus_lead()
    }

    fn start_cpu(&mut self, cpu: CpuId, pc: u32, ctx: &mut Context<'_, BoardEvent>) {
        self.start_core(cpu.index() & 1, pc, ctx);
    }

    fn resume_cpu(&mut self, cpu: CpuId, pc: u32, ctx: &mut Context<'_, BoardEvent>) {
        let index = cpu.index() & 1;
        let as_b = regs::CPU_B * index as u32;
        let halted = regs::CpuState::HALT.bits();
        let state = self.register(regs::CPU_STATE + as_b, ctx.now) & !halted;
        self.window_write(regs::CPU_PC + as_b, pc, ctx);
        self.window_write(regs::CPU_STATE + as_b, state, ctx);
    }

    fn poke(
        &mut self,
        cpu: CpuId,
        address: u32,
        bytes: &[u8],
        ctx: &mut Context<'_, BoardEvent>,
    ) -> Result<(), NothingThere> {
        self.poke_bytes(cpu.index() & 1, address, bytes, ctx)
    }

    fn transmitter_free_at(&self) -> SimTime {
        self.fabric.wire_free_at
    }
}
