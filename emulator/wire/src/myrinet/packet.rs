//! Packets: route bytes, a type of 16 bits, the payload, and a CRC-8 behind them.

use std::sync::Arc;

use crc::{Algorithm, Crc, Table};

use emulator_base::unit::{Defects, Unit};
use emulator_state::value_struct;

/// The shortest packet that travels: its type and the CRC.
pub const MINIMUM_BYTES: u64 = 3;

/// Set in a route byte, clear in the first byte of a type.
const ROUTE: u8 = 0x80;
/// The bits of a route byte that hold the signed distance between two ports.
const DELTA: u8 = 0x3F;
/// x^8 + x^2 + x + 1, most significant bit first, from 0.
const LINK: Algorithm<u8> = Algorithm {
    width: 8,
    poly: 0x07,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0xF4,
    residue: 0,
};
/// With 16 tables, a step takes 16 bytes: check sequences are computed over whole packets.
static CRC: Crc<u8, Table<16>> = Crc::<u8, Table<16>>::new(&LINK);
/// Number of zero bytes that leave a remainder as it is: x^127 is 1 modulo the polynomial.
const PERIOD: usize = 127;

/// The CRC-8 of bytes. Over the bytes of a packet and its CRC together it is 0.
#[must_use]
pub fn crc8(bytes: &[u8]) -> u8 {
    CRC.checksum(bytes)
}

/// The CRC-8 of bytes with `zeros` bytes of zeros behind them: what they add to the CRC of a packet that begins with them.
fn crc8_before(bytes: &[u8], zeros: usize) -> u8 {
    let mut digest = CRC.digest();
    digest.update(bytes);
    digest.update(&[0; PERIOD][..zeros % PERIOD]);
    digest.finalize()
}

/// A byte of a route: how many ports further a crossbar sends the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouteByte(i8);

impl RouteByte {
    /// The longest way between two ports, in either direction: the largest crossbar has 32 ports.
    pub const MOST: i8 = 31;

    /// The route byte from port `ingress` to port `egress` of a crossbar. `None` if they are too far apart.
    #[must_use]
    pub fn between(ingress: usize, egress: usize) -> Option<Self> {
        let delta = i8::try_from(egress.checked_signed_diff(ingress)?).ok()?;
        (-Self::MOST..=Self::MOST)
            .contains(&delta)
            .then_some(Self(delta))
    }

    /// The meaning of a byte. `None` if it does not belong to a route.
    #[must_use]
    pub const fn read(byte: u8) -> Option<Self> {
        if byte & !DELTA != ROUTE {
            return None;
        }
        // The sign bit of the six moves to that of a byte and back.
        Some(Self((byte << 2).cast_signed() >> 2))
    }

    /// The byte.
    #[must_use]
    pub const fn byte(self) -> u8 {
        self.0.cast_unsigned() & DELTA | ROUTE
    }

    /// The egress port, of a crossbar with `ports` ports. `None` if there is no such port.
    #[must_use]
    pub fn egress(self, ingress: usize, ports: usize) -> Option<usize> {
        let egress = ingress.checked_add_signed(self.0.into())?;
        (egress < ports).then_some(egress)
    }
}

/// A packet: the rest of its route, its type, its payload, and the CRC-8 that follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    bytes: Arc<[u8]>,
    crc: u8,
}

value_struct!(Packet {
    bytes: bytes,
    crc: crc
});

impl Packet {
    /// A packet with these bytes, the route first, and with the right CRC.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        let crc = crc8(&bytes);
        Self::with_crc(bytes, crc)
    }

    /// A packet with any CRC.
    #[must_use]
    pub fn with_crc(bytes: Vec<u8>, crc: u8) -> Self {
        let bytes = bytes.into();
        Self { bytes, crc }
    }

    /// The CRC-8 that follows the bytes.
    #[must_use]
    pub const fn crc(&self) -> u8 {
        self.crc
    }

    /// Whether the CRC-8 fits the bytes.
    #[must_use]
    pub fn is_intact(&self) -> bool {
        crc8(&self.bytes) == self.crc
    }

    /// The packet behind `hops` crossbars: each takes one byte off and corrects the CRC. What was wrong with the CRC stays wrong,
    /// bit by bit, because a crossbar must not make a damaged packet look whole.
    #[must_use]
    pub fn stripped(&self, hops: usize) -> Self {
        if hops == 0 {
            return self.clone();
        }
        let (gone, rest) = self.bytes.split_at(hops.min(self.bytes.len()));
        Self {
            bytes: rest.into(),
            crc: crc8_before(gone, rest.len()) ^ self.crc,
        }
    }
}

impl Unit for Packet {
    const CHECK_BYTES: usize = 1;

    fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    fn check(&self) -> u32 {
        self.crc.into()
    }

    fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        Self::with_crc(bytes, self.crc)
    }

    fn with_check(bytes: Vec<u8>, check: u32) -> Self {
        Self::with_crc(bytes, check as u8)
    }

    fn defects(&self) -> Defects {
        Defects {
            check: !self.is_intact(),
            too_long: false,
            too_short: self.length() < MINIMUM_BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_crc_is_that_of_its_polynomial() {
        // The usual check value of CRC-8 with this polynomial and no inversion.
        assert_eq!(crc8(b"123456789"), 0xF4);
        let packet = Packet::new(vec![0x81, 0, 4, 1, 2, 3]);
        assert!(packet.is_intact());
        let whole = [&packet.bytes[..], &[packet.crc]].concat();
        assert_eq!(crc8(&whole), 0);
    }

    #[test]
    fn crossbars_take_bytes_off_and_keep_damage() {
        let packet = Packet::new(vec![0x81, 0xBF, 0, 4, 1, 2, 3]);
        assert_eq!(packet.stripped(2), Packet::new(vec![0, 4, 1, 2, 3]));
        let mut bytes = packet.bytes.to_vec();
        bytes[5] ^= 0x10;
        let damaged = packet.with_bytes(bytes);
        for hops in 0..9 {
            assert!(!damaged.stripped(hops).is_intact(), "{hops}");
            assert!(packet.stripped(hops).is_intact(), "{hops}");
        }
    }

    proptest! {
        /// An error of the CRC stays the same error, bit by bit.
        #[test]
        fn a_crossbar_corrects_the_crc(bytes in prop::collection::vec(any::<u8>(), 0..300), crc in any::<u8>(), hops in 0..9_usize) {
            let packet = Packet::with_crc(bytes, crc);
            let behind = packet.stripped(hops);
            prop_assert_eq!(&behind.bytes[..], packet.bytes.get(hops..).unwrap_or_default());
            prop_assert_eq!(behind.crc ^ crc8(&behind.bytes), crc ^ crc8(&packet.bytes));
        }
    }

    #[test]
    fn route_bytes_are_signed_distances() {
        for (ingress, egress, byte) in [(3, 3, 0x80), (0, 1, 0x81), (1, 0, 0xBF), (0, 31, 0x9F)] {
            let route = RouteByte::between(ingress, egress).unwrap();
            assert_eq!(route.byte(), byte);
            assert_eq!(RouteByte::read(byte), Some(route));
            assert_eq!(route.egress(ingress, 32), Some(egress));
        }
        assert_eq!(RouteByte::between(0, 32), None);
        assert_eq!(RouteByte::between(0, usize::MAX), None);
        for byte in [0x00, 0x7F, 0xC0, 0xFF] {
            assert_eq!(RouteByte::read(byte), None, "{byte:#x}");
        }
        let back = RouteByte::read(0xBF).unwrap();
        assert_eq!(back.egress(0, 8), None);
        assert_eq!(RouteByte::read(0x81).unwrap().egress(7, 8), None);
    }
}
