//! Allocation of space in the transmit buffer.

use crate::Region;

/// Alignment of frames (`defs::tigon2::rings::TX_FRAME_ALIGN`).
const ALIGN: u32 = 8;

/// Allocates space in the transmit buffer, in ring order.
///
/// The buffer is never completely full: producer = consumer means empty.
#[derive(Debug, Clone)]
pub struct TxSpace {
    region: Region,
    /// Start of the next frame.
    next: u32,
}

impl TxSpace {
    /// An empty buffer. `region` starts at a multiple of 8 and holds multiples of 8.
    #[must_use]
    pub const fn new(region: Region) -> Self {
        assert!(region.base().is_multiple_of(ALIGN) && region.bytes().is_multiple_of(ALIGN));
        Self {
            region,
            next: region.base(),
        }
    }

    /// The buffer.
    #[inline(always)]
    #[must_use]
    pub const fn region(&self) -> &Region {
        &self.region
    }

    /// Bytes between `consumer` (`TX_BUFFER_CONSUMER`) and the next frame: released by the firmware, not
    /// yet sent by the MAC.
    #[inline(always)]
    #[must_use]
    pub const fn backlog(&self, consumer: u32) -> u32 {
        self.region.distance(consumer, self.next)
    }

    /// Reserves space for a frame of `length` bytes and returns its address, a multiple of 8. The first
    /// `contiguous` bytes do not wrap (the rest may, as DMA and MAC do). `None` while the buffer has no
    /// room.
    #[inline(always)]
    #[must_use]
    pub const fn reserve(&mut self, length: u32, contiguous: u32, consumer: u32) -> Option<u32> {
        let tail = self.region.limit() - self.next;
        let skipped = if tail < contiguous { tail } else { 0 };
        let needed = skipped + ((length + ALIGN - 1) & !(ALIGN - 1));
        if self.backlog(consumer) + needed >= self.region.bytes() {
            return None;
        }
        let start = self.region.advance(self.next, skipped);
        self.next = self.region.advance(self.next, needed);
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_out_aligned_places_until_full() {
        let mut space = TxSpace::new(Region::new(0x1000, 0x1100));
        assert_eq!(space.reserve(61, 8, 0x1000), Some(0x1000));
        assert_eq!(space.reserve(64, 8, 0x1000), Some(0x1040));
        assert_eq!(space.reserve(0x80, 8, 0x1000), None);
        assert_eq!(space.reserve(0x78, 8, 0x1000), Some(0x1080));
        assert_eq!(space.backlog(0x1000), 0xF8);
        assert_eq!(space.reserve(1, 8, 0x1000), None);
    }

    #[test]
    fn a_header_does_not_wrap_but_a_payload_does() {
        let mut space = TxSpace::new(Region::new(0x1000, 0x1100));
        assert_eq!(space.reserve(0xC0, 8, 0x1000), Some(0x1000));
        // 0x40 bytes are left: a header of 0x40 fits, its payload wraps.
        assert_eq!(space.reserve(0x60, 0x40, 0x10C0), Some(0x10C0));
        assert_eq!(space.reserve(0xC0, 8, 0x1020), Some(0x1020));
        // 0x20 bytes are left: the frame starts over at the base.
        assert_eq!(space.reserve(0x60, 0x40, 0x10E0), Some(0x1000));
        assert_eq!(space.backlog(0x10E0), 0x80);
    }

    #[test]
    fn a_frame_larger_than_the_buffer_never_fits() {
        let mut space = TxSpace::new(Region::new(0x1000, 0x1100));
        assert_eq!(space.reserve(0x100, 8, 0x1000), None);
    }
}
