//! Functions and objects by address.

use goblin::elf::Elf;
use goblin::elf::section_header::{SHF_ALLOC, SHN_ABS};
use goblin::elf::sym::{STT_FUNC, STT_NOTYPE, STT_OBJECT, Sym};
use serde::{Deserialize, Serialize};

use super::elf::section_name;
use super::segments::memory_of;
use super::{Memory, MemoryLimits};
use emulator_base::initiator::Initiator;

/// Kind of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum SymbolKind {
    /// Code.
    Function,
    /// Data.
    Object,
    /// An address: a label of an assembler or a linker script.
    Label,
    /// A number that is not an address.
    Constant,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Demangled name.
    pub name: String,
    /// Address, or value of a constant.
    pub address: u32,
    /// Size in bytes; 0 if unknown.
    pub size_bytes: u32,
    /// Kind of the symbol.
    pub kind: SymbolKind,
    /// Memory of the symbol; `None` for a constant. The two scratchpads have equal addresses.
    pub memory: Option<Memory>,
}

/// All symbols of an image, by address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Symbol>", into = "Vec<Symbol>")]
pub struct Symbols(Vec<Symbol>);

impl From<Vec<Symbol>> for Symbols {
    fn from(symbols: Vec<Symbol>) -> Self {
        Self::new(symbols)
    }
}

impl From<Symbols> for Vec<Symbol> {
    fn from(symbols: Symbols) -> Self {
        symbols.0
    }
}

impl Symbols {
    /// Sorts symbols for [`at`](Self::at).
    #[must_use]
    pub fn new(mut symbols: Vec<Symbol>) -> Self {
        // At one address the symbols with a size come last, because the search begins there.
        symbols.sort_by(|a, b| {
            let key = |symbol: &Symbol| (symbol.address, symbol.size_bytes, symbol.memory);
            (key(a), &a.name).cmp(&(key(b), &b.name))
        });
        symbols.dedup();
        Self(symbols)
    }

    /// Reads the symbol table of a file.
    #[must_use]
    pub(super) fn read(elf: &Elf, limits: &MemoryLimits) -> Self {
        Self::new(
            elf.syms
                .iter()
                .filter_map(|symbol| read_symbol(elf, limits, &symbol))
                .collect(),
        )
    }

    /// All symbols, by address.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.0.iter()
    }

    /// Finds a symbol by name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Symbol> {
        self.0.iter().find(|symbol| symbol.name == name)
    }

    /// The function or object that contains `address`, or the label exactly there, and the offset of the
    /// address in it. Finds symbols of both scratchpads.
    #[must_use]
    pub fn at(&self, address: u32) -> Option<(&Symbol, u32)> {
        self.find(address, |_| true)
    }

    /// Like [`at`](Self::at), for an address as `who` sees it: a CPU has memory of its own; other initiators see that of
    /// the first CPU.
    #[must_use]
    pub fn seen_by(&self, who: Initiator, address: u32) -> Option<(&Symbol, u32)> {
        let cpu = who.cpu().unwrap_or_default();
        self.find(address, |symbol| {
            let memory = symbol.memory;
            memory.is_none_or(|memory| memory.is_seen_by(cpu))
        })
    }

    fn find(&self, address: u32, seen: impl Fn(&Symbol) -> bool) -> Option<(&Symbol, u32)> {
        let end = self.0.partition_point(|symbol| symbol.address <= address);
        let before = self.0[..end].iter().rev();
        let named = before.filter(|symbol| symbol.kind != SymbolKind::Constant && seen(symbol));
        // Symbols rarely nest; a few steps find the one that extends this far.
        const STEPS: usize = 8;
        named.take(STEPS).find_map(|symbol| {
            let offset = address - symbol.address;
            (offset < symbol.size_bytes.max(1)).then_some((symbol, offset))
        })
    }

    /// `name+0x10`, or the bare address without a symbol: for one line of a trace.
    #[must_use]
    pub fn describe(&self, address: u32) -> String {
        describe(self.at(address), address)
    }

    /// Like [`describe`](Self::describe), for an address as `who` sees it.
    #[must_use]
    pub fn describe_for(&self, who: Initiator, address: u32) -> String {
        describe(self.seen_by(who, address), address)
    }
}

fn describe(found: Option<(&Symbol, u32)>, address: u32) -> String {
    match found {
        Some((symbol, 0)) => symbol.name.clone(),
        Some((symbol, offset)) => format!("{}+{offset:#x}", symbol.name),
        None => format!("{address:#x}"),
    }
}

/// A function's name without type parameters.
#[must_use]
pub fn plain_name(name: &str) -> String {
    let mut plain = String::new();
    let mut depth = 0;
    let mut before = ' ';
    for letter in name.chars() {
        let opens = depth > 0 || plain.ends_with("::") || before.is_alphanumeric() || before == '_';
        match letter {
            '<' if opens => depth += 1,
            '>' if depth > 0 && before != '-' => depth -= 1,
            _ if depth == 0 => plain.push(letter),
            _ => {}
        }
        before = letter;
    }
    let plain = plain.replace("::::", "::").replace("::+", "+");
    plain.trim_end_matches("::").into()
}

/// Reads a symbol; drops the assembler's private labels and symbols of sections that occupy no memory.
fn read_symbol(elf: &Elf, limits: &MemoryLimits, symbol: &Sym) -> Option<Symbol> {
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
    let mut memory = None;
    if kind != SymbolKind::Constant {
        let section = elf.section_headers.get(index)?;
        if section.sh_flags & u64::from(SHF_ALLOC) == 0 {
            return None;
        }
        let name = section_name(elf, section);
        memory = Some(memory_of(symbol.st_value as u32, name, limits));
    }
    Some(Symbol {
        name: format!("{:#}", rustc_demangle::demangle(name)),
        address: symbol.st_value as u32,
        size_bytes: symbol.st_size as u32,
        kind,
        memory,
    })
}
