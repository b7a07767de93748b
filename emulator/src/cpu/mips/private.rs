//! The fast path: instructions that concern nothing but the core's registers.

use super::alu;
use super::bus::FreeCode;
use super::core::{Core, Registers};
use super::flow::{self, Next};
use super::isa::Op;

/// What changes from one instruction to the next, beside registers, in as few numbers as possible: they
/// stay in registers of the machine that we run on.
struct Progress {
    pc: u32,
    next_pc: u32,
    /// How many more instructions may be carried out.
    left: u32,
    /// Cycles beyond the ones that each instruction takes.
    extra_cycles: u32,
}

/// Carries out instructions of `code` from the program counter on, as long as they concern the registers
/// alone and begin before `until`. Gives the one at which the core stands then, if it is known, plain to
/// carry out, and surely begins before `until`.
#[inline(always)]
pub(super) fn run(core: &mut Core, code: FreeCode<'_>, until: u64) -> Option<Op> {
    let room = core.room(until);
    let mut progress = Progress {
        pc: core.pc(),
        next_pc: core.next_pc(),
        left: room,
        extra_cycles: 0,
    };
    let timing = core.timing();
    let extra = [timing.taken_branch_cycles, timing.annulled_slot_cycles];
    let stop = carry_out(core.registers_mut(), code, extra, &mut progress);
    let count = room - progress.left;
    core.advance(progress.pc, progress.next_pc, count, progress.extra_cycles);
    stop
}

/// The loop of [`run`]; `extra` is what a taken branch and an annulled slot cost.
#[inline(always)]
fn carry_out(
    registers: &mut Registers,
    code: FreeCode<'_>,
    extra: [u32; 2],
    progress: &mut Progress,
) -> Option<Op> {
    let Progress {
        pc,
        next_pc,
        left,
        extra_cycles,
    } = progress;
    while *left > 0 {
        let op = code.at(*pc)?;
        let following = *next_pc;
        if let Some(value) = alu::result(op.plain_kind(), op, registers) {
            registers[op.dst() as usize] = value;
            *next_pc = following.wrapping_add(4);
            *pc = following;
        } else {
            match flow::next(registers, op, *pc) {
                None => return (!op.has_probe()).then_some(op),
                Some(Next::Sequence) => {
                    *next_pc = following.wrapping_add(4);
                    *pc = following;
                }
                Some(Next::Target(target)) => {
                    *next_pc = target;
                    *pc = following;
                    *extra_cycles += extra[0];
                }
                Some(Next::Annul) => {
                    *next_pc = following.wrapping_add(8);
                    *pc = following.wrapping_add(4);
                    *extra_cycles += extra[1];
                }
            }
        }
        *left -= 1;
    }
    None
}
