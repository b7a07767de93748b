//! The pointers of a descriptor ring as the chip keeps them (docs/tigon2-io.md, section 5).
//!
//! Software writes plain addresses and reads full addresses back: the chip keeps only the bits
//! that count entries and knows where the ring lies.

use emulator_state::state;

/// Producer, reference and consumer of a ring of a power of two of entries.
#[derive(Debug, Clone)]
pub struct RingPointers {
    /// Bytes of an entry, as a shift.
    entry_shift: u32,
    /// Entries minus one.
    mask: u32,
    /// Index of the next entry that software fills.
    pub producer: u32,
    /// Index of the next entry that hardware takes (or, of a receive ring, that software looks at).
    pub reference: u32,
    /// Index of the oldest entry that may not be filled again.
    pub consumer: u32,
}

state!(RingPointers { producer, reference, consumer } fixed { entry_shift, mask });

impl RingPointers {
    /// A ring of `entries` of `entry_bytes`, both powers of two.
    #[must_use]
    pub const fn new(entries: u32, entry_bytes: u32) -> Self {
        Self {
            entry_shift: entry_bytes.trailing_zeros(),
            mask: entries - 1,
            producer: 0,
            reference: 0,
            consumer: 0,
        }
    }

    /// The index that a pointer value names.
    #[must_use]
    pub const fn index(&self, pointer: u32) -> u32 {
        (pointer >> self.entry_shift) & self.mask
    }

    /// The address of entry `index` in a ring at `base`.
    #[must_use]
    pub const fn address(&self, base: u32, index: u32) -> u32 {
        base.wrapping_add((index & self.mask) << self.entry_shift)
    }

    /// The index after `index`.
    #[must_use]
    pub const fn next(&self, index: u32) -> u32 {
        (index + 1) & self.mask
    }

    /// Entries from `from` up to `to`.
    #[must_use]
    pub const fn distance(&self, from: u32, to: u32) -> u32 {
        to.wrapping_sub(from) & self.mask
    }

    /// Whether another entry would meet the reference or the consumer.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        let next = self.next(self.producer);
        next == self.reference || next == self.consumer
    }

    /// The value of the "free slot" register: the producer's address, or 0 when the ring is full.
    #[must_use]
    pub const fn free_slot(&self, base: u32) -> u32 {
        if self.is_full() {
            0
        } else {
            self.address(base, self.producer)
        }
    }

    /// Entries that hardware has still to take.
    #[must_use]
    pub const fn pending(&self) -> u32 {
        self.distance(self.reference, self.producer)
    }

    /// The completion rule of the DMA rings: the consumer lies behind the reference. The firmware
    /// may move the consumer ahead to be woken once for a group.
    #[must_use]
    pub const fn completion_due(&self) -> bool {
        self.distance(self.consumer, self.producer) > self.pending()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_follows_the_rule() {
        let mut ring = RingPointers::new(64, 32);
        assert!(!ring.completion_due());
        ring.producer = 4;
        assert!(!ring.completion_due());
        ring.reference = 1;
        assert!(ring.completion_due());
        ring.consumer = 3; // ahead of the reference: wake me when 3 is done
        assert!(!ring.completion_due());
        ring.reference = 3;
        assert!(!ring.completion_due());
        ring.reference = 4;
        assert!(ring.completion_due());
    }

    #[test]
    fn pointers_wrap_and_fill() {
        let mut ring = RingPointers::new(64, 32);
        assert_eq!(ring.index(0x1C_0000 + 0x7E0), 63);
        ring.producer = 63;
        ring.reference = 63;
        ring.consumer = 63;
        assert_eq!(ring.free_slot(0x1000), 0x17E0);
        ring.producer = ring.next(ring.producer);
        assert_eq!(ring.producer, 0);
        ring.producer = 62;
        assert_eq!(ring.free_slot(0x1000), 0);
    }
}
