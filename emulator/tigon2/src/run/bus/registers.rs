//! A core's accesses outside SRAM and its scratchpad: registers, the stack-overflow map, unmapped addresses.

use defs::tigon2::banks::{self, private_of};
use defs::tigon2::map::{REGISTER_BASE, REGISTER_BYTES, SRAM_LIMIT};
use defs::tigon2::regs::{self, CpuState, HostControl};

use super::CpuBus;
use crate::access::{Chip, read_register};
use crate::cores::{CorePrivate, owner_of};
use crate::fabric::Fabric;
use crate::inspect::instruction_log::standing;
use crate::map::{self, CpuTarget};
use crate::run::idle::Rest;
use crate::run::period;
use emulator_board::CpuId;
use emulator_cpu::architecture::Architecture;
use emulator_cpu::mips::architecture::MIPS;
use emulator_cpu::mips::bus::{BusStop, Fault, Width};
use emulator_cpu::mips::exec::Core;
use emulator_observe::event::{Details, TraceKind};
use emulator_observe::instructions::Record;

impl<const ALONE: bool, const LOGGED: bool> CpuBus<'_, '_, ALONE, LOGGED> {
    /// Loads from outside SRAM and scratchpad.
    // Kept out of the core's loop, into which loads from SRAM and scratchpad are inlined.
    #[inline(never)]
    pub(super) fn load_elsewhere(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
    ) -> Result<u32, BusStop> {
        // Nearly always a register.
        let offset = address.wrapping_sub(REGISTER_BASE);
        if offset < REGISTER_BYTES {
            let value = self.load_register(core, offset & !3)?;
            return Ok(part_of(value, offset, width));
        }
        match map::cpu_target(self.private.viewer(), address) {
            CpuTarget::StackMap => {
                self.check_stack(core, address)?;
                let address = self.private.stack_address(address);
                self.load_sram(core, address, width)
            }
            CpuTarget::Register(offset) => self.load_bank(core, offset, width),
            _ => {
                self.in_turn(core)?;
                self.nothing_there(core, address, "read").map(|()| 0)
            }
        }
    }

    /// Loads a register that is not in the chip's register file.
    #[cold]
    #[inline(never)]
    fn load_bank(&mut self, core: &mut Core, offset: u32, width: Width) -> Result<u32, BusStop> {
        let value = self.load_register(core, offset & !3)?;
        Ok(part_of(value, offset, width))
    }

    #[inline(always)]
    fn load_register(&mut self, core: &mut Core, offset: u32) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        let value = match owner_of(offset) {
            Some(owner) => self.read_core_register(core, offset, owner)?,
            None if offset == banks::CPU_NUMBER => self.private.index() as u32,
            None => {
                self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
                self.fabric.read_register(offset, self.ctx.now)
            }
        };
        if offset == self.private.event_register {
            if self.ctx.trace.wants(Details::HANDLERS) && self.private.dispatch.read(core.pc()) {
                self.record_detail(core, TraceKind::HandlerExit);
            }
            let returns = match self.poll_event(core, value) {
                true => self.may_idle,
                // Within idle rounds the core stands there once more after a skip.
                false => {
                    let in_rounds = self.private.idle.idle().is_some();
                    self.skips_periods && !in_rounds && self.rests(core)
                }
            };
            if returns {
                return Err(BusStop::Wait);
            }
        } else {
            self.private.idle.watch(offset, value);
        }
        if self.fabric.races.is_some() {
            self.tell_races(core, |races, access| {
                races.register_read(access, offset, value);
            });
        }
        if self.ctx.trace.wants(Details::REGISTERS) {
            let address = map::register_address(offset);
            self.record_detail(core, TraceKind::RegisterRead { address, value });
        }
        core.clock
            .charge(u64::from(self.fabric.timing.register_load_cycles));
        Ok(value)
    }

    /// Handles a read of `value` from the event register. Returns whether the core idles.
    #[inline(always)]
    fn poll_event(&mut self, core: &Core, value: u32) -> bool {
        if !LOGGED {
            return self.private.idle.poll(core, value);
        }
        let before = self.private.idle.repeated();
        let idles = self.private.idle.poll(core, value);
        let instructions = self.private.idle.repeated() - before;
        if let Ok(instructions @ 1..) = u32::try_from(instructions) {
            let record = Record::Idle { instructions };
            self.log(|log| log.note_before(standing(core), record));
        }
        idles
    }

    /// Whether the core, which polls, repeats a period and returns to the board.
    fn rests(&mut self, core: &Core) -> bool {
        let over = |rest: Rest| rest.until <= self.ctx.now;
        if self.private.idle.rest().is_some_and(over) {
            self.private.idle.end_period();
        }
        if self.private.idle.rest().is_none() {
            if !self.private.idle.wants_search() {
                return false;
            }
            self.search_period(core);
        }
        let is_quiet = |other: &CorePrivate| !other.running() || other.does_nothing();
        let rests = self.private.idle.rest().is_some()
            && self.private.idle.may_skip_periods(core)
            && (ALONE
                || is_quiet(self.other_private)
                    && !self
                        .rest
                        .as_deref()
                        .is_some_and(|rest| rest.any(|other| !is_quiet(other))));
        if rests {
            // The activities have changed: taking turns is over.
            self.turns_until = 0;
        }
        rests
    }

    // A search executes up to thousands of instructions, and is rare: kept out of the polls, which come all the time.
    #[cold]
    #[inline(never)]
    fn search_period(&mut self, core: &Core) {
        let found = period::find(core, self.private, self.fabric, self.probes);
        let rest = found.map(|period| period.rest());
        self.private.idle.end_search(rest);
    }

    /// Reads a register of the core `owner`.
    // Out of line: the other registers are read more often.
    #[inline(never)]
    fn read_core_register(
        &mut self,
        core: &Core,
        offset: u32,
        owner: usize,
    ) -> Result<u32, BusStop> {
        self.alone_with_board(core)?;
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        if owner != self.private.index() {
            self.observe_other(core, owner, offset, None);
        }
        let owner_core = |owner: usize| {
            if owner == self.private.index() {
                (core, &*self.private)
            } else if let Some(unit) = self.rest.as_deref().and_then(|rest| rest.find(owner)) {
                (&unit.core, &unit.private)
            } else {
                (&*self.other_core, &*self.other_private)
            }
        };
        let value = read_register(self.fabric, owner_core, offset, self.ctx.now);
        Ok(value)
    }

    /// Prepares an access to a debug register of another core, the `owner`, which executes in turn from here on. If that
    /// core has executed later instructions already, from its scratchpad, they cannot be rolled back: recorded once.
    /// `stored`: the value, if the access is a store.
    #[cold]
    fn observe_other(&mut self, core: &Core, owner: usize, offset: u32, stored: Option<u32>) {
        let rest = self.rest.as_deref_mut();
        let (other, private) = match rest.and_then(|rest| rest.find_mut(owner)) {
            Some(unit) => (&unit.core, &mut unit.private),
            None => (&*self.other_core, &mut *self.other_private),
        };
        private.observe();
        let ahead = private.running()
            && other.clock.now > core.clock.now.max(private.seen_ahead_until)
            && other.instructions() > private.in_turn_until;
        if ahead && shows_progress(private, offset, stored) {
            private.seen_ahead_until = other.clock.now;
            let ticks = other.clock.now - core.clock.now;
            let ahead_ns = self.fabric.ticks.time_of(ticks).ps() / 1000;
            let place = map::probe(self.private.viewer(), map::register_address(offset));
            let text =
                format!("{place}: that CPU is {ahead_ns} ns ahead with code in its scratchpad");
            Fabric::mistake(self.who(core), text, self.ctx);
        }
    }

    /// [`observe_other`](Self::observe_other) for a reset, which all others see.
    #[cold]
    fn observe_all(&mut self, core: &Core, offset: u32, stored: u32) {
        let own = self.private.index();
        for cpu in (0..self.fabric.cpus.units()).filter(|cpu| *cpu != own) {
            self.observe_other(core, cpu, offset, Some(stored));
        }
    }

    /// Stores outside SRAM and scratchpad.
    // Kept out of the core's loop, into which stores to SRAM and scratchpad are inlined.
    #[inline(never)]
    pub(super) fn store_elsewhere(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        match map::cpu_target(self.private.viewer(), address) {
            CpuTarget::Register(offset) => self.store_register(core, offset, width, value),
            CpuTarget::StackMap => {
                self.check_stack(core, address)?;
                let address = self.private.stack_address(address);
                self.store_sram(core, address, width, value)
            }
            _ => {
                self.in_turn(core)?;
                self.nothing_there(core, address, "write")
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
            let address = REGISTER_BASE + offset;
            let text = format!(
                "{}-byte write to register {}: registers take words",
                width as u32,
                map::probe(self.private.viewer(), address)
            );
            Fabric::mistake(self.who(core), text, self.ctx);
        }
        let resets = offset & !3 == regs::HOST_CONTROL && value & HostControl::RESET.bits() != 0;
        let others = owner_of(offset).filter(|owner| *owner != self.private.index());
        if let Some(owner) = others {
            self.observe_other(core, owner, offset & !3, Some(value));
        } else if resets {
            self.observe_all(core, offset & !3, value);
        }
        core.clock
            .charge(u64::from(self.fabric.timing.register_store_cycles));
        let (who, tick) = (self.who(core), core.clock.now);
        let own = (core, &mut *self.private);
        let other = (&mut *self.other_core, &mut *self.other_private);
        let mut chip = Chip {
            pair: [own, other],
            rest: self.rest.as_deref_mut(),
            fabric: self.fabric,
            stages: self.stages,
        };
        match chip.write_register(offset & !3, value, who, tick, self.ctx) {
            true => Err(BusStop::Yield),
            false => Ok(()),
        }
    }

    /// Stops the core if its stack has left its region.
    fn check_stack(&self, core: &Core, address: u32) -> Result<(), BusStop> {
        let stack_pointer = core.register(MIPS.stack_pointer());
        match self.probes.stack_end_before(address, stack_pointer) {
            None => Ok(()),
            Some(limit) => Err(BusStop::Fault(Fault::StackOverflow { address, limit })),
        }
    }

    /// Nothing answers at `address`. The chip goes on; firmware whose code is known stops, since its program is wrong.
    #[cold]
    fn nothing_there(&mut self, core: &Core, address: u32, verb: &str) -> Result<(), BusStop> {
        self.private.idle.disturb();
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        let cpu = CpuId::new(self.private.index());
        if self.probes.code(cpu).is_declared() {
            // The stop of the CPU tells it.
            return Err(BusStop::Fault(Fault::NothingThere { address }));
        }
        if self.ctx.trace.takes_mistakes() {
            let place = map::probe(self.private.viewer(), address);
            let text = format!("{verb} at pc {:#x}: {place}", core.pc());
            Fabric::mistake(self.who(core), text, self.ctx);
        }
        Ok(())
    }
}

/// Whether an access to a debug register of a running CPU depends on how far that CPU has come; a reset of the chip
/// does too, since it halts that CPU. `stored`: the value, if the access is a store.
fn shows_progress(private: &CorePrivate, offset: u32, stored: Option<u32>) -> bool {
    const STOPS: CpuState = CpuState::HALT.union(CpuState::RESET).union(CpuState::STEP);
    if offset == regs::HOST_CONTROL {
        return true;
    }
    match offset - private_of(private.index()) {
        regs::CPU_STATE => {
            stored.is_some_and(|value| value & STOPS.bits() != 0 || private.step_until.is_some())
        }
        regs::CPU_PC | regs::CPU_REGISTERS..regs::CPU_PRIVATE_END => stored.is_none(),
        regs::SCRATCH_DATA => private.scratch_address() >= SRAM_LIMIT,
        _ => false,
    }
}

/// The part of a register returned by a narrow read.
const fn part_of(value: u32, offset: u32, width: Width) -> u32 {
    match width {
        Width::Word => value,
        Width::Half => value >> (16 - 8 * (offset & 2)) & 0xFFFF,
        Width::Byte => value >> (24 - 8 * (offset & 3)) & 0xFF,
    }
}
