//! Small objects, made in memory.

use lanai_link::{Input, MACHINE};
use object::Endianness;
use object::elf;
use object::write::StringId;
use object::write::elf::{FileHeader, Rel, SectionHeader, SectionIndex, Sym, SymbolIndex, Writer};

/// Flags of a section with instructions.
pub const CODE: u32 = elf::SHF_ALLOC | elf::SHF_EXECINSTR;
/// Flags of a section with variables.
pub const DATA: u32 = elf::SHF_ALLOC | elf::SHF_WRITE;

struct Section {
    name: String,
    kind: u32,
    flags: u32,
    bytes: Vec<u8>,
    size: u32,
    align: u32,
    relocations: Vec<(u32, u32, String, i64)>,
}

struct Symbol {
    name: String,
    section: Option<usize>,
    value: u32,
    info: u8,
}

/// An object under construction. Sections and symbols are added in order; relocations belong to the latest section.
pub struct Object {
    machine: u16,
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
}

impl Object {
    pub fn new() -> Object {
        Object {
            machine: MACHINE,
            sections: Vec::new(),
            symbols: Vec::new(),
        }
    }

    pub fn machine(mut self, machine: u16) -> Object {
        self.machine = machine;
        self
    }

    /// Adds a section with these words.
    pub fn section(mut self, name: &str, flags: u32, words: &[u32]) -> Object {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        self.sections.push(Section {
            name: name.to_owned(),
            kind: elf::SHT_PROGBITS,
            flags,
            size: u32::try_from(bytes.len()).expect("a short section"),
            bytes,
            align: 4,
            relocations: Vec::new(),
        });
        self
    }

    /// Adds a section of zeros.
    pub fn zeros(mut self, name: &str, size: u32, align: u32) -> Object {
        self = self.section(name, DATA, &[]);
        let section = self.sections.last_mut().expect("the new section");
        (section.kind, section.size, section.align) = (elf::SHT_NOBITS, size, align);
        self
    }

    /// Changes the kind of the latest section.
    pub fn kind(mut self, kind: u32) -> Object {
        self.sections.last_mut().expect("a section").kind = kind;
        self
    }

    fn symbol(mut self, name: &str, binding: u8, value: u32, is_here: bool) -> Object {
        let section = is_here.then(|| self.sections.len() - 1);
        let kind = match section.map(|section| self.sections[section].flags) {
            Some(CODE) => elf::STT_FUNC,
            _ => elf::STT_NOTYPE,
        };
        self.symbols.push(Symbol {
            name: name.to_owned(),
            section,
            value,
            info: binding << 4 | kind,
        });
        self
    }

    /// Defines a global symbol in the latest section.
    pub fn global(self, name: &str, value: u32) -> Object {
        self.symbol(name, elf::STB_GLOBAL, value, true)
    }

    /// Defines a local symbol in the latest section.
    pub fn local(self, name: &str, value: u32) -> Object {
        self.symbol(name, elf::STB_LOCAL, value, true)
    }

    /// Defines a weak symbol in the latest section.
    pub fn weak(self, name: &str, value: u32) -> Object {
        self.symbol(name, elf::STB_WEAK, value, true)
    }

    /// Declares a weak symbol that may be absent.
    pub fn weak_use(self, name: &str) -> Object {
        self.symbol(name, elf::STB_WEAK, 0, false)
    }

    /// Adds a relocation to the latest section. A symbol that is unknown so far is declared as one of another object.
    pub fn relocate(mut self, offset: u32, number: u32, symbol: &str, addend: i64) -> Object {
        let section = self.sections.last_mut().expect("a section");
        let relocation = (offset, number, symbol.to_owned(), addend);
        section.relocations.push(relocation);
        self
    }

    /// The object as the linker reads it.
    pub fn input(self, file: &str) -> Input {
        Input::new(file, &self.bytes(), true).expect("a good object")
    }

    /// Symbols in the order of the file: local ones first, then those that relocations only use.
    fn all_symbols(&mut self) -> usize {
        let uses = self
            .sections
            .iter()
            .flat_map(|section| &section.relocations);
        for (_, _, name, _) in uses {
            if self.symbols.iter().all(|symbol| symbol.name != *name) {
                self.symbols.push(Symbol {
                    name: name.clone(),
                    section: None,
                    value: 0,
                    info: elf::STB_GLOBAL << 4,
                });
            }
        }
        self.symbols
            .sort_by_key(|symbol| symbol.info >> 4 != elf::STB_LOCAL);
        let is_local = |symbol: &&Symbol| symbol.info >> 4 == elf::STB_LOCAL;
        self.symbols.iter().filter(is_local).count()
    }

    /// The object as a file.
    pub fn bytes(mut self) -> Vec<u8> {
        let locals = self.all_symbols();
        let mut file = Vec::new();
        let mut writer = Writer::new(Endianness::Big, false, &mut file);
        writer.reserve_file_header();
        writer.reserve_null_section_index();
        let mut placed: Vec<(StringId, SectionIndex, usize)> = Vec::new();
        let mut relocated: Vec<(StringId, usize)> = Vec::new();
        for section in &self.sections {
            let name = writer.add_section_name(section.name.as_bytes());
            let index = writer.reserve_section_index();
            placed.push((name, index, writer.reserve(section.bytes.len(), 4)));
        }
        for section in &self.sections {
            writer.reserve_section_index();
            let offset = writer.reserve_relocations(section.relocations.len(), true);
            relocated.push((writer.add_section_name(b".rela"), offset));
        }
        writer.reserve_null_symbol_index();
        let mut strings = Vec::new();
        for symbol in &self.symbols {
            writer.reserve_symbol_index(None);
            strings.push(writer.add_string(symbol.name.as_bytes()));
        }
        let symtab = writer.reserve_symtab_section_index();
        writer.reserve_strtab_section_index();
        writer.reserve_shstrtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab();
        writer.reserve_shstrtab();
        writer.reserve_section_headers();
        let header = FileHeader {
            os_abi: 0,
            abi_version: 0,
            e_type: elf::ET_REL,
            e_machine: self.machine,
            e_entry: 0,
            e_flags: 0,
        };
        writer.write_file_header(&header).expect("a header");
        for (section, (_, _, offset)) in self.sections.iter().zip(&placed) {
            writer.pad_until(*offset);
            writer.write(&section.bytes);
        }
        self.write_relocations(&mut writer);
        writer.write_null_symbol();
        for (symbol, name) in self.symbols.iter().zip(&strings) {
            writer.write_symbol(&Sym {
                name: Some(*name),
                section: symbol.section.map(|section| placed[section].1),
                st_info: symbol.info,
                st_other: 0,
                st_shndx: elf::SHN_UNDEF,
                st_value: symbol.value.into(),
                st_size: 4,
            });
        }
        writer.write_strtab();
        writer.write_shstrtab();
        self.write_section_headers(&mut writer, &placed, &relocated, symtab);
        let locals = u32::try_from(locals + 1).expect("few symbols");
        writer.write_symtab_section_header(locals);
        writer.write_strtab_section_header();
        writer.write_shstrtab_section_header();
        file
    }

    fn write_relocations(&self, writer: &mut Writer<'_>) {
        for section in &self.sections {
            writer.write_align_relocation();
            for (offset, number, name, addend) in &section.relocations {
                let found = self.symbols.iter().position(|symbol| symbol.name == *name);
                let symbol = found.expect("a symbol of the object") + 1;
                let SymbolIndex(r_sym) = SymbolIndex(u32::try_from(symbol).expect("few symbols"));
                let relocation = Rel {
                    r_offset: (*offset).into(),
                    r_sym,
                    r_type: *number,
                    r_addend: *addend,
                };
                writer.write_relocation(true, &relocation);
            }
        }
    }

    fn write_section_headers(
        &self,
        writer: &mut Writer<'_>,
        placed: &[(StringId, SectionIndex, usize)],
        relocated: &[(StringId, usize)],
        symtab: SectionIndex,
    ) {
        writer.write_null_section_header();
        for (section, (name, _, offset)) in self.sections.iter().zip(placed) {
            writer.write_section_header(&SectionHeader {
                name: Some(*name),
                sh_type: section.kind,
                sh_flags: section.flags.into(),
                sh_addr: 0,
                sh_offset: *offset as u64,
                sh_size: section.size.into(),
                sh_link: 0,
                sh_info: 0,
                sh_addralign: section.align.into(),
                sh_entsize: 0,
            });
        }
        let targets = self.sections.iter().zip(placed).zip(relocated);
        for ((section, (_, target, _)), (name, offset)) in targets {
            let count = section.relocations.len();
            writer.write_relocation_section_header(*name, *target, symtab, *offset, count, true);
        }
    }
}
