//! The disassembler, in the manner of GNU objdump.

use super::isa::{self, Operand, Row};
use crate::asm::instruction_text;

/// Names of the registers in the o32 calling convention, without the `$`.
pub const REGISTER_NAMES: [&str; 32] = [
    "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6",
    "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp",
    "ra",
];

/// The instruction `word` at address `pc` as text that [`assemble`](super::asm::assemble) reads
/// back: `addiu $sp, $sp, -32`; targets are addresses; `.word 0x...` if it is no instruction.
#[must_use]
pub fn disassemble(word: u32, pc: u32) -> String {
    let alias = isa::ALIASES.iter().find(|row| row.matches(word));
    match alias.or_else(|| isa::lookup(word)) {
        Some(row) => instruction(row, word, pc),
        None => no_instruction(word),
    }
}

/// The text of a word that is no instruction.
pub(super) fn no_instruction(word: u32) -> String {
    format!(".word {word:#010x}")
}

fn instruction(row: &Row, word: u32, pc: u32) -> String {
    let operands = row.operands.iter();
    instruction_text(
        row.mnemonic,
        operands.map(|&operand| operand_text(operand, word, pc)),
    )
}

fn operand_text(operand: Operand, word: u32, pc: u32) -> String {
    let name = |bit: u32| REGISTER_NAMES[(word >> bit & 31) as usize];
    let low = word & 0xffff;
    let signed = (low as u16).cast_signed();
    match operand {
        Operand::Rs => format!("${}", name(21)),
        Operand::Rt | Operand::RtOut => format!("${}", name(16)),
        Operand::Rd => format!("${}", name(11)),
        Operand::CopReg => format!("${}", word >> 11 & 31),
        Operand::Shift => format!("{}", word >> 6 & 31),
        Operand::Signed => format!("{signed}"),
        Operand::Unsigned | Operand::Upper => format!("{low:#x}"),
        Operand::Memory => format!("{signed}(${})", name(21)),
        Operand::Branch => format!("{:#x}", isa::branch_target(word, pc)),
        Operand::Jump => format!("{:#x}", isa::jump_target(word, pc)),
        Operand::Code => format!("{:#x}", word >> 6 & 0xf_ffff),
        Operand::HighCode => format!("{}", word >> 16 & 0x3ff),
        Operand::LowCode => format!("{}", word >> 6 & 0x3ff),
        Operand::Number => format!("{}", word >> 16 & 31),
        Operand::Raw => format!("{:#x}", word & 0x03ff_ffff),
    }
}
