//! The witness of the CPU: the log of its instructions, if there is one.

use crate::fabric::Fabric;
use crate::sram::SPACE;
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::witness::Witness;
use emulator_observe::instructions::{Cause, InstructionLog};
use emulator_observe::tracer::Tracer;

/// The log of the CPU, or nothing if none is `KEPT`.
#[derive(Debug)]
pub struct CpuWitness<'a, const KEPT: bool>(Option<&'a mut InstructionLog>);

impl<'a, const KEPT: bool> CpuWitness<'a, KEPT> {
    /// The log that a trace keeps.
    #[inline(always)]
    pub(crate) fn of(trace: &'a mut Tracer) -> Self {
        Self(match KEPT {
            true => trace.instructions_mut(0),
            false => None,
        })
    }

    #[inline(always)]
    fn with_log(&mut self, act: impl FnOnce(&mut InstructionLog)) {
        if KEPT && let Some(log) = &mut self.0 {
            act(log);
        }
    }

    #[inline(always)]
    fn spent(&mut self, stalled: u64, cause: Cause, spent: u64) {
        self.with_log(|log| {
            log.make_room();
            log.spent(log.end(), stalled, cause, spent);
        });
    }
}

impl<const KEPT: bool> Witness for CpuWitness<'_, KEPT> {
    #[inline(always)]
    fn begins(&mut self, tick: u64) {
        self.with_log(|log| log.begins_at(tick));
    }

    #[inline(always)]
    fn fetched(&mut self, stalled: u64, spent: u64) {
        self.spent(stalled, Cause::Fetch, spent);
    }

    #[inline(always)]
    fn accessed(&mut self, address: u32, stalled: u64, spent: u64) {
        let cause = match address < SPACE {
            true => Cause::Sram,
            false => Cause::Register,
        };
        self.spent(stalled, cause, spent);
    }

    #[inline(always)]
    fn branched(&mut self, spent: u64) {
        self.spent(0, Cause::Branch, spent);
    }

    #[inline(always)]
    fn executed(&mut self, pc: u32, ticks: u64) {
        self.with_log(|log| log.executed(pc, ticks));
    }
}

/// Starts a log, with the description of the board. It gets each instruction where it is decoded, and what was decoded so far may be
/// what other boards have executed: all is decoded anew.
pub(crate) fn begin(fabric: &mut Fabric, trace: &mut Tracer) {
    let Some(log) = trace.instructions_mut(0) else {
        return;
    };
    let ticks_per_second = fabric.timing.core_clock_hz * TICKS_PER_CYCLE;
    log.board(ticks_per_second, fabric.sram.size());
    fabric.sram.forget_code();
}
