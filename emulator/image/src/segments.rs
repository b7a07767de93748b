//! Load segments of an ELF file, and the sections that name and divide them.
//!
//! Segments decide what is loaded and where. A section's contents are what its segment has at its address, whatever the
//! section header says of the file. A segment without section headers is a section itself.

use std::ops::Range;

use goblin::elf::program_header::{PF_X, PT_LOAD};
use goblin::elf::section_header::{SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS};
use goblin::elf::{Elf, ProgramHeader, SectionHeader};

use super::elf::{part, section_name};
use super::error::ImageError;
use super::{Memory, MemoryLimits, Section, Segment};

/// Addresses of instructions and of words that a host loads are multiples of this.
const WORD_BYTES: u64 = 4;

/// Segments of a file, for the board's memories.
pub(super) struct Loaded {
    /// The segments, sorted by load address.
    pub(super) segments: Vec<Segment>,
    /// The sections, sorted by run address.
    pub(super) sections: Vec<Section>,
}

/// Reads the segments that are loaded and all sections that occupy memory.
pub(super) fn read(elf: &Elf, file: &[u8], limits: &MemoryLimits) -> Result<Loaded, ImageError> {
    let occupies = |header: &&ProgramHeader| {
        header.p_type == PT_LOAD && (header.p_memsz, header.p_filesz) != (0, 0)
    };
    let headers = elf.program_headers.iter().filter(occupies);
    let mut loads: Vec<_> = headers.map(Load::new).collect();
    let mut sections = Vec::new();
    for header in &elf.section_headers {
        if header.sh_flags & u64::from(SHF_ALLOC) == 0 || header.sh_size == 0 {
            continue;
        }
        let name = section_name(elf, header);
        let memory = memory_of(header.sh_addr as u32, name, limits);
        let mut bytes = &[][..];
        if let Some(load) = owner(header, memory, &mut loads) {
            load.names.push(name);
            load.memory.get_or_insert(memory);
            bytes = contents(header, load.header, file, name)?;
        } else if header.sh_type != SHT_NOBITS {
            // Notes for tools need no place in memory; code does.
            match header.sh_flags & u64::from(SHF_EXECINSTR) {
                0 => continue,
                _ => return Err(ImageError::NotLoaded { name: name.into() }),
            }
        }
        sections.push(Section {
            name: name.into(),
            memory,
            run_address: header.sh_addr as u32,
            size_bytes: header.sh_size as u32,
            executable: header.sh_flags & u64::from(SHF_EXECINSTR) != 0,
            is_undivided: false,
            bytes: bytes.to_vec(),
        });
    }
    let mut segments = Vec::new();
    for load in loads {
        let segment = segment(&load, file, limits)?;
        if load.names.is_empty() {
            sections.extend(undivided(load.header, &segment, limits));
        }
        let in_sram = load.header.p_vaddr < limits.scratchpad_base.into();
        let memory = load.memory.or(in_sram.then_some(Memory::Sram));
        segments.push((memory, segment));
    }
    sections.sort_by_key(|section| section.run_address);
    Ok(Loaded {
        segments: apart(segments)?,
        sections,
    })
}

/// A load segment with its sections.
struct Load<'a> {
    header: &'a ProgramHeader,
    names: Vec<&'a str>,
    /// The memory in which the sections are used.
    memory: Option<Memory>,
}

impl<'a> Load<'a> {
    const fn new(header: &'a ProgramHeader) -> Self {
        Self {
            header,
            names: Vec::new(),
            memory: None,
        }
    }

    /// The distance of a section from the segment's begin, if the segment holds it.
    fn offset(&self, section: &SectionHeader) -> Option<u64> {
        let offset = section.sh_addr.checked_sub(self.header.p_vaddr);
        offset.filter(|&offset| offset < self.header.p_memsz)
    }
}

/// The segment that holds a section of a memory. The scratchpads of two CPUs have equal addresses: of several segments, the one
/// that takes the section from its place in the file, or else has sections of its memory, or none.
fn owner<'a, 'b>(
    section: &SectionHeader,
    memory: Memory,
    loads: &'b mut [Load<'a>],
) -> Option<&'b mut Load<'a>> {
    let rank = |load: &Load| {
        let offset = load.offset(section)?;
        let place = section.sh_offset.checked_sub(load.header.p_offset);
        let is_taken = section.sh_type != SHT_NOBITS && place == Some(offset);
        Some((
            !is_taken,
            load.memory != Some(memory),
            load.memory.is_some(),
        ))
    };
    let ranked = loads
        .iter_mut()
        .filter_map(|load| Some((rank(load)?, load)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, load)| load)
}

/// The bytes of a segment at a section's address.
fn contents<'a>(
    section: &SectionHeader,
    load: &ProgramHeader,
    file: &'a [u8],
    name: &str,
) -> Result<&'a [u8], ImageError> {
    if section.sh_type == SHT_NOBITS {
        return Ok(&[]);
    }
    let bytes = part(file, load.p_offset, load.p_filesz, name)?;
    let rest = usize::try_from(section.sh_addr.saturating_sub(load.p_vaddr));
    let rest = rest.ok().and_then(|offset| bytes.get(offset..));
    let rest = rest.unwrap_or_default();
    let length = usize::try_from(section.sh_size).unwrap_or(usize::MAX);
    Ok(&rest[..rest.len().min(length)])
}

/// A segment with the names of its sections.
fn segment(load: &Load, file: &[u8], limits: &MemoryLimits) -> Result<Segment, ImageError> {
    let header = load.header;
    let name = match &load.names[..] {
        [] => format!("segment at {:#x}", header.p_vaddr),
        names => names.join(" "),
    };
    if header.p_filesz > header.p_memsz {
        return Err(ImageError::MoreInFile {
            name,
            file_bytes: header.p_filesz as u32,
            memory_bytes: header.p_memsz as u32,
        });
    }
    let bytes = part(file, header.p_offset, header.p_filesz, &name)?;
    for (use_, address) in [("loaded", header.p_paddr), ("used", header.p_vaddr)] {
        if header.p_filesz > 0 && !address.is_multiple_of(WORD_BYTES) {
            return Err(ImageError::Misaligned {
                name,
                use_,
                address: address as u32,
            });
        }
    }
    let memory = memory_of(header.p_vaddr as u32, &name, limits);
    check_fit(header, &name, memory, limits)?;
    Ok(Segment {
        name,
        load_address: header.p_paddr as u32,
        run_address: header.p_vaddr as u32,
        bytes: bytes.to_vec(),
        memory_bytes: header.p_memsz as u32,
    })
}

/// The sections of a segment without section headers: its contents, and the part that is cleared.
fn undivided(
    header: &ProgramHeader,
    segment: &Segment,
    limits: &MemoryLimits,
) -> impl Iterator<Item = Section> {
    let memory = memory_of(segment.run_address, &segment.name, limits);
    let filled = segment.bytes.len() as u32;
    let section = |offset: u32, size_bytes, executable| Section {
        name: segment.name.clone(),
        memory,
        run_address: segment.run_address + offset,
        size_bytes,
        executable,
        is_undivided: true,
        bytes: match offset {
            0 => segment.bytes.clone(),
            _ => Vec::new(),
        },
    };
    let parts = [
        section(0, filled, header.p_flags & PF_X != 0),
        section(filled, segment.memory_bytes - filled, false),
    ];
    parts.into_iter().filter(|section| section.size_bytes > 0)
}

/// The segments by load address, if no two of them are loaded to, or used at, equal addresses. A segment without a known memory
/// may be used in any scratchpad.
fn apart(segments: Vec<(Option<Memory>, Segment)>) -> Result<Vec<Segment>, ImageError> {
    let mut used: Vec<_> = segments
        .iter()
        .filter_map(|(memory, segment)| {
            let places = segment.run_address..segment.run_address + segment.memory_bytes;
            Some(((*memory)?, places, segment))
        })
        .collect();
    used.sort_by_key(|(memory, places, _)| (*memory, places.start));
    for pair in used.windows(2) {
        if let [(one, a, first), (other, b, second)] = pair
            && one == other
        {
            check_apart("use", (a, first), (b, second))?;
        }
    }
    let mut segments: Vec<_> = segments.into_iter().map(|(_, segment)| segment).collect();
    segments.sort_by_key(|segment| segment.load_address);
    let filled = segments.iter().filter(|segment| !segment.bytes.is_empty());
    let loaded: Vec<_> = filled
        .map(|segment| {
            let end = segment.load_address + segment.bytes.len() as u32;
            (segment.load_address..end, segment)
        })
        .collect();
    for pair in loaded.windows(2) {
        if let [(a, first), (b, second)] = pair {
            check_apart("are loaded to", (a, first), (b, second))?;
        }
    }
    Ok(segments)
}

fn check_apart(
    both: &'static str,
    (a, first): (&Range<u32>, &Segment),
    (b, second): (&Range<u32>, &Segment),
) -> Result<(), ImageError> {
    match b.start < a.end {
        false => Ok(()),
        true => Err(ImageError::Overlap {
            first: first.name.clone(),
            second: second.name.clone(),
            both,
            from: b.start,
            end: b.end.min(a.end),
        }),
    }
}

/// The memory at an address. Both scratchpads have equal addresses: the linker script's section names
/// distinguish them.
pub(super) fn memory_of(address: u32, name: &str, limits: &MemoryLimits) -> Memory {
    match address {
        _ if address < limits.scratchpad_base => Memory::Sram,
        _ if name.starts_with(".scratch_b") => Memory::ScratchpadB,
        _ if name.starts_with(".scratch_n") => Memory::Scratchpads,
        _ => Memory::ScratchpadA,
    }
}

/// Checks that a segment fits where it is loaded and where it is used.
fn check_fit(
    header: &ProgramHeader,
    name: &str,
    memory: Memory,
    limits: &MemoryLimits,
) -> Result<(), ImageError> {
    let (base, bytes, what) = match memory {
        Memory::Sram => (0, limits.sram_bytes, "SRAM"),
        Memory::ScratchpadA => (
            limits.scratchpad_base,
            limits.scratchpad_a_bytes,
            "scratchpad A",
        ),
        Memory::ScratchpadB => (
            limits.scratchpad_base,
            limits.scratchpad_b_bytes,
            "scratchpad B",
        ),
        Memory::Scratchpads => (
            limits.scratchpad_base,
            limits.scratchpad_a_bytes.min(limits.scratchpad_b_bytes),
            "the smaller scratchpads",
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
        limits.sram_bytes,
        "SRAM",
    )
}
