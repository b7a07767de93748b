//! The EEPROM with the board's record (docs/lanai.md, section 3.13). It is read only.

use byteorder::{BigEndian, ByteOrder};
use defs::lanai::window::record;

use super::chip::Generation;

const BYTES: usize = record::BYTES as usize;

/// The record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Eeprom {
    bytes: [u8; BYTES],
}

impl Eeprom {
    /// The record of a board with an address and a serial number.
    #[must_use]
    pub fn new(version: u16, clock: u32, sram_bytes: u32, address: [u8; 6], serial: u32) -> Self {
        let mut bytes = [0; BYTES];
        let mut put = |at: u32, part: &[u8]| {
            bytes[at as usize..][..part.len()].copy_from_slice(part);
        };
        put(record::CLOCK, &clock.to_be_bytes());
        put(record::VERSION, &version.to_be_bytes());
        put(record::ADDRESS, &address);
        put(record::SRAM_BYTES, &sram_bytes.to_be_bytes());
        put(record::SERIAL, &serial.to_be_bytes());
        put(record::LABEL, b"emulated");
        Self { bytes }
    }

    /// The version of a chip as the record states it: 0x0403 for a LANai 4.3.
    #[must_use]
    pub const fn version(generation: Generation, minor: u32) -> u16 {
        let major = match generation {
            Generation::L4 => 4,
            Generation::L7 => 7,
            Generation::L9 => 9,
        };
        major << 8 | minor as u16
    }

    /// The word at an offset; all ones behind the record, as in an erased memory.
    #[must_use]
    pub fn word(&self, offset: u32) -> u32 {
        let at = (offset & !3) as usize;
        self.bytes.get(at..at + 4).map_or(!0, BigEndian::read_u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_starts_with_clock_version_and_address() {
        let version = Eeprom::version(Generation::L9, 2);
        let eeprom = Eeprom::new(version, 0xA0, 2 << 20, [0, 0x60, 0xDD, 1, 2, 3], 77);
        let check = |offset, word| assert_eq!(eeprom.word(offset), word, "{offset}");
        check(0, 0xA0);
        check(4, 0x0902_0060);
        check(8, 0xDD01_0203);
        check(12, 2 << 20);
        check(72, 77);
        check(76, u32::from_be_bytes(*b"emul"));
        check(108, !0);
        check(u32::MAX, !0);
    }
}
