//! The instruction set as one table.
//!
//! [`ROWS`] is the only place that knows an encoding. The decoder, the executor, the disassembler
//! and the assembler all read it, so they cannot disagree. [`ALIASES`] holds the other spellings of
//! the same instructions (`nop`, `move`, `b`): rows too, with more bits fixed.
//!
//! Reserved fields must be zero; a word that sets them is no instruction of this chip. The two bit instructions are an option of boards
//! ([`Bus::has_bit_instructions`](super::bus::Bus::has_bit_instructions)): on others they are no instructions.

use Kind::{
    Addiu, Addu, And, Andi, Beq, Beql, Bgez, Bgezal, Bgezall, Bgezl, Bgtz, Bgtzl, Blez, Blezl,
    Bltz, Bltzal, Bltzall, Bltzl, Bne, Bnel, Break, J, Jal, Jalr, Joff, Jr, Lb, Lbu, Lh, Lhu, Lui,
    Lw, Missing, Nor, Or, Ori, Pri, Sb, Setb, Sh, Sll, Sllv, Slt, Slti, Sltiu, Sltu, Sra, Srav,
    Srl, Srlv, Subu, Sw, Update, Xor, Xori,
};
use Operand::{
    Branch, Code, CopReg, HighCode, Jump, LowCode, Memory, Number, Raw, Rd, Rs, Rt, RtOut, Shift,
    Signed, Unsigned, Upper,
};

use super::op::NOWHERE;
pub use super::op::Op;

/// Declares [`Kind`] and the way back from its number. The compiler sees that the two cancel out: the
/// executor's choice by kind becomes one jump by number.
macro_rules! kinds {
    ($($(#[$meta:meta])* $kind:ident,)*) => {
        /// Effect of an instruction. Rows with the same effect share a kind: the chip has no
        /// exceptions, so `add` is `addu`.
        #[allow(
            missing_docs,
            reason = "the variants are the mnemonics of the MIPS manuals"
        )]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$meta])* $kind,)*
        }

        impl Kind {
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
    Sll,
    Srl,
    Sra,
    Sllv,
    Srlv,
    Srav,
    Addu,
    Subu,
    And,
    Or,
    Xor,
    Nor,
    Slt,
    Sltu,
    Addiu,
    Slti,
    Sltiu,
    Andi,
    Ori,
    Xori,
    Lui,
    /// Highest set bit of `rs & rt`, counted from 1; 0 if there is none (docs/tigon2.md, section 1).
    Pri,
    Lb,
    Lbu,
    Lh,
    Lhu,
    Lw,
    Sb,
    Sh,
    Sw,
    Beq,
    Bne,
    Blez,
    Bgtz,
    Bltz,
    Bgez,
    Bltzal,
    Bgezal,
    Beql,
    Bnel,
    Blezl,
    Bgtzl,
    Bltzl,
    Bgezl,
    Bltzall,
    Bgezall,
    J,
    Jal,
    Jr,
    Jalr,
    /// Jump to `rs + 8 * rt` (docs/tigon2.md, section 1).
    Joff,
    /// Sets bit `rt` of the array of bits at `rs`, at once (docs/tigon2-n.md).
    Setb,
    /// Clears the run of set bits from bit `rt` on of the array at `rs`, at once; gives the first bit behind it (docs/tigon2-n.md).
    Update,
    /// Stops the core.
    Break,
    /// Known by name, but not on this chip.
    Missing,
    /// No instruction.
    Illegal,
}

/// The flow of control after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The instruction after it.
    Next,
    /// Perhaps to its target; its delay slot is executed in any case.
    Branch,
    /// Perhaps to its target; its delay slot is executed only then.
    Likely,
    /// The target, after the delay slot.
    Jump,
    /// None: the core stops.
    Stop,
}

impl Flow {
    /// Whether the next instruction is this one's delay slot.
    #[must_use]
    pub const fn has_delay_slot(self) -> bool {
        matches!(self, Self::Branch | Self::Likely | Self::Jump)
    }
}

impl Kind {
    /// Whether it is one of the bit instructions, which are an option of boards.
    #[must_use]
    pub const fn is_option(self) -> bool {
        matches!(self, Setb | Update)
    }

    /// The flow of control after an instruction of this kind.
    #[must_use]
    pub const fn flow(self) -> Flow {
        match self {
            Beq | Bne | Blez | Bgtz | Bltz | Bgez | Bltzal | Bgezal => Flow::Branch,
            Beql | Bnel | Blezl | Bgtzl | Bltzl | Bgezl | Bltzall | Bgezall => Flow::Likely,
            J | Jal | Jr | Jalr | Joff => Flow::Jump,
            Break | Missing | Self::Illegal => Flow::Stop,
            _ => Flow::Next,
        }
    }
}

/// An operand: the bits of the word that hold it, and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Destination register in bits 15..11.
    Rd,
    /// Source register in bits 25..21.
    Rs,
    /// Source register in bits 20..16.
    Rt,
    /// Destination register in bits 20..16.
    RtOut,
    /// Coprocessor register in bits 15..11.
    CopReg,
    /// Shift distance in bits 10..6.
    Shift,
    /// Sign-extended 16 bits.
    Signed,
    /// Zero-extended 16 bits.
    Unsigned,
    /// 16 bits for the upper half of the register.
    Upper,
    /// Address as signed 16-bit offset and base register (bits 25..21).
    Memory,
    /// Branch target: signed 16-bit count of words from the delay slot.
    Branch,
    /// Jump target: 26-bit word address within the delay slot's 256 MB.
    Jump,
    /// 20-bit code in bits 25..6.
    Code,
    /// 10-bit code in bits 25..16.
    HighCode,
    /// 10-bit code in bits 15..6.
    LowCode,
    /// A number in bits 20..16.
    Number,
    /// All 26 bits below the opcode.
    Raw,
}

impl Operand {
    /// The bits of the word that hold the operand.
    #[must_use]
    pub const fn field(self) -> u32 {
        match self {
            Rs => 0x03e0_0000,
            Rt | RtOut | Number => 0x001f_0000,
            Rd | CopReg => 0x0000_f800,
            Shift => 0x0000_07c0,
            Signed | Unsigned | Upper | Branch => 0x0000_ffff,
            Memory => 0x03e0_ffff,
            Jump | Raw => 0x03ff_ffff,
            Code => 0x03ff_ffc0,
            HighCode => 0x03ff_0000,
            LowCode => 0x0000_ffc0,
        }
    }
}

/// A row of the instruction set: name, encoding, and operands in the order of assembly text.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Name in the MIPS manuals.
    pub mnemonic: &'static str,
    /// Value of the fixed bits.
    pub bits: u32,
    /// Fixed bits: all that no operand holds.
    pub mask: u32,
    /// Operands.
    pub operands: &'static [Operand],
    /// Effect of the instruction.
    pub kind: Kind,
}

const fn row(mnemonic: &'static str, bits: u32, operands: &'static [Operand], kind: Kind) -> Row {
    let mut mask = u32::MAX;
    let mut i = 0;
    while i < operands.len() {
        assert!(
            mask & operands[i].field() == operands[i].field(),
            "operands overlap"
        );
        mask &= !operands[i].field();
        i += 1;
    }
    assert!(bits & !mask == 0, "an operand holds a fixed bit");
    Row {
        mnemonic,
        bits,
        mask,
        operands,
        kind,
    }
}

/// A row whose opcode is in bits 31..26.
const fn op(mnemonic: &'static str, opcode: u32, operands: &'static [Operand], kind: Kind) -> Row {
    row(mnemonic, opcode << 26, operands, kind)
}

/// A row of opcode SPECIAL, told apart by bits 5..0.
const fn special(
    mnemonic: &'static str,
    function: u32,
    operands: &'static [Operand],
    kind: Kind,
) -> Row {
    row(mnemonic, function, operands, kind)
}

/// A row of opcode REGIMM, told apart by bits 20..16.
const fn regimm(
    mnemonic: &'static str,
    code: u32,
    operands: &'static [Operand],
    kind: Kind,
) -> Row {
    row(mnemonic, 1 << 26 | code << 16, operands, kind)
}

const fn missing(mnemonic: &'static str, bits: u32, operands: &'static [Operand]) -> Row {
    row(mnemonic, bits, operands, Missing)
}

const SHIFT: &[Operand] = &[Rd, Rt, Shift];
const SHIFT_BY_REGISTER: &[Operand] = &[Rd, Rt, Rs];
const THREE: &[Operand] = &[Rd, Rs, Rt];
const TWO: &[Operand] = &[Rs, Rt];
const SIGNED: &[Operand] = &[RtOut, Rs, Signed];
const UNSIGNED: &[Operand] = &[RtOut, Rs, Unsigned];
const LOAD: &[Operand] = &[RtOut, Memory];
const STORE: &[Operand] = &[Rt, Memory];
const NUMBERED: &[Operand] = &[Number, Memory];
const COMPARE_TWO: &[Operand] = &[Rs, Rt, Branch];
const COMPARE_ZERO: &[Operand] = &[Rs, Branch];
const TRAP: &[Operand] = &[Rs, Rt, LowCode];
const TRAP_SIGNED: &[Operand] = &[Rs, Signed];

/// Every instruction that the core can name. Rows of one `slot` stand together, the more
/// specific one first.
pub const ROWS: &[Row] = &[
    special("sll", 0x00, SHIFT, Sll),
    special("srl", 0x02, SHIFT, Srl),
    special("sra", 0x03, SHIFT, Sra),
    special("sllv", 0x04, SHIFT_BY_REGISTER, Sllv),
    special("srlv", 0x06, SHIFT_BY_REGISTER, Srlv),
    special("srav", 0x07, SHIFT_BY_REGISTER, Srav),
    special("jr", 0x08, &[Rs], Jr),
    special("jalr", 0x09, &[Rd, Rs], Jalr),
    special("joff", 0x0a, TWO, Joff),
    special("pri", 0x0b, THREE, Pri),
    special("break", 0x0d, &[HighCode, LowCode], Break),
    special("add", 0x20, THREE, Addu),
    special("addu", 0x21, THREE, Addu),
    special("sub", 0x22, THREE, Subu),
    special("subu", 0x23, THREE, Subu),
    special("and", 0x24, THREE, And),
    special("or", 0x25, THREE, Or),
    special("xor", 0x26, THREE, Xor),
    special("nor", 0x27, THREE, Nor),
    special("setb", 0x28, TWO, Setb),
    special("update", 0x29, THREE, Update),
    special("slt", 0x2a, THREE, Slt),
    special("sltu", 0x2b, THREE, Sltu),
    regimm("bltz", 0x00, COMPARE_ZERO, Bltz),
    regimm("bgez", 0x01, COMPARE_ZERO, Bgez),
    regimm("bltzl", 0x02, COMPARE_ZERO, Bltzl),
    regimm("bgezl", 0x03, COMPARE_ZERO, Bgezl),
    regimm("bltzal", 0x10, COMPARE_ZERO, Bltzal),
    regimm("bgezal", 0x11, COMPARE_ZERO, Bgezal),
    regimm("bltzall", 0x12, COMPARE_ZERO, Bltzall),
    regimm("bgezall", 0x13, COMPARE_ZERO, Bgezall),
    op("j", 0x02, &[Jump], J),
    op("jal", 0x03, &[Jump], Jal),
    op("beq", 0x04, COMPARE_TWO, Beq),
    op("bne", 0x05, COMPARE_TWO, Bne),
    op("blez", 0x06, COMPARE_ZERO, Blez),
    op("bgtz", 0x07, COMPARE_ZERO, Bgtz),
    op("addi", 0x08, SIGNED, Addiu),
    op("addiu", 0x09, SIGNED, Addiu),
    op("slti", 0x0a, SIGNED, Slti),
    op("sltiu", 0x0b, SIGNED, Sltiu),
    op("andi", 0x0c, UNSIGNED, Andi),
    op("ori", 0x0d, UNSIGNED, Ori),
    op("xori", 0x0e, UNSIGNED, Xori),
    op("lui", 0x0f, &[RtOut, Upper], Lui),
    op("beql", 0x14, COMPARE_TWO, Beql),
    op("bnel", 0x15, COMPARE_TWO, Bnel),
    op("blezl", 0x16, COMPARE_ZERO, Blezl),
    op("bgtzl", 0x17, COMPARE_ZERO, Bgtzl),
    op("lb", 0x20, LOAD, Lb),
    op("lh", 0x21, LOAD, Lh),
    op("lw", 0x23, LOAD, Lw),
    op("lbu", 0x24, LOAD, Lbu),
    op("lhu", 0x25, LOAD, Lhu),
    op("sb", 0x28, STORE, Sb),
    op("sh", 0x29, STORE, Sh),
    op("sw", 0x2b, STORE, Sw),
    // What other MIPS processors have and this chip lacks.
    missing("syscall", 0x0c, &[Code]),
    missing("sync", 0x0f, &[]),
    missing("mfhi", 0x10, &[Rd]),
    missing("mthi", 0x11, &[Rs]),
    missing("mflo", 0x12, &[Rd]),
    missing("mtlo", 0x13, &[Rs]),
    missing("dsllv", 0x14, SHIFT_BY_REGISTER),
    missing("dsrlv", 0x16, SHIFT_BY_REGISTER),
    missing("dsrav", 0x17, SHIFT_BY_REGISTER),
    missing("mult", 0x18, TWO),
    missing("multu", 0x19, TWO),
    missing("div", 0x1a, TWO),
    missing("divu", 0x1b, TWO),
    missing("dmult", 0x1c, TWO),
    missing("dmultu", 0x1d, TWO),
    missing("ddiv", 0x1e, TWO),
    missing("ddivu", 0x1f, TWO),
    missing("dadd", 0x2c, THREE),
    missing("daddu", 0x2d, THREE),
    missing("dsub", 0x2e, THREE),
    missing("dsubu", 0x2f, THREE),
    missing("tge", 0x30, TRAP),
    missing("tgeu", 0x31, TRAP),
    missing("tlt", 0x32, TRAP),
    missing("tltu", 0x33, TRAP),
    missing("teq", 0x34, TRAP),
    missing("tne", 0x36, TRAP),
    missing("dsll", 0x38, SHIFT),
    missing("dsrl", 0x3a, SHIFT),
    missing("dsra", 0x3b, SHIFT),
    missing("dsll32", 0x3c, SHIFT),
    missing("dsrl32", 0x3e, SHIFT),
    missing("dsra32", 0x3f, SHIFT),
    missing("tgei", 0x0408_0000, TRAP_SIGNED),
    missing("tgeiu", 0x0409_0000, TRAP_SIGNED),
    missing("tlti", 0x040a_0000, TRAP_SIGNED),
    missing("tltiu", 0x040b_0000, TRAP_SIGNED),
    missing("teqi", 0x040c_0000, TRAP_SIGNED),
    missing("tnei", 0x040e_0000, TRAP_SIGNED),
    missing("mfc0", 0x4000_0000, &[Rt, CopReg]),
    missing("mtc0", 0x4080_0000, &[Rt, CopReg]),
    missing("cop0", 0x4000_0000, &[Raw]),
    missing("cop1", 0x4400_0000, &[Raw]),
    missing("cop2", 0x4800_0000, &[Raw]),
    missing("cop3", 0x4c00_0000, &[Raw]),
    missing("daddi", 0x6000_0000, SIGNED),
    missing("daddiu", 0x6400_0000, SIGNED),
    missing("ldl", 0x6800_0000, LOAD),
    missing("ldr", 0x6c00_0000, LOAD),
    missing("mul", 0x7000_0002, THREE),
    missing("lwl", 0x8800_0000, LOAD),
    missing("lwr", 0x9800_0000, LOAD),
    missing("lwu", 0x9c00_0000, LOAD),
    missing("swl", 0xa800_0000, STORE),
    missing("sdl", 0xb000_0000, STORE),
    missing("sdr", 0xb400_0000, STORE),
    missing("swr", 0xb800_0000, STORE),
    missing("cache", 0xbc00_0000, NUMBERED),
    missing("ll", 0xc000_0000, LOAD),
    missing("lwc1", 0xc400_0000, NUMBERED),
    missing("lwc2", 0xc800_0000, NUMBERED),
    missing("pref", 0xcc00_0000, NUMBERED),
    missing("lld", 0xd000_0000, LOAD),
    missing("ldc1", 0xd400_0000, NUMBERED),
    missing("ldc2", 0xd800_0000, NUMBERED),
    missing("ld", 0xdc00_0000, LOAD),
    missing("sc", 0xe000_0000, STORE),
    missing("swc1", 0xe400_0000, NUMBERED),
    missing("swc2", 0xe800_0000, NUMBERED),
    missing("swc3", 0xec00_0000, NUMBERED),
    missing("scd", 0xf000_0000, STORE),
    missing("sdc1", 0xf400_0000, NUMBERED),
    missing("sdc2", 0xf800_0000, NUMBERED),
    missing("sd", 0xfc00_0000, STORE),
];

/// Other spellings. The disassembler prefers them, so each one stands for a single encoding
/// (`move` is `or`, never `addu`).
pub const ALIASES: &[Row] = &[
    special("nop", 0x00, &[], Sll),
    special("move", 0x25, &[Rd, Rs], Or),
    special("not", 0x27, &[Rd, Rs], Nor),
    special("negu", 0x23, &[Rd, Rt], Subu),
    special("jalr", 0x09 | 31 << 11, &[Rs], Jalr),
    special("break", 0x0d, &[], Break),
    special("break", 0x0d, &[HighCode], Break),
    regimm("bal", 0x11, &[Branch], Bgezal),
    op("b", 0x04, &[Branch], Beq),
    op("beqz", 0x04, COMPARE_ZERO, Beq),
    op("bnez", 0x05, COMPARE_ZERO, Bne),
    op("beqzl", 0x14, COMPARE_ZERO, Beql),
    op("bnezl", 0x15, COMPARE_ZERO, Bnel),
];

/// Link register of calls.
const RETURN_ADDRESS: u8 = 31;

/// Number of indices of [`slot`]: opcodes, functions of SPECIAL, numbers of REGIMM.
const SLOTS: usize = 64 + 64 + 32;

/// Index of a word's row in the tables: the opcode, or the field that tells the rows of SPECIAL and
/// REGIMM apart.
const fn slot(word: u32) -> usize {
    let slot = match word >> 26 {
        0 => 64 + (word & 63),
        1 => 128 + (word >> 16 & 31),
        opcode => opcode,
    };
    slot as usize
}

/// For each slot, the index of its first row; `ROWS.len()` if it has none.
static FIRST_ROW: [u8; SLOTS] = {
    assert!(ROWS.len() < 256);
    let mut first = [ROWS.len() as u8; SLOTS];
    let mut i = ROWS.len();
    while i > 0 {
        i -= 1;
        first[slot(ROWS[i].bits)] = i as u8;
    }
    first
};

/// The row that `word` belongs to.
#[must_use]
pub fn lookup(word: u32) -> Option<&'static Row> {
    let first = usize::from(FIRST_ROW[slot(word)]);
    ROWS[first..]
        .iter()
        .take_while(|row| slot(row.bits) == slot(word))
        .find(|row| row.matches(word))
}

/// The general register that an instruction stores in memory, if it does so.
#[must_use]
pub fn stored_register(word: u32) -> Option<usize> {
    let stores = lookup(word).is_some_and(|row| matches!(row.kind, Kind::Sb | Kind::Sh | Kind::Sw));
    stores.then_some(word as usize >> 16 & 31)
}

impl Row {
    /// Whether `word` is an encoding of this row.
    #[must_use]
    pub const fn matches(&self, word: u32) -> bool {
        word & self.mask == self.bits
    }

    /// The pre-decoded form of `word`, which this row matches.
    pub(super) fn decode(&self, word: u32) -> Op {
        let (rs, rt) = (register_at(word, 21), register_at(word, 16));
        let (mut dst, mut imm) = (NOWHERE, 0);
        let signed = (word as u16).cast_signed();
        for operand in self.operands {
            match operand {
                Rd => dst = destination(register_at(word, 11)),
                RtOut => dst = destination(rt),
                Shift => imm = word >> 6 & 31,
                Signed | Memory => imm = i32::from(signed).cast_unsigned(),
                Unsigned => imm = word & 0xffff,
                Upper => imm = word << 16,
                Branch => imm = branch_target(word, 0),
                Jump => imm = jump_target(word, 0),
                Rs | Rt | CopReg | Code | HighCode | LowCode | Number | Raw => {}
            }
        }
        match self.kind {
            Break => imm = word >> 6 & 0xf_ffff,
            Missing | Setb | Update => imm = word,
            Jal | Bltzal | Bgezal | Bltzall | Bgezall => dst = RETURN_ADDRESS,
            _ => {}
        }
        Op::new(self.kind, dst, rs, rt, imm)
    }
}

/// Target of the branch `word` at `pc`.
#[must_use]
pub fn branch_target(word: u32, pc: u32) -> u32 {
    let words = i32::from((word as u16).cast_signed());
    pc.wrapping_add(4).wrapping_add((words * 4).cast_unsigned())
}

/// Target of the jump `word` at `pc`: within the 256 MB of its delay slot.
#[must_use]
pub fn jump_target(word: u32, pc: u32) -> u32 {
    pc.wrapping_add(4) & 0xf000_0000 | (word & 0x03ff_ffff) << 2
}

fn register_at(word: u32, bit: u32) -> u8 {
    (word >> bit & 31) as u8
}

fn destination(register: u8) -> u8 {
    if register == 0 { NOWHERE } else { register }
}
