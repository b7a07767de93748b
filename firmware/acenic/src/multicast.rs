//! The host's list of multicast addresses, and the hash filter derived from it (docs/tigon2-io.md, section 6).

/// Capacity of the list. With more addresses every multicast frame is accepted.
pub const MOST: usize = 64;

/// A MAC address: high 16 bits, low 32 bits.
type Address = (u32, u32);

/// The list of multicast addresses.
#[derive(Debug, Clone)]
pub struct Multicast {
    addresses: [Address; MOST],
    count: usize,
    /// An address did not fit: until the list is empty the filter accepts everything.
    overflowed: bool,
}

impl Default for Multicast {
    fn default() -> Self {
        Self::new()
    }
}

impl Multicast {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            addresses: [(0, 0); MOST],
            count: 0,
            overflowed: false,
        }
    }

    fn position(&self, address: Address) -> Option<usize> {
        self.listed().iter().position(|listed| *listed == address)
    }

    fn listed(&self) -> &[Address] {
        self.addresses.get(..self.count).unwrap_or_default()
    }

    /// Adds an address unless it is in the list.
    pub fn add(&mut self, high: u32, low: u32) {
        let address = (high & 0xFFFF, low);
        if self.position(address).is_some() {
            return;
        }
        match self.addresses.get_mut(self.count) {
            Some(slot) => {
                *slot = address;
                self.count += 1;
            }
            None => self.overflowed = true,
        }
    }

    /// Removes an address if it is in the list.
    pub fn remove(&mut self, high: u32, low: u32) {
        if let Some(at) = self.position((high & 0xFFFF, low)) {
            self.count -= 1;
            let last = self.addresses.get(self.count).copied();
            if let (Some(slot), Some(last)) = (self.addresses.get_mut(at), last) {
                *slot = last;
            }
        }
        if self.count == 0 {
            self.overflowed = false;
        }
    }

    /// The hash filter, bits 127:96 first.
    #[must_use]
    pub fn hash(&self) -> [u32; 4] {
        if self.overflowed {
            return [u32::MAX; 4];
        }
        let mut words = [0; 4];
        for &(high, low) in self.listed() {
            let bit = hash_bit(high, low);
            words[3 - (bit >> 5 & 3) as usize] |= 1 << (bit & 31);
        }
        words
    }
}

/// Filter bit of an address: the low 7 bits of Ethernet's CRC-32, not inverted.
fn hash_bit(high: u32, low: u32) -> u32 {
    let mut crc = u32::MAX;
    for byte in [high >> 8, high, low >> 24, low >> 16, low >> 8, low] {
        crc ^= byte & 0xFF;
        for _ in 0..8 {
            let carry = crc & 1;
            crc >>= 1;
            if carry != 0 {
                crc ^= 0xEDB8_8320;
            }
        }
    }
    crc & 0x7F
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(words: [u32; 4]) -> u32 {
        words.iter().map(|word| word.count_ones()).sum()
    }

    #[test]
    fn the_crc_is_ethernets() {
        for address in [
            [1, 0, 0x5E, 0, 0, 1],
            [0x33, 0x33, 0, 0, 0xAB, 0xCD],
            [0xFF; 6],
        ] {
            let [a, b, rest @ ..] = address;
            let high = u16::from_be_bytes([a, b]);
            let expected = !crc32fast::hash(&address) & 0x7F;
            assert_eq!(
                hash_bit(u32::from(high), u32::from_be_bytes(rest)),
                expected
            );
        }
    }

    #[test]
    fn addresses_come_and_go() {
        let mut list = Multicast::new();
        assert_eq!(list.hash(), [0; 4]);
        list.add(0x0100, 0x5E00_0001);
        list.add(0x0100, 0x5E00_0001);
        assert_eq!(bits(list.hash()), 1);
        list.add(0x0100, 0x5E00_0002);
        let both = list.hash();
        list.add(0x3333, 0x0000_0001);
        list.remove(0x3333, 0x0000_0001);
        assert_eq!(list.hash(), both);
        list.remove(0x0100, 0x5E00_0001);
        list.remove(0x0100, 0x5E00_0001);
        assert_eq!(bits(list.hash()), 1);
        list.remove(0x0100, 0x5E00_0002);
        assert_eq!(list.hash(), [0; 4]);
    }

    #[test]
    fn too_many_addresses_open_the_filter() {
        let mut list = Multicast::new();
        let addresses = 0..MOST as u32 + 1;
        addresses.clone().for_each(|low| list.add(0x0100, low));
        assert_eq!(list.hash(), [u32::MAX; 4]);
        addresses.for_each(|low| list.remove(0x0100, low));
        assert_eq!(list.hash(), [0; 4]);
    }
}
