//! The Linux format of AceNIC firmware: a header of 12 bytes (version, start address, load address;
//! big-endian), then one contiguous piece to load (docs/tigon2-driver.md, section 8).
//!
//! The header does not identify the chip: Tigon1 firmware has an equal format and version. The running
//! firmware detects a wrong chip and reports a bad configuration.

use std::fmt;

use defs::tigon2::map::{FIRMWARE_BASE, SRAM_LIMIT};
use thiserror::Error;

use super::Firmware;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 12;
/// Bytes of a word.
const WORD_BYTES: u32 = 4;

/// The version of a firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    /// First number.
    pub major: u8,
    /// Second number.
    pub minor: u8,
    /// Third number.
    pub fix: u8,
}

impl Version {
    /// Whether a vendor's firmware of this version has the host protocol of 12.1 (docs/tigon2-driver.md, section 8).
    #[must_use]
    pub const fn is_older_protocol(self) -> bool {
        self.major == 12 && self.minor < 3
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.fix)
    }
}

/// A firmware with its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinuxFirmware {
    /// Version in the header.
    pub version: Version,
    /// The image. Zeroed data is not part of it: the driver clears SRAM beforehand.
    pub firmware: Firmware,
}

/// The file is not in this format, or does not fit the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FormError {
    /// The file ends within the header or right after it.
    #[error(
        "{length_bytes} bytes are too short: 12 bytes of header and then the firmware are needed"
    )]
    TooShort {
        /// Bytes of the file.
        length_bytes: usize,
    },
    /// The header's fourth byte is not 0.
    #[error("not a firmware in the Linux form (byte 3 is {byte:#04x}, not 0), and not an ELF file")]
    NotThisForm {
        /// The byte found.
        byte: u8,
    },
    /// The length is not a multiple of a word.
    #[error(
        "the firmware's {length_bytes} bytes are no whole number of words: the file is damaged"
    )]
    OddLength {
        /// Bytes after the header.
        length_bytes: usize,
    },
    /// The load address is invalid.
    #[error(
        "load address {address:#x}: firmware is loaded at a multiple of 4 from {FIRMWARE_BASE:#x} on, \
         within SRAM"
    )]
    LoadAddress {
        /// Load address in the header.
        address: u32,
    },
    /// The board has too little memory.
    #[error(
        "it does not fit: {length_bytes} bytes at {address:#x}, but the board's SRAM ends at \
         {sram_bytes:#x}"
    )]
    DoesNotFit {
        /// The load address.
        address: u32,
        /// Bytes after the header.
        length_bytes: usize,
        /// Installed SRAM.
        sram_bytes: u32,
    },
    /// The start address is outside of the loaded range.
    #[error(
        "start address {address:#x} is not an instruction of the firmware ({first:#x} to {end:#x})"
    )]
    StartAddress {
        /// Start address in the header.
        address: u32,
        /// The load address.
        first: u32,
        /// End of the firmware.
        end: u32,
    },
}

impl LinuxFirmware {
    /// Parses a file for a board with `sram_bytes` of SRAM.
    ///
    /// # Errors
    /// [`FormError`].
    pub fn parse(file: &[u8], sram_bytes: u32) -> Result<Self, FormError> {
        let too_short = FormError::TooShort {
            length_bytes: file.len(),
        };
        let Some((&[major, minor, fix, zero, start @ .., l0, l1, l2, l3], payload)) =
            file.split_first_chunk::<HEADER_BYTES>()
        else {
            return Err(too_short);
        };
        if zero != 0 {
            return Err(FormError::NotThisForm { byte: zero });
        }
        if payload.is_empty() {
            return Err(too_short);
        }
        let entry = u32::from_be_bytes(start);
        let address = u32::from_be_bytes([l0, l1, l2, l3]);
        check(payload.len(), entry, address, sram_bytes)?;
        Ok(Self {
            version: Version { major, minor, fix },
            firmware: Firmware {
                segments: vec![(address, payload.to_vec())],
                entry,
            },
        })
    }
}

impl LinuxFirmware {
    /// Builds the file of this firmware: one piece from the first to the last byte of its parts, zeros
    /// between them.
    ///
    /// # Errors
    /// [`FormError`]: [`LinuxFirmware::parse`] would refuse the file for a board with `sram_bytes`.
    pub fn to_file(&self, sram_bytes: u32) -> Result<Vec<u8>, FormError> {
        let Version { major, minor, fix } = self.version;
        let Firmware { segments, entry } = &self.firmware;
        let address = segments.iter().map(|(address, _)| *address).min();
        let address = address.unwrap_or(FIRMWARE_BASE);
        let mut file = vec![major, minor, fix, 0];
        file.extend(entry.to_be_bytes());
        file.extend(address.to_be_bytes());
        for (part, bytes) in segments {
            let at = HEADER_BYTES + (part - address) as usize;
            let end = (at + bytes.len()).next_multiple_of(WORD_BYTES as usize);
            if part.saturating_add(bytes.len() as u32) > sram_bytes {
                return Err(FormError::DoesNotFit {
                    address: *part,
                    length_bytes: bytes.len(),
                    sram_bytes,
                });
            }
            file.resize(file.len().max(end), 0);
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        Self::parse(&file, sram_bytes)?;
        Ok(file)
    }
}

/// Checks that `length_bytes` at `address` fit, and that `entry` is within them.
fn check(length_bytes: usize, entry: u32, address: u32, sram_bytes: u32) -> Result<(), FormError> {
    if !length_bytes.is_multiple_of(WORD_BYTES as usize) {
        return Err(FormError::OddLength { length_bytes });
    }
    if !(FIRMWARE_BASE..SRAM_LIMIT).contains(&address) || !address.is_multiple_of(WORD_BYTES) {
        return Err(FormError::LoadAddress { address });
    }
    let end = u32::try_from(length_bytes)
        .ok()
        .and_then(|length| address.checked_add(length))
        .filter(|&end| end <= sram_bytes)
        .ok_or(FormError::DoesNotFit {
            address,
            length_bytes,
            sram_bytes,
        })?;
    if !(address..end).contains(&entry) || !entry.is_multiple_of(WORD_BYTES) {
        return Err(FormError::StartAddress {
            address: entry,
            first: address,
            end,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: [u32; 3], payload_bytes: usize) -> Vec<u8> {
        let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_be_bytes()).collect();
        file.resize(file.len() + payload_bytes, 7);
        file
    }

    #[test]
    fn a_file_says_what_to_load_and_where_to_start() {
        let parsed = LinuxFirmware::parse(&file([0x0C04_0B00, 0x4008, 0x4000], 16), 0x8_0000);
        let parsed = parsed.unwrap();
        assert_eq!(parsed.version.to_string(), "12.4.11");
        assert_eq!(parsed.firmware.entry, 0x4008);
        assert_eq!(parsed.firmware.segments, [(0x4000, vec![7; 16])]);
    }

    #[test]
    fn a_written_file_is_read_again() {
        let version = Version {
            major: 1,
            minor: 2,
            fix: 3,
        };
        let written = |segments, entry| {
            let firmware = Firmware { segments, entry };
            LinuxFirmware { version, firmware }.to_file(0x8_0000)
        };
        let file = written(vec![(0x4010, vec![5; 6]), (0x4000, vec![6; 4])], 0x4010).unwrap();
        let read = LinuxFirmware::parse(&file, 0x8_0000).unwrap();
        assert_eq!(read.version, version);
        assert_eq!(read.firmware.entry, 0x4010);
        let mut bytes = vec![0; 24];
        bytes[..4].fill(6);
        bytes[16..22].fill(5);
        assert_eq!(read.firmware.segments, [(0x4000, bytes)]);
        let too_short = FormError::TooShort { length_bytes: 12 };
        assert_eq!(written(vec![], 0x4000), Err(too_short));
        let outside = written(vec![(0x4000, vec![0; 4]), (0x8_0000, vec![0; 8])], 0x4000);
        assert!(matches!(outside, Err(FormError::DoesNotFit { .. })));
        let elsewhere = written(vec![(0x4000, vec![0; 4])], 0x5000);
        assert!(matches!(elsewhere, Err(FormError::StartAddress { .. })));
    }

    #[test]
    fn what_cannot_run_is_refused() {
        let check = |file: &[u8], expected| {
            assert_eq!(LinuxFirmware::parse(file, 0x8_0000), Err(expected));
        };
        let version = 0x0C04_0B00;
        for length_bytes in [0, 1, 11] {
            check(&vec![0; length_bytes], FormError::TooShort { length_bytes });
        }
        let too_short = FormError::TooShort { length_bytes: 12 };
        check(&file([version, 0x4000, 0x4000], 0), too_short);
        check(
            &file([0x2321_2F62, 0, 0], 100),
            FormError::NotThisForm { byte: 0x62 },
        );
        check(
            &file([version, 0x4000, 0x4000], 6),
            FormError::OddLength { length_bytes: 6 },
        );
        for address in [0, 0x2000, 0x3FFC, 0x4002, 0x80_0000, 0xFFFF_FFFC] {
            check(
                &file([version, address, address], 8),
                FormError::LoadAddress { address },
            );
        }
        let does_not_fit = |address, length_bytes| FormError::DoesNotFit {
            address,
            length_bytes,
            sram_bytes: 0x8_0000,
        };
        check(
            &file([version, 0x4000, 0x4000], 0x7_C004),
            does_not_fit(0x4000, 0x7_C004),
        );
        check(
            &file([version, 0x7F_FFFC, 0x7F_FFFC], 8),
            does_not_fit(0x7F_FFFC, 8),
        );
        for address in [0, 0x3FFC, 0x4002, 0x4010, 0xC0_0000] {
            check(
                &file([version, address, 0x4000], 16),
                FormError::StartAddress {
                    address,
                    first: 0x4000,
                    end: 0x4010,
                },
            );
        }
    }
}
