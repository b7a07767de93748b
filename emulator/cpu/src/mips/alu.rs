//! Results of instructions on registers alone.

use super::core::Registers;
use super::isa::Kind::{
    Addiu, Addu, And, Andi, Lui, Nor, Or, Ori, Pri, Sll, Sllv, Slt, Slti, Sltiu, Sltu, Sra, Srav,
    Srl, Srlv, Subu, Xor, Xori,
};
use super::isa::{Kind, Op};

/// The result of an instruction of the given kind with the operands of `op`; `None` if it does anything
/// but compute a value.
#[inline(always)]
pub(super) fn result(kind: Kind, op: Op, registers: &Registers) -> Option<u32> {
    let rs = registers[op.rs() as usize];
    let rt = registers[op.rt() as usize];
    let imm = op.imm();
    Some(match kind {
        Sll => rt << (imm & 31),
        Srl => rt >> (imm & 31),
        Sra => shift_right_signed(rt, imm),
        Sllv => rt << (rs & 31),
        Srlv => rt >> (rs & 31),
        Srav => shift_right_signed(rt, rs),
        Addu => rs.wrapping_add(rt),
        Subu => rs.wrapping_sub(rt),
        And => rs & rt,
        Or => rs | rt,
        Xor => rs ^ rt,
        Nor => !(rs | rt),
        Slt => u32::from(rs.cast_signed() < rt.cast_signed()),
        Sltu => u32::from(rs < rt),
        Addiu => rs.wrapping_add(imm),
        Slti => u32::from(rs.cast_signed() < imm.cast_signed()),
        Sltiu => u32::from(rs < imm),
        Andi => rs & imm,
        Ori => rs | imm,
        Xori => rs ^ imm,
        Lui => imm,
        Pri => 32 - (rs & rt).leading_zeros(),
        _ => return None,
    })
}

#[inline(always)]
const fn shift_right_signed(value: u32, distance: u32) -> u32 {
    (value.cast_signed() >> (distance & 31)).cast_unsigned()
}
