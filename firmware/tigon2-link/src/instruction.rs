//! Instructions, as far as moving them requires: what jumps where, and which of them the chip does in software.

use defs::software::LO_REGISTER;

/// No operation.
pub(crate) const NOP: u32 = 0;
/// The return address.
pub(crate) const RA: u32 = 31;
/// The stack pointer.
pub(crate) const SP: u32 = 29;
/// Scratch register of the assembler; compiled code uses it too.
pub(crate) const AT: u32 = 1;
/// Another register, where a value is in `$at`.
pub(crate) const V0: u32 = 2;

const SPECIAL: u32 = 0;
const REGIMM: u32 = 1;

pub(crate) const fn opcode(word: u32) -> u32 {
    word >> 26
}
pub(crate) const fn rs(word: u32) -> u32 {
    word >> 21 & 31
}
pub(crate) const fn rt(word: u32) -> u32 {
    word >> 16 & 31
}
const fn rd(word: u32) -> u32 {
    word >> 11 & 31
}

/// Way in which an instruction passes control on; its delay slot follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JumpKind {
    /// `j`.
    Jump,
    /// `jal`.
    Call,
    /// `jr` and the chip's `joff`.
    JumpRegister,
    /// `jalr`, with the register that receives the return address.
    CallRegister(u32),
    /// A branch. It may be of the kind "likely", whose slot is executed only if it is taken, and may set `$ra`.
    Branch { likely: bool, links: bool },
}

/// The way in which `word` passes control on; `None` if to the next instruction.
pub(crate) fn flow(word: u32) -> Option<JumpKind> {
    let branch = |likely, links| Some(JumpKind::Branch { likely, links });
    match (opcode(word), word & 63, rt(word)) {
        (SPECIAL, 0x08 | 0x0a, _) => Some(JumpKind::JumpRegister),
        (SPECIAL, 0x09, _) => Some(JumpKind::CallRegister(rd(word))),
        (REGIMM, _, code @ (0..=3 | 0x10..=0x13)) => branch(code & 2 != 0, code & 0x10 != 0),
        (0x02, ..) => Some(JumpKind::Jump),
        (0x03, ..) => Some(JumpKind::Call),
        (0x04..=0x07, ..) => branch(false, false),
        (0x14..=0x17, ..) => branch(true, false),
        _ => None,
    }
}

/// The address to which a jump or branch at `address` may go, if the instruction contains it.
pub(crate) fn target(word: u32, address: u32) -> Option<u32> {
    let slot = address.wrapping_add(4);
    match flow(word)? {
        JumpKind::Jump | JumpKind::Call => Some(slot & 0xf000_0000 | (word & 0x03ff_ffff) << 2),
        JumpKind::Branch { .. } => {
            let words = (word & 0xffff) | if word & 0x8000 != 0 { 0xffff_0000 } else { 0 };
            Some(slot.wrapping_add(words << 2))
        }
        JumpKind::JumpRegister | JumpKind::CallRegister(_) => None,
    }
}

/// Whether the instruction names a register in one of its fields.
pub(crate) fn names(word: u32, register: u32) -> bool {
    let fields: &[u32] = match (opcode(word), word & 63) {
        (SPECIAL, 0x0c | 0x0d | 0x0f) | (0x02 | 0x03 | 0x10..=0x13, _) => &[],
        (SPECIAL, _) => &[rs(word), rt(word), rd(word)],
        (REGIMM, _) => &[rs(word)],
        _ => &[rs(word), rt(word)],
    };
    fields.contains(&register)
}

/// An instruction that software does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Soft {
    /// Replaced by one other instruction, in its place.
    InPlace(u32),
    /// `mult`, `multu`, `div`, `divu`: the number of the routine ([`defs::software::ROUTINES`]).
    Arithmetic(usize),
    /// `lwl`, `lwr`: the number of the routine.
    Load(usize),
    /// `swl`, `swr`: the number of the routine.
    Store(usize),
    /// Reads HI into a register.
    ReadHigh(u32),
    /// Writes a register to HI.
    WriteHigh(u32),
}

impl Soft {
    /// The number of the routine that is called.
    pub fn routine(self) -> Option<usize> {
        match self {
            Self::Arithmetic(number) | Self::Load(number) | Self::Store(number) => Some(number),
            Self::InPlace(_) | Self::ReadHigh(_) | Self::WriteHigh(_) => None,
        }
    }
}

/// Software for this instruction; `None` if it stays as it is. `divides_by` is whether a division by this
/// register stands shortly before.
pub(crate) fn soft(word: u32, divides_by: impl Fn(u32) -> bool) -> Option<Soft> {
    match opcode(word) {
        SPECIAL => {}
        0x22 => return Some(Soft::Load(4)),
        0x26 => return Some(Soft::Load(5)),
        0x2a => return Some(Soft::Store(6)),
        0x2e => return Some(Soft::Store(7)),
        _ => return None,
    }
    let (left, right, to) = (rs(word), rt(word), rd(word));
    let fields = word & 0x03ff_ffc0;
    let two = fields & 0xffc0 == 0;
    let only_to = fields & !0xf800 == 0;
    let only_left = fields & !0x03e0_0000 == 0;
    Some(match word & 63 {
        // The cores execute in order, and a write is seen at once.
        0x0f if fields & !0x7c0 == 0 => Soft::InPlace(NOP),
        0x10 if only_to && to == 0 => Soft::InPlace(NOP),
        0x10 if only_to => Soft::ReadHigh(to),
        0x11 if only_left => Soft::WriteHigh(left),
        0x12 if only_to => Soft::InPlace(copy(to, LO_REGISTER)),
        0x13 if only_left => Soft::InPlace(copy(LO_REGISTER, left)),
        function @ 0x18..=0x1b if two => Soft::Arithmetic((function - 0x18) as usize),
        // `teq divisor, $zero`: the routine looks at the divisor.
        0x34 if right == 0 && divides_by(left) => Soft::InPlace(NOP),
        _ => return None,
    })
}

/// Whether this is a division by the register.
pub(crate) fn divides(word: u32, register: u32) -> bool {
    opcode(word) == SPECIAL && matches!(word & 63, 0x1a | 0x1b) && rt(word) == register
}

/// `move to, from`; nothing if `to` is `$zero`.
pub(crate) fn copy(to: u32, from: u32) -> u32 {
    match to {
        0 => NOP,
        _ => from << 21 | to << 11 | 0x21,
    }
}

/// `op register, offset(base)` for loads, stores and `addiu`.
const fn immediate(op: u32, register: u32, base: u32, value: u32) -> u32 {
    op << 26 | base << 21 | register << 16 | value & 0xffff
}
pub(crate) const fn add(register: u32, base: u32, value: u32) -> u32 {
    immediate(0x09, register, base, value)
}
pub(crate) const fn load(register: u32, base: u32, offset: u32) -> u32 {
    immediate(0x23, register, base, offset)
}
pub(crate) const fn store(register: u32, base: u32, offset: u32) -> u32 {
    immediate(0x2b, register, base, offset)
}
/// `lui` of the upper half, such that a signed lower half completes it.
pub(crate) const fn upper(register: u32, address: u32) -> u32 {
    immediate(0x0f, register, 0, address.wrapping_add(0x8000) >> 16)
}
/// The two instructions that load an address.
pub(crate) const fn address(register: u32, address: u32) -> [u32; 2] {
    [upper(register, address), add(register, register, address)]
}
pub(crate) const fn jump(to: u32) -> u32 {
    0x02 << 26 | to >> 2 & 0x03ff_ffff
}
pub(crate) const fn call(to: u32) -> u32 {
    0x03 << 26 | to >> 2 & 0x03ff_ffff
}
/// The branch `word` with another distance, in words from its slot, and without setting `$ra`.
pub(crate) fn branch_by(word: u32, words: u32) -> u32 {
    let plain = match opcode(word) {
        REGIMM => word & !(0x10 << 16),
        _ => word,
    };
    plain & 0xffff_0000 | words & 0xffff
}
