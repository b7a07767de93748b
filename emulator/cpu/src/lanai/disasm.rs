//! The disassembler, in the manner of LLVM.

use super::fields::{self, Update, address_operator, register_at};
use super::isa::{self, CONDITIONS, Ending, Operand, Operator, Row};
use super::pipeline::Pipeline;
use crate::asm::instruction_text;
use crate::bus::Width;

/// Names of the registers in LLVM's calling convention, without the `%`.
pub const REGISTER_NAMES: [&str; 32] = [
    "r0", "r1", "pc", "r3", "sp", "fp", "r6", "r7", "rv", "r9", "rr1", "rr2", "r12", "r13", "r14",
    "rca", "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27",
    "r28", "r29", "r30", "r31",
];

/// Names of the registers where registers 3 and 28 to 31 are those of LANai 3 and 4.
pub const STATUS_REGISTER_NAMES: [&str; 32] = {
    let mut names = REGISTER_NAMES;
    names[3] = "ps";
    names[28] = "aps";
    names[29] = "apc";
    names[30] = "imr";
    names[31] = "isr";
    names
};

/// Names of the registers of a pipeline.
#[must_use]
pub const fn register_names(pipeline: &Pipeline) -> &'static [&'static str; 32] {
    if pipeline.interrupt_register {
        &STATUS_REGISTER_NAMES
    } else {
        &REGISTER_NAMES
    }
}

/// The instruction `word` as text that [`assemble`](super::asm::assemble) reads back: `st %rca, [--%sp]`;
/// `.word 0x...` if it is no instruction of any pipeline.
///
/// Bits that the core ignores have no text: such a word is read back as an equivalent one.
#[must_use]
pub fn disassemble(word: u32, pipeline: &Pipeline) -> String {
    let alias = isa::ALIASES
        .iter()
        .find(|row| row.matches(word) && is_preferred(row, word));
    match alias.or_else(|| isa::lookup(word, pipeline)) {
        Some(row) => instruction(row, word, register_names(pipeline)),
        None => format!(".word {word:#010x}"),
    }
}

/// Whether an alias is the text of a word that it matches. LLVM calls every constant `mov`; the assembler understands the
/// shortest form by that, so a longer one needs another name.
fn is_preferred(alias: &Row, word: u32) -> bool {
    let value = fields::long(word);
    alias.mnemonic != "sli" || value <= 0xffff || matches!(value & 0xffff, 0 | 0xffff)
}

fn instruction(row: &Row, word: u32, names: &[&str; 32]) -> String {
    let operands = row.operands.iter();
    instruction_text(
        &mnemonic(row, word),
        operands.map(|&operand| operand_text(row, operand, word, names)),
    )
}

/// The mnemonic of a row with the endings of a word.
fn mnemonic(row: &Row, word: u32) -> String {
    let name = row.mnemonic;
    let flags = if fields::sets_flags(word) { ".f" } else { "" };
    let condition = CONDITIONS[(fields::branch_condition(word) & 15) as usize];
    let short = CONDITIONS[(fields::short_condition(word) & 15) as usize];
    match row.ending {
        Ending::Plain => name.to_owned(),
        Ending::Flags => format!("{name}{flags}"),
        Ending::FlagsAndCondition if fields::short_condition(word) == 0 => format!("{name}{flags}"),
        // The condition `f` would be read as the ending of flags.
        Ending::FlagsAndCondition if short == "f" => format!("{name}{flags}.never"),
        Ending::FlagsAndCondition => format!("{name}{flags}.{short}"),
        Ending::Condition => format!("{name}.{short}"),
        Ending::Joined => format!("{name}{condition}"),
        Ending::JoinedRelative => format!("{name}{condition}.r"),
    }
}

fn operand_text(row: &Row, operand: Operand, word: u32, names: &[&str; 32]) -> String {
    let register = |bit| format!("%{}", names[usize::from(register_at(word, bit))]);
    match operand {
        Operand::Rd => register(23),
        Operand::Rs1 | Operand::SetOut => register(18),
        Operand::Rs2 => register(11),
        Operand::Const => format!("{:#x}", fields::constant(word, 0)),
        Operand::ConstOnes => format!("{:#x}", fields::constant(word, u32::MAX)),
        Operand::Shift => signed_hexadecimal(fields::signed(word, 16)),
        Operand::Distance => signed_hexadecimal(fields::signed(word & 0xfffc, 16)),
        Operand::Displaced => {
            let update = Update::from_number(word >> 16);
            displaced(row, &register(18), fields::signed(word, 16), update)
        }
        Operand::DisplacedNarrow => {
            let update = Update::from_number(word >> 10);
            displaced(row, &register(18), fields::signed(word, 10), update)
        }
        Operand::Op2 => {
            let (base, other) = (register(18), register(11));
            let operator = address_operator(word).name();
            match Update::from_number(word >> 16) {
                Update::Ignored => format!("[{base} add %r0]"),
                Update::None => format!("[{base} {operator} {other}]"),
                Update::After => format!("[{base}* {operator} {other}]"),
                Update::Before => format!("[*{base} {operator} {other}]"),
            }
        }
        Operand::Direct => format!("[{:#x}]", fields::long(word)),
        Operand::Long => format!("{:#x}", fields::long(word)),
        Operand::Target => format!("{:#x}", fields::target(word)),
        Operand::Inner => {
            let operator = Operator::from_number(word & 7).name();
            format!("[{} {operator} {}]", register(11), register(3))
        }
    }
}

/// Width of an access, in bytes.
pub(super) const fn access_bytes(row: &Row) -> i32 {
    match row.action {
        isa::Action::Load(Width::Byte, _) | isa::Action::Store(Width::Byte) => 1,
        isa::Action::Load(Width::Half, _) | isa::Action::Store(Width::Half) => 2,
        _ => 4,
    }
}

/// An address with a displacement. Updates by the width of the access have a form of their own.
fn displaced(row: &Row, base: &str, displacement: i32, update: Update) -> String {
    let step = access_bytes(row);
    match update {
        Update::Ignored => format!("[{base}]"),
        Update::None => format!("{displacement}[{base}]"),
        Update::After if displacement == step => format!("[{base}++]"),
        Update::After if displacement == -step => format!("[{base}--]"),
        Update::After => format!("{displacement}[{base}*]"),
        Update::Before if displacement == step => format!("[++{base}]"),
        Update::Before if displacement == -step => format!("[--{base}]"),
        Update::Before => format!("{displacement}[*{base}]"),
    }
}

fn signed_hexadecimal(value: i32) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{:#x}", value.unsigned_abs())
}

/// Whether a word is exactly what the assembler makes of its text: the bits that the core ignores are 0, and of several
/// encodings with one effect it is the preferred one.
#[must_use]
pub fn is_canonical(word: u32, pipeline: &Pipeline) -> bool {
    let Some(row) = isa::lookup(word, pipeline) else {
        return true;
    };
    // Both halves have the same text.
    let both_halves = |value| match value {
        0 => word & 0x0001_0000 == 0,
        u32::MAX => word & 0x0001_0000 != 0,
        _ => true,
    };
    let fields = row.operands.iter().all(|operand| match operand {
        Operand::Const => both_halves(fields::constant(word, 0)),
        Operand::ConstOnes => both_halves(fields::constant(word, u32::MAX)),
        Operand::Displaced => word & 0x0003_0000 != 0 || word & 0xffff == 0,
        Operand::DisplacedNarrow => word & 0xc00 != 0 || word & 0x3ff == 0,
        Operand::Op2 => {
            let junction = word & 0xf8;
            let canonical = match word >> 8 & 7 {
                7 => matches!(junction, 0x80 | 0xc0),
                _ => junction == 0,
            };
            word & 0x0003_0000 != 0 && canonical
        }
        _ => true,
    });
    fields && word & row.ignored == 0
}
