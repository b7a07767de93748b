//! Registers of the guest as values of the host, and the operations on them.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::immediates::Offset32;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::FunctionBuilder;

use crate::program::{Instruction, Operation};

/// Number of registers.
const REGISTERS: usize = 32;

/// Registers whose values are known to the code at hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Registers {
    known: [Option<Value>; REGISTERS],
    /// Those among them, a bit each, that memory does not have yet.
    changed: u32,
    /// Distance of the first one from the address by which they are reached.
    start: usize,
}

impl Registers {
    /// Registers of which nothing is known.
    pub(crate) fn at(start: usize) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// The value of a register.
    pub(crate) fn read(&mut self, b: &mut FunctionBuilder, base: Value, register: u8) -> Value {
        let index = usize::from(register) % REGISTERS;
        if let Some(value) = self.known[index] {
            return value;
        }
        // A constant is made where it is used: it should not take a register of the host.
        if index == 0 {
            return b.ins().iconst(types::I32, 0);
        }
        let flags = MemFlagsData::trusted();
        let at = offset(self.start + 4 * index);
        let value = b.ins().load(types::I32, flags, base, at);
        self.known[index] = Some(value);
        value
    }

    /// Sets a register; one above the last one has no effect.
    pub(crate) fn write(&mut self, register: u8, value: Value) {
        let index = usize::from(register);
        if index > 0
            && let Some(known) = self.known.get_mut(index)
        {
            *known = Some(value);
            self.changed |= 1 << index;
        }
    }

    /// Writes changed registers to memory.
    pub(crate) fn flush(&mut self, b: &mut FunctionBuilder, base: Value) {
        for (index, known) in self.known.iter().enumerate() {
            if let (true, Some(value)) = (self.changed >> index & 1 != 0, *known) {
                let at = offset(self.start + 4 * index);
                b.ins().store(MemFlagsData::trusted(), value, base, at);
            }
        }
        self.changed = 0;
    }
}

/// A distance from an address, in bytes.
pub(crate) fn offset(bytes: usize) -> Offset32 {
    i32::try_from(bytes).unwrap_or(i32::MAX).into()
}

/// A constant of 32 bits.
pub(crate) fn constant(b: &mut FunctionBuilder, value: u32) -> Value {
    b.ins().iconst(types::I32, i64::from(value))
}

/// The immediate as a signed number, as operations with a constant take it.
fn signed(imm: u32) -> i64 {
    i64::from(imm.cast_signed())
}

/// What an instruction gives that only moves a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moved {
    Constant(u32),
    /// That of a register.
    Register(u8),
}

/// What the instruction moves, if it does nothing else.
pub(crate) fn moved(instruction: Instruction) -> Option<Moved> {
    use Operation as O;
    let Instruction { rs, rt, imm, .. } = instruction;
    match instruction.operation {
        O::Addiu | O::Ori | O::Xori if rs == 0 => Some(Moved::Constant(imm)),
        O::Addu | O::Or | O::Xor if rs == 0 => Some(Moved::Register(rt)),
        O::Addu | O::Subu | O::Or | O::Xor if rt == 0 => Some(Moved::Register(rs)),
        _ => None,
    }
}

/// The result of an instruction that computes a value of registers; `None` for any other.
pub(crate) fn result(
    b: &mut FunctionBuilder,
    instruction: Instruction,
    rs: Value,
    rt: Value,
) -> Option<Value> {
    use Operation as O;
    let imm = instruction.imm;
    let distance = i64::from(imm & 31);
    Some(match instruction.operation {
        O::Sll => b.ins().ishl_imm_u(rt, distance),
        O::Srl => b.ins().ushr_imm_u(rt, distance),
        O::Sra => b.ins().sshr_imm_u(rt, distance),
        // Distances count modulo 32, as those of the chip do.
        O::Sllv => b.ins().ishl(rt, rs),
        O::Srlv => b.ins().ushr(rt, rs),
        O::Srav => b.ins().sshr(rt, rs),
        O::Addu => b.ins().iadd(rs, rt),
        O::Subu => b.ins().isub(rs, rt),
        O::And => b.ins().band(rs, rt),
        O::Or => b.ins().bor(rs, rt),
        O::Xor => b.ins().bxor(rs, rt),
        O::Nor => {
            let either = b.ins().bor(rs, rt);
            b.ins().bnot(either)
        }
        O::Slt => compare(b, IntCC::SignedLessThan, rs, rt),
        O::Sltu => compare(b, IntCC::UnsignedLessThan, rs, rt),
        O::Slti | O::Sltiu => {
            let other = constant(b, imm);
            let how = match instruction.operation {
                O::Slti => IntCC::SignedLessThan,
                _ => IntCC::UnsignedLessThan,
            };
            compare(b, how, rs, other)
        }
        O::Addiu => b.ins().iadd_imm_s(rs, signed(imm)),
        O::Andi => b.ins().band_imm_s(rs, signed(imm)),
        O::Ori => b.ins().bor_imm_s(rs, signed(imm)),
        O::Xori => b.ins().bxor_imm_s(rs, signed(imm)),
        O::Lui => constant(b, imm),
        O::Pri => {
            let both = b.ins().band(rs, rt);
            let zeros = b.ins().clz(both);
            let bits = constant(b, 32);
            b.ins().isub(bits, zeros)
        }
        _ => return None,
    })
}

fn compare(b: &mut FunctionBuilder, how: IntCC, left: Value, right: Value) -> Value {
    let less = b.ins().icmp(how, left, right);
    b.ins().uextend(types::I32, less)
}

/// Whether a conditional branch is taken; `None` for any other instruction.
pub(crate) fn condition(
    b: &mut FunctionBuilder,
    operation: Operation,
    rs: Value,
    rt: Value,
) -> Option<Value> {
    use Operation as O;
    let with_zero = match operation {
        O::Beq | O::Beql => return Some(b.ins().icmp(IntCC::Equal, rs, rt)),
        O::Bne | O::Bnel => return Some(b.ins().icmp(IntCC::NotEqual, rs, rt)),
        O::Blez | O::Blezl => IntCC::SignedLessThanOrEqual,
        O::Bgtz | O::Bgtzl => IntCC::SignedGreaterThan,
        O::Bltz | O::Bltzl | O::Bltzal | O::Bltzall => IntCC::SignedLessThan,
        O::Bgez | O::Bgezl | O::Bgezal | O::Bgezall => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    };
    Some(b.ins().icmp_imm_s(with_zero, rs, 0))
}
