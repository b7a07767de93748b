//! Results of operations, their flags, and conditions.

use super::core::Registers;
use super::isa::Operator;
use super::kind::Kind;
use super::op::Op;
use super::packed::{Conditional, Nested};

/// The flag Z: the result is 0.
pub const ZERO_FLAG: u32 = 1;
/// The flag N: the highest bit of the result.
pub const NEGATIVE_FLAG: u32 = 2;
/// The flag V: signed overflow.
pub const OVERFLOW_FLAG: u32 = 4;
/// The flag C: carry out of the highest bit; of a difference the inverted borrow.
pub const CARRY_FLAG: u32 = 8;

/// For each condition the set of flags under which it holds.
const HOLDS: [u16; 16] = {
    let mut table = [0; 16];
    let mut flags = 0;
    while flags < 16 {
        let z = flags & ZERO_FLAG != 0;
        let n = flags & NEGATIVE_FLAG != 0;
        let v = flags & OVERFLOW_FLAG != 0;
        let c = flags & CARRY_FLAG != 0;
        // Each one stands for itself and its opposite.
        let conditions = [true, c && !z, !c, !z, !v, !n, n == v, !z && n == v];
        let mut pair = 0;
        while pair < 8 {
            table[2 * pair + !conditions[pair] as usize] |= 1 << flags;
            pair += 1;
        }
        flags += 1;
    }
    table
};

/// Whether a condition holds.
#[inline(always)]
pub(super) const fn holds(condition: u32, flags: u32) -> bool {
    HOLDS[(condition & 15) as usize] >> (flags & 15) & 1 != 0
}

/// The carry as a number.
#[inline(always)]
const fn carry(flags: u32) -> u32 {
    flags >> 3 & 1
}

/// The sum of two numbers and a carry, and the flags.
#[inline(always)]
const fn add(a: u32, b: u32, carry: u32) -> (u32, u32) {
    let wide = a as u64 + b as u64 + carry as u64;
    let sum = wide as u32;
    let overflow = ((a ^ sum) & (b ^ sum)) >> 31;
    (
        sum,
        flags_of(sum) | overflow << 2 | ((wide >> 32) as u32) << 3,
    )
}

/// The flags that a result alone determines.
#[inline(always)]
const fn flags_of(result: u32) -> u32 {
    (result == 0) as u32 | result >> 30 & NEGATIVE_FLAG
}

/// A shifted value and the flags. A distance beyond 31 shifts everything out.
#[inline(always)]
const fn shift(a: u32, distance: u32, arithmetic: bool) -> (u32, u32) {
    let distance = distance.cast_signed();
    if distance >= 0 {
        // The last bit that leaves is above the word.
        let wide = if distance < 32 {
            (a as u64) << distance
        } else {
            0
        };
        let result = wide as u32;
        return (result, flags_of(result) | ((wide >> 32) as u32 & 1) << 3);
    }
    let result = match (arithmetic, distance > -32) {
        (false, true) => a >> -distance,
        (false, false) => 0,
        (true, true) => (a.cast_signed() >> -distance).cast_unsigned(),
        (true, false) => (a.cast_signed() >> 31).cast_unsigned(),
    };
    (result, flags_of(result))
}

/// The result of an operation and the flags that it would set.
#[inline(always)]
pub(super) const fn compute(operator: Operator, a: u32, b: u32, flags: u32) -> (u32, u32) {
    match operator {
        Operator::Add => add(a, b, 0),
        Operator::Addc => add(a, b, carry(flags)),
        Operator::Sub => add(a, !b, 1),
        Operator::Subb => add(a, !b, carry(flags)),
        Operator::And => (a & b, flags_of(a & b)),
        Operator::Or => (a | b, flags_of(a | b)),
        Operator::Xor => (a ^ b, flags_of(a ^ b)),
        Operator::Sh => shift(a, b, false),
        Operator::Sha => shift(a, b, true),
    }
}

/// Value that an instruction computes for its destination, and the flags behind it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Computed {
    pub value: u32,
    pub flags: u32,
}

/// The result of an instruction that only computes; `None` if it does anything else.
///
/// `pc` and `next` are the addresses of the instruction and its successor.
#[inline(always)]
pub(super) fn result(
    kind: Kind,
    op: Op,
    registers: &Registers,
    flags: u32,
    pc: u32,
    next: u32,
) -> Option<Computed> {
    let a = registers[op.rs() as usize];
    let b = registers[op.rt() as usize].wrapping_add(op.imm());
    let plain = |operator| {
        let (value, _) = compute(operator, a, b, flags);
        Some(Computed { value, flags })
    };
    let flagged = |operator| {
        let (value, flags) = compute(operator, a, b, flags);
        Some(Computed { value, flags })
    };
    let value = match kind {
        Kind::Add => return plain(Operator::Add),
        Kind::Addc => return plain(Operator::Addc),
        Kind::Sub => return plain(Operator::Sub),
        Kind::Subb => return plain(Operator::Subb),
        Kind::And => return plain(Operator::And),
        Kind::Or => return plain(Operator::Or),
        Kind::Xor => return plain(Operator::Xor),
        Kind::Shift => return plain(Operator::Sh),
        Kind::ShiftArithmetic => return plain(Operator::Sha),
        Kind::AddFlags => return flagged(Operator::Add),
        Kind::AddcFlags => return flagged(Operator::Addc),
        Kind::SubFlags => return flagged(Operator::Sub),
        Kind::SubbFlags => return flagged(Operator::Subb),
        Kind::AndFlags => return flagged(Operator::And),
        Kind::OrFlags => return flagged(Operator::Or),
        Kind::XorFlags => return flagged(Operator::Xor),
        Kind::ShiftFlags => return flagged(Operator::Sh),
        Kind::ShiftArithmeticFlags => return flagged(Operator::Sha),
        Kind::ShiftLeft => a << (op.imm() & 31),
        Kind::ShiftRight => a >> (op.imm() & 31),
        Kind::ShiftRightSigned => (a.cast_signed() >> (op.imm() & 31)).cast_unsigned(),
        Kind::OwnAddress => pc.wrapping_add(op.imm()),
        Kind::NextAddress => next.wrapping_add(op.imm()),
        Kind::SetCondition => u32::from(holds(op.imm(), flags)),
        Kind::Select => {
            let b = registers[op.rt() as usize];
            if holds(Conditional::of(op).condition, flags) {
                a
            } else {
                b
            }
        }
        Kind::Nested => return Some(nested(op, registers, flags)),
        Kind::PopulationCount => a.count_ones(),
        Kind::LeadingZeros => a.leading_zeros(),
        Kind::TrailingZeros => a.trailing_zeros(),
        _ => return None,
    };
    Some(Computed { value, flags })
}

/// The result of an operation under a condition; `None` if the condition does not hold.
#[inline(always)]
pub(super) fn conditional(op: Op, registers: &Registers, flags: u32) -> Option<Computed> {
    let Conditional {
        operator,
        flags: sets,
        condition,
    } = Conditional::of(op);
    if !holds(condition, flags) {
        return None;
    }
    let (a, b) = (registers[op.rs() as usize], registers[op.rt() as usize]);
    let (value, set) = compute(operator, a, b, flags);
    let flags = if sets { set } else { flags };
    Some(Computed { value, flags })
}

/// The result of an operation on a register and the combination of two others.
// Two operations at once, large and rare: kept out of the choice of the kind, which the loop inlines.
#[inline(never)]
fn nested(op: Op, registers: &Registers, flags: u32) -> Computed {
    let nested = Nested::of(op);
    let [a, b, c] = [op.rs(), op.rt(), nested.third].map(|index| registers[index as usize]);
    let (inner, _) = compute(nested.inner, b, c, flags);
    let (value, set) = compute(nested.outer, a, inner, flags);
    let flags = if nested.flags { set } else { flags };
    Computed { value, flags }
}
