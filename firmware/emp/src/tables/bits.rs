//! Bitmap with one bit per frame of a message.

use super::{FRAME_LIMIT, Zero};

/// Number of words of a bitmap.
pub(crate) const FRAME_WORDS: usize = (FRAME_LIMIT / 32) as usize;

/// A frame bitmap; long enough for a masked word index.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameBits([u32; FRAME_WORDS]);

impl FrameBits {
    /// Clears the bits of frames `0..frames`.
    #[inline(always)]
    pub(crate) fn clear(&mut self, frames: u16) {
        self.0[0] = 0;
        if frames > 31 {
            self.clear_more(frames);
        }
    }

    #[inline(never)]
    fn clear_more(&mut self, frames: u16) {
        let last = usize::from(frames >> 5);
        for word in self.0.iter_mut().take(last + 1) {
            *word = 0;
        }
    }

    #[inline(always)]
    fn word(&self, index: u32) -> u32 {
        self.0.get(index as usize).copied().unwrap_or(0)
    }

    /// Whether frame `number`'s bit is set.
    #[inline(always)]
    pub(crate) fn has(&self, number: u16) -> bool {
        self.word(u32::from(number >> 5)) & bit(number) != 0
    }

    /// Sets frame `number`'s bit.
    #[inline(always)]
    pub(crate) fn insert(&mut self, number: u16) {
        if let Some(word) = self.0.get_mut(usize::from(number >> 5)) {
            *word |= bit(number);
        }
    }

    /// Clears frame `number`'s bit.
    #[inline(always)]
    pub(crate) fn remove(&mut self, number: u16) {
        if let Some(word) = self.0.get_mut(usize::from(number >> 5)) {
            *word &= !bit(number);
        }
    }

    /// Whether the bits of all frames `first..=first + more` are set; `more` is at most 15.
    #[inline(always)]
    pub(crate) fn has_all(&self, first: u16, more: u32) -> bool {
        let (index, shift) = (u32::from(first >> 5), u32::from(first & 31));
        let mut bits = self.word(index) >> shift;
        if shift + more > 31 {
            bits |= self.word(index + 1) << (32 - shift);
        }
        let all = (2 << more) - 1;
        bits & all == all
    }

    /// The first set bit at or after `number` and before `limit`.
    pub(crate) fn next(&self, number: u16, limit: u16) -> Option<u16> {
        let mut at = number;
        while at < limit {
            let bits = self.word(u32::from(at >> 5)) >> (at & 31);
            if bits == 0 {
                at = (at | 31) + 1;
            } else if bits & 1 != 0 {
                return Some(at);
            } else {
                at += 1;
            }
        }
        None
    }
}

#[inline(always)]
fn bit(number: u16) -> u32 {
    1 << (number & 31)
}

impl Zero for FrameBits {
    const ZERO: Self = Self([0; FRAME_WORDS]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_bits_answer_like_a_set() {
        let mut bits = FrameBits([u32::MAX; FRAME_WORDS]);
        bits.clear(1412);
        assert_eq!(bits.next(0, 1412), None);
        for number in [30, 31, 32, 33, 64, 1410, 1411] {
            bits.insert(number);
        }
        let check = |first, more, expected| {
            assert_eq!(bits.has_all(first, more), expected, "{first} + {more}");
        };
        check(30, 0, true);
        check(30, 3, true);
        check(30, 4, false);
        check(29, 2, false);
        check(31, 2, true);
        check(32, 1, true);
        check(1410, 1, true);
        check(1410, 2, false);
        check(0xFFFF, 15, false);
        assert_eq!(bits.next(0, 1412), Some(30));
        assert_eq!(bits.next(34, 1412), Some(64));
        assert_eq!(bits.next(65, 1411), Some(1410));
        assert_eq!(bits.next(65, 1410), None);
        bits.remove(64);
        assert!(!bits.has(64) && bits.has(33) && !bits.has(0xFFFF));
    }
}
