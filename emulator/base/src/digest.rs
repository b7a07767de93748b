//! The hash of traces and images: 64 bits over explicit steps.

use emulator_state::value_struct;

/// A hash that is equal on every machine and in every release of the compiler: FNV-1a with whole numbers instead of
/// bytes as its steps. Its callers name each step, so that no layout, derive or library decides what enters. It
/// detects differences; it is no protection against forgery.
#[derive(Debug, Clone)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self::NEW
    }
}

value_struct!(Digest { 0: hash });

impl Digest {
    /// The digest of no steps.
    pub const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Adds a number to the digest.
    #[inline]
    pub const fn number(&mut self, value: u64) {
        // The rotation brings the high bits back, which the product alone would only lose.
        self.0 = (self.0.rotate_left(23) ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    }

    /// Adds bytes: their length, then little-endian words of eight bytes, the last one filled up with zeros.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.number(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.number(match bytes.last_chunk() {
                // The bytes before the rest fall out.
                Some(last) => u64::from_le_bytes(*last) >> (64 - 8 * rest.len()),
                None => {
                    let from_end = rest.iter().rev();
                    from_end.fold(0, |word, &byte| word << 8 | u64::from(byte))
                }
            });
        }
    }

    /// The hash over all steps so far.
    pub const fn value(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_everywhere() {
        let mut digest = Digest::NEW;
        digest.number(1);
        assert_eq!(digest.value(), 0x0c3c_4fdc_9cc6_a13d);
        digest.bytes(b"123456789");
        assert_eq!(digest.value(), 0x0ef3_0de4_0881_0dc7);
    }

    #[test]
    fn lengths_and_order_count() {
        let digest = |texts: &[&str]| {
            let mut digest = Digest::NEW;
            for text in texts {
                digest.bytes(text.as_bytes());
            }
            digest.value()
        };
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_ne!(digest(&["a", "b"]), digest(&["b", "a"]));
        assert_ne!(digest(&["a"]), digest(&["a\0"]));
        assert_ne!(digest(&[]), digest(&[""]));
    }
}
