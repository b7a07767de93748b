//! The pre-decoded form of an instruction.

use std::num::NonZeroU64;

use super::isa::{Flow, Kind, lookup};
use crate::value_struct;

/// Where a result for register 0 goes, so that register 0 stays 0 at no cost.
pub(super) const NOWHERE: u8 = 32;

/// A pre-decoded instruction.
///
/// One 64-bit number holds it, from bit 0 on: kind with flags, `rs`, `rt`, written register (8 bits
/// each), immediate (32 bits). The executor loads it whole and takes it apart in registers; as a
/// struct of bytes it would be copied piece by piece on its way through every `Result`. The second byte takes the
/// host fewest instructions to find, and nearly every instruction needs `rs`.
/// `Option<Op>` has 8 bytes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op(NonZeroU64);

value_struct!(Op { 0: bits });

/// The kind's number within the lowest byte.
const NUMBER: u8 = 0x3f;
const _: () = assert!(Kind::Illegal as u8 <= NUMBER);
/// The probe flag.
const PROBE: u64 = 0x80;

impl Op {
    /// What stands where nothing was decoded yet; no word decodes to it. It carries the probe flag, so
    /// that one test in the fetch finds all that is not to be executed at once.
    pub const UNDECODED: Self = Self::new(Kind::Illegal, NOWHERE, 0, 0, 0).with_probe();

    /// Packs the parts; `dst` is [`NOWHERE`] for register 0 and for none.
    pub(super) const fn new(kind: Kind, dst: u8, rs: u8, rt: u8, imm: u32) -> Self {
        // `dst` is never 0, and so the number is not.
        let bits = kind as u64
            | (rs as u64) << 8
            | (rt as u64) << 16
            | (dst as u64) << 24
            | (imm as u64) << 32;
        match NonZeroU64::new(bits) {
            Some(bits) => Self(bits),
            None => unreachable!(),
        }
    }

    /// Decodes an instruction word. Every word has a decoding; executing one that the chip does not
    /// have is a fault.
    #[must_use]
    pub fn decode(word: u32) -> Self {
        match lookup(word) {
            Some(row) => row.decode(word),
            None => Self::new(Kind::Illegal, NOWHERE, 0, 0, word),
        }
    }

    /// The same instruction with a probe: the core tells its bus before it executes it.
    #[must_use]
    pub const fn with_probe(self) -> Self {
        match NonZeroU64::new(self.0.get() | PROBE) {
            Some(bits) => Self(bits),
            None => self,
        }
    }

    /// The same instruction without a probe.
    #[must_use]
    pub const fn without_probe(self) -> Self {
        match NonZeroU64::new(self.0.get() & !PROBE) {
            Some(bits) => Self(bits),
            None => self,
        }
    }

    /// Whether the instruction carries a probe.
    #[must_use]
    #[inline(always)]
    pub const fn has_probe(self) -> bool {
        self.0.get() & PROBE != 0
    }

    /// All of it as a number.
    #[cfg(feature = "translate")]
    pub(crate) const fn bits(self) -> u64 {
        self.0.get()
    }

    /// Whether the instruction is `nop`: a shift of register 0 into register 0.
    #[must_use]
    pub const fn is_nop(self) -> bool {
        matches!(self.kind(), Kind::Sll)
            && self.dst() == NOWHERE
            && self.rt() == 0
            && self.imm() == 0
    }

    /// Whether the instruction dispatches an event.
    #[must_use]
    pub const fn is_dispatch(self) -> bool {
        matches!(self.kind(), Kind::Joff)
    }

    /// Number of delay slots behind which execution never goes on, unless a jump leads there; `None` if it does.
    pub(crate) const fn leaves(self) -> Option<u32> {
        match self.kind() {
            Kind::Beq if self.rs() == self.rt() => Some(1),
            Kind::J | Kind::Jr | Kind::Joff => Some(1),
            kind if matches!(kind.flow(), Flow::Stop) => Some(0),
            _ => None,
        }
    }

    /// Kind of the instruction.
    #[must_use]
    #[inline(always)]
    pub const fn kind(self) -> Kind {
        Kind::from_number(self.0.get() as u8 & NUMBER)
    }

    /// Kind of the instruction, if it carries no probe; else [`Kind::Illegal`].
    #[must_use]
    #[inline(always)]
    pub(super) const fn plain_kind(self) -> Kind {
        Kind::from_number(self.0.get() as u8)
    }

    /// Index of the register that is written; `NOWHERE` for register 0.
    #[inline(always)]
    pub(super) const fn dst(self) -> u8 {
        (self.0.get() >> 24) as u8
    }

    /// Index of the first source register.
    #[inline(always)]
    pub(super) const fn rs(self) -> u8 {
        (self.0.get() >> 8) as u8
    }

    /// Index of the second source register.
    #[inline(always)]
    pub(super) const fn rt(self) -> u8 {
        (self.0.get() >> 16) as u8
    }

    /// The immediate, ready for use: extended, shifted; of a branch the distance from itself; of an
    /// instruction that cannot be executed the word.
    #[inline(always)]
    pub(super) const fn imm(self) -> u32 {
        (self.0.get() >> 32) as u32
    }
}
