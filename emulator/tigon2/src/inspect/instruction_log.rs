//! The witness of a board's core: the log of its instructions, if there is one.

use defs::tigon2::map::SRAM_LIMIT;

use crate::cores::CoreUnit;
use crate::cpus::Viewer;
use crate::fabric::Fabric;
use crate::map::{self, CpuTarget};
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::exec::Core;
use emulator_cpu::mips::witness::Witness;
use emulator_observe::instructions::{Cause, InstructionLog, Record, Standing};
use emulator_observe::tracer::Tracer;

/// The log of a core, or nothing if none is `KEPT`.
#[derive(Debug)]
pub struct CoreWitness<'a, const KEPT: bool> {
    pub(crate) log: Option<&'a mut InstructionLog>,
    pub(crate) viewer: Viewer,
}

impl<const KEPT: bool> CoreWitness<'_, KEPT> {
    #[inline(always)]
    fn with_log(&mut self, act: impl FnOnce(&mut InstructionLog)) {
        if KEPT && let Some(log) = &mut self.log {
            act(log);
        }
    }

    #[inline(always)]
    fn cause(&self, address: u32) -> Cause {
        if address < SRAM_LIMIT {
            return Cause::Sram;
        }
        match map::cpu_target(self.viewer, address) {
            CpuTarget::Scratchpad => Cause::Scratchpad,
            CpuTarget::StackMap => Cause::Sram,
            _ => Cause::Register,
        }
    }
}

impl<const KEPT: bool> Witness for CoreWitness<'_, KEPT> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        KEPT && self.log.as_ref().is_some_and(|log| log.is_full())
    }

    #[inline(always)]
    fn begins(&mut self, core: &Core) {
        self.with_log(|log| {
            if !log.runs() {
                log.begins(core.clock.now, standing(core));
                log.paces(standing(core), core.pace());
            }
        });
    }

    #[inline(always)]
    fn fetched(&mut self, core: &Core, stalled: u64, spent: u64) {
        self.with_log(|log| log.spent(standing(core), stalled, Cause::Fetch, spent));
    }

    #[inline(always)]
    fn accessed(&mut self, pc: u32, next_pc: u32, address: u32, stalled: u64, spent: u64) {
        if KEPT {
            let cause = self.cause(address);
            self.with_log(|log| log.spent(Standing { pc, next_pc }, stalled, cause, spent));
        }
    }

    #[inline(always)]
    fn branched(&mut self, pc: u32, next_pc: u32, spent: u64) {
        self.with_log(|log| log.spent(Standing { pc, next_pc }, 0, Cause::Branch, spent));
    }

    #[inline(always)]
    fn jumps(&mut self, pc: u32, target: u32) {
        self.with_log(|log| log.jumps(pc, target));
    }

    #[inline(always)]
    fn leaves_out(&mut self, pc: u32, next_pc: u32, to: u32) {
        self.with_log(|log| log.moves(Standing { pc, next_pc }, Standing::at(to)));
    }

    #[inline(always)]
    fn stays(&mut self, core: &Core) {
        self.with_log(|log| log.moves(Standing::at(core.next_pc()), standing(core)));
    }

    #[inline(always)]
    fn paces(&mut self, core: &Core) {
        self.with_log(|log| log.paces(standing(core), core.pace()));
    }
}

/// Position of a core, for its instruction log.
#[inline(always)]
pub(crate) const fn standing(core: &Core) -> Standing {
    Standing {
        pc: core.pc(),
        next_pc: core.next_pc(),
    }
}

/// Starts a log, with the description of the board and all code of SRAM decoded so far. What is decoded in scratchpads may be what other
/// boards have executed: it is decoded anew, which brings it into the log.
pub(crate) fn begin(cores: &mut [CoreUnit], fabric: &Fabric, trace: &mut Tracer) {
    let ticks_per_second = fabric.timing.core_clock_hz * TICKS_PER_CYCLE;
    let sram_bytes = fabric.sram.size_bytes() as u32;
    for (cpu, unit) in cores.iter_mut().enumerate() {
        let Some(log) = trace.instructions_mut(cpu) else {
            continue;
        };
        log.board(ticks_per_second, sram_bytes);
        let scratchpad = &mut unit.private.scratchpad;
        scratchpad.forget_all_code();
        let pc = unit.core.pc();
        // An instruction that waits for its turn is not fetched again.
        let waits = scratchpad.get(pc, Width::Word);
        let waits = waits.filter(|_| unit.core.is_fetched());
        let own = waits.map(|word| (pc, word)).into_iter();
        let sram = fabric.sram.decoded();
        let sram = sram.map(|address| (address, fabric.sram.word(address)));
        for (address, word) in own.chain(sram) {
            log.note(Record::Word { address, word });
        }
    }
}
