//! The pre-decoded form of an instruction.

use super::decode::decode_row;
use super::isa;
use super::kind::Kind;
use super::packed::{Combined, Nested};
use super::pipeline::{ONES, PC, Pipeline, ZERO};
use crate::decoded::Decoded;
use emulator_state::value_struct;

/// Register to which results for a constant register go, so that it stays constant at no cost.
pub(super) const NOWHERE: u8 = 32;

/// A pre-decoded instruction.
///
/// One 64-bit number holds it, from bit 0 on: kind with marks, written register (or the source of a store), two source
/// registers (8 bits each), constant (32 bits). The executor loads it whole and takes it apart in registers.
/// The decoding depends on the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op(u64);

value_struct!(Op { 0: bits });

impl Decoded for Op {
    type Pipeline = Pipeline;

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

/// The kind's number within the lowest byte.
const NUMBER: u8 = 0x3f;
const _: () = assert!(Kind::Illegal as u8 <= NUMBER);
/// Mark of an instruction that uses a register that is no plain storage.
const SPECIAL: u64 = 0x40;
/// Mark of an instruction with a probe.
const PROBE: u64 = 0x80;

impl Op {
    /// Content of a place where nothing was decoded yet; no word decodes to it. It carries a probe, so
    /// that one test in the fetch finds all that is not to be executed at once.
    pub const UNDECODED: Self = Self::new(Kind::Illegal, NOWHERE, 0, 0, 0).with_probe();

    pub(super) const fn new(kind: Kind, dst: u8, rs: u8, rt: u8, imm: u32) -> Self {
        Self(
            kind as u64
                | (dst as u64) << 8
                | (rs as u64) << 16
                | (rt as u64) << 24
                | (imm as u64) << 32,
        )
    }

    /// Decodes an instruction word for a pipeline. Every word has a decoding; executing one that the pipeline does not
    /// have is a fault.
    #[must_use]
    pub fn decode(word: u32, pipeline: &Pipeline) -> Self {
        let Some(row) = isa::lookup(word, pipeline) else {
            return Self::new(Kind::Illegal, NOWHERE, 0, 0, word);
        };
        if !pipeline.has(row.feature(word)) {
            return Self::new(Kind::Missing, NOWHERE, 0, 0, word);
        }
        let mut op = decode_row(row, word, pipeline);
        let plain_address = !pipeline.is_special(op.rs()) && !pipeline.is_special(op.rt());
        if op.kind() == Kind::LoadWord
            && op.dst() == PC
            && plain_address
            && pipeline.pc_load_slots == 2
        {
            op = Self::new(Kind::LoadPc, NOWHERE, op.rs(), op.rt(), op.imm());
        }
        if op.uses_special(pipeline) {
            op.with(SPECIAL)
        } else {
            op
        }
    }

    const fn with(self, mark: u64) -> Self {
        Self(self.0 | mark)
    }

    /// A copy of the instruction with a probe: the core tells its bus before it executes it.
    #[must_use]
    pub const fn with_probe(self) -> Self {
        self.with(PROBE)
    }

    /// A copy of the instruction without a probe.
    #[must_use]
    pub(super) const fn without_probe(self) -> Self {
        Self(self.0 & !PROBE)
    }

    /// Whether the instruction carries a probe.
    #[must_use]
    #[inline(always)]
    pub const fn has_probe(self) -> bool {
        self.0 & PROBE != 0
    }

    /// Whether the instruction carries a probe, or uses a register that is no plain storage.
    #[inline(always)]
    pub(super) const fn is_marked(self) -> bool {
        self.0 & (PROBE | SPECIAL) != 0
    }

    /// Whether the instruction uses a register that is no plain storage.
    #[must_use]
    #[inline(always)]
    pub(super) const fn is_special(self) -> bool {
        self.0 & SPECIAL != 0
    }

    /// Whether the instruction has no effect: `nop`, `log_0` and their like.
    #[must_use]
    pub const fn is_nop(self) -> bool {
        (self.kind() as u8) < Kind::AddFlags as u8 && self.dst() == NOWHERE && !self.is_special()
    }

    /// Number of slots behind which execution never goes on, unless a jump leads there; `None` if it does.
    pub const fn leaves(self, pipeline: &Pipeline) -> Option<u32> {
        match self.kind() {
            Kind::Jump => Some(pipeline.branch_slots as u32),
            Kind::LoadPc => Some(pipeline.pc_load_slots as u32),
            Kind::Missing | Kind::Illegal => Some(0),
            _ => None,
        }
    }

    /// Kind of the instruction.
    #[must_use]
    #[inline(always)]
    pub const fn kind(self) -> Kind {
        Kind::from_number(self.0 as u8 & NUMBER)
    }

    /// Kind of the instruction, if it carries no mark; else [`Kind::Illegal`].
    #[must_use]
    #[inline(always)]
    pub(super) const fn plain_kind(self) -> Kind {
        Kind::from_number(self.0 as u8)
    }

    /// Index of the register that is written, `NOWHERE` for none; of a store the one that is read; of a branch the
    /// condition.
    #[inline(always)]
    pub(super) const fn dst(self) -> u8 {
        (self.0 >> 8) as u8
    }

    /// Index of the first source register.
    #[inline(always)]
    pub(super) const fn rs(self) -> u8 {
        (self.0 >> 16) as u8
    }

    /// Index of the second source register.
    #[inline(always)]
    pub(super) const fn rt(self) -> u8 {
        (self.0 >> 24) as u8
    }

    /// The constant, ready for use; of an instruction that cannot be executed the word.
    #[inline(always)]
    pub(super) const fn imm(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Whether the instruction reads a register (not a constant one).
    #[inline(always)]
    pub(super) const fn reads(self, register: u8) -> bool {
        self.reads_plain(register)
            || (self.kind().has_packed_register() && self.reads_packed(register))
    }

    /// Whether the instruction reads a register, apart from a register that the constant names.
    #[inline(always)]
    pub(super) const fn reads_plain(self, register: u8) -> bool {
        self.rs() == register
            || self.rt() == register
            || (self.dst() == register && self.kind().is_store())
    }

    /// Whether the constant names a register that the instruction reads.
    #[cold]
    const fn reads_packed(self, register: u8) -> bool {
        let access = Combined::of(self);
        match self.kind() {
            Kind::Nested => Nested::of(self).third == register,
            _ => access.stores && access.register == register,
        }
    }

    /// Whether the instruction needs more than plain registers: it reads or writes the program counter, the status, or the
    /// interrupt status, or it updates a constant register.
    fn uses_special(self, pipeline: &Pipeline) -> bool {
        if matches!(
            self.kind(),
            Kind::LoadPc | Kind::OwnAddress | Kind::NextAddress
        ) {
            return false;
        }
        let special = |register: u8| pipeline.is_special(register);
        let writes = match self.kind() {
            Kind::Branch | Kind::BranchRelative | Kind::Jump | Kind::Missing | Kind::Illegal => {
                false
            }
            Kind::Combined => special(Combined::of(self).register),
            _ => special(self.dst()),
        };
        let third = self.kind() == Kind::Nested && special(Nested::of(self).third);
        let updates = match self.kind() {
            Kind::Combined => Combined::of(self).updates(),
            kind => kind.updates(),
        };
        let constant = updates && matches!(self.rs(), ZERO | ONES);
        writes || third || constant || special(self.rs()) || special(self.rt())
    }
}
