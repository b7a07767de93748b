//! Functions and objects by address.

use goblin::elf::Elf;
use goblin::elf::section_header::{SHF_ALLOC, SHN_ABS};
use goblin::elf::sym::{STT_FUNC, STT_NOTYPE, STT_OBJECT, Sym};

/// What a symbol names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// Code.
    Function,
    /// Data.
    Object,
    /// A place: an assembler's or a linker script's label.
    Label,
    /// A number that is no address.
    Constant,
}

/// A name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// As the source spells it (demangled).
    pub name: String,
    /// Address, or value of a constant.
    pub address: u32,
    /// Bytes; 0 if they are not known.
    pub size_bytes: u32,
    /// What it names.
    pub kind: SymbolKind,
}

/// All symbols of an image, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols(Vec<Symbol>);

impl Symbols {
    /// Sorts the symbols for [`at`](Self::at).
    #[must_use]
    pub fn new(mut symbols: Vec<Symbol>) -> Self {
        // At one address the sized ones come last, since the search begins there.
        symbols.sort_by(|a, b| {
            (a.address, a.size_bytes, &a.name).cmp(&(b.address, b.size_bytes, &b.name))
        });
        symbols.dedup();
        Self(symbols)
    }

    /// Reads the file's table.
    #[must_use]
    pub(super) fn read(elf: &Elf) -> Self {
        Self::new(
            elf.syms
                .iter()
                .filter_map(|symbol| read_symbol(elf, &symbol))
                .collect(),
        )
    }

    /// All of them, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.0.iter()
    }

    /// The symbol with this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Symbol> {
        self.0.iter().find(|symbol| symbol.name == name)
    }

    /// The function or object that holds `address`, or the label right at it, and how far into it
    /// the address is.
    #[must_use]
    pub fn at(&self, address: u32) -> Option<(&Symbol, u32)> {
        let end = self.0.partition_point(|symbol| symbol.address <= address);
        // Symbols hardly ever nest; a few steps find the one that reaches this far.
        const STEPS: usize = 8;
        self.0[..end].iter().rev().take(STEPS).find_map(|symbol| {
            let offset = address - symbol.address;
            let named = symbol.kind != SymbolKind::Constant;
            (named && offset < symbol.size_bytes.max(1)).then_some((symbol, offset))
        })
    }

    /// `name+0x10`, or the bare address where nothing has a name: for one line of a trace.
    #[must_use]
    pub fn describe(&self, address: u32) -> String {
        match self.at(address) {
            Some((symbol, 0)) => symbol.name.clone(),
            Some((symbol, offset)) => format!("{}+{offset:#x}", symbol.name),
            None => format!("{address:#x}"),
        }
    }
}

/// A symbol that is worth keeping: not the assembler's private labels, not those of sections that
/// take no memory.
fn read_symbol(elf: &Elf, symbol: &Sym) -> Option<Symbol> {
    let name = elf.strtab.get_at(symbol.st_name)?;
    if name.is_empty() || name.starts_with('.') || name.starts_with('$') {
        return None;
    }
    let index = symbol.st_shndx;
    let kind = match symbol.st_type() {
        _ if index == SHN_ABS as usize => SymbolKind::Constant,
        STT_FUNC => SymbolKind::Function,
        STT_OBJECT => SymbolKind::Object,
        STT_NOTYPE => SymbolKind::Label,
        _ => return None,
    };
    if kind != SymbolKind::Constant {
        let section = elf.section_headers.get(index)?;
        if section.sh_flags & u64::from(SHF_ALLOC) == 0 {
            return None;
        }
    }
    Some(Symbol {
        name: format!("{:#}", rustc_demangle::demangle(name)),
        address: symbol.st_value as u32,
        size_bytes: symbol.st_size as u32,
        kind,
    })
}
