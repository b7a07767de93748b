//! Contents of messages: a label with sender and position in the flow, and bytes derived from it.

use emulator::random;

/// Length of the label at a message's start.
pub const LABEL_BYTES: u32 = 12;

/// Length of the message's number, the first part of the label.
pub const NUMBER_BYTES: u32 = 4;

/// A flow: the messages of one tag from one incarnation of a node to another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flow {
    /// The sender.
    pub from: u16,
    /// The receiver.
    pub to: u16,
    /// Tag of the messages.
    pub tag: u16,
    /// Number of earlier incarnations of the sender.
    pub life: u16,
}

/// The bytes of message number `sequence` of a flow: its label, truncated if the message is shorter, then
/// random bytes.
#[must_use]
pub fn bytes(seed: u64, flow: Flow, sequence: u32, length: u32) -> Vec<u8> {
    let mut label = [0; LABEL_BYTES as usize];
    label[..4].copy_from_slice(&sequence.to_le_bytes());
    let words = [flow.from, flow.to, flow.tag, flow.life];
    for (place, word) in label[4..].chunks_mut(2).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    let length = length as usize;
    let mut bytes = Vec::with_capacity(length);
    let named = length.min(label.len());
    bytes.extend_from_slice(&label[..named]);
    if length > named {
        let mut key = [0; 32];
        key[..12].copy_from_slice(&label);
        key[16..24].copy_from_slice(&seed.to_le_bytes());
        random::append(&mut bytes, length, key);
    }
    bytes
}

/// The incarnation in a message's label; 0 if the message is too short.
#[must_use]
pub fn life(bytes: &[u8]) -> u16 {
    match bytes.get(10..12) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}

/// The tag in a message's label; 0 if the message is too short.
#[must_use]
pub fn tag(bytes: &[u8]) -> u16 {
    match bytes.get(8..10) {
        Some(&[low, high]) => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}

/// The message number, as far as the message contains it.
#[must_use]
pub fn number(bytes: &[u8]) -> u32 {
    let known = bytes.len().min(NUMBER_BYTES as usize);
    let mut low = [0; NUMBER_BYTES as usize];
    low[..known].copy_from_slice(&bytes[..known]);
    u32::from_le_bytes(low)
}

/// Value of [`number`] for message `sequence` with this length.
#[must_use]
pub fn number_in(sequence: u32, length: u32) -> u32 {
    match length {
        NUMBER_BYTES.. => sequence,
        length => sequence % (1 << (8 * length)),
    }
}

/// The sequence number in a message's label. If the message truncates it, the possible number nearest to
/// `expected`.
#[must_use]
pub fn sequence(bytes: &[u8], expected: u32) -> u32 {
    let low = number(bytes);
    let known = bytes.len();
    if known >= NUMBER_BYTES as usize {
        return low;
    }
    let period = 1u32 << (8 * known);
    let base = expected - expected % period + low;
    let candidates = [
        base.checked_sub(period),
        Some(base),
        base.checked_add(period),
    ];
    let nearest = candidates.into_iter().flatten();
    nearest
        .min_by_key(|candidate| candidate.abs_diff(expected))
        .unwrap_or(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: Flow = Flow {
        from: 3,
        to: 250,
        tag: 9,
        life: 2,
    };

    #[test]
    fn a_message_says_which_one_it_is() {
        for length in [0, 1, 2, 3, 4, 11, 12, 13, 5000] {
            let message = bytes(7, FLOW, 70_000, length);
            assert_eq!(message.len(), length as usize);
            assert_eq!(sequence(&message, 70_001), 70_000 + u32::from(length == 0));
            assert_eq!(number(&message), number_in(70_000, length));
            let life = life(&message);
            assert_eq!(life, if length >= LABEL_BYTES { 2 } else { 0 });
        }
    }

    #[test]
    fn messages_differ_in_seed_flow_and_sequence() {
        let plain = bytes(7, FLOW, 5, 100);
        assert_eq!(plain, bytes(7, FLOW, 5, 100));
        let other = Flow { to: 251, ..FLOW };
        for (what, other) in [
            ("seed", bytes(8, FLOW, 5, 100)),
            ("flow", bytes(7, other, 5, 100)),
            ("sequence", bytes(7, FLOW, 6, 100)),
        ] {
            assert_ne!(plain[20..], other[20..], "{what}");
        }
    }

    #[test]
    fn short_labels_are_taken_for_the_nearest_number() {
        let check = |sent: u32, length, expected| {
            assert_eq!(sequence(&bytes(0, FLOW, sent, length), expected), sent);
        };
        check(255, 1, 256);
        check(256, 1, 255);
        check(0, 1, 3);
        check(65_535, 2, 65_600);
        check(u32::MAX, 3, u32::MAX);
    }
}
