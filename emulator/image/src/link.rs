//! The link from an image to a file with its names and lines (`.gnu_debuglink`).

use goblin::elf::Elf;

use super::elf::section_named;
use super::error::ImageError;

/// Name of the section: a file's name, zeros up to a word, and the checksum of that file.
const SECTION: &str = ".gnu_debuglink";

/// The link to the file with an image's names and lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DebugLink {
    /// Name of the file, without a folder: it lies beside the image.
    pub file: String,
    /// CRC-32 of the file.
    pub crc: u32,
}

/// The source of the names, lines and probes of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// The image itself has them.
    Own,
    /// The image itself has them, and names a file that has more.
    Linked(DebugLink),
    /// The file of this name has them.
    Other(String),
}

impl Names {
    pub(super) fn read(elf: &Elf, file: &[u8]) -> Result<Self, ImageError> {
        let Some(section) = section_named(elf, file, SECTION)? else {
            return Ok(Self::Own);
        };
        let link = parse(&section).ok_or_else(|| ImageError::Damaged {
            reason: format!("{SECTION} has no name of a file with a checksum"),
        });
        link.map(Self::Linked)
    }
}

fn parse(section: &[u8]) -> Option<DebugLink> {
    let length = section.iter().position(|&byte| byte == 0)?;
    let crc = section.get((length + 1).next_multiple_of(4)..)?;
    let file = std::str::from_utf8(&section[..length]).ok()?;
    let is_name = !file.is_empty() && !file.contains('/');
    is_name.then_some(DebugLink {
        file: file.into(),
        crc: u32::from_be_bytes(*crc.first_chunk()?),
    })
}

impl DebugLink {
    /// Whether a file is the one that the image names.
    #[must_use]
    pub fn is(&self, file: &[u8]) -> bool {
        crc32fast::hash(file) == self.crc
    }
}
