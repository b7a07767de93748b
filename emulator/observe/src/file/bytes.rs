//! Variable-length numbers: seven bits per byte, lowest first.

/// Most bytes of a number.
const LONGEST: u32 = 10;

/// Appends a number.
#[inline]
pub fn put_number(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number from the front; `None` if the bytes end within it, or it exceeds 64 bits.
#[inline]
pub fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..LONGEST {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7F);
        let shifted = bits << (7 * place);
        if shifted >> (7 * place) != bits {
            return None;
        }
        value |= shifted;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Takes `length` bytes from the front.
pub fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (front, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(front)
}

/// Maps a difference to a number that is small if the difference is small, whatever its sign.
#[inline]
pub const fn fold_sign(difference: u32) -> u32 {
    let sign = 0_u32.wrapping_sub(difference >> 31);
    (difference << 1) ^ sign
}

/// The inverse of [`fold_sign`].
#[inline]
pub const fn unfold_sign(folded: u32) -> u32 {
    (folded >> 1) ^ 0_u32.wrapping_sub(folded & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, value);
            let mut rest = &bytes[..];
            assert_eq!(take_number(&mut rest), Some(value));
            assert!(rest.is_empty());
            assert_eq!(take_number(&mut &bytes[..bytes.len() - 1]), None, "{value}");
        }
        assert_eq!(take_number(&mut &[0xFF; 10][..]), None, "more than 64 bits");
    }

    #[test]
    fn differences_come_back() {
        for (difference, folded) in [(0, 0), (u32::MAX, 1), (1, 2), (4_u32.wrapping_neg(), 7)] {
            assert_eq!(fold_sign(difference), folded);
            assert_eq!(unfold_sign(folded), difference);
        }
        for value in [0x8000_0000, 0x7FFF_FFFF, 0xC000_1234] {
            assert_eq!(unfold_sign(fold_sign(value)), value);
        }
    }
}
