//! Relocatable objects: what the linker knows of a file.

use object::elf::{self, FileHeader32};
use object::read::elf::{ElfFile32, FileHeader, SectionHeader};
use object::{
    BigEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolIndex,
};

use crate::error::LinkError;

/// The LANai in the header of an ELF file.
pub const MACHINE: u16 = 244;

/// Place of a section in the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Instructions.
    Code,
    /// Constants.
    ReadOnly,
    /// Variables with values.
    Data,
    /// Variables that the start code sets to zero.
    Zero,
    /// Not loaded, but kept in the file: debugging information, probes.
    Kept,
    /// Needed by the linker alone, or by nothing.
    Dropped,
}

/// A section of an object.
#[derive(Debug, Clone)]
pub struct Section {
    /// Name of the section.
    pub name: String,
    /// Place of the section in the image.
    pub role: Role,
    /// Kind and flags in ELF's numbers, of sections that are kept.
    pub elf: (u32, u32),
    /// Content of the section; none for [`Role::Zero`].
    pub bytes: Vec<u8>,
    /// Length in memory, in bytes.
    pub size: u32,
    /// Alignment of its address, in bytes.
    pub align: u32,
    /// Whether it stays although nothing refers to it.
    pub is_root: bool,
    /// Places in the section that depend on addresses.
    pub relocations: Vec<Relocation>,
}

/// A place that depends on the address of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Offset in its section, in bytes.
    pub offset: u32,
    /// Number of its kind.
    pub number: u32,
    /// Index of the symbol in its object.
    pub symbol: usize,
    /// Added to the symbol's value.
    pub addend: i64,
}

/// Place of a symbol's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definition {
    /// In another object.
    Elsewhere,
    /// A number that is no address of this image.
    Absolute(u32),
    /// In a section of its object, at an offset.
    Section(usize, u32),
}

/// A symbol of an object.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Name of the symbol; a section's name for the section's own symbol.
    pub name: String,
    /// Place of the definition.
    pub definition: Definition,
    /// Length of the object or function, in bytes.
    pub size: u32,
    /// Kind in ELF's numbers.
    pub kind: u8,
    /// Binding in ELF's numbers.
    pub binding: u8,
}

impl Symbol {
    /// Whether other objects cannot see it.
    pub fn is_local(&self) -> bool {
        self.binding == elf::STB_LOCAL
    }

    /// Whether another definition is preferred, and none is needed.
    pub fn is_weak(&self) -> bool {
        self.binding == elf::STB_WEAK
    }
}

/// A relocatable object.
#[derive(Debug, Clone)]
pub struct Input {
    /// Name of the file, for messages.
    pub file: String,
    /// Whether a compiler made it: then known miscompilations are searched for.
    pub is_compiled: bool,
    /// Sections of the object, by their index in the file.
    pub sections: Vec<Section>,
    /// Symbols of the object, by their index in the file.
    pub symbols: Vec<Symbol>,
}

type File<'data> = ElfFile32<'data, BigEndian>;

impl Input {
    /// Reads an object. `file` is its name in messages.
    pub fn new(file: &str, bytes: &[u8], is_compiled: bool) -> Result<Input, LinkError> {
        let fail = |reason: String| LinkError::Object {
            file: file.to_owned(),
            reason,
        };
        let damaged = |error: object::Error| fail(error.to_string());
        let elf: File<'_> = File::parse(bytes).map_err(damaged)?;
        let header: &FileHeader32<BigEndian> = elf.elf_header();
        if header.e_machine(BigEndian) != MACHINE || header.e_type(BigEndian) != elf::ET_REL {
            return Err(fail("not a relocatable object for the LANai".to_owned()));
        }
        // Index 0 is reserved in both tables.
        let mut sections = vec![empty()];
        let mut symbols = vec![Symbol {
            name: String::new(),
            definition: Definition::Absolute(0),
            size: 0,
            kind: elf::STT_NOTYPE,
            binding: elf::STB_LOCAL,
        }];
        for section in elf.sections() {
            sections.resize_with(section.index().0, empty);
            sections.push(read_section(&section).map_err(fail)?);
        }
        for symbol in elf.symbols() {
            let read = read_symbol(&symbol, &sections).map_err(fail)?;
            symbols.push(read);
        }
        let known = |relocation: &Relocation| relocation.symbol < symbols.len();
        let relocations = sections.iter().flat_map(|section| &section.relocations);
        if !relocations.into_iter().all(known) {
            return Err(fail("a relocation refers to no symbol".to_owned()));
        }
        Ok(Input {
            file: file.to_owned(),
            is_compiled,
            sections,
            symbols,
        })
    }
}

/// A place in the table of sections that holds none.
fn empty() -> Section {
    Section {
        name: String::new(),
        role: Role::Dropped,
        elf: (elf::SHT_NULL, 0),
        bytes: Vec::new(),
        size: 0,
        align: 1,
        is_root: false,
        relocations: Vec::new(),
    }
}

/// Role of a section with this name, kind and flags; an error for a section that no image can hold.
fn role(name: &str, kind: u32, flags: u32) -> Result<Role, String> {
    let has = |flag: u32| flags & flag != 0;
    let is_content = matches!(kind, elf::SHT_PROGBITS | elf::SHT_NOBITS);
    if matches!(
        kind,
        elf::SHT_INIT_ARRAY | elf::SHT_FINI_ARRAY | elf::SHT_PREINIT_ARRAY
    ) {
        return Err(format!(
            "{name} holds constructors, which no start code runs"
        ));
    }
    if has(elf::SHF_TLS) {
        return Err(format!("{name} is thread-local"));
    }
    // Unwinding needs tables that are not loaded; an assembler's notes say nothing.
    if !is_content || name == ".eh_frame" || name.starts_with(".note") {
        return Ok(Role::Dropped);
    }
    // Texts of probes are statics of Rust, whose sections would be loaded.
    if name == ".probetext" {
        return Ok(Role::Kept);
    }
    Ok(match (has(elf::SHF_ALLOC), kind) {
        (false, elf::SHT_NOBITS) => Role::Dropped,
        (false, _) => Role::Kept,
        (true, _) if has(elf::SHF_EXECINSTR) => Role::Code,
        (true, elf::SHT_NOBITS) => Role::Zero,
        (true, _) if has(elf::SHF_WRITE) => Role::Data,
        (true, _) => Role::ReadOnly,
    })
}

/// Reads one section with its relocations.
fn read_section<'data>(
    section: &object::read::elf::ElfSection<'data, '_, FileHeader32<BigEndian>>,
) -> Result<Section, String> {
    let name = section.name().map_err(|error| error.to_string())?;
    let header = section.elf_section_header();
    let (kind, flags) = (header.sh_type(BigEndian), header.sh_flags(BigEndian));
    let role = role(name, kind, flags)?;
    if role == Role::Dropped {
        return Ok(empty());
    }
    let bytes = section.data().map_err(|error| format!("{name}: {error}"))?;
    let align = header.sh_addralign(BigEndian).max(1);
    if !align.is_power_of_two() {
        return Err(format!("{name}: alignment {align}"));
    }
    let mut relocations = Vec::new();
    for (offset, relocation) in section.relocations() {
        let RelocationFlags::Elf { r_type: number } = relocation.flags() else {
            return Err(format!("{name}: a relocation without a number"));
        };
        if relocation.has_implicit_addend() {
            return Err(format!("{name}: relocations without addends"));
        }
        let symbol = match relocation.target() {
            RelocationTarget::Symbol(SymbolIndex(symbol)) => symbol,
            _ => 0,
        };
        relocations.push(Relocation {
            offset: u32::try_from(offset).map_err(|_| format!("{name}: offset {offset:#x}"))?,
            number,
            symbol,
            addend: relocation.addend(),
        });
    }
    Ok(Section {
        name: name.to_owned(),
        role,
        elf: match role {
            Role::Kept => (kind, flags & !elf::SHF_ALLOC),
            _ => (kind, flags),
        },
        bytes: bytes.to_vec(),
        size: header.sh_size(BigEndian),
        align,
        is_root: flags & elf::SHF_GNU_RETAIN != 0 && role != Role::Kept,
        relocations,
    })
}

/// Reads one symbol.
fn read_symbol<'data>(
    symbol: &object::read::elf::ElfSymbol<'data, '_, FileHeader32<BigEndian>>,
    sections: &[Section],
) -> Result<Symbol, String> {
    let raw = symbol.elf_symbol();
    let name = symbol.name().map_err(|error| error.to_string())?;
    let value = raw.st_value.get(BigEndian);
    let definition = match raw.st_shndx.get(BigEndian) {
        elf::SHN_UNDEF => Definition::Elsewhere,
        elf::SHN_ABS => Definition::Absolute(value),
        elf::SHN_COMMON => return Err(format!("{name} is a common symbol, which has no place")),
        _ => {
            let index = symbol.section_index().map_or(0, |index| index.0);
            if index == 0 || index >= sections.len() {
                return Err(format!("{name} is in no section"));
            }
            Definition::Section(index, value)
        }
    };
    let mut name = name.to_owned();
    if let (true, Definition::Section(index, _)) = (name.is_empty(), definition) {
        name.clone_from(&sections[index].name);
    }
    Ok(Symbol {
        name,
        definition,
        size: raw.st_size.get(BigEndian),
        kind: raw.st_type(),
        binding: raw.st_bind(),
    })
}
