//! Ranges of the code and of the stack of an image, for the CPUs that execute it ([`CodeMap`]).
//!
//! In a section with functions the functions are code, and what lies between them, unless it is all zeros: padding. A section without
//! functions is code. Objects within code are data.

use std::ops::Range;

use super::symbols::SymbolKind;
use super::{ELF_FORM, Image, Section, stack};
use emulator_cpu::code_map::CodeMap;

impl Image {
    /// The ranges in which a CPU may find code. Only an ELF file with section headers declares it: of others it is known what is loaded,
    /// with or without symbols.
    #[must_use]
    pub fn code_map(&self, cpu: usize) -> CodeMap {
        if self.form != ELF_FORM || !self.code_is_checked() {
            let segments = self.segments.iter();
            let loaded = segments.map(|part| range(part.load_address, part.bytes.len() as u32));
            return CodeMap::loaded(loaded.collect());
        }
        let seen = |section: &&Section| section.memory.is_seen_by(cpu);
        let sections = || self.sections.iter().filter(seen);
        let executable = sections().filter(|section| section.executable);
        let code = executable.flat_map(|section| self.code_of(section));
        let parts = sections().map(|section| (section.range(), section.name.as_str().into()));
        let stack = stack::region(self).map(|region| (region, "the stack".into()));
        CodeMap::declared(code.collect(), parts.chain(stack).collect())
    }

    /// Addresses to which no stack may reach; none if the image, as one of another form than ELF, does not say it.
    #[must_use]
    pub fn stack_guard(&self) -> Range<u32> {
        let says = self.form == ELF_FORM;
        let guard = says.then(|| stack::guard(self)).flatten();
        guard.unwrap_or_default()
    }

    /// The ranges of the code in an executable section.
    fn code_of(&self, section: &Section) -> Vec<Range<u32>> {
        let of_kind = |kind| {
            let symbols = self.symbols.iter();
            let symbols = symbols.filter(move |symbol| {
                symbol.kind == kind && symbol.size_bytes != 0 && section.holds(symbol.address)
            });
            symbols.map(|symbol| range(symbol.address, symbol.size_bytes))
        };
        let functions: Vec<_> = of_kind(SymbolKind::Function).collect();
        if functions.is_empty() {
            return without(section.range(), of_kind(SymbolKind::Object));
        }
        let mut gaps = without(section.range(), functions.iter().cloned());
        gaps.retain(|gap| !section.is_padding(gap));
        let code = functions.into_iter().chain(gaps);
        code.flat_map(|range| without(range, of_kind(SymbolKind::Object)))
            .collect()
    }
}

impl Section {
    /// The addresses of the memory's part.
    fn range(&self) -> Range<u32> {
        range(self.run_address, self.size_bytes)
    }

    /// Whether all bytes in a range of the section are zeros. A section that is not in the file may be anything later.
    fn is_padding(&self, part: &Range<u32>) -> bool {
        let offset = |address: u32| (address - self.run_address) as usize;
        let bytes = self.bytes.get(offset(part.start)..offset(part.end));
        bytes.is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0))
    }
}

fn range(start: u32, length: u32) -> Range<u32> {
    start..start.saturating_add(length)
}

/// A range without others, which come by their start.
fn without(range: Range<u32>, others: impl Iterator<Item = Range<u32>>) -> Vec<Range<u32>> {
    let mut left = Vec::new();
    let mut from = range.start;
    for other in others {
        if from < other.start {
            left.push(from..other.start.min(range.end));
        }
        from = from.max(other.end);
    }
    left.push(from..range.end);
    left.retain(|part| part.start < part.end);
    left
}
