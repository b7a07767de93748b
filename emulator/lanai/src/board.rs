//! The board: one CPU, and the blocks around it.

use super::arbitration::Engine;
use super::chip::Generation;
use super::fabric::{BoardContext, BoardEvent, Fabric};
use super::idle::Idle;
use super::isr::Cause;
use super::run::CPU;
use super::special::find;
use super::timing::Timing;
use super::window::{Commands, Target, target};
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_base::unit::Arrival;
use emulator_board::{
    Board, Context, CpuId, NothingThere, Ran, SharedCode, StageState, StopReason, write_each,
};
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::lanai::bus::Width;
use emulator_cpu::lanai::exec::{Core, CoreTiming};
use emulator_cpu::lanai::pipeline::Pipeline;
use emulator_observe::event::{Details, TraceKind};
use emulator_state::state;
use emulator_wire::medium::{Outbox, Sent};
use emulator_wire::myrinet::{Control, Link, Myrinet, Packet};

/// A board with a LANai.
#[derive(Debug)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Lanai {
    /// The CPU.
    pub core: Core,
    pub(super) running: bool,
    /// Whether idle loops may be skipped (with identical results).
    pub skip_idle: bool,
    /// Largest number of instructions of the CPU.
    pub instruction_limit: u64,
    /// For a debugger: the CPU stops once it has executed this many instructions.
    pub(super) held_after: u64,
    pub(super) idle: Idle,
    /// Everything else.
    pub fabric: Fabric,
    /// Reason why the CPU stopped, until it is started again.
    pub(super) stopped: Option<StopReason>,
    /// The instruction to blame for it, if it is not the one before which the CPU stands.
    pub(super) blamed: Option<u32>,
    /// The stage of the firmware that the CPU is in.
    pub(super) stage: StageState,
}

state!(Lanai { core, fabric, running, stopped, blamed, idle, stage } fixed {
    skip_idle,
    instruction_limit,
    held_after
});

impl Lanai {
    /// A board after power-on, with a pipeline that may be that of another generation or of LLVM
    /// (docs/lanai-core.md, section 1).
    #[must_use]
    pub fn new(sram_bytes: u32, timing: Timing, pipeline: Pipeline) -> Self {
        let mut core = Core::new(pipeline);
        core.timing = CoreTiming {
            instruction_cycles: timing.instruction_cycles,
            load_use_cycles: timing.load_use_cycles,
        };
        Self {
            core,
            fabric: Fabric::new(sram_bytes, timing),
            skip_idle: true,
            instruction_limit: u64::MAX,
            running: false,
            stopped: None,
            blamed: None,
            idle: Idle::default(),
            stage: StageState::default(),
            held_after: u64::MAX,
        }
    }

    /// The generation of the chip.
    #[must_use]
    pub const fn generation(&self) -> Generation {
        self.fabric.generation()
    }

    /// Whether the CPU executes instructions.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        self.running
    }

    /// Starts the CPU at `pc`.
    fn release(&mut self, pc: u32, ctx: &mut BoardContext) {
        let tick = self.fabric.tick(ctx.now);
        self.core.reset();
        self.core.start_at(pc);
        self.fabric.begun_at = self.core.instructions();
        self.core.clock.start_at(tick);
        self.core.clock.ticks_per_cycle = TICKS_PER_CYCLE;
        self.stage.abandon();
        self.running = true;
        self.stopped = None;
        self.idle.wake(&self.core);
        ctx.trace
            .record(ctx.now, CPU, TraceKind::CoreStarted { pc });
    }

    fn halt(&mut self) {
        self.running = false;
        self.idle.wake(&self.core);
    }

    /// Carries out a write of the control register.
    fn command(&mut self, value: u32, ctx: &mut BoardContext) {
        let Commands {
            reset,
            release,
            wake,
            channels,
        } = self.fabric.control.write(value);
        if reset {
            self.halt();
            self.fabric.reset_chip(ctx);
        }
        if release {
            self.release(0, ctx);
        }
        if wake {
            self.fabric.isr.raise(Cause::Wake);
        }
        if channels != 0 {
            self.fabric.chains.wake(channels);
            self.fabric.next_block(ctx);
        }
        self.fabric.update_line(ctx);
    }

    /// Handles a write of the host to a doorbell.
    fn doorbell(&mut self, offset: u32, value: u32, ctx: &mut BoardContext) {
        let Fabric {
            doorbells,
            control,
            sram,
            ..
        } = &mut self.fabric;
        doorbells.ring(control.queue_size(), offset, value, sram);
        if control.doorbell_wakes() {
            self.fabric.raise(Cause::Wake, ctx);
        }
    }

    /// Takes the memory bus for so many words of the host, one after the other.
    fn take_bus(&mut self, words: usize, now: SimTime) {
        let tick = self.fabric.tick(now);
        for _ in 0..words {
            self.fabric.bus.occupy(Engine::Host, tick, 4);
        }
    }

    /// Writes words of the host to memory.
    fn store(&mut self, address: u32, words: &[u32], now: SimTime) {
        self.take_bus(words.len(), now);
        self.fabric.sram.forget_written();
        self.fabric.sram.set_words(address, words);
        if self.idle.may_see(&self.fabric.sram) {
            self.idle.wake(&self.core);
        }
    }

    fn detail(&self, offset: u32, kind: impl FnOnce(u32) -> TraceKind, ctx: &mut BoardContext) {
        if ctx.trace.wants(Details::REGISTERS) {
            let address = self.generation().register_base() + offset;
            ctx.trace
                .record_detail(ctx.now, Initiator::Host, None, kind(address));
        }
    }
}

impl Board for Lanai {
    type Event = BoardEvent;
    type Medium = Myrinet;

    fn share_code(&mut self, shared: &SharedCode) {
        self.fabric.sram.share_code(&shared.lanai);
    }

    fn handle(&mut self, event: BoardEvent, ctx: &mut Context<'_, BoardEvent>) {
        if !self.idle.is_idle() {
            self.fabric.handle(event, ctx);
            self.idle.wake(&self.core);
            return;
        }
        let before = self.fabric.status(ctx.now);
        self.fabric.sram.forget_written();
        self.fabric.handle(event, ctx);
        let changed = before != self.fabric.status(ctx.now);
        if changed || self.idle.ends_at(ctx.now) || self.idle.may_see(&self.fabric.sram) {
            self.idle.wake(&self.core);
        }
    }

    fn run_cores(&mut self, until: SimTime, ctx: &mut Context<'_, BoardEvent>) -> Ran {
        match self.run_to(until, ctx) {
            true => Ran::There,
            false => Ran::Changed,
        }
    }

    #[inline]
    fn next_activity(&self, now: SimTime) -> SimTime {
        match self.runnable() && !(self.skip_idle && self.idle.is_idle()) {
            true => now,
            false => SimTime::MAX,
        }
    }

    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, BoardEvent>) -> u32 {
        let value = self.window_peek(offset, ctx.now);
        match target(self.generation(), offset) {
            Target::Sram(_) => self.take_bus(1, ctx.now),
            Target::Special(offset) => {
                let kind = |address| TraceKind::RegisterRead { address, value };
                self.detail(offset, kind, ctx);
            }
            Target::Nothing => {
                let text = format!("read of window offset {offset:#x}: nothing answers");
                Fabric::mistake(text, Initiator::Host, ctx);
            }
            _ => {}
        }
        value
    }

    fn cores_ignore_write(&self, offset: u32, words: usize) -> bool {
        !self.running && self.writes_memory(offset, words)
    }

    fn writes_memory(&self, offset: u32, words: usize) -> bool {
        let behind = u32::try_from(words.saturating_sub(1)).ok();
        let behind = behind.and_then(|words| words.checked_mul(4));
        let last = behind.and_then(|behind| offset.checked_add(behind));
        let at = |offset| target(self.generation(), offset);
        match (at(offset), last.map(at)) {
            // Other targets lie between two ranges of memory.
            (Target::Sram(first), Some(Target::Sram(last))) => last.checked_sub(first) == behind,
            _ => false,
        }
    }

    fn may_control(&self, event: &BoardEvent) -> bool {
        matches!(event, BoardEvent::PortFills(_) | BoardEvent::Watchdog)
    }

    #[inline]
    fn control_pause(&self) -> SimTime {
        let port = self.fabric.port.control_pause();
        port.min(self.fabric.watchdog_pause())
    }

    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, BoardEvent>) {
        let target = target(self.generation(), offset);
        if !matches!(target, Target::Sram(_)) {
            self.idle.wake(&self.core);
        }
        match target {
            Target::Sram(address) => self.store(address, &[value], ctx.now),
            Target::Special(offset) => {
                let kind = |address| TraceKind::RegisterWrite { address, value };
                self.detail(offset, kind, ctx);
                if let Some(row) = find(self.generation(), offset) {
                    self.fabric.write_special(row, value, Initiator::Host, ctx);
                }
            }
            Target::Control => self.command(value, ctx),
            Target::Chain(channel) => self.fabric.chains.set_pointer(channel, value),
            Target::DoorbellBase(index) => self.fabric.doorbells.set_base(index, value),
            Target::Doorbell => self.doorbell(offset, value, ctx),
            Target::Eeprom(_) | Target::Nothing => {
                let text = format!("write of window offset {offset:#x}: nothing answers");
                Fabric::mistake(text, Initiator::Host, ctx);
            }
        }
    }

    fn window_store(&mut self, offset: u32, values: &[u32], ctx: &mut Context<'_, BoardEvent>) {
        match target(self.generation(), offset) {
            Target::Sram(address) if self.writes_memory(offset, values.len()) => {
                self.store(address, values, ctx.now);
            }
            _ => write_each(self, offset, values, ctx),
        }
    }

    fn window_peek(&self, offset: u32, now: SimTime) -> u32 {
        let fabric = &self.fabric;
        match target(self.generation(), offset) {
            Target::Sram(address) => fabric.sram.word(address),
            Target::Special(offset) => {
                let row = find(self.generation(), offset);
                row.map_or(0, |row| fabric.read_special(row, now))
            }
            Target::Control => fabric.control.read(),
            Target::Chain(channel) => fabric.chains.pointer(channel),
            Target::DoorbellBase(index) => fabric.doorbells.base(index),
            Target::Eeprom(offset) => fabric.eeprom.word(offset),
            Target::Doorbell | Target::Nothing => 0,
        }
    }

    fn interrupt_line(&self) -> bool {
        self.fabric.interrupt_line
    }

    fn reset(&mut self, ctx: &mut Context<'_, BoardEvent>) {
        self.halt();
        self.stopped = None;
        self.fabric.reset_board(ctx);
        // The host is going to load firmware: code that it writes over shared pages would have pages of its own.
        self.fabric.sram.forget_code();
    }

    fn outlives_reset(event: &BoardEvent) -> bool {
        matches!(
            event,
            BoardEvent::Head(_) | BoardEvent::Heard(_) | BoardEvent::Carrier(_)
        )
    }

    fn plug_in(&mut self, cable: &Link) {
        self.fabric.port.plug_in(*cable);
    }

    fn schedule_carrier(
        &mut self,
        present: bool,
        time: SimTime,
        ctx: &mut Context<'_, BoardEvent>,
    ) {
        ctx.schedule(time, Initiator::Receiver, BoardEvent::Carrier(present));
    }

    fn unit_arrives(&mut self, arrival: Arrival<Packet>, ctx: &mut Context<'_, BoardEvent>) {
        self.fabric.traffic.announced += 1;
        let head = arrival.head;
        let event = BoardEvent::Head(self.fabric.incoming(arrival));
        ctx.schedule(head, Initiator::Receiver, event);
    }

    fn control_arrives(&mut self, sent: Sent<Control>, ctx: &mut Context<'_, BoardEvent>) {
        let who = match sent.control {
            Control::Tail { .. } => Initiator::Receiver,
            _ => Initiator::Transmitter,
        };
        ctx.schedule(sent.time, who, BoardEvent::Heard(sent.control));
    }

    fn outbox(&mut self) -> &mut Outbox<Myrinet> {
        &mut self.fabric.outbox
    }

    fn unit_lead(&self) -> SimTime {
        self.fabric.timing.packet_send_start
    }

    fn control_lead(&self) -> SimTime {
        self.fabric.timing.port_delay
    }

    fn start_cpu(&mut self, _: CpuId, pc: u32, ctx: &mut Context<'_, BoardEvent>) {
        self.fabric.control.in_reset = false;
        self.release(pc, ctx);
    }

    fn resume_cpu(&mut self, _: CpuId, pc: u32, ctx: &mut Context<'_, BoardEvent>) {
        let tick = self.fabric.tick(ctx.now);
        self.core.start_at(pc);
        self.core.clock.start_at(tick);
        self.running = true;
        self.stopped = None;
        self.idle.wake(&self.core);
    }

    fn poke(
        &mut self,
        _: CpuId,
        address: u32,
        bytes: &[u8],
        ctx: &mut Context<'_, BoardEvent>,
    ) -> Result<(), NothingThere> {
        self.idle.wake(&self.core);
        for (offset, &byte) in (0..).zip(bytes) {
            let at = address.wrapping_add(offset);
            if at < super::sram::SPACE {
                self.fabric.sram.write(at, Width::Byte, byte.into());
                continue;
            }
            let nothing = NothingThere {
                address: at,
                cpu: "CPU",
            };
            let row = super::run::row_at(&self.fabric, at & !3).ok_or(nothing)?;
            // A register is changed as a whole word, by its first byte.
            let word = bytes.get(offset as usize..offset as usize + 4);
            if let Some(word) = word
                .filter(|_| at & 3 == 0)
                .and_then(|word| word.try_into().ok())
            {
                let value = u32::from_be_bytes(word);
                self.fabric
                    .write_special(row, value, Initiator::Debugger, ctx);
            }
        }
        Ok(())
    }
}
