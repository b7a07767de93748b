//! Images without names: bytes to load and a start address, from files of other forms than ELF; and ELF files that name the
//! code of an image.

use thiserror::Error;

use super::{DebugInfo, Names, Symbols};
use super::{Image, ImageError, Memory, MemoryLimits, Section, Segment, check, handlers};

/// Name of the part of an image of another form.
const NAME: &str = "loaded";

/// An ELF file does not name the code of an image.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SymbolsError {
    /// The file is not valid for the board.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The file has no names.
    #[error("it has no symbols")]
    None,
    /// The file has no code where the image has some.
    #[error("it is for other code: the image has nothing at its addresses, from {address:#x} on")]
    Elsewhere {
        /// Load address of its first part.
        address: u32,
    },
    /// A byte differs.
    #[error(
        "it is for other code: at {address:#x} ({place}) it has {expected:#04x}, the image {found:#04x}"
    )]
    Differs {
        /// Load address of the byte.
        address: u32,
        /// Name of the place in the ELF file.
        place: String,
        /// The byte in the ELF file.
        expected: u8,
        /// The byte in the image.
        found: u8,
    },
}

impl Image {
    /// An image of a form without names. `form` describes the form. All of it may be code; none of it is checked against the
    /// instruction set, because data and code look alike.
    #[must_use]
    pub fn loaded(
        form: String,
        entry: u32,
        parts: Vec<(u32, Vec<u8>)>,
        limits: &MemoryLimits,
    ) -> Self {
        let section = |(address, bytes): &(u32, Vec<u8>)| Section {
            name: NAME.into(),
            memory: Memory::Sram,
            run_address: *address,
            size_bytes: bytes.len() as u32,
            executable: true,
            is_undivided: true,
            bytes: bytes.clone(),
        };
        let mut sections: Vec<_> = parts.iter().map(section).collect();
        sections.sort_by_key(|section| section.run_address);
        let segments = parts.into_iter().map(|(address, bytes)| Segment {
            name: NAME.into(),
            load_address: address,
            run_address: address,
            memory_bytes: bytes.len() as u32,
            bytes,
        });
        let mut segments: Vec<_> = segments.collect();
        segments.sort_by_key(|segment| segment.load_address);
        Self {
            form,
            entry,
            segments,
            sections,
            symbols: Symbols::default(),
            probes: Vec::new(),
            published: Vec::new(),
            handlers: Vec::new(),
            debug: DebugInfo::default(),
            names: Names::Own,
            architecture: limits.architecture,
            built: None,
        }
    }

    /// A copy of the image with the symbols, lines, probes and handlers of an ELF file. What is loaded stays that of the image; where
    /// both have bytes these must be equal. The file may lack the bytes (`objcopy --only-keep-debug`). `name` is its name, for
    /// display.
    ///
    /// # Errors
    /// [`SymbolsError`].
    pub fn with_symbols(
        self,
        name: &str,
        file: &[u8],
        limits: &MemoryLimits,
    ) -> Result<Self, SymbolsError> {
        let named = Self::read(file, limits)?;
        if named.symbols.iter().next().is_none() {
            return Err(SymbolsError::None);
        }
        self.compare(&named)?;
        let has_no_bytes = named.load_parts().next().is_none();
        let sections = named.sections.iter().map(|section| {
            let mut section = section.clone();
            if has_no_bytes {
                let length = section.size_bytes as usize;
                let loaded = self.bytes_at(named.load_address_of(section.run_address), length);
                section.bytes = loaded.unwrap_or_default().to_vec();
            }
            section
        });
        let sections = sections.collect();
        let mut image = Self {
            sections,
            segments: self.segments,
            entry: self.entry,
            form: self.form,
            names: Names::Other(name.into()),
            built: self.built,
            ..named
        };
        check::check(&image)?;
        image.handlers = handlers::read(&image, limits.dispatch_tables);
        Ok(image)
    }

    /// Compares the loaded bytes with those of an ELF file.
    fn compare(&self, named: &Self) -> Result<(), SymbolsError> {
        let mut common = false;
        for segment in &named.segments {
            let start = segment.load_address;
            let end = start.saturating_add(segment.memory_bytes);
            for own in &self.segments {
                let own_end = own.load_address.saturating_add(own.bytes.len() as u32);
                let (from, to) = (start.max(own.load_address), end.min(own_end));
                if from >= to {
                    continue;
                }
                common = true;
                let expected = segment.bytes.iter().skip((from - start) as usize);
                let found = own.bytes.iter().skip((from - own.load_address) as usize);
                let mut pairs = (from..to).zip(expected.zip(found));
                if let Some((address, (expected, found))) = pairs.find(|(_, (a, b))| a != b) {
                    let run_address = segment.run_address.wrapping_add(address - start);
                    return Err(SymbolsError::Differs {
                        address,
                        place: named.symbols.describe(run_address),
                        expected: *expected,
                        found: *found,
                    });
                }
            }
        }
        let first = named.segments.first();
        match common {
            true => Ok(()),
            false => Err(SymbolsError::Elsewhere {
                address: first.map_or(named.entry, |segment| segment.load_address),
            }),
        }
    }

    /// The address at which the content of a run address is loaded.
    fn load_address_of(&self, run_address: u32) -> u32 {
        let offset = |segment: &Segment| run_address.wrapping_sub(segment.run_address);
        let mut segments = self.segments.iter();
        let holds = |segment: &&Segment| offset(segment) < segment.memory_bytes;
        segments.find(holds).map_or(run_address, |segment| {
            segment.load_address.wrapping_add(offset(segment))
        })
    }

    /// The loaded bytes at an address, if all are there.
    fn bytes_at(&self, address: u32, length: usize) -> Option<&[u8]> {
        self.segments.iter().find_map(|segment| {
            let offset = address.checked_sub(segment.load_address)? as usize;
            segment.bytes.get(offset..offset.checked_add(length)?)
        })
    }
}
