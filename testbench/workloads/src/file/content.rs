//! The content of a region: a pattern made from the writing client and the number of its write.

/// Difference of successive words of a pattern.
const STEP: u32 = 0x9E37_79B9;

/// Name of a write: the client's place, from 1, and the number of its operation, which has 24 bits.
pub(super) const fn tag(place: usize, sequence: u32) -> u32 {
    (place as u32) << 24 | (sequence & 0xFF_FFFF)
}

/// The bytes that a write leaves in a region.
pub(super) fn pattern(tag: u32, bytes: u32) -> Vec<u8> {
    let word = |at: u32| tag.wrapping_add(at.wrapping_mul(STEP));
    (0..bytes / 4)
        .flat_map(|at| word(at).to_be_bytes())
        .collect()
}

/// The write that has left these bytes, or 0 if they have never been written; `None` if they are of no single write.
pub(super) fn tag_of(bytes: &[u8]) -> Option<u32> {
    let tag = u32::from_be_bytes(*bytes.first_chunk()?);
    let expected = match tag {
        0 => vec![0; bytes.len()],
        tag => pattern(tag, bytes.len() as u32),
    };
    (expected == bytes).then_some(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixtures_of_writes_are_found() {
        let (one, other) = (
            pattern(tag(1, 7), 64),
            pattern(tag(2, u32::from(u16::MAX)), 64),
        );
        assert_eq!(tag_of(&one), Some(0x0100_0007));
        assert_eq!(tag_of(&[0; 64]), Some(0));
        for cut in (4..64).step_by(4) {
            let torn = [&one[..cut], &other[cut..]].concat();
            assert_eq!(tag_of(&torn), None, "{cut}");
            let begun = [&one[..cut], &[0; 64][cut..]].concat();
            assert_eq!(tag_of(&begun), None, "{cut}");
        }
    }
}
