//! Effects of the bit instructions on words of an array of bits (docs/tigon2-n.md).

/// A change of a word, by the number of its first bit, from the least significant one on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitChange {
    /// Sets the bit.
    Set(u32),
    /// Clears the bit and those behind it, as far as they are set without a gap.
    ClearRun(u32),
}

impl BitChange {
    /// The word after the change.
    #[must_use]
    pub const fn applied_to(self, word: u32) -> u32 {
        match self {
            Self::Set(bit) => word | 1 << (bit % 32),
            Self::ClearRun(bit) => word & !(run_mask(word, bit)),
        }
    }

    /// The number of bits that the change sets or clears in this word, or finds set.
    #[must_use]
    pub const fn count_in(self, word: u32) -> u32 {
        match self {
            Self::Set(_) => 1,
            Self::ClearRun(bit) => run_mask(word, bit).count_ones(),
        }
    }
}

/// The set bits from `bit` on, up to the first clear one.
const fn run_mask(word: u32, bit: u32) -> u32 {
    let first = bit % 32;
    let count = (word >> first).trailing_ones();
    match count {
        32 => u32::MAX,
        _ => ((1 << count) - 1) << first,
    }
}

/// The word of the array at `base` that holds the bit `index`.
pub(super) const fn word_of(base: u32, index: u32) -> u32 {
    base.wrapping_add(index >> 5 << 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_a_clear_bit_or_with_the_word() {
        let check = |word: u32, bit, left, count| {
            let change = BitChange::ClearRun(bit);
            assert_eq!(
                (change.applied_to(word), change.count_in(word)),
                (left, count)
            );
        };
        check(0, 0, 0, 0);
        check(0b1011, 0, 0b1000, 2);
        check(0b1011, 2, 0b1011, 0);
        check(u32::MAX, 0, 0, 32);
        check(u32::MAX, 31, u32::MAX >> 1, 1);
        check(0xF000_0001, 28, 1, 4);
        check(0b110, 33, 0, 2);
    }

    #[test]
    fn a_bit_is_set() {
        for bit in 0..64 {
            let word = BitChange::Set(bit).applied_to(0x8000_0001);
            assert_eq!(word, 0x8000_0001 | 1 << (bit % 32));
        }
        assert_eq!(
            [0, 31, 32, 95].map(|index| word_of(0x100, index)),
            [0x100, 0x100, 0x104, 0x108]
        );
    }
}
