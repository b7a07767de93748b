//! A small assembler for tests, in the language of LLVM's.
//!
//! Instructions are those of [`isa::ROWS`] and [`isa::ALIASES`], also those that only some pipelines have; nothing is
//! reordered and no slot is filled. Besides: `li VALUE, %REGISTER` (always two instructions: any constant or name); `ld` and
//! `st` with `[NAME]`; `mov NAME` (a name below 2 MiB). `!` starts a comment. A combination of two registers as the second
//! operand of an operation is written in brackets: `sub %r0, [%r1 addc %r0], %r14`. Labels, directives and values:
//! [`cpu::asm`](crate::asm).

use super::disasm::{self, REGISTER_NAMES, STATUS_REGISTER_NAMES};
use super::fields::Update;
use super::isa::{self, CONDITION_ALIASES, CONDITIONS, Ending, Operand, Operator, Row};
use crate::asm::{self, Assembler, Dialect, to_word, within};
pub use crate::asm::{AsmError, Problem, Program, Segment};

/// Assembles `source`; it begins at address 0 unless `.org` says otherwise.
///
/// # Errors
/// The first line that is wrong.
pub fn assemble(source: &str) -> Result<Program, AsmError> {
    asm::assemble::<Llvm>(source)
}

/// Instructions in the manner of LLVM's assembler.
struct Llvm;

impl Dialect for Llvm {
    const COMMENT: char = '!';

    fn instruction(
        assembler: &mut Assembler,
        mnemonic: &str,
        operands: &[&str],
    ) -> Result<(), Problem> {
        if let ("li", [value, register]) = (mnemonic, operands) {
            let value = to_word(assembler.value(value)?)?;
            let upper = (value & 0xffff_0000).to_string();
            let lower = (value & 0xffff).to_string();
            let words = [
                encode(assembler, "mov", &[&upper, register])?,
                encode(assembler, "or", &[register, &lower, register])?,
            ];
            return words
                .into_iter()
                .try_for_each(|word| assembler.emit_instruction(word));
        }
        let word = encode(assembler, mnemonic, operands)?;
        assembler.emit_instruction(word)
    }
}

/// The word of an instruction: of the first row of that name whose operands fit.
fn encode(assembler: &Assembler, mnemonic: &str, operands: &[&str]) -> Result<u32, Problem> {
    let rows = isa::ALIASES.iter().chain(isa::ROWS);
    let mut named = rows
        .filter_map(|row| Some((row, endings(row, mnemonic)?)))
        .peekable();
    if named.peek().is_none() {
        return Err(Problem::Unknown(mnemonic.to_owned()));
    }
    let mut problem = Problem::OperandCount {
        mnemonic: mnemonic.to_owned(),
        given: operands.len(),
    };
    for (row, endings) in named.filter(|(row, _)| row.operands.len() == operands.len()) {
        match encode_row(assembler, row, operands) {
            Ok(bits) => return Ok(bits | endings),
            // The complaint about the form that the operand resembles most.
            Err(other) => problem = more_useful(problem, other),
        }
    }
    Err(problem)
}

fn more_useful(one: Problem, other: Problem) -> Problem {
    let rank = |problem: &Problem| match problem {
        Problem::OperandCount { .. } => 0,
        // A register where another form has a value.
        Problem::Value(text) if text.starts_with('%') => 1,
        Problem::Register(_) => 2,
        Problem::Value(_) => 3,
        _ => 4,
    };
    if rank(&other) > rank(&one) {
        other
    } else {
        one
    }
}

/// The bits of a mnemonic's endings, if it is one of this row.
fn endings(row: &Row, mnemonic: &str) -> Option<u32> {
    let rest = mnemonic.strip_prefix(row.mnemonic)?;
    match row.ending {
        Ending::Plain => rest.is_empty().then_some(0),
        Ending::Joined => Some(long_condition(condition(rest)?)),
        Ending::JoinedRelative => Some(long_condition(condition(rest.strip_suffix(".r")?)?)),
        Ending::Condition => Some(short_condition(condition(rest.strip_prefix('.')?)?)),
        Ending::Flags | Ending::FlagsAndCondition => {
            let (flags, rest) = match rest.strip_prefix(".f") {
                Some(rest) if rest.is_empty() || rest.starts_with('.') => (0x0002_0000, rest),
                _ => (0, rest),
            };
            if rest.is_empty() {
                return Some(flags);
            }
            if row.ending == Ending::Flags {
                return None;
            }
            Some(flags | short_condition(condition(rest.strip_prefix('.')?)?))
        }
    }
}

/// The number of a condition.
fn condition(name: &str) -> Option<u32> {
    let known = (0..).zip(CONDITIONS).find(|&(_, known)| known == name);
    let number = known.map(|(number, _)| number);
    let alias = || {
        let alias = CONDITION_ALIASES.iter().find(|(known, _)| *known == name);
        alias.map(|&(_, number)| number)
    };
    number.or_else(alias)
}

const fn long_condition(number: u32) -> u32 {
    (number & 14) << 24 | number & 1
}

const fn short_condition(number: u32) -> u32 {
    number >> 1 | (number & 1) << 16
}

fn encode_row(assembler: &Assembler, row: &Row, operands: &[&str]) -> Result<u32, Problem> {
    let mut fields = row.operands.iter().zip(operands);
    fields.try_fold(row.bits, |word, (&operand, text)| {
        Ok(word | field(assembler, row, operand, text)?)
    })
}

/// The bits that an operand's text stands for, in place.
fn field(assembler: &Assembler, row: &Row, operand: Operand, text: &str) -> Result<u32, Problem> {
    match operand {
        Operand::Rd => Ok(register(text)? << 23),
        Operand::Rs1 | Operand::SetOut => Ok(register(text)? << 18),
        Operand::Rs2 => Ok(register(text)? << 11),
        Operand::Const => constant(assembler, text, 0),
        Operand::ConstOnes => constant(assembler, text, u32::MAX),
        Operand::Shift => Ok(within(assembler.value(text)?, -0x8000, 0x7fff)? & 0xffff),
        Operand::Distance => {
            let distance = assembler.value(text)?;
            if distance % 4 != 0 {
                return Err(Problem::Target(to_word(distance)?));
            }
            Ok(within(distance, -0x8000, 0x7fff)? & 0xffff)
        }
        Operand::Displaced => displaced(assembler, row, text, 16),
        Operand::DisplacedNarrow => displaced(assembler, row, text, 10),
        Operand::Op2 => combined(text),
        Operand::Direct => long(assembler, in_brackets(text)?),
        Operand::Long => long(assembler, text),
        Operand::Target => {
            let target = to_word(assembler.value(text)?)?;
            if target & !0x01ff_fffc != 0 {
                return Err(Problem::Target(target));
            }
            Ok(target)
        }
        Operand::Inner => {
            let [one, operator, other] = words(in_brackets(text)?)?;
            let operator = operator_named(operator)?;
            if operator == Operator::Sha {
                return Err(Problem::Unknown(operator.name().to_owned()));
            }
            Ok(register(one)? << 11 | register(other)? << 3 | operator as u32)
        }
    }
}

/// A constant of 16 bits in one half; `fill` is the other half.
fn constant(assembler: &Assembler, text: &str, fill: u32) -> Result<u32, Problem> {
    let value = to_word(assembler.value(text)?)?;
    let (upper, lower, fill) = (value >> 16, value & 0xffff, fill & 0xffff);
    // Of two encodings LLVM takes the lower half for 0 and the upper half for all ones.
    let forms = if fill == 0 {
        [(upper, lower), (lower, upper | 0x1_0000)]
    } else {
        [(lower, upper | 0x1_0000), (upper, lower)]
    };
    let form = forms.into_iter().find(|&(other, _)| other == fill);
    form.map(|(_, bits)| bits).ok_or(Problem::Range {
        value: i64::from(value),
        low: 0,
        high: 0xffff,
    })
}

/// A constant or an address of 21 bits.
fn long(assembler: &Assembler, text: &str) -> Result<u32, Problem> {
    let value = within(assembler.value(text)?, 0, 0x001f_ffff)?;
    Ok(value << 2 & 0x007c_0000 | value & 0xffff)
}

/// `8[%sp]`, `[%sp]`, `[++%sp]`, `[%sp--]`, `8[*%sp]`, `8[%sp*]`.
fn displaced(assembler: &Assembler, row: &Row, text: &str, bits: u32) -> Result<u32, Problem> {
    let malformed = || Problem::Register(text.to_owned());
    let (displacement, inner) = text
        .strip_suffix(']')
        .and_then(|text| text.split_once('['))
        .ok_or_else(malformed)?;
    let (displacement, inner) = (displacement.trim(), inner.trim());
    let step = i64::from(disasm::access_bytes(row));
    let forms = [
        (inner.strip_prefix("++"), Update::Before, Some(step)),
        (inner.strip_prefix("--"), Update::Before, Some(-step)),
        (inner.strip_suffix("++"), Update::After, Some(step)),
        (inner.strip_suffix("--"), Update::After, Some(-step)),
        (inner.strip_prefix('*'), Update::Before, None),
        (inner.strip_suffix('*'), Update::After, None),
        (Some(inner), Update::None, None),
    ];
    let form = forms.into_iter().find(|(base, ..)| base.is_some());
    let (Some(base), mut update, step) = form.ok_or_else(malformed)? else {
        return Err(malformed());
    };
    let base = register(base.trim())?;
    let value = match (step, displacement) {
        (Some(step), "") => step,
        (Some(_), _) => return Err(malformed()),
        (None, "") => {
            if update == Update::None {
                update = Update::Ignored;
            }
            0
        }
        (None, text) => assembler.value(text)?,
    };
    let limit = 1 << (bits - 1);
    let value = within(value, -limit, limit - 1)? & (u32::MAX >> (32 - bits));
    Ok(base << 18 | (update as u32) << bits | value)
}

/// `[%r5 add %r7]`, `[*%r5 add %r7]`, `[%r5* add %r7]`.
fn combined(text: &str) -> Result<u32, Problem> {
    let [base, operator, other] = words(in_brackets(text)?)?;
    let forms = [
        (base.strip_prefix('*'), Update::Before),
        (base.strip_suffix('*'), Update::After),
        (Some(base), Update::None),
    ];
    let form = forms
        .into_iter()
        .find_map(|(base, update)| Some((base?, update)));
    let (base, update) = form.unwrap_or((base, Update::None));
    let operator = match operator_named(operator)? {
        Operator::Sh => 0x780,
        Operator::Sha => 0x7c0,
        operator => (operator as u32) << 8,
    };
    Ok(register(base)? << 18 | (update as u32) << 16 | register(other)? << 11 | operator)
}

fn in_brackets(text: &str) -> Result<&str, Problem> {
    text.strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .map(str::trim)
        .ok_or_else(|| Problem::Register(text.to_owned()))
}

/// Three words, separated by spaces.
fn words(text: &str) -> Result<[&str; 3], Problem> {
    let words: Vec<&str> = text.split_whitespace().collect();
    <[&str; 3]>::try_from(words).map_err(|_| Problem::Register(text.to_owned()))
}

fn operator_named(name: &str) -> Result<Operator, Problem> {
    Operator::ALL
        .into_iter()
        .find(|operator| operator.name() == name)
        .ok_or_else(|| Problem::Unknown(name.to_owned()))
}

fn register(text: &str) -> Result<u32, Problem> {
    let name = text.strip_prefix('%').unwrap_or("");
    let number = name
        .strip_prefix('r')
        .and_then(|number| number.parse().ok());
    (0..32)
        .zip(REGISTER_NAMES.iter().zip(STATUS_REGISTER_NAMES))
        .find(|&(index, (&known, other))| known == name || other == name || number == Some(index))
        .map(|(index, _)| index)
        .ok_or_else(|| Problem::Register(text.to_owned()))
}
