//! Kinds of pre-decoded instructions.

use super::fields::Update;
use super::op::Op;
use super::packed::{Conditional, Nested};
use crate::bus::Width;

/// Declares [`Kind`] and the way back from its number. The compiler sees that the two cancel out: the
/// executor's choice by kind becomes one jump by number.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident,)*) => {
        /// Effect of an instruction on its pre-decoded operands. The second operand of an operation is the sum of a
        /// register and a constant, one of which is 0; so is the displacement of an access.
        #[allow(missing_docs, reason = "the names say it")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$meta])* $kind,)*
        }

        impl Kind {
            /// All kinds, by number.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The kind with this number.
            #[inline(always)]
            pub(super) const fn from_number(number: u8) -> Self {
                match number {
                    $(n if n == Self::$kind as u8 => Self::$kind,)*
                    _ => Self::Illegal,
                }
            }
        }
    };
}

kinds! {
    Add,
    Addc,
    Sub,
    Subb,
    And,
    Or,
    Xor,
    /// A shift by any distance.
    Shift,
    ShiftArithmetic,
    // The same, with flags.
    AddFlags,
    AddcFlags,
    SubFlags,
    SubbFlags,
    AndFlags,
    OrFlags,
    XorFlags,
    ShiftFlags,
    ShiftArithmeticFlags,
    /// A shift by a constant distance within 0..=31.
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    /// The program counter plus a constant: its own address.
    OwnAddress,
    /// The program counter plus a constant: the address of the next instruction.
    NextAddress,
    // Accesses: without update of the base register, update after the access, before it. The executor counts on their order.
    LoadWord,
    LoadHalf,
    LoadHalfUnsigned,
    LoadByte,
    LoadByteUnsigned,
    LoadWordAfter,
    LoadHalfAfter,
    LoadHalfUnsignedAfter,
    LoadByteAfter,
    LoadByteUnsignedAfter,
    LoadWordBefore,
    LoadHalfBefore,
    LoadHalfUnsignedBefore,
    LoadByteBefore,
    LoadByteUnsignedBefore,
    StoreWord,
    StoreHalf,
    StoreByte,
    StoreWordAfter,
    StoreHalfAfter,
    StoreByteAfter,
    StoreWordBefore,
    StoreHalfBefore,
    StoreByteBefore,
    /// A word into the program counter, from an address without update.
    LoadPc,
    Jump,
    /// A branch under the condition in `dst`.
    Branch,
    /// A branch to the sum of a register and a constant, under the condition in `dst`.
    BranchRelative,
    SetCondition,
    Select,
    /// An operation under a condition.
    Conditional,
    Nested,
    PopulationCount,
    LeadingZeros,
    TrailingZeros,
    /// An access at any combination of two registers.
    Combined,
    /// Known by name, but not in this pipeline.
    Missing,
    /// No instruction.
    Illegal,
}

impl Kind {
    /// Whether the instruction writes memory, from a register in `dst`.
    #[inline(always)]
    pub(super) const fn is_store(self) -> bool {
        let number = (self as u8).wrapping_sub(Self::StoreWord as u8);
        number <= Self::StoreByteBefore as u8 - Self::StoreWord as u8
    }

    /// Whether the instruction is a jump, or reads the address of the next instruction.
    #[inline(always)]
    pub(super) const fn depends_on_path(self) -> bool {
        matches!(
            self,
            Self::NextAddress | Self::LoadPc | Self::Jump | Self::Branch | Self::BranchRelative
        )
    }

    /// Whether the constant holds a register.
    #[inline(always)]
    pub(super) const fn has_packed_register(self) -> bool {
        matches!(self, Self::Nested | Self::Combined)
    }

    /// Whether the result has flags that the core takes over.
    #[inline]
    pub(super) const fn sets_flags(self, op: Op) -> bool {
        let number = self as u8;
        match self {
            Self::Conditional => Conditional::of(op).flags,
            Self::Nested => Nested::of(op).flags,
            _ => Self::AddFlags as u8 <= number && number <= Self::ShiftArithmeticFlags as u8,
        }
    }

    /// Width, sign extension, direction (`true`: a store) and update of an access.
    pub(super) const fn access(self) -> Option<(Width, bool, bool, Update)> {
        let number = (self as u8).wrapping_sub(Self::LoadWord as u8);
        let (width, signed, stores, update) = if number < 15 {
            let (width, signed) = match number % 5 {
                0 => (Width::Word, false),
                1 => (Width::Half, true),
                2 => (Width::Half, false),
                3 => (Width::Byte, true),
                _ => (Width::Byte, false),
            };
            (width, signed, false, number / 5)
        } else if number < 24 {
            let width = match number % 3 {
                0 => Width::Word,
                1 => Width::Half,
                _ => Width::Byte,
            };
            (width, false, true, (number - 15) / 3)
        } else {
            return None;
        };
        let update = match update {
            0 => Update::None,
            1 => Update::After,
            _ => Update::Before,
        };
        Some((width, signed, stores, update))
    }

    /// The access with these properties.
    pub(super) const fn of_access(
        width: Width,
        signed: bool,
        stores: bool,
        update: Update,
    ) -> Self {
        let update = match update {
            Update::None | Update::Ignored => 0,
            Update::After => 1,
            Update::Before => 2,
        };
        let number = match (stores, width, signed) {
            (false, Width::Word, _) => 5 * update,
            (false, Width::Half, true) => 5 * update + 1,
            (false, Width::Half, false) => 5 * update + 2,
            (false, Width::Byte, true) => 5 * update + 3,
            (false, Width::Byte, false) => 5 * update + 4,
            (true, Width::Word, _) => 15 + 3 * update,
            (true, Width::Half, _) => 16 + 3 * update,
            (true, Width::Byte, _) => 17 + 3 * update,
        };
        Self::from_number(Self::LoadWord as u8 + number)
    }

    pub(super) const fn updates(self) -> bool {
        matches!(self.access(), Some((.., Update::After | Update::Before)))
    }
}
