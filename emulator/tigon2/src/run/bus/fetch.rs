//! Instruction fetches outside the core's private loop, and decoding.

use defs::tigon2::map::SRAM_LIMIT;

use super::CpuBus;
use crate::icache::LINE_BYTES;
use crate::inspect::instruction_log::standing;
use crate::inspect::stops;
use crate::run::wild;
use crate::sram_banks::SramRange;
use emulator_board::CpuId;
use emulator_cpu::ahead::Ahead;
use emulator_cpu::code_map::CodeMap;
use emulator_cpu::mips::bus::{BusStop, Fault, Width};
use emulator_cpu::mips::exec::Core;
use emulator_cpu::mips::isa::Op;
use emulator_observe::event::Details;
use emulator_observe::instructions::Record;

/// SRAM is decoded ahead up to the next multiple of so many bytes.
const AHEAD_BYTES: u32 = 256;

impl<const ALONE: bool, const LOGGED: bool> CpuBus<'_, '_, ALONE, LOGGED> {
    /// Fetches an instruction in SRAM that is not in the block of the last fetch, is not decoded or carries a
    /// probe, or while the core must not run ahead.
    // Most fetches are from the block of the last one, in the core's loop: the others are kept out of it.
    #[inline(never)]
    pub(super) fn fetch_sram(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        let hit = self.private.cache.hits(pc);
        let op = self.fabric.sram.op(pc);
        if hit && !op.has_probe() && self.may_run_ahead(core) {
            return Ok(op);
        }
        self.in_turn(core)?;
        self.break_at(core, pc);
        // Where memory repeats, code may be decoded at another address of it.
        if op.has_probe() || (!hit && pc as usize >= self.fabric.sram.size_bytes()) {
            self.check_code(core, pc, op)?;
        }
        if !hit {
            self.private.cache.fill(pc);
            self.private.idle.disturb();
            let line = SramRange {
                address: pc & !(LINE_BYTES - 1),
                bytes: LINE_BYTES,
            };
            let cycles = self.fabric.timing.sram_line_cycles;
            self.fabric.sram.take_bus(&mut core.clock, line, cycles);
            core.clock
                .charge(u64::from(self.fabric.timing.fetch_miss_cycles));
        }
        if op == Op::UNDECODED {
            return Ok(self.decode_sram(core, pc));
        }
        Ok(op)
    }

    /// Fetches an instruction outside SRAM: from the scratchpad, with a probe or not decoded yet. A probe is
    /// recorded in the order of shared accesses.
    // Most instructions are decoded and without a probe, and never leave the core's loop.
    #[inline(never)]
    pub(super) fn fetch_elsewhere(&mut self, core: &Core, pc: u32) -> Result<Op, BusStop> {
        let mut op = self.private.scratchpad.op(pc);
        if !op.is_decoded() {
            self.check_code(core, pc, op)?;
            op = self.decode_scratchpad(core, pc);
        }
        if op.has_probe() {
            self.in_turn(core)?;
            self.break_at(core, pc);
            self.check_code(core, pc, op)?;
        } else if !ALONE && self.private.observed() {
            self.in_turn(core)?;
        }
        Ok(op)
    }

    /// Decodes an instruction in the scratchpad, and the ones behind it.
    // Once for each instruction, and so kept out of the fetch.
    #[inline(never)]
    fn decode_scratchpad(&mut self, core: &Core, pc: u32) -> Op {
        let word = self.private.scratchpad.read(pc, Width::Word);
        if LOGGED {
            let record = Record::Word { address: pc, word };
            self.log(|log| log.note_before(standing(core), record));
        }
        if self.private.scratchpad.ops().is_empty() {
            self.begin_scratchpad();
        }
        // A log holds what was executed.
        let mut ahead = Ahead::new(!LOGGED);
        for at in (pc..=u32::MAX).step_by(4) {
            // What the core has written may be data: it is decoded when it is executed.
            if at != pc && self.private.scratchpad.find_op(at) != Some(Op::UNDECODED) {
                break;
            }
            if !self.code().allows(at) {
                break;
            }
            let op = self.decode(at, self.private.scratchpad.read(at, Width::Word));
            self.private.scratchpad.set_op(at, op);
            if !ahead.goes_on(op.leaves()) {
                break;
            }
        }
        self.private.scratchpad.op(pc)
    }

    /// Gets places for decoded instructions of the scratchpad. Boards share them, unless a tool stops the core, marks handlers or logs
    /// what is executed.
    #[cold]
    fn begin_scratchpad(&mut self) {
        let cpu = CpuId::new(self.private.index());
        let stops = !self.fabric.stops.breakpoints(cpu).is_empty();
        let scratchpad = &mut self.private.scratchpad;
        if LOGGED || stops || self.ctx.trace.wants(Details::HANDLERS) {
            scratchpad.begin_alone();
        } else {
            let marks = self.probes.addresses_in(&scratchpad.range());
            scratchpad.begin(&marks, self.probes.code(cpu));
        }
    }

    /// Decodes an instruction in SRAM, and the ones behind it, up to a multiple of [`AHEAD_BYTES`].
    // Once for each instruction, and so kept out of the fetch.
    #[inline(never)]
    fn decode_sram(&mut self, core: &Core, pc: u32) -> Op {
        let word = self.fabric.sram.word(pc);
        let mut ahead = Ahead::new(!LOGGED);
        let last = pc | (AHEAD_BYTES - 1);
        for at in (pc..=last).step_by(4) {
            if self.fabric.sram.op(at) != Op::UNDECODED || !self.code().allows(at) {
                break;
            }
            let op = self.decode(at, self.fabric.sram.word(at));
            self.fabric.sram.set_op(at, op);
            if !ahead.goes_on(op.leaves()) {
                break;
            }
        }
        if LOGGED {
            // Later fetches find it decoded.
            let address = pc & (self.fabric.sram.size_bytes() as u32 - 1);
            let record = Record::Word { address, word };
            self.log(|log| log.note_before(standing(core), record));
            if let Some(log) = &mut self.other_log {
                log.note_before(standing(self.other_core), record);
            }
            if let Some(rest) = &mut self.rest {
                rest.left.decoded.push(record);
            }
        }
        self.fabric.sram.op(pc)
    }

    /// Addresses at which the core may find code.
    fn code(&self) -> &CodeMap {
        self.probes.code(CpuId::new(self.private.index()))
    }

    /// Stops the core where no code is. `op`: what is decoded there, or at another address where SRAM repeats.
    fn check_code(&self, core: &Core, pc: u32, op: Op) -> Result<(), BusStop> {
        let repeats = (self.fabric.sram.size_bytes()..SRAM_LIMIT as usize).contains(&(pc as usize));
        let is_doubted = || op.is_nop() && self.code().doubts(pc, 0);
        if op.is_decoded() && !repeats && !is_doubted() {
            return Ok(());
        }
        match wild::is_code(self.private, &self.fabric.sram, self.code(), pc) {
            true => Ok(()),
            false => Err(BusStop::Fault(self.no_code(core, pc))),
        }
    }

    /// The fault of a core that comes to `pc`, where no code is.
    #[cold]
    pub(super) fn no_code(&self, core: &Core, pc: u32) -> Fault {
        wild::no_code(core, self.private, &self.fabric.sram, self.code(), pc)
    }

    fn decode(&self, pc: u32, word: u32) -> Op {
        let op = Op::decode(word);
        if self.code().doubts(pc, word) {
            return op.with_probe();
        }
        let marks_dispatch = op.is_dispatch() && self.ctx.trace.wants(Details::HANDLERS);
        let breaks = stops::breaks_at(&self.fabric.stops, self.private.index(), pc);
        if !self.probes.marks(pc) && !marks_dispatch && !breaks {
            op
        } else {
            op.with_probe()
        }
    }
}
