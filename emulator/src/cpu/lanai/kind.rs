//! Kinds of pre-decoded instructions.

use super::fields::Update;
use super::op::Op;
use super::packed::{Conditional, Nested};
use crate::cpu::bus::Width;

/// Declares [`Kind`] and the way back from its number. The compiler sees that the two cancel out: the
/// executor's choice by kind becomes one jump by number.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident,)*) => {
        /// What an instruction does with its pre-decoded operands. The second operand of an operation is the sum of a
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
    /// By any distance.
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
    /// By a constant distance within 0..=31.
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    /// The program counter plus a constant: its own address.
    OwnAddress,
    /// Likewise, the address of the next instruction.
    NextAddress,
    // Accesses: without update of the base register, update after the access, before it.
    LoadWord,
    LoadHalf,
    LoadHalfUnsigned,
    LoadByte,
    LoadByteUnsigned,
    StoreWord,
    StoreHalf,
    StoreByte,
    LoadWordAfter,
    LoadHalfAfter,
    LoadHalfUnsignedAfter,
    LoadByteAfter,
    LoadByteUnsignedAfter,
    StoreWordAfter,
    StoreHalfAfter,
    StoreByteAfter,
    LoadWordBefore,
    LoadHalfBefore,
    LoadHalfUnsignedBefore,
    LoadByteBefore,
    LoadByteUnsignedBefore,
    StoreWordBefore,
    StoreHalfBefore,
    StoreByteBefore,
    /// A word into the program counter, from an address without update.
    LoadPc,
    Jump,
    /// Under the condition in `dst`.
    Branch,
    /// Likewise.
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
    pub(super) const fn is_store(self) -> bool {
        matches!(self.access(), Some((_, _, true, _)))
    }

    /// Whether the result has flags that the core takes over.
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
        let (width, signed, stores) = match number % 8 {
            0 => (Width::Word, false, false),
            1 => (Width::Half, true, false),
            2 => (Width::Half, false, false),
            3 => (Width::Byte, true, false),
            4 => (Width::Byte, false, false),
            5 => (Width::Word, false, true),
            6 => (Width::Half, false, true),
            _ => (Width::Byte, false, true),
        };
        let update = match number / 8 {
            0 => Update::None,
            1 => Update::After,
            2 => Update::Before,
            _ => return None,
        };
        Some((width, signed, stores, update))
    }

    pub(super) const fn updates(self) -> bool {
        matches!(self.access(), Some((.., Update::After | Update::Before)))
    }
}
