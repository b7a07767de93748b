//! Errors of linking, each with its place: file, section and symbol.

use std::fmt::{self, Display};

use thiserror::Error;

use crate::fingerprint::BadCode;
use crate::relocation::RelocationError;

/// Reasons for which no image is made.
#[derive(Debug, Error)]
pub enum LinkError {
    /// A file is not a relocatable object for the LANai, or is damaged.
    #[error("{file}: {reason}")]
    Object {
        /// The object.
        file: String,
        /// The defect of the object.
        reason: String,
    },
    /// Two objects define the same global symbol.
    #[error("{symbol} is defined in {first} and in {second}")]
    DefinedTwice {
        /// Name of the symbol.
        symbol: String,
        /// The object that was read first.
        first: String,
        /// The other one.
        second: String,
    },
    /// Code that stays in the image uses symbols that no object defines.
    #[error("undefined: {}", list(.0, ", "))]
    Undefined(Vec<Undefined>),
    /// No object defines the symbol where execution begins.
    #[error("no object defines the entry {0}")]
    NoEntry(String),
    /// The entry is not the first byte of a section with code, so it cannot be placed at the reset address.
    #[error("the entry {0} is not at the start of a section of code")]
    EntryInside(String),
    /// A relocation cannot be applied.
    #[error("{site}: {source}")]
    Relocation {
        /// The place of the relocation.
        site: Site,
        /// The reason for which it cannot be applied.
        source: RelocationError,
    },
    /// The image does not fit into the memory.
    #[error("the image ends at {end:#x}, the memory at {memory:#x}")]
    TooLarge {
        /// First address after the image.
        end: u64,
        /// First address after the memory.
        memory: u32,
    },
    /// Compiled code has the shape of a known miscompilation.
    #[error("known bad code, which the processor would execute wrongly:\n  {}", list(.0, "\n  "))]
    BadCode(Vec<BadCode>),
    /// The image cannot be encoded.
    #[error("the image cannot be written: {0}")]
    Write(String),
}

/// A use of a symbol that no object defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undefined {
    /// Name of the symbol.
    pub symbol: String,
    /// The object that uses it.
    pub file: String,
    /// The section that uses it.
    pub section: String,
}

impl Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (in {}, {})", self.symbol, self.file, self.section)
    }
}

/// The place of a relocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The object.
    pub file: String,
    /// The section in it.
    pub section: String,
    /// Offset in the section, in bytes.
    pub offset: u32,
    /// The symbol that the relocation refers to.
    pub symbol: String,
}

impl Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Site {
            file,
            section,
            offset,
            symbol,
        } = self;
        write!(f, "{file}, {section}+{offset:#x}, symbol {symbol}")
    }
}

/// Joins the texts of `items`.
fn list<T: Display>(items: &[T], between: &str) -> String {
    let texts: Vec<String> = items.iter().map(T::to_string).collect();
    texts.join(between)
}
