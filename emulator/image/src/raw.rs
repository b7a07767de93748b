//! Raw images of control programs for Myrinet adapters: the contents of memory from address 0 on
//! (docs/control-programs.md, section 1).
//!
//! A file may begin with the number of bytes that the host clears behind the image, as a half or as a word.

use thiserror::Error;

/// Bytes behind the image that the host clears if the file does not say how many: the prefix 0x4FF8 of the control program of 1996
/// (`mcp-l4v3 3.08c`).
pub const USUAL_CLEARED_BYTES: u32 = 20_472;
/// Begin of the identification in the image, and its address: the words `VersionString: ` at 0x10000 are in front of it.
const IDENTIFICATION: &[u8] = b"mcp-l";
const IDENTIFICATION_ADDRESS: usize = 0x1_000F;
/// Largest number of bytes to clear that a prefix may contain.
const MOST_CLEARED_BYTES: u32 = 1 << 18;

/// A raw image. It begins at address 0, as the chip does after its reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw {
    /// Contents of memory from address 0 on.
    pub bytes: Vec<u8>,
    /// Bytes of the file in front of the image.
    pub skipped_bytes: usize,
    /// Bytes behind the image that the host clears.
    pub cleared_bytes: u32,
}

/// The file is no usable raw image.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RawError {
    /// Nothing is left behind the prefix.
    #[error(
        "a raw image has at least one instruction; the file has {length_bytes} bytes, {skipped_bytes} of them skipped"
    )]
    TooShort {
        /// Length of the file.
        length_bytes: usize,
        /// Skipped bytes.
        skipped_bytes: usize,
    },
    /// The image exceeds the memory.
    #[error(
        "the raw image does not fit: {end:#x} bytes with its cleared part, memory has {sram_bytes:#x} bytes"
    )]
    DoesNotFit {
        /// End of the image.
        end: u64,
        /// Size of the memory.
        sram_bytes: u32,
    },
}

/// Number of bytes of a file that stand in front of the image: the place of the identification decides, then the length
/// and the first word.
fn prefix_bytes(file: &[u8]) -> usize {
    for skipped in [0, 2, 4] {
        let rest = file.get(IDENTIFICATION_ADDRESS + skipped..);
        if rest.is_some_and(|rest| rest.starts_with(IDENTIFICATION)) {
            return skipped;
        }
    }
    if file.len() % 4 == 2 {
        return 2;
    }
    // No program begins with an instruction that adds such a constant to register 0.
    match prefix(file, 4) {
        8..MOST_CLEARED_BYTES => 4,
        _ => 0,
    }
}

/// The number in a prefix of this length.
fn prefix(file: &[u8], length: usize) -> u32 {
    let bytes = file.get(..length.min(4)).unwrap_or_default();
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

/// The identification in an image, if it has one at its usual place.
#[must_use]
pub fn identification(image: &[u8]) -> Option<String> {
    let rest = image.get(IDENTIFICATION_ADDRESS..)?;
    let rest = rest.get(..64.min(rest.len()))?;
    let text = rest.split(|byte| *byte == 0).next()?;
    let is_text =
        text.starts_with(IDENTIFICATION) && text.iter().all(|byte| (32..127).contains(byte));
    is_text.then(|| String::from_utf8_lossy(text).into_owned())
}

/// The chip that an identification names: 4 in `mcp-l4v3`.
#[must_use]
pub fn named_chip(identification: &str) -> Option<u32> {
    let rest = identification.as_bytes().strip_prefix(IDENTIFICATION)?;
    char::from(*rest.first()?).to_digit(10)
}

impl Raw {
    /// Takes a file as an image for a board with `sram_bytes` of memory. `skip` is the number of bytes in front of the
    /// image; if it is not given, the file tells.
    ///
    /// # Errors
    /// [`RawError`].
    pub fn parse(file: &[u8], skip: Option<usize>, sram_bytes: u32) -> Result<Self, RawError> {
        let skipped_bytes = skip.unwrap_or_else(|| prefix_bytes(file));
        let bytes = file.get(skipped_bytes..).unwrap_or_default();
        if bytes.len() < 4 {
            return Err(RawError::TooShort {
                length_bytes: file.len(),
                skipped_bytes,
            });
        }
        let cleared_bytes = match skipped_bytes {
            2 | 4 => prefix(file, skipped_bytes).min(MOST_CLEARED_BYTES),
            _ => USUAL_CLEARED_BYTES,
        };
        let end = bytes.len() as u64;
        if end > sram_bytes.into() {
            return Err(RawError::DoesNotFit { end, sram_bytes });
        }
        Ok(Self {
            bytes: bytes.to_vec(),
            skipped_bytes,
            cleared_bytes: cleared_bytes.min(sram_bytes - end as u32),
        })
    }

    /// Address and bytes of each part to write into memory.
    #[must_use]
    pub fn parts(&self) -> Vec<(u32, Vec<u8>)> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len() + self.cleared_bytes as usize, 0);
        vec![(0, bytes)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SRAM: u32 = 256 << 10;

    #[test]
    fn prefixes_are_recognised() {
        let mut program = vec![0; 0x1_2000];
        program[..4].copy_from_slice(&0x0204_0000_u32.to_be_bytes());
        let mut named = program.clone();
        named[0x1_0000..0x1_001F].copy_from_slice(b"VersionString: mcp-l4v3 3.08c D");
        let check = |prefix: &[u8], program: &[u8], skip, skipped, cleared| {
            let file = [prefix, program].concat();
            let image = Raw::parse(&file, skip, SRAM).unwrap();
            assert_eq!(
                (image.skipped_bytes, image.cleared_bytes),
                (skipped, cleared)
            );
            assert_eq!(image.bytes, file[skipped..]);
        };
        for program in [&program, &named] {
            check(&[], program, None, 0, USUAL_CLEARED_BYTES);
            check(&[0x4F, 0xF8], program, None, 2, 0x4FF8);
            check(&[0, 0, 0x4F, 0xF8], program, None, 4, 0x4FF8);
            check(
                &[0, 0, 0x4F, 0xF8],
                program,
                Some(0),
                0,
                USUAL_CLEARED_BYTES,
            );
            check(&[1; 16], program, Some(16), 16, USUAL_CLEARED_BYTES);
        }
        assert_eq!(identification(&named).as_deref(), Some("mcp-l4v3 3.08c D"));
        assert_eq!(identification(&program), None);
        assert_eq!(named_chip("mcp-l4v3 3.08c D"), Some(4));
        assert_eq!(named_chip("mcp-l"), None);
    }

    #[test]
    fn wrong_files_are_named() {
        let check = |file: &[u8], skip, reason: &str| {
            let error = Raw::parse(file, skip, SRAM).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        check(&[], None, "the file has 0 bytes");
        check(&[0; 8], Some(6), "6 of them skipped");
        check(&[0; 8], Some(usize::MAX), "at least one instruction");
        check(
            &vec![0; SRAM as usize + 4],
            None,
            "memory has 0x40000 bytes",
        );
    }

    proptest! {
        #[test]
        fn any_file_is_taken_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            skip in proptest::option::of(0_usize..400),
        ) {
            if let Ok(image) = Raw::parse(&bytes, skip, SRAM) {
                let end = image.bytes.len() as u32 + image.cleared_bytes;
                prop_assert!(end <= SRAM);
                let _ = identification(&image.bytes);
            }
        }
    }
}
