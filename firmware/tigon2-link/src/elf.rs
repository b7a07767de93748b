//! ELF files: the linked image, and the object that gives it space.

use std::collections::{BTreeMap, BTreeSet};

use defs::probe;
use defs::software::{ROUTINES, SITES, SITES_END};
use object::elf;
use object::read::elf::ElfFile32;
use object::write::{Object, Symbol, SymbolSection};
use object::{
    Architecture, BigEndian, BinaryFormat, Endianness, FileFlags, Object as _, ObjectSection,
    ObjectSymbol, SectionFlags, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
};

use crate::plan::{CodeRun, LinkedProgram};

/// Section of the code that has moved; the linker script places it with other code.
const SECTION: &str = ".text.__software_sites";

/// A linked image.
pub(crate) struct Image {
    /// Code of the image.
    pub program: LinkedProgram,
    /// Flags of the ELF header.
    pub flags: u32,
    /// All symbols with an address.
    symbols: BTreeMap<String, u32>,
    /// Functions: address, size, name.
    functions: Vec<(u32, u32, String)>,
    /// Sections with code: address, size, place in the file.
    sections: Vec<(u32, u32, usize)>,
}

fn word(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

impl Image {
    /// Reads a linked image.
    pub fn read(file: &[u8]) -> object::Result<Image> {
        let elf = ElfFile32::<BigEndian>::parse(file)?;
        let mut image = Image {
            program: LinkedProgram::default(),
            flags: elf.elf_header().e_flags.get(BigEndian),
            symbols: BTreeMap::new(),
            functions: Vec::new(),
            sections: Vec::new(),
        };
        let mut data = BTreeSet::new();
        for symbol in elf.symbols() {
            let (address, size) = (symbol.address() as u32, symbol.size() as u32);
            let Some(name) = symbol.name().ok().filter(|name| !name.is_empty()) else {
                continue;
            };
            image.symbols.insert(name.to_owned(), address);
            image.program.targets.insert(address);
            let own = (address..address.saturating_add(size)).step_by(4);
            match symbol.kind() {
                SymbolKind::Text if size > 0 => {
                    image.functions.push((address, size, name.to_owned()))
                }
                SymbolKind::Data => data.extend(own),
                _ => {}
            }
        }
        image.functions.sort();
        let mut tables = BTreeSet::new();
        for section in elf.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else {
                continue;
            };
            let bytes = section.data()?;
            if section.name() == Ok(probe::SECTION) {
                let entries = bytes.chunks_exact(probe::ENTRY_BYTES);
                image
                    .program
                    .fixed
                    .extend(entries.map(|entry| word(&entry[..4])));
            }
            let is_code = sh_flags & u64::from(elf::SHF_EXECINSTR) != 0;
            let words = bytes.chunks_exact(4).map(word);
            if is_code && let Some((place, _)) = section.file_range() {
                let address = section.address() as u32;
                let words: Vec<u32> = words.collect();
                tables.extend(image.add_code(address, &words, &data));
                image
                    .sections
                    .push((address, 4 * words.len() as u32, place as usize));
            } else if sh_flags & u64::from(elf::SHF_ALLOC) != 0 {
                tables.extend(words);
            }
        }
        // An aligned word of data with the address of an instruction may be an entry of a table of jumps.
        image.program.targets.extend(tables);
        Ok(image)
    }

    /// Adds the functions of a section; the rest of it is returned. A section without functions is code.
    fn add_code(&mut self, address: u32, words: &[u32], data: &BTreeSet<u32>) -> Vec<u32> {
        let end = address.saturating_add(4 * words.len() as u32);
        // The routines are what software does.
        let is_routine = |name: &str| ROUTINES.iter().any(|(_, symbol)| *symbol == name);
        let own = self
            .functions
            .iter()
            .filter(|(at, _, name)| (address..end).contains(at) && !is_routine(name));
        let mut inside: BTreeSet<u32> = own
            .flat_map(|&(at, size, _)| (at..at.saturating_add(size)).step_by(4))
            .collect();
        if inside.is_empty() {
            inside.extend((address..end).step_by(4));
        }
        let mut rest = Vec::new();
        let mut last = None;
        for (at, &word) in (address..end).step_by(4).zip(words) {
            if !inside.contains(&at) || data.contains(&at) {
                rest.push(word);
                continue;
            }
            if last != at.checked_sub(4) || last.is_none() {
                self.program.code.push(CodeRun {
                    address: at,
                    words: Vec::new(),
                });
            }
            last = Some(at);
            if let Some(code) = self.program.code.last_mut() {
                code.words.push(word);
            }
        }
        rest
    }

    /// The address of a symbol.
    pub fn symbol(&self, name: &str) -> Option<u32> {
        self.symbols.get(name).copied()
    }

    /// The name of the function at an address, as in the file.
    pub fn function(&self, address: u32) -> &str {
        let before = self.functions.partition_point(|&(at, ..)| at <= address);
        let function = before.checked_sub(1).map(|index| &self.functions[index]);
        match function {
            Some((at, size, name)) if address - at < *size => name,
            _ => "unknown",
        }
    }

    /// The place of an instruction in the file.
    pub fn place(&self, address: u32) -> Option<usize> {
        let mut sections = self.sections.iter();
        let (at, _, place) = sections.find(|(at, size, _)| address.wrapping_sub(*at) < *size)?;
        Some(place + (address - at) as usize)
    }
}

/// An object with space for code: functions by name and size in bytes, in order.
pub(crate) fn space(flags: u32, functions: &[(String, u32)]) -> object::write::Result<Vec<u8>> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::Mips, Endianness::Big);
    object.flags = FileFlags::Elf {
        os_abi: 0,
        abi_version: 0,
        e_flags: flags,
    };
    let section = object.add_section(Vec::new(), SECTION.into(), SectionKind::Text);
    let total: u32 = functions.iter().map(|(_, size)| size).sum();
    object.append_section_data(section, &vec![0; total as usize], 4);
    let mut symbol = |name: &str, value: u32, size: u32, kind, scope| {
        object.add_symbol(Symbol {
            name: name.into(),
            value: value.into(),
            size: size.into(),
            kind,
            scope,
            weak: false,
            section: SymbolSection::Section(section),
            flags: SymbolFlags::None,
        });
    };
    let mut at = 0;
    for (name, size) in functions {
        symbol(name, at, *size, SymbolKind::Text, SymbolScope::Compilation);
        at += size;
    }
    symbol(SITES, 0, 0, SymbolKind::Label, SymbolScope::Dynamic);
    symbol(SITES_END, total, 0, SymbolKind::Label, SymbolScope::Dynamic);
    object.write()
}
