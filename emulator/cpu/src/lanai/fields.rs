//! Fields of an instruction word.

use super::isa::Operator;

/// The register in the five bits from `bit` on.
#[must_use]
pub const fn register_at(word: u32, bit: u32) -> u8 {
    (word >> bit & 31) as u8
}

/// Condition of a branch or a set instruction: bits 27 to 25 and 0.
#[must_use]
pub const fn branch_condition(word: u32) -> u32 {
    word >> 24 & 14 | word & 1
}

/// Condition of an instruction on registers: bits 2 to 0 and 16.
#[must_use]
pub const fn short_condition(word: u32) -> u32 {
    word << 1 & 14 | word >> 16 & 1
}

/// Whether an instruction with the ending `.f` has it.
#[must_use]
pub const fn sets_flags(word: u32) -> bool {
    word & 0x0002_0000 != 0
}

/// The constant of an operation; `fill` is the value of its other half.
#[must_use]
pub const fn constant(word: u32, fill: u32) -> u32 {
    let half = word & 0xffff;
    if word & 0x0001_0000 == 0 {
        half | (fill & 0xffff) << 16
    } else {
        half << 16 | fill & 0xffff
    }
}

/// The low `bits` bits, sign-extended.
#[must_use]
pub const fn signed(word: u32, bits: u32) -> i32 {
    let unused = 32 - bits;
    (word << unused).cast_signed() >> unused
}

/// Address or constant of 21 bits.
#[must_use]
pub const fn long(word: u32) -> u32 {
    word >> 2 & 0x001f_0000 | word & 0xffff
}

/// Target of a branch.
#[must_use]
pub const fn target(word: u32) -> u32 {
    word & 0x01ff_fffc
}

/// Update of the base register by an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Update {
    /// The address is the register; the rest of the operand does not count.
    Ignored,
    /// The address is the register, which receives the sum.
    After,
    /// The address is the sum; the register stays.
    None,
    /// The address is the sum, which the register receives.
    Before,
}

impl Update {
    /// The update with the number `P` and `Q`, of which the low two bits count.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number & 3 {
            0 => Self::Ignored,
            1 => Self::After,
            2 => Self::None,
            _ => Self::Before,
        }
    }
}

/// Operator of an access at the combination of two registers.
#[must_use]
pub const fn address_operator(word: u32) -> Operator {
    match word >> 8 & 7 {
        7 if word & 0xf8 == 0xc0 => Operator::Sha,
        number => Operator::from_number(number),
    }
}
