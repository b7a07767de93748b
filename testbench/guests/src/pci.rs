//! The board's PCI configuration space, and accesses as PCI over virtio has them.

use crate::Violation;

/// Bytes of configuration space.
const BYTES: usize = 256;
/// Bytes of the board's window, a power of two: region 0.
pub const WINDOW_BYTES: u32 = 0x4000;
/// Bytes of a request's head.
const HEAD_BYTES: usize = 16;

/// Configuration space of a fibre AceNIC with a Tigon2.
#[derive(Debug)]
pub struct Configuration([u8; BYTES]);

impl Default for Configuration {
    fn default() -> Self {
        let mut space = [0; BYTES];
        // Vendor Alteon, a fibre AceNIC; revision 6 of a network controller for Ethernet.
        space[..4].copy_from_slice(&[0xae, 0x12, 0x01, 0x00]);
        space[8..12].copy_from_slice(&[6, 0, 0, 2]);
        // The subsystem is the same, and the interrupt is INTA.
        space[0x2c..0x30].copy_from_slice(&[0xae, 0x12, 0x01, 0x00]);
        space[0x3d] = 1;
        Self(space)
    }
}

impl Configuration {
    /// Reads up to 8 bytes, little-endian.
    #[must_use]
    pub fn read(&self, address: u64, size: u32) -> u64 {
        let address = usize::try_from(address).unwrap_or(BYTES);
        let bytes = (0..size.min(8) as usize)
            .rev()
            .map(|at| address.checked_add(at).and_then(|at| self.0.get(at)));
        bytes.fold(0, |value, byte| {
            value << 8 | u64::from(*byte.unwrap_or(&0xff))
        })
    }

    /// Writes up to 8 bytes, little-endian; bits that are fixed stay.
    pub fn write(&mut self, address: u64, size: u32, value: u64) {
        let bytes = value.to_le_bytes();
        if address >= BYTES as u64 {
            return;
        }
        for (at, byte) in (address..).zip(&bytes[..size.min(8) as usize]) {
            let writable = match at {
                // Command: memory, bus master, write and invalidate, parity; SERR, fast back to back.
                4 => 0x56,
                5 => 0x03,
                // Cache line, latency timer, interrupt line.
                0xc | 0xd | 0x3c => 0xff,
                // Region 0: the bits below its size are fixed.
                0x11 => !((WINDOW_BYTES - 1) >> 8) as u8,
                0x12 | 0x13 => 0xff,
                _ => continue,
            };
            self.0[at as usize] = byte & writable;
        }
    }
}

/// Access of a driver to its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverAccess {
    /// Reads configuration space.
    ReadConfiguration {
        /// Address in configuration space.
        address: u64,
        /// Bytes.
        size: u32,
    },
    /// Writes configuration space.
    WriteConfiguration {
        /// Address in configuration space.
        address: u64,
        /// Bytes.
        size: u32,
        /// Value of the bytes, little-endian.
        value: u64,
    },
    /// Reads a word of the window.
    Read {
        /// Offset in the window.
        offset: u32,
    },
    /// Writes a word of the window.
    Write {
        /// Offset in the window.
        offset: u32,
        /// The word.
        value: u32,
    },
}

impl DriverAccess {
    /// Reads a request: operation, region, two bytes that mean nothing, size, address; then the data of a write, little-endian.
    ///
    /// # Errors
    /// If it is none that this device has.
    pub fn parse(bytes: &[u8]) -> Result<Self, Violation> {
        let Some((head, data)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Err(Violation::Short(bytes.len()));
        };
        let [operation, region, _, _, size @ .., _, _, _, _, _, _, _, _] = *head;
        let size = u32::from_le_bytes(size);
        let [.., a, b, c, d, e, f, g, h] = *head;
        let address = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let mut value = [0; 8];
        for (to, from) in value.iter_mut().zip(data).take(size.min(8) as usize) {
            *to = *from;
        }
        let value = u64::from_le_bytes(value);
        let offset = u32::try_from(address)
            .ok()
            .filter(|offset| *offset < WINDOW_BYTES && offset.is_multiple_of(4));
        let word = offset
            .filter(|_| size == 4 && region == 0)
            .ok_or(Violation::Access {
                region,
                address,
                size,
            });
        Ok(match operation {
            1 => Self::ReadConfiguration { address, size },
            2 => Self::WriteConfiguration {
                address,
                size,
                value,
            },
            3 => Self::Read { offset: word? },
            4 => Self::Write {
                offset: word?,
                value: value as u32,
            },
            other => return Err(Violation::Operation(other)),
        })
    }
}

/// The message of a device that INTA has risen.
#[must_use]
pub const fn interrupt() -> [u8; HEAD_BYTES] {
    let mut message = [0; HEAD_BYTES];
    message[0] = 6;
    message[8] = 1;
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn region_0_tells_its_size_and_keeps_its_address() {
        let mut space = Configuration::default();
        assert_eq!(space.read(0, 4), 0x0001_12ae);
        space.write(0x10, 4, 0xffff_ffff);
        assert_eq!(space.read(0x10, 4), 0xffff_c000);
        space.write(0x10, 4, 0xf000_0000);
        assert_eq!(space.read(0x10, 4), 0xf000_0000);
        space.write(0, 4, 0);
        space.write(4, 2, 0xffff);
        assert_eq!((space.read(0, 2), space.read(4, 2)), (0x12ae, 0x0356));
        assert_eq!(space.read(u64::MAX, 8), u64::MAX);
        space.write(u64::MAX, 8, 0);
    }

    #[test]
    fn accesses_are_to_words_of_the_window() {
        let request = |operation, region, size: u32, address: u64, data: &[u8]| {
            let mut bytes = vec![operation, region, 0, 0];
            bytes.extend(size.to_le_bytes());
            bytes.extend(address.to_le_bytes());
            bytes.extend(data);
            DriverAccess::parse(&bytes)
        };
        let written = DriverAccess::Write {
            offset: 0x140,
            value: 0x0403_0201,
        };
        assert_eq!(request(4, 0, 4, 0x140, &[1, 2, 3, 4]), Ok(written));
        assert_eq!(
            request(3, 0, 4, 0x3ffc, &[]),
            Ok(DriverAccess::Read { offset: 0x3ffc })
        );
        let refused = |size, region, address| {
            Err(Violation::Access {
                region,
                address,
                size,
            })
        };
        assert_eq!(request(3, 0, 2, 0x40, &[]), refused(2, 0, 0x40));
        assert_eq!(request(4, 0, 4, 0x4000, &[]), refused(4, 0, 0x4000));
        assert_eq!(request(3, 1, 4, 0, &[]), refused(4, 1, 0));
        assert_eq!(request(5, 0, 4, 0, &[]), Err(Violation::Operation(5)));
        assert_eq!(DriverAccess::parse(&[3; 15]), Err(Violation::Short(15)));
        let read = DriverAccess::ReadConfiguration {
            address: 4,
            size: 2,
        };
        assert_eq!(request(1, 0, 2, 4, &[]), Ok(read));
    }
}
