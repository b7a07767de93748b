//! Firmware images: ELF files for the NIC.
//!
//! [`Image::parse`] reads a file and refuses what the board cannot run: a file for another machine, parts
//! that do not fit, instructions that the chip does not have. An image contains everything that the
//! emulator and its tools need: data to load, [symbols], [probes], the [dispatch tables](handlers), the
//! [placement](Section) of each part, the [stack] size, and the source [lines] of its code. Load segments decide what the
//! board gets; sections only name and divide it. Files of other forms, and ELF files without section headers, have only
//! bytes to load; another ELF file can [name](loaded) their code.
#![deny(missing_docs)]

pub mod check;
pub mod coff;
mod compressed;
mod elf;
pub mod error;
mod extent;
pub mod foreign;
pub mod handlers;
pub mod identity;
pub mod lines;
pub mod link;
pub mod loaded;
mod moved;
pub mod probes;
pub mod raw;
mod segments;
pub mod software;
pub mod stack;
pub mod symbols;
pub mod unwind;

#[cfg(test)]
mod tests;

pub use check::Forbidden;
pub use error::ImageError;
pub use handlers::Handler;
pub use identity::{Identity, SymbolTable};
pub use lines::{DebugInfo, Lines, LinesError, SourceFrame};
pub use link::{DebugLink, Names};
pub use loaded::SymbolsError;
pub use probes::{Probe, PublishedWords};
pub use symbols::{Symbol, SymbolKind, Symbols, plain_name};
pub use unwind::{Frame, LostReturn, Standing, UnwindError};

use probes::Entries;
use segments::Loaded;

use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use emulator_cpu::architecture::Architecture;

/// Properties of a board that an image must fit: the instruction set and the sizes of the memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimits {
    /// Name of the type of board.
    pub board: &'static str,
    /// Instruction set of its CPUs.
    pub architecture: &'static dyn Architecture,
    /// Installed SRAM, in bytes.
    pub sram_bytes: u32,
    /// Address of the scratchpads; no memory lies between SRAM and them.
    pub scratchpad_base: u32,
    /// Scratchpad of CPU A, in bytes.
    pub scratchpad_a_bytes: u32,
    /// Scratchpad of CPU B, in bytes.
    pub scratchpad_b_bytes: u32,
    /// Symbols of the dispatch tables of CPU A, of CPU B and of all CPUs, and the number of their entries.
    pub dispatch_tables: (&'static [&'static str], usize),
}

/// A memory of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Memory {
    /// SRAM, shared by both CPUs and the host.
    Sram,
    /// The scratchpad of CPU A.
    ScratchpadA,
    /// The scratchpad of CPU B.
    ScratchpadB,
    /// The scratchpads of all CPUs: each has a copy.
    Scratchpads,
}

impl Memory {
    /// The index of the CPU to which the memory belongs; `None` if all CPUs see the same there.
    #[must_use]
    pub const fn owner(self) -> Option<usize> {
        match self {
            Self::Sram | Self::Scratchpads => None,
            Self::ScratchpadA => Some(0),
            Self::ScratchpadB => Some(1),
        }
    }

    /// Whether a CPU can use the memory.
    #[must_use]
    pub fn is_seen_by(self, cpu: usize) -> bool {
        self.owner().is_none_or(|owner| owner == cpu)
    }
}

/// A loaded part of the image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Names of the sections in the segment, for display.
    pub name: String,
    /// SRAM address at which `bytes` are loaded.
    pub load_address: u32,
    /// Address at which the CPU uses the bytes: the load address, or a scratchpad address to which the
    /// image's start code copies them.
    pub run_address: u32,
    /// Bytes to load. May be empty.
    pub bytes: Vec<u8>,
    /// Size in memory. The image's start code clears the part beyond `bytes` (bss).
    pub memory_bytes: u32,
}

/// Placement of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Section name.
    pub name: String,
    /// Memory in which the section is used.
    pub memory: Memory,
    /// Address at which the section is used.
    pub run_address: u32,
    /// Size in bytes.
    pub size_bytes: u32,
    /// The section contains instructions.
    pub executable: bool,
    /// The section is a whole part of an image without section headers: instructions and data in it look alike.
    pub is_undivided: bool,
    /// Bytes in the file: empty for bss and stack.
    pub bytes: Vec<u8>,
}

/// The form of ELF files.
pub const ELF_FORM: &str = "ELF";

/// A firmware image that fits the board and, as far as it is checked, contains only instructions of the chip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Form of the file, for display: [`ELF_FORM`] or another one, with its version.
    pub form: String,
    /// Start address of CPU A.
    pub entry: u32,
    /// Segments to load, by load address.
    pub segments: Vec<Segment>,
    /// Sections, by run address.
    pub sections: Vec<Section>,
    /// Functions and objects.
    pub symbols: Symbols,
    /// Probes in file order.
    pub probes: Vec<Probe>,
    /// Words of memory by which one side tells another how far it is.
    pub published: Vec<PublishedWords>,
    /// Handlers of the dispatch tables, CPU A first, by event.
    pub handlers: Vec<Handler>,
    /// Debug information of the code.
    pub debug: DebugInfo,
    /// The source of names, lines and probes.
    pub names: Names,
    /// Instruction set of its code.
    pub architecture: &'static dyn Architecture,
    /// Time at which the image's file was written, if it was read from one.
    pub built: Option<SystemTime>,
}

impl Image {
    /// Parses an ELF image.
    ///
    /// # Errors
    /// [`ImageError`]: the file cannot run on a board with these memories.
    pub fn parse(file: &[u8], memory: &MemoryLimits) -> Result<Self, ImageError> {
        let mut image = Self::read(file, memory)?;
        if image.load_parts().next().is_none() {
            return Err(ImageError::LoadsNothing);
        }
        if image.instruction(image.entry).is_none() {
            return Err(ImageError::NoEntry {
                address: image.entry,
            });
        }
        check::check(&image)?;
        image.handlers = handlers::read(&image, memory.dispatch_tables);
        stack::check(&image)?;
        Ok(image)
    }

    /// Reads all that an ELF file contains, without its handlers. The code is not checked, and need not be there.
    fn read(file: &[u8], memory: &MemoryLimits) -> Result<Self, ImageError> {
        let elf = elf::open(file, memory)?;
        let Loaded { segments, sections } = segments::read(&elf, file, memory)?;
        let symbols = Symbols::read(&elf, memory);
        let Entries {
            probes,
            boards,
            published,
        } = probes::read(&elf, file, &sections)?;
        let is_named = |names: &Arc<str>| names.split(' ').any(|name| name == memory.board);
        if let Some(names) = boards.iter().find(|names| !is_named(names)) {
            return Err(ImageError::OtherBoard {
                made_for: names.replace(' ', " or "),
                board: memory.board,
            });
        }
        Ok(Self {
            form: ELF_FORM.into(),
            entry: elf.entry as u32,
            segments,
            sections,
            symbols,
            probes,
            published,
            handlers: Vec::new(),
            debug: DebugInfo::read(&elf, file)?,
            names: Names::read(&elf, file)?,
            architecture: memory.architecture,
            built: None,
        })
    }

    /// Whether all code was checked against the instruction set.
    #[must_use]
    pub fn code_is_checked(&self) -> bool {
        let mut sections = self.sections.iter();
        !sections.any(|section| section.executable && section.is_undivided)
    }

    /// Address and bytes of each part to write into SRAM.
    pub fn load_parts(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let filled = self
            .segments
            .iter()
            .filter(|segment| !segment.bytes.is_empty());
        filled.map(|segment| (segment.load_address, segment.bytes.as_slice()))
    }

    /// The instruction word at an address of an executable section.
    #[must_use]
    pub fn instruction(&self, address: u32) -> Option<u32> {
        if !address.is_multiple_of(4) {
            return None;
        }
        let section = self
            .sections
            .iter()
            .find(|section| section.executable && section.holds(address))?;
        let offset = (address - section.run_address) as usize;
        let word = section.bytes.get(offset..offset + 4)?;
        Some(u32::from_be_bytes(word.try_into().ok()?))
    }
}

impl Section {
    /// Whether `address` lies in the section.
    #[must_use]
    pub const fn holds(&self, address: u32) -> bool {
        address >= self.run_address && address - self.run_address < self.size_bytes
    }
}
