//! Headers of packets.

/// Bytes of a header.
pub(super) const ENVELOPE_BYTES: usize = 32;

/// Kind of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EnvelopeKind {
    /// A message, whose bytes follow.
    Eager,
    /// The sender has a long message, and names its send.
    RequestToSend,
    /// The receiver has memory for it, and names both.
    ClearToSend,
    /// The receiver has no memory for the message of a send.
    Refused,
    /// The sender has no memory for the message, for which the receiver has prepared some.
    Withdrawn,
    /// A message of a broadcast, which its receiver passes on at once. The field of the send names the root.
    Broadcast,
    /// A partial result of a reduction, which its receiver takes into its own at once.
    Partial,
}

/// Fields of a message that receives match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageLabel {
    /// The communicator's context.
    pub(super) context: u32,
    /// Rank of the sender, in the communicator.
    pub(super) source: u32,
    pub(super) tag: i32,
}

/// The header of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Envelope {
    pub(super) kind: EnvelopeKind,
    /// Collective operation to which the packet belongs.
    pub(super) mark: u16,
    pub(super) label: MessageLabel,
    /// Bytes of the message.
    pub(super) length: u32,
    /// The send that a packet is of, or the root of its broadcast.
    pub(super) send: u32,
    /// The memory of the receiver.
    pub(super) landing: u64,
}

impl Envelope {
    pub(super) fn bytes(&self) -> [u8; ENVELOPE_BYTES] {
        let mut bytes = [0; ENVELOPE_BYTES];
        let kind = match self.kind {
            EnvelopeKind::Eager => 1u32,
            EnvelopeKind::RequestToSend => 2,
            EnvelopeKind::ClearToSend => 3,
            EnvelopeKind::Broadcast => 4,
            EnvelopeKind::Partial => 5,
            EnvelopeKind::Refused => 6,
            EnvelopeKind::Withdrawn => 7,
        };
        let words = [
            u32::from(self.mark) << 16 | kind,
            self.label.context,
            self.label.source,
            self.label.tag.cast_unsigned(),
            self.length,
            self.send,
        ];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes[24..].copy_from_slice(&self.landing.to_be_bytes());
        bytes
    }

    /// The header of a packet and what follows; `None` if there is none.
    pub(super) fn read(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (header, content) = packet.split_first_chunk::<ENVELOPE_BYTES>()?;
        let word = |at: usize| {
            let bytes = [header[at], header[at + 1], header[at + 2], header[at + 3]];
            u32::from_be_bytes(bytes)
        };
        let kind = match word(0) & 0xFFFF {
            1 => EnvelopeKind::Eager,
            2 => EnvelopeKind::RequestToSend,
            3 => EnvelopeKind::ClearToSend,
            4 => EnvelopeKind::Broadcast,
            5 => EnvelopeKind::Partial,
            6 => EnvelopeKind::Refused,
            7 => EnvelopeKind::Withdrawn,
            _ => return None,
        };
        let label = MessageLabel {
            context: word(4),
            source: word(8),
            tag: word(12).cast_signed(),
        };
        let envelope = Self {
            kind,
            mark: (word(0) >> 16) as u16,
            label,
            length: word(16),
            send: word(20),
            landing: u64::from(word(24)) << 32 | u64::from(word(28)),
        };
        Some((envelope, content))
    }
}
