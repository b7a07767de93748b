//! The ELF file of an image.

use object::Endianness;
use object::elf;
use object::write::StringId;
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, Writer};

use crate::error::LinkError;
use crate::input::{MACHINE, Role};
use crate::layout::ImagePart;

/// A symbol of the image.
#[derive(Debug, Clone)]
pub(crate) struct ImageSymbol {
    /// Name in the image.
    pub name: String,
    /// Index of its part; none for a plain number.
    pub part: Option<usize>,
    /// Address, or the value of a plain number.
    pub value: u32,
    /// Length of the symbol's object or function, in bytes.
    pub size: u32,
    /// Kind in ELF's numbers.
    pub kind: u8,
    /// Binding in ELF's numbers.
    pub binding: u8,
}

impl ImageSymbol {
    /// A number with a name.
    pub fn absolute(name: &str, value: u32) -> ImageSymbol {
        ImageSymbol {
            name: name.to_owned(),
            part: None,
            value,
            size: 0,
            kind: elf::STT_NOTYPE,
            binding: elf::STB_GLOBAL,
        }
    }
}

/// Kind, flags and access rights of a part.
fn flags(part: &ImagePart) -> (u32, u32, u32) {
    let alloc = elf::SHF_ALLOC;
    match part.role {
        Role::Code => (
            elf::SHT_PROGBITS,
            alloc | elf::SHF_EXECINSTR,
            elf::PF_R | elf::PF_X,
        ),
        Role::ReadOnly => (elf::SHT_PROGBITS, alloc, elf::PF_R),
        Role::Data => (
            elf::SHT_PROGBITS,
            alloc | elf::SHF_WRITE,
            elf::PF_R | elf::PF_W,
        ),
        Role::Zero => (
            elf::SHT_NOBITS,
            alloc | elf::SHF_WRITE,
            elf::PF_R | elf::PF_W,
        ),
        // Strings are joined without merging them.
        Role::Kept | Role::Dropped => (
            part.elf.0,
            part.elf.1 & !(elf::SHF_GROUP | elf::SHF_MERGE | elf::SHF_STRINGS),
            0,
        ),
    }
}

/// Place of a part in the file.
struct PlacedPart<'a> {
    part: &'a ImagePart,
    content: &'a [u8],
    name: StringId,
    index: SectionIndex,
    offset: usize,
}

/// Writes `parts` with their `contents`; local symbols come first, as ELF demands.
pub(crate) fn write(
    parts: &[ImagePart],
    contents: &[Vec<u8>],
    names: &[ImageSymbol],
) -> Result<Vec<u8>, LinkError> {
    let mut file = Vec::new();
    let mut writer = Writer::new(Endianness::Big, false, &mut file);
    let is_present = |part: &ImagePart| part.size > 0;
    let segments = parts
        .iter()
        .filter(|part| is_present(part) && part.role != Role::Kept);
    writer.reserve_file_header();
    writer.reserve_program_headers(u32::try_from(segments.count()).unwrap_or(u32::MAX));
    writer.reserve_null_section_index();
    let mut placed: Vec<Option<PlacedPart<'_>>> = Vec::new();
    for (part, content) in parts.iter().zip(contents) {
        if !is_present(part) {
            placed.push(None);
            continue;
        }
        placed.push(Some(PlacedPart {
            part,
            content,
            name: writer.add_section_name(part.name.as_bytes()),
            index: writer.reserve_section_index(),
            offset: writer.reserve(content.len(), part.align.max(4) as usize),
        }));
    }
    let mut symbols: Vec<(&ImageSymbol, StringId)> = Vec::new();
    let locals = names.iter().filter(|name| name.binding == elf::STB_LOCAL);
    let globals = names.iter().filter(|name| name.binding != elf::STB_LOCAL);
    writer.reserve_null_symbol_index();
    for name in locals.clone().chain(globals) {
        writer.reserve_symbol_index(None);
        symbols.push((name, writer.add_string(name.name.as_bytes())));
    }
    writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();
    writer.reserve_symtab();
    writer.reserve_strtab();
    writer.reserve_shstrtab();
    writer.reserve_section_headers();
    write_headers(&mut writer, &placed)?;
    for one in placed.iter().flatten() {
        writer.pad_until(one.offset);
        writer.write(one.content);
    }
    write_symbols(&mut writer, &placed, &symbols);
    writer.write_strtab();
    writer.write_shstrtab();
    write_section_headers(&mut writer, &placed);
    let local_count = u32::try_from(locals.count() + 1).unwrap_or(u32::MAX);
    writer.write_symtab_section_header(local_count);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Ok(file)
}

/// The file's header, and one header for each loaded part.
fn write_headers(
    writer: &mut Writer<'_>,
    placed: &[Option<PlacedPart<'_>>],
) -> Result<(), LinkError> {
    let header = FileHeader {
        os_abi: 0,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: MACHINE,
        // The layout puts the entry there.
        e_entry: 0,
        e_flags: 0,
    };
    let written = writer.write_file_header(&header);
    written.map_err(|error| LinkError::Write(error.to_string()))?;
    writer.write_align_program_headers();
    for PlacedPart {
        part,
        content,
        offset,
        ..
    } in placed.iter().flatten()
    {
        if part.role == Role::Kept {
            continue;
        }
        writer.write_program_header(&ProgramHeader {
            p_type: elf::PT_LOAD,
            p_flags: flags(part).2,
            p_offset: *offset as u64,
            p_vaddr: part.address.into(),
            p_paddr: part.address.into(),
            p_filesz: content.len() as u64,
            p_memsz: part.size.into(),
            p_align: part.align.max(4).into(),
        });
    }
    Ok(())
}

fn write_symbols(
    writer: &mut Writer<'_>,
    placed: &[Option<PlacedPart<'_>>],
    symbols: &[(&ImageSymbol, StringId)],
) {
    writer.write_null_symbol();
    for (symbol, name) in symbols {
        let part = symbol.part.and_then(|part| placed.get(part)?.as_ref());
        // A symbol at the end of an empty part has an address and no section.
        let section = part.map(|part| part.index);
        writer.write_symbol(&Sym {
            name: Some(*name),
            section,
            st_info: symbol.binding << 4 | symbol.kind,
            st_other: 0,
            st_shndx: if section.is_none() { elf::SHN_ABS } else { 0 },
            st_value: symbol.value.into(),
            st_size: symbol.size.into(),
        });
    }
}

fn write_section_headers(writer: &mut Writer<'_>, placed: &[Option<PlacedPart<'_>>]) {
    writer.write_null_section_header();
    for PlacedPart {
        part, name, offset, ..
    } in placed.iter().flatten()
    {
        let (kind, flags, _) = flags(part);
        writer.write_section_header(&SectionHeader {
            name: Some(*name),
            sh_type: kind,
            sh_flags: flags.into(),
            sh_addr: part.address.into(),
            sh_offset: *offset as u64,
            sh_size: part.size.into(),
            sh_link: 0,
            sh_info: 0,
            sh_addralign: part.align.into(),
            sh_entsize: 0,
        });
    }
}
