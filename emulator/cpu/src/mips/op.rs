//! The pre-decoded form of an instruction.

use super::isa::{Flow, Kind, lookup};
use crate::decoded::Decoded;
use emulator_state::value_struct;
use emulator_state::{Reader, StateError, Value, Writer};

/// Register to which results for register 0 go, so that register 0 stays 0 at no cost.
pub(super) const NOWHERE: u8 = 32;

/// A pre-decoded instruction.
///
/// One 64-bit number holds it, from bit 0 on: kind with flags, `rs`, `rt`, written register (8 bits
/// each), immediate (32 bits). The executor loads it whole and takes it apart in registers; as a
/// struct of bytes it would be copied piece by piece on its way through every `Result`. The second byte takes the
/// host fewest instructions to find, and nearly every instruction needs `rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op(u64);

value_struct!(Op { 0: bits });

impl Decoded for Op {
    type Pipeline = ();

    const UNDECODED: Self = Self::UNDECODED;

    #[inline(always)]
    fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// An instruction or none, in one number, which the loops move faster than an `Option`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Held(u64);

impl Held {
    /// None: no instruction is 0, since its written register is not.
    pub(super) const NONE: Self = Self(0);

    /// This instruction.
    pub(super) const fn of(op: Op) -> Self {
        Self(op.0)
    }

    /// The instruction.
    #[inline(always)]
    pub(super) const fn op(self) -> Option<Op> {
        match self.0 {
            0 => None,
            bits => Some(Op(bits)),
        }
    }
}

impl Value for Held {
    fn write(&self, out: &mut Writer) {
        self.op().write(out);
    }

    fn read(from: &mut Reader<'_>) -> Result<Self, StateError> {
        let op = Option::read(from)?;
        Ok(op.map_or(Self::NONE, Self::of))
    }
}

/// The kind's number within the lowest byte.
const NUMBER: u8 = 0x3f;
const _: () = assert!(Kind::Illegal as u8 <= NUMBER);
/// The probe flag.
const PROBE: u64 = 0x80;

impl Op {
    /// Content of a place where nothing was decoded yet; no word decodes to it. It carries the probe flag, so
    /// that one test in the fetch finds all that is not to be executed at once.
    pub const UNDECODED: Self = Self::new(Kind::Illegal, NOWHERE, 0, 0, 0).with_probe();

    /// As [`UNDECODED`](Self::UNDECODED), beside a word of a scratchpad that its core has written: mostly data.
    pub const DATA: Self = Self::new(Kind::Illegal, NOWHERE, 1, 0, 0).with_probe();

    /// Packs the parts; `dst` is [`NOWHERE`] for register 0 and for none.
    pub(super) const fn new(kind: Kind, dst: u8, rs: u8, rt: u8, imm: u32) -> Self {
        Self(
            kind as u64
                | (rs as u64) << 8
                | (rt as u64) << 16
                | (dst as u64) << 24
                | (imm as u64) << 32,
        )
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

    /// A copy of the instruction with a probe: the core tells its bus before it executes it.
    #[must_use]
    pub const fn with_probe(self) -> Self {
        Self(self.0 | PROBE)
    }

    /// A copy of the instruction without a probe.
    #[must_use]
    pub const fn without_probe(self) -> Self {
        Self(self.0 & !PROBE)
    }

    /// Whether the instruction carries a probe.
    #[must_use]
    #[inline(always)]
    pub const fn has_probe(self) -> bool {
        self.0 & PROBE != 0
    }

    /// Whether an instruction was decoded.
    #[must_use]
    pub fn is_decoded(self) -> bool {
        self != Self::UNDECODED && self != Self::DATA
    }

    /// Whether the instruction is `nop`: a shift of register 0 into register 0.
    #[must_use]
    #[inline]
    pub const fn is_nop(self) -> bool {
        matches!(self.kind(), Kind::Sll)
            && self.dst() == NOWHERE
            && self.rt() == 0
            && self.imm() == 0
    }

    /// Whether the instruction dispatches an event.
    #[must_use]
    #[inline]
    pub const fn is_dispatch(self) -> bool {
        matches!(self.kind(), Kind::Joff)
    }

    /// Number of delay slots behind which execution never goes on, unless a jump leads there; `None` if it does.
    #[inline]
    pub const fn leaves(self) -> Option<u32> {
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
        Kind::from_number(self.0 as u8 & NUMBER)
    }

    /// Kind of the instruction, if it carries no probe; else [`Kind::Illegal`].
    #[must_use]
    #[inline(always)]
    pub(super) const fn plain_kind(self) -> Kind {
        Kind::from_number(self.0 as u8)
    }

    /// Index of the register that is written; `NOWHERE` for register 0.
    #[inline(always)]
    pub(super) const fn dst(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// Index of the first source register.
    #[inline(always)]
    pub(super) const fn rs(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Index of the second source register.
    #[inline(always)]
    pub(super) const fn rt(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// The immediate, ready for use: extended, shifted; of a branch the distance from itself; of an
    /// instruction that cannot be executed the word.
    #[inline(always)]
    pub(super) const fn imm(self) -> u32 {
        (self.0 >> 32) as u32
    }
}
