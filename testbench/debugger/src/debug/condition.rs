//! Conditions of stops: `$v0 == 5`, `[free] > 16`.

use super::place::{Data, PlaceError, number, with_offset};
use super::session::{Focus, Session};

/// An unsigned comparison.
type Compare = (&'static str, fn(&u32, &u32) -> bool);

/// All comparisons; longer ones before their prefixes.
const COMPARISONS: [Compare; 6] = [
    ("==", u32::eq),
    ("!=", u32::ne),
    ("<=", u32::le),
    (">=", u32::ge),
    ("<", u32::lt),
    (">", u32::gt),
];

/// Operand of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// A general register of the CPU at the stop.
    Register(usize),
    /// The program counter of that CPU.
    Pc,
    /// A word of memory on its node.
    Word(Data),
    /// The word at a register's value plus an offset.
    At(usize, u32),
    /// A constant.
    Number(u32),
}

/// A comparison of two numbers.
#[derive(Debug, Clone)]
pub struct Condition {
    left: Operand,
    compare: fn(&u32, &u32) -> bool,
    right: Operand,
}

/// Invalid condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The comparison is missing.
    #[error("\"{0}\" compares nothing: expected a condition as $v0 == 5 or [free] > 16")]
    NoComparison(String),
    /// A name in it is unknown.
    #[error(transparent)]
    Place(#[from] PlaceError),
}

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn parse(session: &Session, text: &str) -> Result<Self, ConditionError> {
        let split = COMPARISONS.iter().find_map(|(sign, compare)| {
            let (left, right) = text.split_once(sign)?;
            Some((left.trim(), *compare, right.trim()))
        });
        let none = || ConditionError::NoComparison(text.into());
        let (left, compare, right) = split.ok_or_else(none)?;
        Ok(Self {
            left: Operand::parse(session, left)?,
            compare,
            right: Operand::parse(session, right)?,
        })
    }

    /// Whether the condition is true now for a CPU. Unreadable operands make it false.
    #[must_use]
    pub fn holds(&self, session: &Session, focus: Focus) -> bool {
        let values = (
            self.left.value(session, focus),
            self.right.value(session, focus),
        );
        match values {
            (Some(left), Some(right)) => (self.compare)(&left, &right),
            _ => false,
        }
    }
}

impl Operand {
    fn parse(session: &Session, text: &str) -> Result<Self, PlaceError> {
        if let Some(index) = session.general_register(text) {
            return Ok(Self::Register(index));
        }
        if text == "$pc" {
            return Ok(Self::Pc);
        }
        let place = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        Ok(match place {
            Some(place) => {
                let (name, offset) = with_offset(place.trim())?;
                match session.general_register(name) {
                    Some(index) => Self::At(index, offset),
                    None => Self::Word(session.word_at(place.trim())?),
                }
            }
            None if text.starts_with('$') => return Err(session.no_register(text)),
            None => Self::Number(number(text)?),
        })
    }

    fn value(self, session: &Session, focus: Focus) -> Option<u32> {
        let world = session.history.world();
        let board = world.nodes.get(focus.node)?.inspect();
        match self {
            Self::Pc => Some(board.cpu(focus.cpu)?.pc),
            Self::At(index, offset) => {
                let address = board.registers(focus.cpu).get(index)?.wrapping_add(offset);
                board.peek(focus.cpu, address, session.now())
            }
            Self::Register(index) => board.registers(focus.cpu).get(index).copied(),
            Self::Word(data) => board.peek(data.cpu, data.address, session.now()),
            Self::Number(number) => Some(number),
        }
    }
}
