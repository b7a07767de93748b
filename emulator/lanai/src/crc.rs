//! The CRC-32 between boards (docs/lanai.md, section 3.7). The CRC-8 of links is [`crc8`](emulator_wire::myrinet::crc8).

use crc::{Algorithm, Crc, Table};

/// The polynomial of Ethernet, most significant bit first, from 0.
const BOARDS: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04C1_1DB7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89A1_897F,
    residue: 0,
};
/// With 16 tables, a step takes 16 bytes: check sequences are computed over whole packets.
static CRC: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&BOARDS);

/// The CRC-32 of bytes. Of bytes that end with their own CRC-32 it is 0.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    CRC.checksum(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use emulator_wire::myrinet::crc8;

    /// Bit by bit: the remainder of the division by the polynomial.
    fn reference(bytes: &[u8], width: u32, polynomial: u64) -> u64 {
        let bits = bytes
            .iter()
            .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
        let zeros = (0..width).map(|_| 0);
        bits.chain(zeros).fold(0, |rest, bit| {
            let next = rest << 1 | u64::from(bit);
            next ^ if next >> width & 1 != 0 {
                1 << width | polynomial
            } else {
                0
            }
        })
    }

    proptest! {
        #[test]
        fn tables_agree_with_the_division(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            prop_assert_eq!(u64::from(crc8(&bytes)), reference(&bytes, 8, 0x07));
            prop_assert_eq!(u64::from(crc32(&bytes)), reference(&bytes, 32, 0x04C1_1DB7));
            let with_8 = [&bytes[..], &[crc8(&bytes)]].concat();
            prop_assert_eq!(crc8(&with_8), 0);
            let with_32 = [&bytes[..], &crc32(&bytes).to_be_bytes()].concat();
            prop_assert_eq!(crc32(&with_32), 0);
        }
    }
}
