//! The instruction set as one table ([forms](super#forms); docs/lanai-core.md, section 2).
//!
//! [`ROWS`] is the only place that knows an encoding. The decoder, the executor, the disassembler
//! and the assembler all read it, so they cannot disagree. [`ALIASES`] holds other spellings of
//! the same instructions (`nop`, `mov`): rows too, with more bits fixed.
//!
//! Reserved fields must be zero, except for [ignored](Row::ignored) bits.

use Action::{
    Alu, Branch, BranchRelative, Constant, Count, Load, Nested, Select, SetCondition, Store,
};
use Operand::{
    Const, ConstOnes, Direct, Displaced, DisplacedNarrow, Distance, Inner, Long, Op2, Rd, Rs1, Rs2,
    SetOut, Shift, Target,
};

use super::fields;
use super::pipeline::{Feature, Pipeline};
use crate::bus::Width;

/// An arithmetic or logical operation. The numbers are those of the encoding, except for [`Sha`](Self::Sha).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operator {
    /// Sum.
    Add,
    /// Sum with carry.
    Addc,
    /// Difference.
    Sub,
    /// Difference with borrow: the carry flag is the inverted borrow.
    Subb,
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// Exclusive disjunction.
    Xor,
    /// Logical shift: to the left by a positive distance, else to the right.
    Sh,
    /// Arithmetic shift, likewise.
    Sha,
}

impl Operator {
    /// All operations, by number.
    pub const ALL: [Self; 9] = [
        Self::Add,
        Self::Addc,
        Self::Sub,
        Self::Subb,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::Sh,
        Self::Sha,
    ];

    /// The operation with this number, of which the low four bits count.
    #[must_use]
    #[inline(always)]
    pub const fn from_number(number: u32) -> Self {
        match number & 15 {
            0 => Self::Add,
            1 => Self::Addc,
            2 => Self::Sub,
            3 => Self::Subb,
            4 => Self::And,
            5 => Self::Or,
            6 => Self::Xor,
            7 => Self::Sh,
            _ => Self::Sha,
        }
    }

    /// The name in assembly text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        [
            "add", "addc", "sub", "subb", "and", "or", "xor", "sh", "sha",
        ][self as usize]
    }
}

/// Names of the conditions, by number: `DDD` and `I` of an instruction.
pub const CONDITIONS: [&str; 16] = [
    "t", "f", "ugt", "ule", "ult", "uge", "ne", "eq", "vc", "vs", "pl", "mi", "ge", "lt", "gt",
    "le",
];

/// Other names of conditions that the assembler knows.
pub const CONDITION_ALIASES: [(&str, u32); 5] =
    [("never", 1), ("hi", 2), ("ls", 3), ("cc", 4), ("cs", 5)];

/// Effect of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Combines two values.
    Alu(Operator),
    /// Chooses one of two registers by a condition.
    Select,
    /// Combines a register with the combination of two others.
    Nested(Operator),
    /// Counts bits: all ones (1), leading zeros (2), trailing zeros (3).
    Count(u8),
    /// Reads memory; `true`: extends the sign.
    Load(Width, bool),
    /// Writes memory.
    Store(Width),
    /// Loads a constant of 21 bits.
    Constant,
    /// Jumps to an address, under a condition.
    Branch,
    /// Jumps to a distance from a register, under a condition.
    BranchRelative,
    /// Writes a condition as 0 or 1.
    SetCondition,
}

/// Endings of a mnemonic, which hold fields of the word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// None.
    Plain,
    /// `.f`: bit 17, the instruction sets the flags.
    Flags,
    /// `.f` and `.CONDITION`: bit 17, and bits 2 to 0 and 16.
    FlagsAndCondition,
    /// `.CONDITION`, which is always written.
    Condition,
    /// The condition, without a dot: bits 27 to 25 and 0.
    Joined,
    /// The condition, without a dot, and `.r`: bits 27 to 25 and 0.
    JoinedRelative,
}

impl Ending {
    /// The bits of the word that hold the endings.
    #[must_use]
    pub const fn field(self) -> u32 {
        match self {
            Self::Plain => 0,
            Self::Flags => 0x0002_0000,
            Self::FlagsAndCondition => 0x0003_0007,
            Self::Condition => 0x0001_0007,
            Self::Joined | Self::JoinedRelative => 0x0e00_0001,
        }
    }
}

/// An operand: the bits of the word that hold it, and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// Register in bits 27..23: the destination, or the source of a store.
    Rd,
    /// Source register in bits 22..18.
    Rs1,
    /// Source register in bits 15..11.
    Rs2,
    /// Destination register in bits 22..18.
    SetOut,
    /// 16 bits, in the upper half of the constant if bit 16 is set; the other half is 0.
    Const,
    /// 16 bits, in the upper half of the constant if bit 16 is set; the other half is all ones.
    ConstOnes,
    /// Signed 16 bits.
    Shift,
    /// Address: register, signed 16 bits, and the update of the register (bits 17 and 16).
    Displaced,
    /// Address: register, signed 10 bits, and the update of the register (bits 11 and 10).
    DisplacedNarrow,
    /// Address: combination of two registers, and the update of the first one (bits 17 and 16).
    Op2,
    /// Address of 21 bits, in bits 22..18 and 15..0; as an address its low two bits do not count.
    Direct,
    /// Constant of 21 bits, likewise.
    Long,
    /// Address of 25 bits, of which the low two are 0.
    Target,
    /// Signed 16 bits, of which the low two are 0.
    Distance,
    /// Combination of two registers, in bits 15..11, 7..3 and 2..0.
    Inner,
}

impl Operand {
    /// The bits of the word that hold the operand.
    #[must_use]
    pub const fn field(self) -> u32 {
        match self {
            Rd => 0x0f80_0000,
            Rs1 | SetOut => 0x007c_0000,
            Rs2 => 0x0000_f800,
            Const | ConstOnes => 0x0001_ffff,
            Shift => 0x0000_ffff,
            Displaced => 0x007f_ffff,
            DisplacedNarrow => 0x007c_0fff,
            Op2 => 0x007f_fff8,
            Direct | Long => 0x007c_ffff,
            Target => 0x01ff_fffc,
            Distance => 0x0000_fffc,
            Inner => 0x0000_f8ff,
        }
    }
}

/// A row of the instruction set: name, encoding, and operands in the order of assembly text.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Name without endings, in LLVM's assembly language.
    pub mnemonic: &'static str,
    /// Endings of the name.
    pub ending: Ending,
    /// Value of the fixed bits.
    pub bits: u32,
    /// Fixed bits: all that no operand and no ending holds, and that are not ignored.
    pub mask: u32,
    /// Bits that the core ignores.
    pub ignored: u32,
    /// Operands.
    pub operands: &'static [Operand],
    /// Effect.
    pub action: Action,
    /// The generations that have the instruction.
    pub feature: Feature,
}

const fn row(
    mnemonic: &'static str,
    ending: Ending,
    bits: u32,
    operands: &'static [Operand],
    action: Action,
) -> Row {
    let mut mask = !ending.field();
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
    let feature = match action {
        Nested(_) => Feature::Nested,
        Count(_) => Feature::BitCounts,
        Select => Feature::Predicates,
        SetCondition => Feature::SetCondition,
        _ => Feature::Base,
    };
    Row {
        mnemonic,
        ending,
        bits,
        mask,
        ignored: 0,
        operands,
        action,
        feature,
    }
}

/// A copy of `row` whose fixed zero bits `bits` the core ignores.
const fn ignoring(row: Row, bits: u32) -> Row {
    assert!(
        row.mask & bits == bits && row.bits & bits == 0,
        "the bits are in use"
    );
    Row {
        mask: row.mask & !bits,
        ignored: bits,
        ..row
    }
}

/// `0 AAA`: a register and a constant.
const fn immediate(operator: Operator) -> Row {
    let bits = (operator as u32) << 28;
    let operands: &[Operand] = if matches!(operator, Operator::And) {
        &[Rs1, ConstOnes, Rd]
    } else {
        &[Rs1, Const, Rd]
    };
    row(
        operator.name(),
        Ending::Flags,
        bits,
        operands,
        Alu(operator),
    )
}

/// `1100`: two registers. The field J (bits 7 to 3) is ignored: compilers for real chips set its highest bit in `or`.
const fn registers(operator: Operator) -> Row {
    let bits = 0xc000_0000 | (operator as u32) << 8;
    let ending = Ending::FlagsAndCondition;
    let row = row(
        operator.name(),
        ending,
        bits,
        &[Rs1, Rs2, Rd],
        Alu(operator),
    );
    ignoring(row, 0xf8)
}

/// `1101`: three registers. Bit 16 is ignored: its meaning is not known.
const fn nested(operator: Operator) -> Row {
    let bits = 0xd000_0000 | (operator as u32) << 8;
    let row = row(
        operator.name(),
        Ending::Flags,
        bits,
        &[Rs1, Inner, Rd],
        Nested(operator),
    );
    ignoring(row, 0x0001_0000)
}

const fn shift(mnemonic: &'static str, bits: u32, operator: Operator) -> Row {
    row(
        mnemonic,
        Ending::Flags,
        bits,
        &[Rs1, Shift, Rd],
        Alu(operator),
    )
}

const fn shift_by_register(mnemonic: &'static str, bits: u32, operator: Operator) -> Row {
    let ending = Ending::FlagsAndCondition;
    row(mnemonic, ending, bits, &[Rs1, Rs2, Rd], Alu(operator))
}

const fn count(mnemonic: &'static str, code: u8) -> Row {
    let bits = 0xd000_0000 | code as u32;
    row(mnemonic, Ending::Plain, bits, &[Rs1, Rd], Count(code))
}

const fn load(
    mnemonic: &'static str,
    bits: u32,
    operands: &'static [Operand],
    width: Width,
    signed: bool,
) -> Row {
    row(mnemonic, Ending::Plain, bits, operands, Load(width, signed))
}

const fn store(
    mnemonic: &'static str,
    bits: u32,
    operands: &'static [Operand],
    width: Width,
) -> Row {
    row(mnemonic, Ending::Plain, bits, operands, Store(width))
}

/// Every instruction.
pub const ROWS: &[Row] = &[
    immediate(Operator::Add),
    immediate(Operator::Addc),
    immediate(Operator::Sub),
    immediate(Operator::Subb),
    immediate(Operator::And),
    immediate(Operator::Or),
    immediate(Operator::Xor),
    shift("sh", 0x7000_0000, Operator::Sh),
    shift("sha", 0x7001_0000, Operator::Sha),
    load("ld", 0x8000_0000, &[Displaced, Rd], Width::Word, false),
    store("st", 0x9000_0000, &[Rd, Displaced], Width::Word),
    load("ld.h", 0xa000_0000, &[Op2, Rd], Width::Half, true),
    load("uld.h", 0xa000_0001, &[Op2, Rd], Width::Half, false),
    load("ld", 0xa000_0002, &[Op2, Rd], Width::Word, false),
    load("uld", 0xa000_0003, &[Op2, Rd], Width::Word, false),
    load("ld.b", 0xa000_0004, &[Op2, Rd], Width::Byte, true),
    load("uld.b", 0xa000_0005, &[Op2, Rd], Width::Byte, false),
    store("st.h", 0xb000_0000, &[Rd, Op2], Width::Half),
    store("st", 0xb000_0002, &[Rd, Op2], Width::Word),
    store("st.b", 0xb000_0004, &[Rd, Op2], Width::Byte),
    registers(Operator::Add),
    registers(Operator::Addc),
    registers(Operator::Sub),
    registers(Operator::Subb),
    registers(Operator::And),
    registers(Operator::Or),
    registers(Operator::Xor),
    shift_by_register("sh", 0xc000_0780, Operator::Sh),
    shift_by_register("sha", 0xc000_07c0, Operator::Sha),
    row(
        "sel",
        Ending::Condition,
        0xc000_0700,
        &[Rs1, Rs2, Rd],
        Select,
    ),
    count("popc", 1),
    count("leadz", 2),
    count("trailz", 3),
    nested(Operator::Add),
    nested(Operator::Addc),
    nested(Operator::Sub),
    nested(Operator::Subb),
    nested(Operator::And),
    nested(Operator::Or),
    nested(Operator::Xor),
    nested(Operator::Sh),
    row("b", Ending::Joined, 0xe000_0000, &[Target], Branch),
    row("s", Ending::Joined, 0xe000_0002, &[SetOut], SetCondition),
    row(
        "b",
        Ending::JoinedRelative,
        0xe100_0002,
        &[Rs1, Distance],
        BranchRelative,
    ),
    load("ld", 0xf000_0000, &[Direct, Rd], Width::Word, false),
    store("st", 0xf001_0000, &[Rd, Direct], Width::Word),
    row("mov", Ending::Plain, 0xf002_0000, &[Long, Rd], Constant),
    load(
        "ld.h",
        0xf003_0000,
        &[DisplacedNarrow, Rd],
        Width::Half,
        true,
    ),
    load(
        "uld.h",
        0xf003_1000,
        &[DisplacedNarrow, Rd],
        Width::Half,
        false,
    ),
    store("st.h", 0xf003_2000, &[Rd, DisplacedNarrow], Width::Half),
    load(
        "ld.b",
        0xf003_4000,
        &[DisplacedNarrow, Rd],
        Width::Byte,
        true,
    ),
    load(
        "uld.b",
        0xf003_5000,
        &[DisplacedNarrow, Rd],
        Width::Byte,
        false,
    ),
    store("st.b", 0xf003_6000, &[Rd, DisplacedNarrow], Width::Byte),
];

/// A spelling without operands.
const fn word(mnemonic: &'static str, bits: u32) -> Row {
    row(mnemonic, Ending::Plain, bits, &[], Alu(Operator::Add))
}

/// A spelling of an operation on two registers, one of which is `%r0`.
const fn move_register(
    mnemonic: &'static str,
    bits: u32,
    operands: &'static [Operand],
    operator: Operator,
) -> Row {
    ignoring(
        row(mnemonic, Ending::Plain, bits, operands, Alu(operator)),
        0xf8,
    )
}

/// Other spellings. The disassembler prefers them, so each one stands for a single encoding.
pub const ALIASES: &[Row] = &[
    word("nop", 1),
    word("log_0", 2),
    word("log_1", 3),
    word("log_2", 4),
    word("log_3", 5),
    word("log_4", 6),
    row("mov", Ending::Plain, 0, &[Const, Rd], Alu(Operator::Add)),
    row(
        "mov",
        Ending::Plain,
        0x4004_0000,
        &[ConstOnes, Rd],
        Alu(Operator::And),
    ),
    move_register("mov", 0xc000_0000, &[Rs1, Rd], Operator::Add),
    move_register("bt", 0xc100_0500, &[Rs1], Operator::Or),
    row(
        "b",
        Ending::JoinedRelative,
        0xe100_0002,
        &[Distance],
        BranchRelative,
    ),
    // LLVM's text of such a constant is that of a shorter one where both exist.
    row("sli", Ending::Plain, 0xf002_0000, &[Long, Rd], Constant),
];

/// For each opcode, the highest four bits, the index of its first row; behind them the number of all rows.
static FIRST_ROW: [u8; 17] = {
    assert!(ROWS.len() < 256);
    let mut first = [0; 17];
    let (mut opcode, mut i) = (0, 0);
    while i < ROWS.len() {
        assert!(ROWS[i].mask >> 28 == 15, "a row has one opcode");
        let own = (ROWS[i].bits >> 28) as usize;
        assert!(
            own + 1 >= opcode,
            "rows stand in the order of their opcodes"
        );
        while opcode <= own {
            first[opcode] = i as u8;
            opcode += 1;
        }
        i += 1;
    }
    while opcode < first.len() {
        first[opcode] = ROWS.len() as u8;
        opcode += 1;
    }
    first
};

/// The row that `word` belongs to in a pipeline. A word that the pipeline lacks has the row of the
/// generation that has it.
#[must_use]
pub fn lookup(word: u32, pipeline: &Pipeline) -> Option<&'static Row> {
    let opcode = (word >> 28) as usize;
    let [first, end] = [opcode, opcode + 1].map(|opcode| usize::from(FIRST_ROW[opcode]));
    let mut rows = ROWS[first..end].iter().filter(|row| row.matches(word));
    let first = rows.next()?;
    if pipeline.has(first.feature) {
        return Some(first);
    }
    // Two groups share opcode 1101.
    rows.find(|row| pipeline.has(row.feature)).or(Some(first))
}

impl Row {
    /// Whether `word` is an encoding of this row.
    #[must_use]
    pub const fn matches(&self, word: u32) -> bool {
        word & self.mask == self.bits
    }

    /// The feature that `word`, an encoding of this row, needs of a pipeline.
    #[must_use]
    pub const fn feature(&self, word: u32) -> Feature {
        let conditional = matches!(self.ending, Ending::FlagsAndCondition);
        if conditional && fields::short_condition(word) != 0 {
            return Feature::Predicates;
        }
        self.feature
    }

    /// The name of the instruction `word`, an encoding of this row: its mnemonic, without `.f` and without the condition
    /// of an operation.
    #[must_use]
    pub const fn name(&self, word: u32) -> &'static str {
        let condition = fields::branch_condition(word) as usize & 15;
        match self.action {
            Branch | BranchRelative => BRANCHES[condition],
            SetCondition => SETS[condition],
            _ => self.mnemonic,
        }
    }
}

/// Names of branches, by condition.
const BRANCHES: [&str; 16] = [
    "bt", "bf", "bugt", "bule", "bult", "buge", "bne", "beq", "bvc", "bvs", "bpl", "bmi", "bge",
    "blt", "bgt", "ble",
];

/// Names of instructions that set a register to a condition.
const SETS: [&str; 16] = [
    "st", "sf", "sugt", "sule", "sult", "suge", "sne", "seq", "svc", "svs", "spl", "smi", "sge",
    "slt", "sgt", "sle",
];

/// Whether a pipeline executes `word`.
#[must_use]
pub fn is_executable(word: u32, pipeline: &Pipeline) -> bool {
    lookup(word, pipeline).is_some_and(|row| pipeline.has(row.feature(word)))
}
