//! COFF images of control programs for Myrinet adapters (docs/control-programs.md, section 1).
//!
//! Big-endian. The file header and the optional header take 48 bytes; three section headers of 40 bytes follow: text,
//! data, bss.

use byteorder::{BigEndian, ByteOrder};
use thiserror::Error;

/// First half of a file.
const MAGIC: u16 = 0x1300;
/// Offset of the section headers.
const HEADERS: usize = 0x30;
/// Size of a section header.
const HEADER_BYTES: usize = 40;
/// Size of the name at the begin of a section header.
const NAME_BYTES: usize = 8;
/// Number of sections: text, data, bss.
const SECTIONS: usize = 3;
/// The section of data without contents.
const BSS: usize = 2;
/// The words around the number of the chip in the data of a control program.
const NAMED: [&[u8]; 2] = [b"This is an MCP for a ", b".x LANai"];

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoffSection {
    /// Name, without zero bytes.
    pub name: String,
    /// Address in memory.
    pub address: u32,
    /// Size in memory, in bytes.
    pub size_bytes: u32,
    /// Contents; empty for bss.
    pub bytes: Vec<u8>,
}

/// An image. It begins at address 0, as the chip does after its reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coff {
    /// Text, data, bss.
    pub sections: Vec<CoffSection>,
}

/// The file is no usable COFF image.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CoffError {
    /// Wrong first bytes.
    #[error("not a COFF image of a control program: it does not begin with 0x{MAGIC:04x}")]
    Magic,
    /// The file ends too early.
    #[error("the COFF image is cut off within {part}")]
    Truncated {
        /// The part.
        part: &'static str,
    },
    /// A section exceeds the memory.
    #[error(
        "section \"{name}\" does not fit: {size_bytes} bytes at {address:#x}, memory has {sram_bytes:#x} bytes"
    )]
    DoesNotFit {
        /// Name of the section.
        name: String,
        /// Address of the section.
        address: u32,
        /// Size of the section in bytes.
        size_bytes: u32,
        /// Size of the memory.
        sram_bytes: u32,
    },
    /// Two sections have a place in common.
    #[error("\"{first}\" and \"{second}\" both use {from:#x} to {end:#x}")]
    Overlap {
        /// Name of the section that begins first.
        first: String,
        /// Name of the other one.
        second: String,
        /// Begin of the common place.
        from: u32,
        /// End of the common place.
        end: u32,
    },
    /// No instruction stands at address 0.
    #[error("the COFF image has no code at address 0")]
    NoEntry,
}

/// Whether a file begins like a COFF image.
#[must_use]
pub fn is_coff(file: &[u8]) -> bool {
    file.starts_with(&MAGIC.to_be_bytes())
}

fn word(header: &[u8], offset: usize) -> u32 {
    header
        .get(offset..offset + 4)
        .map_or(0, BigEndian::read_u32)
}

impl Coff {
    /// Parses an image for a board with `sram_bytes` of memory.
    ///
    /// # Errors
    /// [`CoffError`].
    pub fn parse(file: &[u8], sram_bytes: u32) -> Result<Self, CoffError> {
        if !is_coff(file) {
            return Err(CoffError::Magic);
        }
        let headers = file.get(HEADERS..HEADERS + SECTIONS * HEADER_BYTES);
        let part = "its headers";
        let headers = headers.ok_or(CoffError::Truncated { part })?;
        let sections = headers.chunks(HEADER_BYTES).enumerate();
        let sections: Vec<_> = sections
            .map(|(index, header)| section(file, header, index == BSS, sram_bytes))
            .collect::<Result<_, _>>()?;
        let is_entry = |section: &CoffSection| section.address == 0 && section.bytes.len() >= 4;
        if !sections.iter().any(is_entry) {
            return Err(CoffError::NoEntry);
        }
        check_apart(&sections)?;
        Ok(Self { sections })
    }

    /// The generation of the LANai that the image names, if it names one.
    #[must_use]
    pub fn named_chip(&self) -> Option<u32> {
        let named = |section: &CoffSection| {
            let [before, after] = NAMED;
            let bytes = &section.bytes;
            let at = bytes
                .windows(before.len())
                .position(|part| part == before)?;
            let (number, rest) = bytes.get(at + before.len()..)?.split_first()?;
            let number = char::from(*number).to_digit(10)?;
            rest.starts_with(after).then_some(number)
        };
        self.sections.iter().find_map(named)
    }

    /// Address and bytes of each part to write into memory; those of bss are zeros.
    #[must_use]
    pub fn parts(&self) -> Vec<(u32, Vec<u8>)> {
        let used = self
            .sections
            .iter()
            .filter(|section| section.size_bytes > 0);
        used.map(|section| {
            let mut bytes = section.bytes.clone();
            bytes.resize(section.size_bytes as usize, 0);
            (section.address, bytes)
        })
        .collect()
    }
}

fn section(
    file: &[u8],
    header: &[u8],
    is_bss: bool,
    sram_bytes: u32,
) -> Result<CoffSection, CoffError> {
    let name = header.get(..NAME_BYTES).unwrap_or_default();
    let name = String::from_utf8_lossy(name)
        .trim_end_matches('\0')
        .to_owned();
    let (address, size_bytes, offset) = (word(header, 12), word(header, 16), word(header, 20));
    if u64::from(address) + u64::from(size_bytes) > sram_bytes.into() {
        return Err(CoffError::DoesNotFit {
            name,
            address,
            size_bytes,
            sram_bytes,
        });
    }
    let bytes = match is_bss {
        true => &[],
        false => {
            let start = offset as usize;
            let end = start.saturating_add(size_bytes as usize);
            let part = "the contents of a section";
            file.get(start..end).ok_or(CoffError::Truncated { part })?
        }
    };
    Ok(CoffSection {
        name,
        address,
        size_bytes,
        bytes: bytes.to_vec(),
    })
}

/// Checks that no two sections use the same bytes of the memory.
fn check_apart(sections: &[CoffSection]) -> Result<(), CoffError> {
    let used = sections.iter().filter(|section| section.size_bytes > 0);
    let mut used: Vec<_> = used.collect();
    used.sort_by_key(|section| section.address);
    for pair in used.windows(2) {
        let [first, second] = [pair[0], pair[1]];
        let ends = [first, second].map(|section| section.address + section.size_bytes);
        if second.address < ends[0] {
            return Err(CoffError::Overlap {
                first: first.name.clone(),
                second: second.name.clone(),
                from: second.address,
                end: ends[0].min(ends[1]),
            });
        }
    }
    Ok(())
}

/// A COFF file with text at address 0, data behind it, and bss: for tests.
#[must_use]
pub fn build(text: &[u8], data: &[u8], bss_bytes: u32) -> Vec<u8> {
    let mut file = MAGIC.to_be_bytes().to_vec();
    file.resize(HEADERS, 0);
    let contents = HEADERS + SECTIONS * HEADER_BYTES;
    let data_at = contents + text.len();
    let bss_address = (text.len() + data.len()) as u32;
    let sections: [(&[u8; NAME_BYTES], u32, u32, u32); SECTIONS] = [
        (b".text\0\0\0", 0, text.len() as u32, contents as u32),
        (
            b".data\0\0\0",
            text.len() as u32,
            data.len() as u32,
            data_at as u32,
        ),
        (b".bss\0\0\0\0", bss_address, bss_bytes, 0),
    ];
    for (name, address, size, offset) in sections {
        file.extend(name);
        let words = [address, address, size, offset, 0, 0, 0, 0];
        file.extend(words.into_iter().flat_map(u32::to_be_bytes));
    }
    file.extend(text);
    file.extend(data);
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SRAM: u32 = 1 << 20;

    #[test]
    fn sections_are_loaded_where_they_belong() {
        let file = build(&[1, 2, 3, 4, 5, 6, 7, 8], &[9, 10, 11, 12], 6);
        let image = Coff::parse(&file, SRAM).unwrap();
        let names: Vec<_> = image.sections.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, [".text", ".data", ".bss"]);
        let expected = [
            (0, vec![1, 2, 3, 4, 5, 6, 7, 8]),
            (8, vec![9, 10, 11, 12]),
            (12, vec![0; 6]),
        ];
        assert_eq!(image.parts(), expected);
    }

    #[test]
    fn the_chip_is_named() {
        let check = |data: &[u8], chip| {
            let file = build(&[0; 8], data, 0);
            assert_eq!(Coff::parse(&file, SRAM).unwrap().named_chip(), chip);
        };
        check(b"..---> This is an MCP for a 7.x LANai <--..", Some(7));
        check(b"This is an MCP for a 9.x LANai", Some(9));
        check(b"This is an MCP for a 9.x LAN", None);
        check(b"This is an MCP for a ", None);
        check(b"This is an MCP for a x.x LANai", None);
        check(b"", None);
    }

    #[test]
    fn wrong_files_are_named() {
        let good = build(&[0; 8], &[0; 4], 0x100);
        let check = |file: &[u8], sram, reason: &str| {
            let error = Coff::parse(file, sram).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        check(b"", SRAM, "does not begin with 0x1300");
        check(b"\x7FELF", SRAM, "does not begin with 0x1300");
        check(&good[..100], SRAM, "within its headers");
        check(&good[..good.len() - 1], SRAM, "within the contents");
        check(
            &good,
            0x10B,
            "section \".bss\" does not fit: 256 bytes at 0xc",
        );
        let mut elsewhere = good.clone();
        elsewhere[HEADERS + 15] = 0x40;
        check(&elsewhere, SRAM, "no code at address 0");
        let moved = |section: usize, address: u8| {
            let mut file = good.clone();
            file[HEADERS + section * HEADER_BYTES + 15] = address;
            file
        };
        let text = "\".text\" and \".data\" both use 0x4 to 0x8";
        check(&moved(1, 4), SRAM, text);
        let data = "\".data\" and \".bss\" both use 0x8 to 0xc";
        check(&moved(BSS, 8), SRAM, data);
        let whole = "\".text\" and \".data\" both use 0x0 to 0x4";
        check(&moved(1, 0), SRAM, whole);
    }

    proptest! {
        #[test]
        fn any_file_is_parsed_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
            changes in proptest::collection::vec((0_usize..0xA8, any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let garbage = [&MAGIC.to_be_bytes()[..], &bytes].concat();
            let mut damaged = build(&bytes, &bytes, 64);
            for (at, value) in changes {
                damaged[at] = value;
            }
            let short = cut.index(damaged.len());
            for file in [&bytes[..], &garbage, &damaged, &damaged[..short]] {
                if let Ok(image) = Coff::parse(file, SRAM) {
                    for (address, bytes) in image.parts() {
                        prop_assert!(u64::from(address) + bytes.len() as u64 <= SRAM.into());
                    }
                }
            }
        }
    }
}
