//! A core's bus: where its accesses go, in which order, and what they cost
//! (docs/tigon2.md, sections 1 and 9).

mod marks;

use std::cmp::Ordering;

use defs::tigon2::map::{SCRATCHPAD_BASE, SRAM_LIMIT, STACK_MAP_MASK};
use defs::tigon2::regs;

use super::cores::{ControlEffect, CorePrivate, owner_of, read_control, write_control};
use super::fabric::{BoardContext, Fabric};
use super::map::{self, Place};
use super::own::{Memory, OwnScratchpad};
use super::probes::{ProbeTable, StageState};
use super::witness::CoreWitness;
use crate::cpu::mips::bus::{Bus, BusStop, Fault, Private, Width};
use crate::cpu::mips::exec::Core;
use crate::cpu::mips::isa::Op;
use crate::host::poller;
use crate::observe::event::{Details, TraceKind};
use crate::observe::instructions::{InstructionLog, Record};
use crate::sim::board::NodeEvent;
use crate::sim::initiator::Actor;

/// The bus of one core while it runs; `ALONE`: the other one does not; `LOGGED`: somebody looks at what is
/// executed.
pub struct CpuBus<'a, 'c, const ALONE: bool, const LOGGED: bool> {
    /// The core's own surroundings.
    pub private: &'a mut CorePrivate,
    /// The other core.
    pub other_core: &'a mut Core,
    /// The other core's surroundings.
    pub other_private: &'a mut CorePrivate,
    /// All other blocks.
    pub fabric: &'a mut Fabric,
    /// The node.
    pub ctx: &'a mut BoardContext<'c>,
    /// The firmware's probes.
    pub probes: &'a ProbeTable,
    /// The stages of both cores.
    pub stages: &'a mut [StageState; 2],
    /// Shared accesses must wait from this tick on.
    pub limit: u64,
    /// The cores take turns up to this tick.
    pub turns_until: u64,
    /// 1 if the core goes first when both are at the same tick (CPU A), else 0.
    pub goes_first: u64,
    /// The core may stop when it idles: nobody but an event can wake it.
    pub may_idle: bool,
    /// Whether it went on past an event.
    pub went_on: bool,
}

impl<'a, const ALONE: bool, const LOGGED: bool> CpuBus<'a, '_, ALONE, LOGGED> {
    /// The other core goes on in the place of `core`, up to `end` or until it would overtake. Only
    /// references change places: busy cores that execute from SRAM do this at every instruction.
    #[inline(always)]
    pub fn change_core(&mut self, core: &mut &'a mut Core, end: u64) {
        std::mem::swap(core, &mut self.other_core);
        std::mem::swap(&mut self.private, &mut self.other_private);
        self.goes_first = 1 - self.goes_first;
        self.set_limit(end);
    }

    /// Shared accesses must wait from `end` on, or from where they would overtake the other core.
    #[inline(always)]
    pub fn set_limit(&mut self, end: u64) {
        self.limit = end.min(self.other_core.clock.now + self.goes_first);
    }

    /// Carries out what is due, a poll of the host or an event of the board, and goes on up to what comes
    /// next, at most up to `far`; `false` if the node must look first.
    pub fn go_on(&mut self, far: u64) -> bool {
        let (poll, event) = (self.ctx.poller.next_time(), self.ctx.queue.next_time());
        debug_assert!(self.fabric.ticks.first_at(poll.min(event)) <= self.limit);
        let went_on = match poll.cmp(&event) {
            Ordering::Less => {
                let fabric = &mut *self.fabric;
                poller::step(self.ctx, |poll, now| fabric.poll_in_vain(poll, now))
            }
            Ordering::Equal => false,
            Ordering::Greater => self.handle_event(),
        };
        let next = self.ctx.poller.next_time().min(self.ctx.queue.next_time());
        self.limit = far.min(self.fabric.ticks.first_at(next));
        went_on
    }

    /// Handles the board's event that is due, if it is the board's and no frame begins to leave with it.
    fn handle_event(&mut self) -> bool {
        if !matches!(self.ctx.queue.next(), Some((_, NodeEvent::Board(_)))) {
            return false;
        }
        let Some((key, NodeEvent::Board(event))) = self.ctx.queue.pop_before(self.ctx.horizon)
        else {
            return false;
        };
        self.went_on = true;
        self.ctx.now = key.time;
        let inputs = self.fabric.event_inputs();
        let departures = self.ctx.departures.len();
        self.fabric.handle(event, self.ctx);
        let changed = self.fabric.event_inputs() != inputs;
        for private in [&mut *self.private, &mut *self.other_private] {
            if changed || private.idle.watches() {
                private.idle.wake();
            }
        }
        self.ctx.departures.len() == departures
    }

    /// A shared access must not overtake another actor. When it does not, all that the core has done is
    /// right.
    #[inline(always)]
    const fn in_turn(&mut self, core: &Core) -> Result<(), BusStop> {
        if core.clock.now < self.limit {
            if !ALONE {
                self.private.ahead.settle();
            }
            Ok(())
        } else {
            Err(BusStop::Wait)
        }
    }

    #[inline(always)]
    fn load_sram(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        self.private.idle.disturb();
        self.fabric
            .sram
            .take_bus(&mut core.clock, self.fabric.timing.sram_word_cycles);
        core.clock
            .charge(u64::from(self.fabric.timing.sram_load_cycles));
        Ok(self.fabric.sram.read(address, width))
    }

    #[inline(always)]
    fn store_sram(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.in_turn(core)?;
        if self.fabric.sram.holds_code(address) {
            self.alone_with_board(core)?;
        }
        self.private.idle.disturb();
        self.watch(core, address, width);
        self.fabric
            .sram
            .take_bus(&mut core.clock, self.fabric.timing.sram_word_cycles);
        core.clock
            .charge(u64::from(self.fabric.timing.sram_store_cycles));
        self.fabric.sram.write(address, width, value);
        Ok(())
    }

    /// The core begins an instruction: its fetch has taken no time yet.
    fn break_at(&mut self, core: &Core, pc: u32) {
        if self.fabric.stops.breaks_at(self.private.index(), pc) {
            self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
            self.record_detail(core, TraceKind::Breakpoint);
        }
    }

    /// The core is about to write to memory.
    #[inline(always)]
    fn watch(&mut self, core: &Core, address: u32, width: Width) {
        if self.fabric.watches_memory() {
            self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
            let (who, cpu) = (self.who(core), Some(self.private.index()));
            self.fabric
                .watch_by(address, width as u32, who, cpu, self.ctx);
        }
    }

    /// Before an access that may concern what the other core has executed ahead, or is seen of it: that
    /// core goes back, and this one waits for it.
    #[inline(always)]
    fn alone_with_board(&mut self, core: &Core) -> Result<(), BusStop> {
        if !ALONE && self.other_private.ahead.is_active() {
            Err(self.call_back(core))
        } else {
            Ok(())
        }
    }

    #[cold]
    #[inline(never)]
    fn call_back(&mut self, core: &Core) -> BusStop {
        let careful_until = core.clock.now + 1;
        let log = self.ctx.trace.instructions_mut(self.other_private.index());
        self.other_private
            .ahead
            .go_back(self.other_core, log, careful_until);
        // The board begins anew: the other core is farther from its bounds than it was.
        self.limit = 0;
        self.turns_until = 0;
        BusStop::Wait
    }

    /// Whether the core may execute code in SRAM without being in turn. It is always in turn when it runs
    /// alone.
    #[inline(always)]
    fn may_run_ahead(&mut self, core: &Core) -> bool {
        let single_step = self.private.step_until.is_some();
        if LOGGED && !self.private.ahead.is_active() {
            self.log(InstructionLog::mark);
        }
        ALONE || (!single_step && self.private.ahead.begin(core))
    }

    /// Records something of the core, if somebody looks.
    #[inline(always)]
    fn log(&mut self, record: impl FnOnce(&mut InstructionLog)) {
        if LOGGED && let Some(log) = self.ctx.trace.instructions_mut(self.private.index()) {
            record(log);
        }
    }

    /// The core is about to do something that is its own affair, but cannot be taken back.
    #[inline(always)]
    fn no_way_back(&mut self, core: &Core) -> Result<(), BusStop> {
        if !ALONE && self.private.ahead.is_active() {
            self.in_turn(core)
        } else {
            Ok(())
        }
    }

    /// An instruction in SRAM that is not in the block of the last fetch, is not decoded or carries a
    /// probe, or comes when the core must not run ahead.
    #[inline(never)]
    fn fetch_sram(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        let hit = self.private.cache.hits(pc);
        let op = self.fabric.sram.op(pc);
        if hit && !op.has_probe() && self.may_run_ahead(core) {
            return Ok(op);
        }
        self.in_turn(core)?;
        self.break_at(core, pc);
        if !hit {
            self.private.cache.fill(pc);
            self.private.idle.disturb();
            self.fabric
                .sram
                .take_bus(&mut core.clock, self.fabric.timing.sram_line_cycles);
            core.clock
                .charge(u64::from(self.fabric.timing.fetch_miss_cycles));
        }
        if op == Op::UNDECODED {
            return Ok(self.decode_sram(pc));
        }
        Ok(op)
    }

    /// An instruction of the scratchpad that carries a probe or was not decoded yet, or none. A probe is
    /// recorded in the order of shared accesses.
    #[inline(never)]
    fn fetch_elsewhere(&mut self, core: &Core, pc: u32) -> Result<Op, BusStop> {
        let op = match map::place(self.private.who, pc) {
            Place::Scratchpad => self.decode_scratchpad(pc),
            _ => return Err(BusStop::Fault(Fault::NoCode { address: pc })),
        };
        if op.has_probe() {
            self.in_turn(core)?;
            self.break_at(core, pc);
        }
        Ok(op)
    }

    /// An instruction of the scratchpad that carries a probe or was not decoded yet.
    #[inline(never)]
    fn decode_scratchpad(&mut self, pc: u32) -> Op {
        let mut op = self.private.scratchpad.op(pc);
        if op == Op::UNDECODED {
            let word = self.private.scratchpad.read(pc, Width::Word);
            op = self.decode(pc, word);
            self.private.scratchpad.set_op(pc, op);
            self.log(|log| log.note(Record::Word { address: pc, word }));
        }
        op
    }

    /// An instruction in SRAM that was not decoded yet.
    #[inline(never)]
    fn decode_sram(&mut self, pc: u32) -> Op {
        let word = self.fabric.sram.word(pc);
        let op = self.decode(pc, word);
        self.fabric.sram.set_op(pc, op);
        if LOGGED {
            // Whoever comes next finds it decoded.
            let address = pc & (self.fabric.sram.size_bytes() as u32 - 1);
            for cpu in 0..2 {
                if let Some(log) = self.ctx.trace.instructions_mut(cpu) {
                    log.note(Record::Word { address, word });
                }
            }
        }
        op
    }

    fn decode(&self, pc: u32, word: u32) -> Op {
        let op = Op::decode(word);
        let marks_dispatch = op.is_dispatch() && self.ctx.trace.wants(Details::HANDLERS);
        let breaks = self.fabric.stops.breaks_at(self.private.index(), pc);
        if self.probes.at(pc).is_empty() && !marks_dispatch && !breaks {
            op
        } else {
            op.with_probe()
        }
    }

    /// An access outside SRAM and scratchpad.
    #[inline(never)]
    fn load_elsewhere(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
    ) -> Result<u32, BusStop> {
        match map::place(self.private.who, address) {
            Place::Register(offset) => {
                let value = self.load_register(core, offset & !3)?;
                Ok(part_of(value, offset, width))
            }
            Place::StackMap => {
                let address = self.stack_address(address);
                self.load_sram(core, address, width)
            }
            _ => {
                self.in_turn(core)?;
                self.nothing_there(core, address, "read");
                Ok(0)
            }
        }
    }

    fn load_register(&mut self, core: &mut Core, offset: u32) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        if owner_of(offset).is_some() {
            self.alone_with_board(core)?;
        }
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        let value = self.read_any_register(core, offset);
        let own_event = regs::EVENT_A + 0x10 * self.private.index() as u32;
        if offset == own_event {
            if self.ctx.trace.wants(Details::HANDLERS) && self.private.dispatch.read(core.pc()) {
                self.record_detail(core, TraceKind::HandlerExit);
            }
            if self.poll_event(core, value) && self.may_idle {
                return Err(BusStop::Wait);
            }
        } else {
            self.private.idle.watch(offset, value);
        }
        if self.ctx.trace.wants(Details::REGISTERS) {
            let address = map::register_address(offset);
            self.record_detail(core, TraceKind::RegisterRead { address, value });
        }
        core.clock
            .charge(u64::from(self.fabric.timing.register_load_cycles));
        Ok(value)
    }

    /// The core is about to read `value` from its event register. Tells whether it idles.
    #[inline(always)]
    fn poll_event(&mut self, core: &Core, value: u32) -> bool {
        if !LOGGED {
            return self.private.idle.poll(core, value);
        }
        let before = self.private.idle.repeated();
        let idles = self.private.idle.poll(core, value);
        let instructions = self.private.idle.repeated() - before;
        if let Ok(instructions @ 1..) = u32::try_from(instructions) {
            self.log(|log| log.note(Record::Idle { instructions }));
        }
        idles
    }

    fn read_any_register(&self, core: &Core, offset: u32) -> u32 {
        let control = owner_of(offset).and_then(|owner| {
            let as_a = offset - regs::CPU_B * owner as u32;
            let sram = &self.fabric.sram;
            if owner == self.private.index() {
                read_control(core, self.private, sram, as_a)
            } else {
                read_control(self.other_core, self.other_private, sram, as_a)
            }
        });
        control.unwrap_or_else(|| self.fabric.read_register(offset, self.ctx.now))
    }

    #[inline(never)]
    fn store_elsewhere(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        match map::place(self.private.who, address) {
            Place::Register(offset) => self.store_register(core, offset, width, value),
            Place::StackMap => {
                let address = self.stack_address(address);
                self.store_sram(core, address, width, value)
            }
            _ => {
                self.in_turn(core)?;
                self.nothing_there(core, address, "write");
                Ok(())
            }
        }
    }

    fn store_register(
        &mut self,
        core: &mut Core,
        offset: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.in_turn(core)?;
        self.alone_with_board(core)?;
        self.private.idle.disturb();
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        if width != Width::Word {
            let address = defs::tigon2::map::REGISTER_BASE + offset;
            let text = format!(
                "{}-byte write to register {}: registers take words",
                width as u32,
                map::probe(self.private.who, address)
            );
            Fabric::mistake(self.who(core), text, self.ctx);
        }
        core.clock
            .charge(u64::from(self.fabric.timing.register_store_cycles));
        let offset = offset & !3;
        if self.ctx.trace.wants(Details::REGISTERS) {
            let address = map::register_address(offset);
            self.record_detail(core, TraceKind::RegisterWrite { address, value });
        }
        self.other_private.idle.wake();
        if let Some(owner) = owner_of(offset) {
            let as_a = offset - regs::CPU_B * owner as u32;
            let own = owner == self.private.index();
            let sram = &mut self.fabric.sram;
            let effect = if own {
                write_control(core, self.private, sram, as_a, value)
            } else {
                write_control(self.other_core, self.other_private, sram, as_a, value)
            };
            if let Some(effect) = effect {
                return self.control_written(core, own, effect);
            }
        }
        let who = self.who(core);
        if self.fabric.write_register(offset, value, who, self.ctx) {
            Err(BusStop::Yield)
        } else {
            Ok(())
        }
    }

    fn control_written(
        &mut self,
        core: &Core,
        own: bool,
        effect: ControlEffect,
    ) -> Result<(), BusStop> {
        match effect {
            ControlEffect::Stored | ControlEffect::Ignored => Ok(()),
            ControlEffect::Started if !own => {
                let pc = self.other_core.pc();
                let clock = &mut self.other_core.clock;
                clock.start_at(core.clock.now);
                self.other_private.stopped = None;
                let who = self.other_private.who;
                let kind = TraceKind::CoreStarted { pc };
                let cause = Some(core.pc());
                self.ctx.trace.record_at(self.ctx.now, who, cause, kind);
                Err(BusStop::Yield)
            }
            ControlEffect::Started | ControlEffect::Halted | ControlEffect::Stepped => {
                Err(BusStop::Yield)
            }
        }
    }

    /// Where the stack-overflow map leads (docs/tigon2.md, section 1). Its base counts words, so that
    /// an aligned access stays aligned.
    const fn stack_address(&self, address: u32) -> u32 {
        address.wrapping_sub(self.private.stack_map & !3) & STACK_MAP_MASK
    }

    #[cold]
    fn nothing_there(&mut self, core: &Core, address: u32, verb: &str) {
        self.private.idle.disturb();
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        if !self.ctx.trace.takes_mistakes() {
            return;
        }
        let place = map::probe(self.private.who, address);
        let text = format!("{verb} at pc {:#x}: {place}", core.pc());
        Fabric::mistake(self.who(core), text, self.ctx);
    }

    /// The core, at its present instruction.
    const fn who(&self, core: &Core) -> Actor {
        Actor {
            initiator: self.private.who,
            pc: Some(core.pc()),
        }
    }

    #[cold]
    fn record_detail(&mut self, core: &Core, kind: TraceKind) {
        let Actor { initiator, pc } = self.who(core);
        self.ctx
            .trace
            .record_detail(self.ctx.now, initiator, pc, kind);
    }
}

/// The part of a register that a narrow read sees.
const fn part_of(value: u32, offset: u32, width: Width) -> u32 {
    match width {
        Width::Word => value,
        Width::Half => value >> (16 - 8 * (offset & 2)) & 0xFFFF,
        Width::Byte => value >> (24 - 8 * (offset & 3)) & 0xFF,
    }
}

impl<const ALONE: bool, const LOGGED: bool> Bus for CpuBus<'_, '_, ALONE, LOGGED> {
    type Own<'b>
        = Memory<'b, ALONE>
    where
        Self: 'b;

    type Witness<'b>
        = CoreWitness<'b, LOGGED>
    where
        Self: 'b;

    const WITNESSED: bool = LOGGED;

    #[inline(always)]
    fn witness(&mut self) -> CoreWitness<'_, LOGGED> {
        let who = self.private.who;
        let log = match LOGGED {
            true => self.ctx.trace.instructions_mut(self.private.index()),
            false => None,
        };
        CoreWitness { log, who }
    }

    #[inline(always)]
    fn private(&mut self, core: &Core) -> Private<'_, Memory<'_, ALONE>, CoreWitness<'_, LOGGED>> {
        let (base, bytes) = self.private.cache.block();
        let runs_ahead = core.pc() < SRAM_LIMIT
            && core.pc().wrapping_sub(base) < bytes
            && self.may_run_ahead(core);
        let (watches_sram, watches_own) = self.fabric.stops.watched(self.private.index());
        let (code, sram) = self.fabric.sram.open();
        let (ops, base) = if core.pc() >= SRAM_LIMIT {
            (self.private.scratchpad.ops(), SCRATCHPAD_BASE)
        } else if runs_ahead {
            (code.ops(base, bytes), base)
        } else {
            (&[][..], base)
        };
        let who = self.private.who;
        let log = match LOGGED {
            true => self.ctx.trace.instructions_mut(self.private.index()),
            false => None,
        };
        let witness = CoreWitness { log, who };
        let own = OwnScratchpad {
            scratchpad: &self.private.scratchpad,
            idle: &mut self.private.idle,
            timing: &self.fabric.timing,
            writable: (ALONE || !self.private.ahead.is_active()) && !watches_own,
        };
        let memory = Memory::new(own, sram, !watches_sram, &core.clock);
        Private {
            ops,
            base,
            memory,
            witness,
        }
    }

    #[inline(never)]
    fn settle(&mut self, core: &Core) -> Result<(), BusStop> {
        self.in_turn(core)
    }

    #[inline(always)]
    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        if pc < SRAM_LIMIT {
            self.fetch_sram(core, pc)
        } else {
            self.fetch_elsewhere(core, pc)
        }
    }

    #[inline(always)]
    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        if address < SRAM_LIMIT {
            self.load_sram(core, address, width)
        } else if let Some(value) = self.private.scratchpad.get(address, width) {
            let cycles = self.fabric.timing.scratchpad_load_cycles;
            core.clock.charge(u64::from(cycles));
            Ok(value)
        } else {
            self.load_elsewhere(core, address, width)
        }
    }

    #[inline(always)]
    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        if address < SRAM_LIMIT {
            self.store_sram(core, address, width, value)
        } else if self.private.scratchpad.get(address, width).is_some() {
            self.no_way_back(core)?;
            self.private.idle.disturb();
            self.watch(core, address, width);
            let cycles = self.fabric.timing.scratchpad_store_cycles;
            core.clock.charge(u64::from(cycles));
            self.private.scratchpad.write(address, width, value);
            Ok(())
        } else {
            self.store_elsewhere(core, address, width, value)
        }
    }

    #[inline(never)]
    fn probe(&mut self, core: &mut Core, pc: u32) -> bool {
        let places = self.probes.at(pc);
        let marked = !places.is_empty();
        if marked {
            self.private.idle.disturb();
            self.log(|log| log.note(Record::Probe { pc }));
        }
        for place in places {
            self.pass_probe(core, place);
        }
        if self.ctx.trace.wants(Details::HANDLERS) {
            self.dispatch(core);
        }
        marked
    }
}
