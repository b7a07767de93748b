//! Check of an image's code against the chip's instruction set.
//!
//! In a section with functions (symbols with a size), the functions are code and the rest is padding. A
//! section without functions is code. Objects within code are data. A part without section headers is not checked.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use super::error::ImageError;
use super::lines::SourceFrame;
use super::symbols::SymbolKind;
use super::{Image, Section};

/// Findings that a message lists.
const MOST_LISTED: usize = 200;

/// An instruction that the chip does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// Address of the instruction.
    pub address: u32,
    /// Function and offset, if the address has a name.
    pub place: String,
    /// The instruction word.
    pub word: u32,
    /// Name of the instruction; `None` if it is no instruction.
    pub mnemonic: Option<&'static str>,
    /// Position in the source, if the image states it: the functions that are inlined there, and the one of the place.
    pub source: Vec<SourceFrame>,
    /// The instruction to write instead, if one is known.
    pub instead: Option<&'static str>,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:#x}", self.place, self.address)?;
        for (index, frame) in self.source.iter().enumerate() {
            let before = if index == 0 { ", " } else { " in " };
            write!(f, "{before}{}:{}", frame.file, frame.line)?;
        }
        f.write_str("): the chip has no ")?;
        match self.mnemonic {
            Some(mnemonic) => write!(f, "{mnemonic} instruction ({:#010x})", self.word),
            None => write!(f, "instruction {:#010x}", self.word),
        }
    }
}

/// All findings, a line each, and what to write instead. Data that looks like code may have very many: the first ones are listed.
pub(super) fn list(found: &[Forbidden]) -> String {
    let mut text = match found {
        [] => "instructions that the chip does not have".to_owned(),
        [only] => only.to_string(),
        all => {
            let shown: Vec<_> = all
                .iter()
                .take(MOST_LISTED)
                .map(|one| format!("  {one}"))
                .collect();
            let number = all.len();
            format!(
                "{number} instructions that the chip does not have\n{}",
                shown.join("\n")
            )
        }
    };
    if found.len() > MOST_LISTED {
        text += &format!("\n  and {} more", found.len() - MOST_LISTED);
    }
    let instead: BTreeSet<&str> = found.iter().filter_map(|one| one.instead).collect();
    for what in instead {
        text += &format!(";\n{what}");
    }
    text
}

/// Checks every instruction of the image.
///
/// # Errors
/// [`ImageError::ForbiddenInstructions`] with all findings, sorted by address.
pub fn check(image: &Image) -> Result<(), ImageError> {
    let sections = image.sections.iter();
    let executable = sections.filter(|section| section.executable && !section.is_undivided);
    let mut found: Vec<_> = executable
        .flat_map(|section| check_section(image, section))
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    found.sort_by_key(|one| one.address);
    // Without line tables, or with damaged ones, the addresses must do.
    if let Ok(lines) = image.lines() {
        for one in found.iter_mut().take(MOST_LISTED) {
            one.source = lines
                .at(one.address)
                .map_or(Vec::new(), |frames| frames.to_vec());
        }
    }
    Err(ImageError::ForbiddenInstructions(found))
}

fn check_section(image: &Image, section: &Section) -> Vec<Forbidden> {
    let ranges = |kind| -> Vec<Range<u32>> {
        let symbols = image.symbols.iter().filter(|symbol| {
            symbol.kind == kind && symbol.size_bytes != 0 && section.holds(symbol.address)
        });
        symbols
            .map(|s| s.address..s.address.saturating_add(s.size_bytes))
            .collect()
    };
    let functions = ranges(SymbolKind::Function);
    let objects = ranges(SymbolKind::Object);
    let is_code = |address: &u32| {
        let inside = |ranges: &[Range<u32>]| ranges.iter().any(|range| range.contains(address));
        (functions.is_empty() || inside(&functions)) && !inside(&objects)
    };
    let words = section.bytes.chunks_exact(4);
    (section.run_address..=u32::MAX)
        .step_by(4)
        .zip(words)
        .filter(|(address, _)| is_code(address))
        .filter_map(|(address, word)| {
            let word = u32::from_be_bytes(word.try_into().ok()?);
            forbidden(image, address, word)
        })
        .collect()
}

/// A finding if the chip does not have this instruction.
fn forbidden(image: &Image, address: u32, word: u32) -> Option<Forbidden> {
    if image.architecture.is_executable(word) {
        return None;
    }
    let place = image.symbols.describe(address);
    Some(Forbidden {
        address,
        place,
        word,
        mnemonic: image.architecture.mnemonic(word),
        source: Vec::new(),
        instead: image.architecture.instead(word),
    })
}
