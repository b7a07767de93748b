//! A small assembler for tests and probes of the board.
//!
//! Instructions are those of [`isa::ROWS`] and [`isa::ALIASES`] in GNU operand order; nothing is reordered and no delay slot
//! is filled. Besides: `li` (one or two instructions), `la` (always two). `#` starts a comment. Labels, directives and values:
//! [`cpu::asm`](crate::asm).

use super::disasm::REGISTER_NAMES;
use super::isa::{self, Operand, Row};
use crate::asm::{self, Assembler, Dialect, to_word, within};
pub use crate::asm::{AsmError, Problem, Program, Segment};

/// Assembles `source`; it begins at address 0 unless `.org` says otherwise.
///
/// # Errors
/// The first line that is wrong.
pub fn assemble(source: &str) -> Result<Program, AsmError> {
    asm::assemble::<Gnu>(source)
}

/// Instructions in the manner of the GNU assembler.
struct Gnu;

impl Dialect for Gnu {
    const COMMENT: char = '#';

    fn instruction(
        assembler: &mut Assembler,
        mnemonic: &str,
        operands: &[&str],
    ) -> Result<(), Problem> {
        match (mnemonic, operands) {
            ("li", [register, value]) => load_immediate(assembler, register, value),
            ("la", [register, value]) => load_wide(assembler, register, value),
            _ => {
                let word = encode(assembler, mnemonic, operands)?;
                assembler.emit_instruction(word)
            }
        }
    }
}

/// The shortest of `addiu`, `ori`, `lui`, and `lui` + `ori`; always both for a name, since its
/// value is not known at the first pass.
fn load_immediate(assembler: &mut Assembler, register: &str, text: &str) -> Result<(), Problem> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        return load_wide(assembler, register, text);
    }
    let value = assembler.value(text)?;
    let (upper, lower) = (value >> 16 & 0xffff, value & 0xffff);
    let number = value.to_string();
    let word = match (value, lower) {
        (-0x8000..=0x7fff, _) => encode(assembler, "addiu", &[register, "$zero", &number])?,
        (0x8000..=0xffff, _) => encode(assembler, "ori", &[register, "$zero", &number])?,
        (_, 0) => encode(assembler, "lui", &[register, &upper.to_string()])?,
        _ => return load_wide(assembler, register, text),
    };
    to_word(value)?;
    assembler.emit_instruction(word)
}

fn load_wide(assembler: &mut Assembler, register: &str, text: &str) -> Result<(), Problem> {
    let value = to_word(assembler.value(text)?)?;
    let (upper, lower) = ((value >> 16).to_string(), (value & 0xffff).to_string());
    let words = [
        encode(assembler, "lui", &[register, &upper])?,
        encode(assembler, "ori", &[register, register, &lower])?,
    ];
    words
        .into_iter()
        .try_for_each(|word| assembler.emit_instruction(word))
}

/// The word of an instruction; at the first pass, only its place counts.
fn encode(assembler: &Assembler, mnemonic: &str, operands: &[&str]) -> Result<u32, Problem> {
    let mut named = isa::ROWS
        .iter()
        .chain(isa::ALIASES)
        .filter(|row| row.mnemonic == mnemonic);
    let Some(first) = named.next() else {
        return Err(Problem::Unknown(mnemonic.to_owned()));
    };
    let row = std::iter::once(first)
        .chain(named)
        .find(|row| row.operands.len() == operands.len())
        .ok_or_else(|| Problem::OperandCount {
            mnemonic: mnemonic.to_owned(),
            given: operands.len(),
        })?;
    if assembler.is_placing() {
        return Ok(row.bits);
    }
    encode_row(assembler, row, operands)
}

fn encode_row(assembler: &Assembler, row: &Row, operands: &[&str]) -> Result<u32, Problem> {
    let fields = row.operands.iter().zip(operands);
    fields
        .into_iter()
        .try_fold(row.bits, |word, (&operand, text)| {
            Ok(word | field(assembler, operand, text)?)
        })
}

/// The bits that an operand's text stands for, in place.
fn field(assembler: &Assembler, operand: Operand, text: &str) -> Result<u32, Problem> {
    let number = |low, high| within(assembler.value(text)?, low, high);
    Ok(match operand {
        Operand::Rs => register(text)? << 21,
        Operand::Rt | Operand::RtOut => register(text)? << 16,
        Operand::Rd | Operand::CopReg => register(text)? << 11,
        Operand::Shift => number(0, 31)? << 6,
        Operand::Number => number(0, 31)? << 16,
        Operand::Signed => number(-0x8000, 0x7fff)? & 0xffff,
        Operand::Unsigned | Operand::Upper => number(0, 0xffff)?,
        Operand::Memory => memory(assembler, text)?,
        Operand::Branch => branch(assembler, text)?,
        Operand::Jump => jump(assembler, text)?,
        Operand::Code => number(0, 0xf_ffff)? << 6,
        Operand::HighCode => number(0, 0x3ff)? << 16,
        Operand::LowCode => number(0, 0x3ff)? << 6,
        Operand::Raw => number(0, 0x03ff_ffff)?,
    })
}

/// `offset($base)` or `($base)`.
fn memory(assembler: &Assembler, text: &str) -> Result<u32, Problem> {
    let (offset, base) = text
        .strip_suffix(')')
        .and_then(|text| text.split_once('('))
        .ok_or_else(|| Problem::Register(text.to_owned()))?;
    let offset = if offset.trim().is_empty() {
        0
    } else {
        assembler.value(offset)?
    };
    Ok(register(base.trim())? << 21 | within(offset, -0x8000, 0x7fff)? & 0xffff)
}

fn branch(assembler: &Assembler, text: &str) -> Result<u32, Problem> {
    let target = to_word(assembler.value(text)?)?;
    let distance = target
        .wrapping_sub(assembler.location())
        .wrapping_sub(4)
        .cast_signed();
    if distance % 4 != 0 || i16::try_from(distance / 4).is_err() {
        return Err(Problem::Target(target));
    }
    Ok((distance / 4).cast_unsigned() & 0xffff)
}

fn jump(assembler: &Assembler, text: &str) -> Result<u32, Problem> {
    let target = to_word(assembler.value(text)?)?;
    let word = target >> 2 & 0x03ff_ffff;
    if isa::jump_target(word, assembler.location()) != target {
        return Err(Problem::Target(target));
    }
    Ok(word)
}

fn register(text: &str) -> Result<u32, Problem> {
    let name = text.strip_prefix('$').unwrap_or("");
    let name = if name == "s8" { "fp" } else { name };
    (0..32)
        .zip(REGISTER_NAMES)
        .find(|&(index, known)| known == name || name.parse() == Ok(index))
        .map(|(index, _)| index)
        .ok_or_else(|| Problem::Register(text.to_owned()))
}
