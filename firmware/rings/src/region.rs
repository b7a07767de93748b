//! Buffer addresses that wrap.

/// A frame buffer `base..limit`; `base` follows the last address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    base: u32,
    limit: u32,
}

impl Region {
    /// A buffer from `base` to `limit` (exclusive).
    #[must_use]
    pub const fn new(base: u32, limit: u32) -> Self {
        assert!(base < limit, "a buffer holds at least a byte");
        Self { base, limit }
    }

    /// First address.
    #[inline(always)]
    #[must_use]
    pub const fn base(&self) -> u32 {
        self.base
    }

    /// Address after the last.
    #[inline(always)]
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// Bytes of the buffer.
    #[inline(always)]
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        self.limit - self.base
    }

    /// The address `bytes` after `address`; wraps at most once.
    #[inline(always)]
    #[must_use]
    pub const fn advance(&self, address: u32, bytes: u32) -> u32 {
        let end = address + bytes;
        if end >= self.limit {
            end - self.bytes()
        } else {
            end
        }
    }

    /// Bytes from `from` forward to `to`; 0 if they are equal. `limit` and `base` are the same position.
    #[inline(always)]
    #[must_use]
    pub const fn distance(&self, from: u32, to: u32) -> u32 {
        let forward = if to >= from {
            to - from
        } else {
            to + self.bytes() - from
        };
        if forward >= self.bytes() {
            forward - self.bytes()
        } else {
            forward
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_the_limit() {
        let region = Region::new(0x100, 0x200);
        let advance = |address, bytes, expected| {
            assert_eq!(
                region.advance(address, bytes),
                expected,
                "{address:#x} + {bytes:#x}"
            );
        };
        advance(0x100, 0x00, 0x100);
        advance(0x1F0, 0x0F, 0x1FF);
        advance(0x1F0, 0x10, 0x100);
        advance(0x1F0, 0x20, 0x110);
        advance(0x180, 0x100, 0x180);
    }

    #[test]
    fn measures_forward() {
        let region = Region::new(0x100, 0x200);
        let distance = |from, to, expected| {
            assert_eq!(region.distance(from, to), expected, "{from:#x} to {to:#x}");
        };
        distance(0x100, 0x1FF, 0xFF);
        distance(0x180, 0x180, 0);
        distance(0x1F0, 0x110, 0x20);
        distance(0x181, 0x180, 0xFF);
        distance(0x100, 0x200, 0);
        distance(0x200, 0x100, 0);
        distance(0x200, 0x110, 0x10);
    }
}
