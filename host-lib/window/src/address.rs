//! Ethernet addresses.

use std::fmt;

/// An Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The broadcast address.
    pub const BROADCAST: Self = Self([0xFF; 6]);

    /// Decodes the two words of registers and tables; the first word's high half is ignored.
    #[must_use]
    pub const fn from_words(high: u32, low: u32) -> Self {
        let [_, _, a, b] = high.to_be_bytes();
        let [c, d, e, f] = low.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// Whether this is a group address.
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// The first two bytes, in the format of the chip's registers and the firmware's tables.
    #[must_use]
    pub const fn high(self) -> u32 {
        u16::from_be_bytes([self.0[0], self.0[1]]) as u32
    }

    /// The last four bytes.
    #[must_use]
    pub const fn low(self) -> u32 {
        u32::from_be_bytes([self.0[2], self.0[3], self.0[4], self.0[5]])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_bytes_agree() {
        let address = MacAddress([0x00, 0x60, 0xCF, 0x20, 0x12, 0x34]);
        assert_eq!((address.high(), address.low()), (0x60, 0xCF20_1234));
        assert_eq!(MacAddress::from_words(0x60, 0xCF20_1234), address);
        assert_eq!(address.to_string(), "00:60:cf:20:12:34");
        assert!(MacAddress::BROADCAST.is_group() && !address.is_group());
    }
}
