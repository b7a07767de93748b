//! The part of the small assemblers that does not depend on the instruction set: labels, directives, values.
//!
//! One statement a line, `name:` before it. Directives: `.org ADDRESS`,
//! `.align N` (to a multiple of 2^N), `.word`, `.half`, `.byte` (lists), `.ascii "TEXT"`. A value is
//! a sum of numbers and names: `table + 8`, `-0x20`.

use std::collections::BTreeMap;

/// Output of the assembler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Stretches of memory in the order of the source; each `.org` starts one.
    pub segments: Vec<Segment>,
    /// Addresses of the labels.
    pub symbols: BTreeMap<String, u32>,
}

/// A mnemonic and its operands as the disassemblers write them.
pub(super) fn instruction_text(mnemonic: &str, operands: impl Iterator<Item = String>) -> String {
    let operands = operands.collect::<Vec<_>>().join(", ");
    format!("{mnemonic} {operands}").trim_end().to_owned()
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
    /// The mistake in the line.
    pub problem: Problem,
}

/// A mistake in a line of assembler source.
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

/// Instructions of an assembler.
pub(super) trait Dialect {
    /// Begins a comment.
    const COMMENT: char;

    /// Emits the instruction (or instructions) of a statement. At the first pass only their number counts.
    fn instruction(
        assembler: &mut Assembler,
        mnemonic: &str,
        operands: &[&str],
    ) -> Result<(), Problem>;
}

/// Assembles `source`; it begins at address 0 unless `.org` says otherwise.
///
/// # Errors
/// The first line that is wrong.
pub(super) fn assemble<D: Dialect>(source: &str) -> Result<Program, AsmError> {
    let mut assembler = Assembler::default();
    for pass in [Pass::Place, Pass::Emit] {
        assembler.begin(pass);
        for (index, line) in source.lines().enumerate() {
            let line_number = index + 1;
            assembler.line::<D>(line).map_err(|problem| AsmError {
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

/// The state of an assembler.
#[derive(Default)]
pub(super) struct Assembler {
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

    fn line<D: Dialect>(&mut self, line: &str) -> Result<(), Problem> {
        let mut rest = without_comment(line, D::COMMENT).trim();
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
                self.statement::<D>(mnemonic, &operands)
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

    fn statement<D: Dialect>(&mut self, mnemonic: &str, operands: &[&str]) -> Result<(), Problem> {
        match (mnemonic, operands) {
            (".org", [address]) => self.org(address),
            (".align", [power]) => self.align(power),
            (".word", values) => self.data(values, 4),
            (".half", values) => self.data(values, 2),
            (".byte", values) => self.data(values, 1),
            _ => D::instruction(self, mnemonic, operands),
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

    pub(super) fn emit_instruction(&mut self, word: u32) -> Result<(), Problem> {
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

    /// Whether this is the first pass, at which names that stand below have no value yet.
    pub(super) fn is_placing(&self) -> bool {
        self.pass == Pass::Place
    }

    /// Address of the statement.
    pub(super) const fn location(&self) -> u32 {
        self.location
    }

    /// The value of a sum; at the first pass, names that are not known yet count as 0.
    pub(super) fn value(&self, text: &str) -> Result<i64, Problem> {
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

/// The line up to a comment that is not within quotes.
fn without_comment(line: &str, comment: char) -> &str {
    let mut quoted = false;
    for (index, character) in line.char_indices() {
        match character {
            '"' => quoted = !quoted,
            _ if character == comment && !quoted => return &line[..index],
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

/// The low 32 bits of `value`, which must be within the bounds.
pub(super) fn within(value: i64, low: i64, high: i64) -> Result<u32, Problem> {
    if (low..=high).contains(&value) {
        Ok(value.cast_unsigned() as u32)
    } else {
        Err(Problem::Range { value, low, high })
    }
}

/// The low 32 bits of a value that fits into a word, with or without sign.
pub(super) fn to_word(value: i64) -> Result<u32, Problem> {
    within(value, i64::from(i32::MIN), i64::from(u32::MAX))
}
