//! A small assembler for tests and probes of the board.
//!
//! One statement a line, `name:` before it, `#` starts a comment. Instructions are those of
//! [`isa::ROWS`] and [`isa::ALIASES`] in GNU operand order; nothing is reordered and no delay slot
//! is filled. Besides: `li` (one or two instructions), `la` (always two), `.org ADDRESS`,
//! `.align N` (to a multiple of 2^N), `.word`, `.half`, `.byte` (lists), `.ascii "TEXT"`. A value is
//! a sum of numbers and names: `table + 8`, `-0x20`.

use std::collections::BTreeMap;

use super::disasm::REGISTER_NAMES;
use super::isa::{self, Operand, Row};

/// What the assembler made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Stretches of memory in the order of the source; each `.org` starts one.
    pub segments: Vec<Segment>,
    /// Addresses of the labels.
    pub symbols: BTreeMap<String, u32>,
}

/// A stretch of memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segment {
    /// Address of its first byte.
    pub address: u32,
    /// Contents, big-endian.
    pub bytes: Vec<u8>,
}

impl Program {
    /// Words of all segments with their addresses; a last incomplete word is filled with zeros.
    pub fn words(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.segments.iter().flat_map(|segment| {
            let addresses = (segment.address..=u32::MAX).step_by(4);
            addresses.zip(segment.bytes.chunks(4).map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_be_bytes(word)
            }))
        })
    }
}

/// A line that cannot be assembled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct AsmError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// No such instruction or directive.
    #[error("there is no instruction or directive {0:?}")]
    Unknown(String),
    /// The number of operands is wrong.
    #[error("{mnemonic} does not take {given} operands")]
    OperandCount {
        /// The instruction.
        mnemonic: String,
        /// Operands written.
        given: usize,
    },
    /// No register.
    #[error("{0:?} is not a register")]
    Register(String),
    /// No number and no label.
    #[error("{0:?} is neither a number nor a label")]
    Value(String),
    /// The value does not fit its place.
    #[error("{value} is not within {low}..={high}")]
    Range {
        /// The value.
        value: i64,
        /// Smallest possible value.
        low: i64,
        /// Largest possible value.
        high: i64,
    },
    /// A branch or jump cannot reach its target.
    #[error("target {0:#x} is misaligned or out of reach")]
    Target(u32),
    /// The label exists already.
    #[error("label {0:?} is defined twice")]
    Duplicate(String),
    /// An instruction must begin at a multiple of four.
    #[error("instruction at {0:#x}, which is no multiple of 4")]
    Misaligned(u32),
    /// The code does not fit below the end of the address space.
    #[error("the program leaves the address space")]
    TooLarge,
    /// `.ascii` wants text in quotes.
    #[error("expected text in double quotes")]
    Text,
}

/// Assembles `source`; it begins at address 0 unless `.org` says otherwise.
///
/// # Errors
/// The first line that is wrong.
pub fn assemble(source: &str) -> Result<Program, AsmError> {
    let mut assembler = Assembler::default();
    for pass in [Pass::Place, Pass::Emit] {
        assembler.begin(pass);
        for (index, line) in source.lines().enumerate() {
            let line_number = index + 1;
            assembler.line(line).map_err(|problem| AsmError {
                line: line_number,
                problem,
            })?;
        }
    }
    Ok(assembler.program)
}

/// The source is read twice: once to know where labels are, once to use them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Pass {
    #[default]
    Place,
    Emit,
}

#[derive(Default)]
struct Assembler {
    pass: Pass,
    program: Program,
    location: u32,
}

impl Assembler {
    fn begin(&mut self, pass: Pass) {
        self.pass = pass;
        self.program.segments = vec![Segment::default()];
        self.location = 0;
    }

    fn line(&mut self, line: &str) -> Result<(), Problem> {
        let mut rest = without_comment(line).trim();
        while let Some((name, after)) = rest.split_once(':').filter(|(name, _)| is_name(name)) {
            self.label(name.trim_end())?;
            rest = after.trim_start();
        }
        let (mnemonic, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        match mnemonic {
            "" => Ok(()),
            ".ascii" => self.emit(&text(operands)?),
            _ => {
                let operands: Vec<&str> = match operands.trim() {
                    "" => Vec::new(),
                    operands => operands.split(',').map(str::trim).collect(),
                };
                self.statement(mnemonic, &operands)
            }
        }
    }

    fn label(&mut self, name: &str) -> Result<(), Problem> {
        if self.pass == Pass::Place {
            let earlier = self.program.symbols.insert(name.to_owned(), self.location);
            if earlier.is_some() {
                return Err(Problem::Duplicate(name.to_owned()));
            }
        }
        Ok(())
    }

    fn statement(&mut self, mnemonic: &str, operands: &[&str]) -> Result<(), Problem> {
        match (mnemonic, operands) {
            (".org", [address]) => self.org(address),
            (".align", [power]) => self.align(power),
            (".word", values) => self.data(values, 4),
            (".half", values) => self.data(values, 2),
            (".byte", values) => self.data(values, 1),
            ("li", [register, value]) => self.load_immediate(register, value),
            ("la", [register, value]) => self.load_wide(register, value),
            _ => {
                let word = self.encode(mnemonic, operands)?;
                self.emit_instruction(word)
            }
        }
    }

    /// Moves to another address; only names that stand above can be used.
    fn org(&mut self, address: &str) -> Result<(), Problem> {
        self.location = to_word(self.known(address)?)?;
        self.program.segments.push(Segment {
            address: self.location,
            bytes: Vec::new(),
        });
        Ok(())
    }

    fn align(&mut self, power: &str) -> Result<(), Problem> {
        let multiple = 1 << within(self.known(power)?, 0, 12)?;
        let gap = self.location.wrapping_neg() & (multiple - 1);
        self.emit(&vec![0; gap as usize])
    }

    fn data(&mut self, values: &[&str], width: usize) -> Result<(), Problem> {
        let (low, high) = (-1 << (8 * width - 1), (1 << (8 * width)) - 1);
        for text in values {
            let value = within(self.value(text)?, low, high)?;
            self.emit(&value.to_be_bytes()[4 - width..])?;
        }
        Ok(())
    }

    /// The shortest of `addiu`, `ori`, `lui`, and `lui` + `ori`; always both for a name, since its
    /// value is not known at the first pass.
    fn load_immediate(&mut self, register: &str, text: &str) -> Result<(), Problem> {
        if !text.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
            return self.load_wide(register, text);
        }
        let value = self.value(text)?;
        let (upper, lower) = (value >> 16 & 0xffff, value & 0xffff);
        let number = value.to_string();
        let word = match (value, lower) {
            (-0x8000..=0x7fff, _) => self.encode("addiu", &[register, "$zero", &number])?,
            (0x8000..=0xffff, _) => self.encode("ori", &[register, "$zero", &number])?,
            (_, 0) => self.encode("lui", &[register, &upper.to_string()])?,
            _ => return self.load_wide(register, text),
        };
        to_word(value)?;
        self.emit_instruction(word)
    }

    fn load_wide(&mut self, register: &str, text: &str) -> Result<(), Problem> {
        let value = to_word(self.value(text)?)?;
        let (upper, lower) = ((value >> 16).to_string(), (value & 0xffff).to_string());
        let words = [
            self.encode("lui", &[register, &upper])?,
            self.encode("ori", &[register, register, &lower])?,
        ];
        words
            .into_iter()
            .try_for_each(|word| self.emit_instruction(word))
    }

    fn emit_instruction(&mut self, word: u32) -> Result<(), Problem> {
        if !self.location.is_multiple_of(4) {
            return Err(Problem::Misaligned(self.location));
        }
        self.emit(&word.to_be_bytes())
    }

    fn emit(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let length = u32::try_from(bytes.len()).map_err(|_| Problem::TooLarge)?;
        self.location = self.location.checked_add(length).ok_or(Problem::TooLarge)?;
        if let (Pass::Emit, Some(segment)) = (self.pass, self.program.segments.last_mut()) {
            segment.bytes.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// The word of an instruction; at the first pass, only its place counts.
    fn encode(&self, mnemonic: &str, operands: &[&str]) -> Result<u32, Problem> {
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
        if self.pass == Pass::Place {
            return Ok(row.bits);
        }
        self.encode_row(row, operands)
    }

    fn encode_row(&self, row: &Row, operands: &[&str]) -> Result<u32, Problem> {
        let fields = row.operands.iter().zip(operands);
        fields
            .into_iter()
            .try_fold(row.bits, |word, (&operand, text)| {
                Ok(word | self.field(operand, text)?)
            })
    }

    /// The bits that an operand's text stands for, in place.
    fn field(&self, operand: Operand, text: &str) -> Result<u32, Problem> {
        let number = |low, high| within(self.value(text)?, low, high);
        Ok(match operand {
            Operand::Rs => register(text)? << 21,
            Operand::Rt | Operand::RtOut => register(text)? << 16,
            Operand::Rd | Operand::CopReg => register(text)? << 11,
            Operand::Shift => number(0, 31)? << 6,
            Operand::Number => number(0, 31)? << 16,
            Operand::Signed => number(-0x8000, 0x7fff)? & 0xffff,
            Operand::Unsigned | Operand::Upper => number(0, 0xffff)?,
            Operand::Memory => self.memory(text)?,
            Operand::Branch => self.branch(text)?,
            Operand::Jump => self.jump(text)?,
            Operand::Code => number(0, 0xf_ffff)? << 6,
            Operand::HighCode => number(0, 0x3ff)? << 16,
            Operand::LowCode => number(0, 0x3ff)? << 6,
            Operand::Raw => number(0, 0x03ff_ffff)?,
        })
    }

    /// `offset($base)` or `($base)`.
    fn memory(&self, text: &str) -> Result<u32, Problem> {
        let (offset, base) = text
            .strip_suffix(')')
            .and_then(|text| text.split_once('('))
            .ok_or_else(|| Problem::Register(text.to_owned()))?;
        let offset = if offset.trim().is_empty() {
            0
        } else {
            self.value(offset)?
        };
        Ok(register(base.trim())? << 21 | within(offset, -0x8000, 0x7fff)? & 0xffff)
    }

    fn branch(&self, text: &str) -> Result<u32, Problem> {
        let target = to_word(self.value(text)?)?;
        let distance = target
            .wrapping_sub(self.location)
            .wrapping_sub(4)
            .cast_signed();
        if distance % 4 != 0 || i16::try_from(distance / 4).is_err() {
            return Err(Problem::Target(target));
        }
        Ok((distance / 4).cast_unsigned() & 0xffff)
    }

    fn jump(&self, text: &str) -> Result<u32, Problem> {
        let target = to_word(self.value(text)?)?;
        let word = target >> 2 & 0x03ff_ffff;
        if isa::jump_target(word, self.location) != target {
            return Err(Problem::Target(target));
        }
        Ok(word)
    }

    /// The value of a sum; at the first pass, names that are not known yet count as 0.
    fn value(&self, text: &str) -> Result<i64, Problem> {
        self.sum(text, self.pass == Pass::Place)
    }

    /// The value of a sum whose names are known already.
    fn known(&self, text: &str) -> Result<i64, Problem> {
        self.sum(text, false)
    }

    fn sum(&self, text: &str, lenient: bool) -> Result<i64, Problem> {
        let mut total = 0;
        let mut rest = text.trim();
        loop {
            let (negative, unsigned) = match rest.strip_prefix('-') {
                Some(unsigned) => (true, unsigned),
                None => (false, rest.strip_prefix('+').unwrap_or(rest)),
            };
            let end = unsigned.find(['+', '-']).unwrap_or(unsigned.len());
            let term = self.term(unsigned[..end].trim(), lenient)?;
            total += if negative { -term } else { term };
            rest = unsigned[end..].trim();
            if rest.is_empty() {
                return Ok(total);
            }
        }
    }

    fn term(&self, text: &str, lenient: bool) -> Result<i64, Problem> {
        let number = match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        match number.or_else(|| self.program.symbols.get(text).copied()) {
            Some(value) => Ok(i64::from(value)),
            None if lenient && is_name(text) => Ok(0),
            None => Err(Problem::Value(text.to_owned())),
        }
    }
}

fn is_name(text: &str) -> bool {
    let mut characters = text.trim_end().chars();
    let first = characters.next();
    first.is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '.')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '$')
}

/// The line up to a `#` that is not within quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    for (index, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '#' if !quoted => return &line[..index],
            _ => {}
        }
    }
    line
}

fn text(operand: &str) -> Result<Vec<u8>, Problem> {
    let inner = operand
        .trim()
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner
        .map(|text| text.as_bytes().to_vec())
        .ok_or(Problem::Text)
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

/// The low 32 bits of `value`, which must be within the bounds.
fn within(value: i64, low: i64, high: i64) -> Result<u32, Problem> {
    if (low..=high).contains(&value) {
        Ok(value.cast_unsigned() as u32)
    } else {
        Err(Problem::Range { value, low, high })
    }
}

fn to_word(value: i64) -> Result<u32, Problem> {
    within(value, i64::from(i32::MIN), i64::from(u32::MAX))
}
