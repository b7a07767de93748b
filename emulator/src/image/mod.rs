//! Firmware images: ELF files for the NIC.
//!
//! [`Image::parse`] reads a file and refuses what the board cannot run: a file for another machine, parts
//! that do not fit, instructions that the chip does not have. An image contains everything that the
//! emulator and its tools need: data to load, [symbols], [probes], the [dispatch tables](handlers), the
//! [placement](Section) of each part, the [stack] size, and the source [lines] of its code. Files of other forms have only
//! bytes to load; an ELF file can [name](loaded) their code.

pub mod check;
pub mod coff;
pub mod error;
mod extent;
pub mod handlers;
pub mod identity;
pub mod lines;
pub mod loaded;
pub mod probes;
pub mod raw;
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
pub use loaded::SymbolsError;
pub use probes::Probe;
pub use symbols::{Symbol, SymbolKind, Symbols};
pub use unwind::{Frame, UnwindError};

use std::sync::Arc;

use goblin::elf::header::{EI_CLASS, EI_DATA, ELFCLASS32, ELFDATA2MSB, ELFMAG, ET_EXEC};
use goblin::elf::program_header::PT_LOAD;
use goblin::elf::section_header::{SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS};
use goblin::elf::{Elf, ProgramHeader, SectionHeader};
use serde::{Deserialize, Serialize};

use crate::cpu::architecture::Architecture;

/// What an image must fit: the board's instruction set and the sizes of its memories.
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
    /// Symbols of the dispatch tables of each CPU's firmware, and the number of their entries.
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
}

impl Memory {
    /// The index of the CPU to which the memory belongs; `None` if all CPUs share it.
    #[must_use]
    pub const fn owner(self) -> Option<usize> {
        match self {
            Self::Sram => None,
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
    /// Whether all code was checked against the instruction set. Without symbols, data and code look alike.
    pub code_is_checked: bool,
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
    /// Handlers of the dispatch tables, CPU A first, by event.
    pub handlers: Vec<Handler>,
    /// Debug information of the code.
    pub debug: DebugInfo,
    /// Instruction set of its code.
    pub architecture: &'static dyn Architecture,
}

impl Image {
    /// Parses an ELF image.
    ///
    /// # Errors
    /// [`ImageError`]: the file cannot run on a board with these memories.
    pub fn parse(file: &[u8], memory: &MemoryLimits) -> Result<Self, ImageError> {
        let mut image = Self::read(file, memory)?;
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
        let elf = open(file, memory)?;
        let sections = sections(&elf, file, memory)?;
        let segments = segments(&elf, file, &sections, memory)?;
        let symbols = Symbols::read(&elf, memory);
        let (boards, probes) = probes::boards(probes::read(&elf, file, &sections)?);
        let is_named = |names: &Arc<str>| names.split(' ').any(|name| name == memory.board);
        if let Some(names) = boards.iter().find(|names| !is_named(names)) {
            return Err(ImageError::OtherBoard {
                made_for: names.replace(' ', " or "),
                board: memory.board,
            });
        }
        Ok(Self {
            form: ELF_FORM.into(),
            code_is_checked: true,
            entry: elf.entry as u32,
            segments,
            sections,
            symbols,
            probes,
            handlers: Vec::new(),
            debug: DebugInfo::read(&elf, file)?,
            architecture: memory.architecture,
        })
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

/// Parses the ELF headers and checks the machine.
fn open<'a>(file: &'a [u8], limits: &MemoryLimits) -> Result<Elf<'a>, ImageError> {
    if !file.starts_with(ELFMAG) {
        return Err(ImageError::NotElf);
    }
    match file.get(EI_CLASS) {
        Some(&ELFCLASS32) => {}
        Some(_) => return Err(ImageError::Not32Bit),
        None => {
            return Err(ImageError::Truncated {
                part: "ELF header".into(),
            });
        }
    }
    if file.get(EI_DATA).is_some_and(|&data| data != ELFDATA2MSB) {
        return Err(ImageError::LittleEndian);
    }
    let header = Elf::parse_header(file).map_err(|_| ImageError::Truncated {
        part: "ELF header".into(),
    })?;
    if header.e_machine != limits.architecture.elf_machine() {
        return Err(ImageError::OtherArchitecture {
            machine: header.e_machine,
            board: limits.board,
            architecture: limits.architecture.name(),
        });
    }
    if header.e_type != ET_EXEC {
        return Err(ImageError::NotExecutable);
    }
    Elf::parse(file).map_err(ImageError::from_goblin)
}

/// The bytes of a part of the file.
fn part<'a>(file: &'a [u8], offset: u64, size: u64, name: &str) -> Result<&'a [u8], ImageError> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
    range
        .and_then(|(offset, size)| file.get(offset..offset.checked_add(size)?))
        .ok_or_else(|| ImageError::Truncated { part: name.into() })
}

/// Name of a section, for display: a missing name is no error.
fn section_name<'a>(elf: &Elf<'a>, header: &SectionHeader) -> &'a str {
    elf.shdr_strtab.get_at(header.sh_name).unwrap_or("?")
}

/// A section's bytes in the file.
fn section_bytes<'a>(
    file: &'a [u8],
    header: &SectionHeader,
    name: &str,
) -> Result<&'a [u8], ImageError> {
    if header.sh_type == SHT_NOBITS {
        return Ok(&[]);
    }
    part(file, header.sh_offset, header.sh_size, name)
}

/// All sections that occupy memory, by run address.
fn sections(elf: &Elf, file: &[u8], limits: &MemoryLimits) -> Result<Vec<Section>, ImageError> {
    let mut sections = Vec::new();
    for header in &elf.section_headers {
        if header.sh_flags & u64::from(SHF_ALLOC) == 0 || header.sh_size == 0 {
            continue;
        }
        let name = section_name(elf, header);
        sections.push(Section {
            name: name.into(),
            memory: memory_of(header.sh_addr as u32, name, limits),
            run_address: header.sh_addr as u32,
            size_bytes: header.sh_size as u32,
            executable: header.sh_flags & u64::from(SHF_EXECINSTR) != 0,
            bytes: section_bytes(file, header, name)?.to_vec(),
        });
    }
    sections.sort_by_key(|section| section.run_address);
    Ok(sections)
}

/// The memory at an address. Both scratchpads have equal addresses: the linker script's section names
/// distinguish them.
fn memory_of(address: u32, name: &str, limits: &MemoryLimits) -> Memory {
    match address {
        _ if address < limits.scratchpad_base => Memory::Sram,
        _ if name.starts_with(".scratch_b") => Memory::ScratchpadB,
        _ => Memory::ScratchpadA,
    }
}

/// All segments that are loaded, by load address.
fn segments(
    elf: &Elf,
    file: &[u8],
    sections: &[Section],
    memory: &MemoryLimits,
) -> Result<Vec<Segment>, ImageError> {
    let mut segments = Vec::new();
    for header in &elf.program_headers {
        if header.p_type != PT_LOAD || header.p_memsz == 0 {
            continue;
        }
        let name = segment_name(header, sections);
        let bytes = part(file, header.p_offset, header.p_filesz, &name)?;
        check_fit(header, &name, memory)?;
        segments.push(Segment {
            name,
            load_address: header.p_paddr as u32,
            run_address: header.p_vaddr as u32,
            bytes: bytes.to_vec(),
            memory_bytes: header.p_memsz as u32,
        });
    }
    segments.sort_by_key(|segment| segment.load_address);
    Ok(segments)
}

/// Names of the sections in a segment, or its address.
fn segment_name(header: &ProgramHeader, sections: &[Section]) -> String {
    let end = header.p_vaddr.saturating_add(header.p_memsz);
    let inside =
        |section: &&Section| (header.p_vaddr..end).contains(&u64::from(section.run_address));
    let names: Vec<_> = sections
        .iter()
        .filter(inside)
        .map(|s| s.name.as_str())
        .collect();
    if names.is_empty() {
        return format!("segment at {:#x}", header.p_vaddr);
    }
    names.join(" ")
}

/// Checks that a segment fits where it is loaded and where it runs.
fn check_fit(header: &ProgramHeader, name: &str, memory: &MemoryLimits) -> Result<(), ImageError> {
    let run_memory = memory_of(header.p_vaddr as u32, name, memory);
    let (base, bytes, what) = match run_memory {
        Memory::Sram => (0, memory.sram_bytes, "SRAM"),
        Memory::ScratchpadA => (
            memory.scratchpad_base,
            memory.scratchpad_a_bytes,
            "scratchpad A",
        ),
        Memory::ScratchpadB => (
            memory.scratchpad_base,
            memory.scratchpad_b_bytes,
            "scratchpad B",
        ),
    };
    let fits = |address: u64, size: u64, base: u32, bytes: u32, what: &'static str| {
        let limit = u64::from(base) + u64::from(bytes);
        if address >= u64::from(base) && address.saturating_add(size) <= limit {
            return Ok(());
        }
        Err(ImageError::DoesNotFit {
            name: name.into(),
            address: address as u32,
            size_bytes: size as u32,
            memory: what,
            limit: limit as u32,
        })
    };
    fits(header.p_vaddr, header.p_memsz, base, bytes, what)?;
    fits(
        header.p_paddr,
        header.p_filesz,
        0,
        memory.sram_bytes,
        "SRAM",
    )
}
