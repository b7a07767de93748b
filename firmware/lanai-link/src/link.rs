//! Linking: objects to an image.

use crate::error::{LinkError, Site};
use crate::fingerprint::{self, BadCode, Fault};
use crate::input::{Definition, Input, Role};
use crate::layout::{ImageLayout, ImagePart};
use crate::output::{self, ImageSymbol};
use crate::relocation::RelocationKind;
use crate::symbols::{Id, LINKER_SYMBOLS, Meaning, Symbols};

/// Settings of the image: entry and memory.
#[derive(Debug, Clone)]
pub struct Options {
    /// The symbol where execution begins, at address 0.
    pub entry: String,
    /// First address after the memory, where the stack begins.
    pub memory: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            entry: "_start".to_owned(),
            memory: 1 << 20,
        }
    }
}

/// An image and what it contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The ELF file.
    pub file: Vec<u8>,
    /// Name, first address and length of each loaded part.
    pub parts: Vec<(String, u32, u32)>,
    /// Bytes of loaded sections that nothing refers to.
    pub removed: u64,
}

/// Links `inputs`; the result depends on them and their order alone.
pub fn link(inputs: &[Input], options: &Options) -> Result<Image, LinkError> {
    let symbols = Symbols::new(inputs)?;
    let entry = entry(inputs, &symbols, &options.entry)?;
    let live = symbols.reachable(&[entry])?;
    let search = |id: &Id| fingerprint::search(&inputs[id.object], id.index);
    let bad: Vec<_> = live.iter().flat_map(search).collect();
    if !bad.is_empty() {
        return Err(LinkError::BadCode(bad));
    }
    let layout = ImageLayout::new(inputs, &live, entry, options.memory)?;
    let linker = Linker {
        inputs,
        symbols,
        values: linker_values(&layout, options.memory),
        layout,
    };
    let far: Vec<_> = (live.iter())
        .flat_map(|id| linker.far_elements(*id))
        .collect();
    if !far.is_empty() {
        return Err(LinkError::BadCode(far));
    }
    let mut contents = Vec::new();
    for part in &linker.layout.parts {
        contents.push(linker.content(part)?);
    }
    let names = linker.names();
    let file = output::write(&linker.layout.parts, &contents, &names)?;
    let loaded = |part: &&ImagePart| part.role != Role::Kept && part.size > 0;
    let parts = linker.layout.parts.iter().filter(loaded);
    Ok(Image {
        file,
        parts: parts
            .map(|part| (part.name.clone(), part.address, part.size))
            .collect(),
        removed: linker.removed(),
    })
}

/// The section that starts with the entry.
fn entry(inputs: &[Input], symbols: &Symbols<'_>, name: &str) -> Result<Id, LinkError> {
    let missing = || LinkError::NoEntry(name.to_owned());
    let symbol = symbols.global(name).ok_or_else(missing)?;
    match symbols.meaning(symbol) {
        Meaning::Place(place, 0)
            if inputs[place.object].sections[place.index].role == Role::Code =>
        {
            Ok(place)
        }
        _ => Err(LinkError::EntryInside(name.to_owned())),
    }
}

/// Values of [`LINKER_SYMBOLS`].
fn linker_values(layout: &ImageLayout, memory: u32) -> [u32; LINKER_SYMBOLS.len()] {
    let of = |role: Role| {
        let part = layout.part(role);
        part.map_or((0, 0), |part| (part.address, part.address + part.size))
    };
    let ((_, text_end), (data_start, _)) = (of(Role::Code), of(Role::Data));
    let (bss_start, bss_end) = of(Role::Zero);
    // Start code zeroes whole words; the stack is aligned for pairs of words.
    let bss_end = bss_end.next_multiple_of(4);
    [text_end, data_start, bss_start, bss_end, memory & !7]
}

/// Data for relocations: inputs, symbols, and the addresses of both.
struct Linker<'a> {
    inputs: &'a [Input],
    symbols: Symbols<'a>,
    layout: ImageLayout,
    values: [u32; LINKER_SYMBOLS.len()],
}

impl Linker<'_> {
    /// The bytes of a part, with all relocations applied.
    fn content(&self, part: &ImagePart) -> Result<Vec<u8>, LinkError> {
        if part.role == Role::Zero {
            return Ok(Vec::new());
        }
        let mut content = vec![0; part.size as usize];
        for (id, offset) in &part.sections {
            let bytes = self.section(*id)?;
            let start = *offset as usize;
            content[start..start + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(content)
    }

    /// The bytes of a section, with its relocations applied.
    fn section(&self, id: Id) -> Result<Vec<u8>, LinkError> {
        let input = &self.inputs[id.object];
        let section = &input.sections[id.index];
        let mut bytes = section.bytes.clone();
        for relocation in &section.relocations {
            let symbol = Id {
                object: id.object,
                index: relocation.symbol,
            };
            let value = match self.value(symbol) {
                Some(value) => i64::from(value) + relocation.addend,
                None => removed_value(&section.name),
            };
            let patched = RelocationKind::new(relocation.number).and_then(|kind| match kind {
                Some(kind) => kind.patch(&mut bytes, relocation.offset, value),
                None => Ok(()),
            });
            patched.map_err(|source| LinkError::Relocation {
                site: Site {
                    file: input.file.clone(),
                    section: section.name.clone(),
                    offset: relocation.offset,
                    symbol: input.symbols[relocation.symbol].name.clone(),
                },
                source,
            })?;
        }
        Ok(bytes)
    }

    /// Instructions of a compiled section with an address that a constant moves out of their reach. `llc` adds constant parts of an
    /// index to a static's address, although the small code model leaves 21 bits for the sum.
    fn far_elements(&self, id: Id) -> Vec<BadCode> {
        let input = &self.inputs[id.object];
        let section = &input.sections[id.index];
        let is_compiled = input.is_compiled && section.role == Role::Code;
        let relocations = section.relocations.iter().filter(|_| is_compiled);
        let far = relocations.filter(|relocation| {
            let symbol = Id {
                object: id.object,
                index: relocation.symbol,
            };
            let start = self.value(symbol).map_or(0, i64::from);
            let fits = |value: i64| (0..1 << 21).contains(&value);
            let is_address =
                RelocationKind::new(relocation.number) == Ok(Some(RelocationKind::Constant21));
            is_address && fits(start) && !fits(start + relocation.addend)
        });
        far.map(|relocation| fingerprint::at(input, id.index, relocation.offset, Fault::FarElement))
            .collect()
    }

    /// Value of a symbol; `None` if it lies in a section that was removed. An absent weak symbol is 0.
    fn value(&self, symbol: Id) -> Option<u32> {
        match self.symbols.meaning(symbol) {
            Meaning::Nothing => Some(0),
            Meaning::Number(value) => Some(value),
            Meaning::Linker(index) => Some(self.values[index]),
            Meaning::Place(place, offset) => {
                let start = self.layout.address(place)?;
                Some(start.wrapping_add(offset))
            }
        }
    }

    /// Symbols of the image: the linker's, then those of the objects that lie in it.
    fn names(&self) -> Vec<ImageSymbol> {
        let mut names = Vec::new();
        for (index, name) in LINKER_SYMBOLS.iter().enumerate() {
            if self.symbols.global(name).is_none() {
                names.push(ImageSymbol::absolute(name, self.values[index]));
            }
        }
        for (object, input) in self.inputs.iter().enumerate() {
            for (index, symbol) in input.symbols.iter().enumerate() {
                let Definition::Section(section, offset) = symbol.definition else {
                    continue;
                };
                let place = Id {
                    object,
                    index: section,
                };
                let id = Id { object, index };
                let is_chosen = symbol.is_local() || self.symbols.global(&symbol.name) == Some(id);
                // Labels inside of functions, sections and files say nothing in an image.
                let says = !symbol.name.is_empty() && !symbol.name.starts_with(".L");
                let is_section = symbol.kind == object::elf::STT_SECTION;
                let Some((part, _)) = self.layout.places.get(&place) else {
                    continue;
                };
                let is_loaded = self.layout.parts[*part].role != Role::Kept;
                if let (true, Some(start)) = (
                    is_chosen && says && !is_section && is_loaded,
                    self.layout.address(place),
                ) {
                    names.push(ImageSymbol {
                        name: symbol.name.clone(),
                        part: Some(*part),
                        value: start.wrapping_add(offset),
                        size: symbol.size,
                        kind: symbol.kind,
                        binding: symbol.binding,
                    });
                }
            }
        }
        names
    }

    /// Bytes of loaded sections that are not in the image.
    fn removed(&self) -> u64 {
        let mut removed = 0;
        for (object, input) in self.inputs.iter().enumerate() {
            for (index, section) in input.sections.iter().enumerate() {
                let is_loaded = !matches!(section.role, Role::Kept | Role::Dropped);
                if is_loaded && !self.layout.places.contains_key(&Id { object, index }) {
                    removed += u64::from(section.size);
                }
            }
        }
        removed
    }
}

/// Value that stands for an address in a removed section: no code is there. (Code begins at 0.) In lists of ranges -1 has a meaning of its
/// own; equal bounds make an empty range.
fn removed_value(section: &str) -> i64 {
    match section {
        ".debug_ranges" | ".debug_loc" => 1,
        _ if section.starts_with(".debug_") || section == ".probes" => 0xFFFF_FFFF,
        _ => 0,
    }
}
