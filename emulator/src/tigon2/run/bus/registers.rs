//! A core's accesses outside SRAM and its scratchpad: registers, the stack-overflow map, unmapped addresses.

use defs::tigon2::map::STACK_MAP_MASK;
use defs::tigon2::regs;

use super::CpuBus;
use crate::cpu::mips::bus::{BusStop, Width};
use crate::cpu::mips::exec::Core;
use crate::observe::event::{Details, TraceKind};
use crate::observe::instructions::Record;
use crate::tigon2::cores::{ControlEffect, owner_of, read_control, write_control};
use crate::tigon2::fabric::Fabric;
use crate::tigon2::map::{self, Place};

impl<const ALONE: bool, const LOGGED: bool> CpuBus<'_, '_, ALONE, LOGGED> {
    /// An access outside SRAM and scratchpad.
    #[inline(never)]
    pub(super) fn load_elsewhere(
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
    pub(super) fn store_elsewhere(
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
}

/// The part of a register that a narrow read sees.
const fn part_of(value: u32, offset: u32, width: Width) -> u32 {
    match width {
        Width::Word => value,
        Width::Half => value >> (16 - 8 * (offset & 2)) & 0xFFFF,
        Width::Byte => value >> (24 - 8 * (offset & 3)) & 0xFF,
    }
}
