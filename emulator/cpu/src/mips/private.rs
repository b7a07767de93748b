//! The fast path: instructions on the core's registers and its private memory.

use super::alu;
use super::bus::{Bus, OwnMemory, Private, Width};
use super::core::{Core, CoreTiming, Registers};
use super::exec::{extend_byte, extend_half};
use super::flow::{self, Next};
use super::isa::Kind::{Lb, Lbu, Lh, Lhu, Lw, Sb, Sh, Sw};
use super::isa::Op;
use super::witness::Witness;
use crate::bus::Access;
use crate::exit::FastExit;

/// State of the loop besides registers and memory, in few numbers, so that they
/// stay in registers of the host.
struct Progress {
    pc: u32,
    next_pc: u32,
    /// The cycles that are left: an instruction begins in time as long as there are any.
    left: i64,
    /// Cycles beyond the ones that each instruction takes.
    extra_cycles: i64,
}

/// Executes instructions from the program counter on, as long as they are private and begin before
/// `until`.
#[inline(always)]
pub(super) fn run<B: Bus>(core: &mut Core, bus: &mut B, until: u64) -> FastExit<Op> {
    let mut private = bus.private(core);
    let room = core.clock.cycles_before(until);
    private.memory.begin(room.cast_unsigned());
    let mut progress = Progress {
        pc: core.pc(),
        next_pc: core.next_pc(),
        left: room,
        extra_cycles: 0,
    };
    let cycle = core.clock.ticks_per_cycle;
    let (registers, timing) = core.parts();
    let stop = run_loop(registers, timing, cycle, &mut private, &mut progress);
    let cycles = (room - progress.left).cast_unsigned();
    let extra = progress.extra_cycles.cast_unsigned();
    core.advance(progress.pc, progress.next_pc, cycles, extra);
    stop
}

/// The loop of [`run`], with the ticks per cycle.
#[inline(always)]
fn run_loop<M: OwnMemory, W: Witness>(
    registers: &mut Registers,
    timing: &CoreTiming,
    cycle: u64,
    private: &mut Private<'_, M, W>,
    progress: &mut Progress,
) -> FastExit<Op> {
    while progress.left > 0 {
        let (pc, next_pc) = (progress.pc, progress.next_pc);
        let Some(op) = private.at(pc) else {
            return FastExit::Unknown;
        };
        if let Some(value) = alu::result(op.plain_kind(), op, registers) {
            registers[op.dst() as usize] = value;
            progress.step(timing);
        } else if let Some((address, cycles)) = access(
            registers,
            op,
            &mut private.memory,
            Access {
                pc,
                left: progress.left,
            },
        ) {
            progress.step(timing);
            progress.spend(cycles);
            if cycles > 0 {
                let spent = u64::from(cycles) * cycle;
                private.witness.accessed(pc, next_pc, address, 0, spent);
                if private.witness.is_full() {
                    return FastExit::Time;
                }
            }
        } else if let Some(next) = flow::next(registers, op, pc) {
            progress.go_to(next, timing, cycle, &mut private.witness);
            if private.witness.is_full() {
                return FastExit::Time;
            }
        } else if op.has_probe() {
            return FastExit::Unknown;
        } else {
            return FastExit::Op(op);
        }
    }
    FastExit::Time
}

impl Progress {
    /// Goes on to the next instruction.
    #[inline(always)]
    const fn step(&mut self, timing: &CoreTiming) {
        self.pc = self.next_pc;
        self.next_pc = self.pc.wrapping_add(4);
        self.left -= timing.instruction_cycles as i64;
    }

    /// The instruction takes longer.
    #[inline(always)]
    const fn spend(&mut self, cycles: u32) {
        self.left -= cycles as i64;
        self.extra_cycles += cycles as i64;
    }

    /// Follows a branch.
    #[inline(always)]
    fn go_to<W: Witness>(&mut self, next: Next, timing: &CoreTiming, cycle: u64, witness: &mut W) {
        let (pc, next_pc) = (self.pc, self.next_pc);
        self.step(timing);
        match next {
            Next::Sequence => {}
            Next::Target(target) => {
                self.next_pc = target;
                self.spend(next.cycles(timing));
                next.report(witness, timing, cycle, pc, next_pc);
            }
            Next::Annul => {
                self.pc = self.next_pc;
                self.next_pc = self.pc.wrapping_add(4);
                self.spend(next.cycles(timing));
                next.report(witness, timing, cycle, pc, next_pc);
            }
        }
    }
}

/// Reads or writes the core's own memory; gives the address and what that costs. `None` if the instruction
/// does anything else.
#[inline(always)]
fn access<M: OwnMemory>(
    registers: &mut Registers,
    op: Op,
    memory: &mut M,
    moment: Access,
) -> Option<(u32, u32)> {
    let address = registers[op.rs() as usize].wrapping_add(op.imm());
    let value = registers[op.rt() as usize];
    let (loaded, cycles) = match op.plain_kind() {
        Lb => load(memory, address, Width::Byte, moment, extend_byte)?,
        Lbu => load(memory, address, Width::Byte, moment, |byte| byte)?,
        Lh => load(memory, address, Width::Half, moment, extend_half)?,
        Lhu => load(memory, address, Width::Half, moment, |half| half)?,
        Lw => load(memory, address, Width::Word, moment, |word| word)?,
        Sb => return store(memory, address, Width::Byte, value, moment),
        Sh => return store(memory, address, Width::Half, value, moment),
        Sw => return store(memory, address, Width::Word, value, moment),
        _ => return None,
    };
    registers[op.dst() as usize] = loaded;
    Some((address, cycles))
}

#[inline(always)]
fn load<M: OwnMemory>(
    memory: &mut M,
    address: u32,
    width: Width,
    moment: Access,
    extend: impl FnOnce(u32) -> u32,
) -> Option<(u32, u32)> {
    if !address.is_multiple_of(width as u32) {
        return None;
    }
    let (value, cycles) = memory.load(address, width, moment)?;
    Some((extend(value), cycles))
}

#[inline(always)]
fn store<M: OwnMemory>(
    memory: &mut M,
    address: u32,
    width: Width,
    value: u32,
    moment: Access,
) -> Option<(u32, u32)> {
    if !address.is_multiple_of(width as u32) {
        return None;
    }
    Some((address, memory.store(address, width, value, moment)?))
}
