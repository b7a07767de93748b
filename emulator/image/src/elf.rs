//! ELF files: the header's checks, and the contents of their parts.

use std::borrow::Cow;

use goblin::elf::header::{EI_CLASS, EI_DATA, ELFCLASS32, ELFDATA2MSB, ELFMAG, ET_EXEC};
use goblin::elf::section_header::{SHF_COMPRESSED, SHT_NOBITS};
use goblin::elf::{Elf, Header, SectionHeader};

use super::error::ImageError;
use super::{MemoryLimits, compressed, foreign};

/// Bytes of an entry in the tables of segments and sections of a 32-bit file.
const SEGMENT_HEADER_BYTES: u16 = 32;
const SECTION_HEADER_BYTES: u16 = 40;

/// Parses the ELF headers and checks the machine.
pub(super) fn open<'a>(file: &'a [u8], limits: &MemoryLimits) -> Result<Elf<'a>, ImageError> {
    if !file.starts_with(ELFMAG) {
        return Err(ImageError::NotElf {
            form: foreign::form(file),
        });
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
    check_tables(&header)?;
    Elf::parse(file).map_err(ImageError::from_goblin)
}

/// Checks what the header says of the tables of segments and sections.
fn check_tables(header: &Header) -> Result<(), ImageError> {
    let refused = |field, value: u16, expected| ImageError::Header {
        field,
        value: value.into(),
        expected,
    };
    if header.e_phnum > 0 && header.e_phentsize != SEGMENT_HEADER_BYTES {
        let expected = SEGMENT_HEADER_BYTES.into();
        return Err(refused("e_phentsize", header.e_phentsize, expected));
    }
    if header.e_shnum > 0 && header.e_shentsize != SECTION_HEADER_BYTES {
        let expected = SECTION_HEADER_BYTES.into();
        return Err(refused("e_shentsize", header.e_shentsize, expected));
    }
    if header.e_shnum > 0 && header.e_shstrndx >= header.e_shnum {
        let last = u32::from(header.e_shnum - 1);
        return Err(refused("e_shstrndx", header.e_shstrndx, last));
    }
    Ok(())
}

/// The bytes of a part of the file.
pub(super) fn part<'a>(
    file: &'a [u8],
    offset: u64,
    size: u64,
    name: &str,
) -> Result<&'a [u8], ImageError> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(size).ok());
    range
        .and_then(|(offset, size)| file.get(offset..offset.checked_add(size)?))
        .ok_or_else(|| ImageError::Truncated { part: name.into() })
}

/// Name of a section, for display: a missing name is no error.
pub(super) fn section_name<'a>(elf: &Elf<'a>, header: &SectionHeader) -> &'a str {
    elf.shdr_strtab.get_at(header.sh_name).unwrap_or("?")
}

/// A section's contents, decompressed.
pub(super) fn section_bytes<'a>(
    file: &'a [u8],
    header: &SectionHeader,
    name: &str,
) -> Result<Cow<'a, [u8]>, ImageError> {
    if header.sh_type == SHT_NOBITS {
        return Ok(Cow::Borrowed(&[]));
    }
    let bytes = part(file, header.sh_offset, header.sh_size, name)?;
    let is_compressed = header.sh_flags & u64::from(SHF_COMPRESSED) != 0;
    let damaged = |problem| ImageError::Damaged {
        reason: format!("section \"{name}\" is compressed: {problem}"),
    };
    match is_compressed {
        true => compressed::section(bytes).map(Cow::Owned).map_err(damaged),
        false if name.starts_with(compressed::OLD_NAME) => compressed::old_section(bytes)
            .map(Cow::Owned)
            .map_err(damaged),
        false => Ok(Cow::Borrowed(bytes)),
    }
}

/// The contents of the section with a name, if there is one.
pub(super) fn section_named<'a>(
    elf: &Elf,
    file: &'a [u8],
    name: &str,
) -> Result<Option<Cow<'a, [u8]>>, ImageError> {
    let mut headers = elf.section_headers.iter();
    let header = headers.find(|header| section_name(elf, header) == name);
    let bytes = header.map(|header| section_bytes(file, header, name));
    bytes.transpose()
}
