//! The Tigon2 board: its cores and the fabric between them.
//!
//! The cores share SRAM, registers and the semaphore. A core's shared accesses take effect in the
//! order of their time, CPU A first at equal ticks, then CPU B and so on, and after every event that is due: a core
//! that would overtake another actor waits before the instruction, and another core runs.

use std::sync::Arc;

use defs::tigon2::banks::{MOST_CPUS, private_of};
use defs::tigon2::map::WINDOW_VIEW;
use defs::tigon2::regs;

use super::access::{Chip, read_register};
use super::cores::{CorePrivate, CoreUnit};
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::map;
use super::run::pair::{self, divide};
use super::run::rest::{LeftForRest, RestOfCores};
use super::run::turns::CoreActivity;
use super::sram::SramSize;
use super::sram_banks::SramRange;
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
    /// CPU A, CPU B and so on: two units at least, of which the second one never starts on a board with one CPU.
    pub cores: Box<[CoreUnit]>,
    /// Everything else.
    pub fabric: Fabric,
    /// The firmware's probes.
    pub probes: ProbeTable,
    /// The cores' stages.
    pub stages: Box<[StageState]>,
    /// Whether idle loops may be skipped (with identical results).
    pub skip_idle: bool,
    /// Whether whole periods of idle loops that follow the timer may be skipped too.
    pub skip_periods: bool,
    /// Whether each `JOFF` carries a probe, because an observer records handlers.
    pub(super) marks_dispatch: bool,
    /// Largest number of instructions of each core.
    pub instruction_limit: u64,
    /// Work that the last turn has left.
    pub(super) further: LeftForRest,
    /// For a debugger: each core stops once it has executed this many instructions.
    pub(super) held_after: [u64; MOST_CPUS],
}

state!(Tigon2 { fabric } lists { cores, stages } fixed {
    probes,
    skip_idle,
    skip_periods,
    marks_dispatch,
    instruction_limit,
    further,
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

    /// Index of the unit of a CPU.
    pub(super) const fn place_of(&self, cpu: CpuId) -> usize {
        cpu.index() % self.fabric.cpus.units()
    }

    /// A board after power-on: all cores halted. `timing` says how many there are.
    #[must_use]
    pub fn new(sram: SramSize, timing: Timing) -> Self {
        let cpus = timing.cpus;
        let unit = |index| {
            let mut core = Core::default();
            core.timing = CoreTiming {
                instruction_cycles: timing.instruction_cycles,
                taken_branch_cycles: timing.taken_branch_cycles,
                annulled_slot_cycles: timing.annulled_slot_cycles,
            };
            CoreUnit {
                core,
                private: CorePrivate::new(index, cpus, timing.instruction_cache_bytes),
            }
        };
        Self {
            cores: (0..cpus.units()).map(unit).collect(),
            fabric: Fabric::new(sram, timing),
            probes: ProbeTable::default(),
            stages: (0..cpus.units()).map(|_| StageState::default()).collect(),
            skip_idle: true,
            skip_periods: true,
            marks_dispatch: false,
            instruction_limit: u64::MAX,
            further: LeftForRest::default(),
            held_after: [u64::MAX; MOST_CPUS],
        }
    }

    /// Releases a core at `pc` at `ctx.now`, as a host would through its registers.
    pub fn start_core(&mut self, index: usize, pc: u32, ctx: &mut BoardContext) {
        let own = private_of(index);
        self.window_write(regs::CPU_PC + own, pc, ctx);
        self.window_write(regs::CPU_STATE + own, 0, ctx);
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

    /// Brings lagging idle cores to the current time, with the levels on which the event registers depended
    /// until now.
    fn catch_up(&mut self, levels: u32, ctx: &mut BoardContext) {
        let (now, changed) = (ctx.now, self.fabric.events.levels());
        self.fabric.events.set_levels(levels);
        let ran = self.run_up_to(now, now, ctx);
        debug_assert!(ran == Ran::There, "an idle core started a device");
        ctx.now = now;
        self.fabric.events.set_levels(changed);
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
        pair::any(&self.cores, |unit| unit.private.idle.watches())
    }

    /// Makes idle cores check again, after a change of a value that they may poll.
    pub(super) fn wake_cores(&mut self) {
        pair::for_each(&mut self.cores, |unit| unit.private.idle.wake());
    }

    /// Does something with the parts that a register access reaches.
    fn with_chip(&mut self, act: impl FnOnce(&mut Chip<'_, '_>)) {
        let (a, b, rest) = divide(&mut self.cores, 0, 1);
        let left = &mut self.further;
        act(&mut Chip {
            pair: [a, b].map(|unit| (&mut unit.core, &mut unit.private)),
            rest: Some(&mut RestOfCores { cores: rest, left }),
            fabric: &mut self.fabric,
            stages: &mut self.stages,
        });
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
        self.with_chip(|chip| _ = chip.write_register(offset, value, who.into(), tick, ctx));
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
        // An event changes no other input of the event registers.
        let levels = self.fabric.events.levels();
        let changed = self.fabric.handle(event, ctx);
        if changed {
            self.catch_up(levels, ctx);
        }
        pair::for_each(&mut self.cores, |unit| {
            if changed || unit.private.idle.watches() {
                unit.private.idle.wake();
            } else if writes_code {
                unit.private.idle.end_period();
            }
        });
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
            Target::Sram(address) => {
                let tick = self.fabric.ticks.first_at(ctx.now);
                let cycles = self.fabric.timing.sram_word_cycles;
                let word = SramRange::word(address);
                self.fabric.sram.take_bus_at(tick, word, cycles);
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
        self.with_chip(|chip| chip.reset(ctx));
        // The frame is on the wire; its end is no longer relevant.
        self.fabric.mac.sending = None;
        self.fabric.sram.stop_bursts();
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
        if pair::any(&self.cores, |unit| {
            self.activity(unit) == CoreActivity::Busy
        }) {
            return now;
        }
        let mut next = SimTime::MAX;
        for (index, unit) in self.cores.iter().enumerate() {
            if self.activity(unit) == CoreActivity::Stopped {
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
        let cores = &self.cores;
        let reads = |unit: &CoreUnit| unit.private.idle.has_read(regs::WINDOW_BASE);
        let tick = self.fabric.ticks.first_at(now);
        self.fabric
            .fruitless_poll(access, || pair::any(cores, reads), tick)
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
        self.start_core(self.place_of(cpu), pc, ctx);
    }

    fn resume_cpu(&mut self, cpu: CpuId, pc: u32, ctx: &mut Context<'_, BoardEvent>) {
        let own = private_of(self.place_of(cpu));
        let halted = regs::CpuState::HALT.bits();
        let state = self.register(regs::CPU_STATE + own, ctx.now) & !halted;
        self.window_write(regs::CPU_PC + own, pc, ctx);
        self.window_write(regs::CPU_STATE + own, state, ctx);
    }

    fn poke(
        &mut self,
        cpu: CpuId,
        address: u32,
        bytes: &[u8],
        ctx: &mut Context<'_, BoardEvent>,
    ) -> Result<(), NothingThere> {
        self.poke_bytes(self.place_of(cpu), address, bytes, ctx)
    }

    fn transmitter_free_at(&self) -> SimTime {
        self.fabric.wire_free_at
    }
}
