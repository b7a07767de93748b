//! EMP frames on the wire: 14 bytes of Ethernet header, 14 bytes of frame header, and in a message's first
//! frame 8 bytes of message header (thesis 2.3.1). The field layout is our own; the header size follows
//! from emp-159: 964 Mb/s is 99.78 % of the limit.
//!
//! Words are big-endian; a frame starts at a multiple of 8:
//!
//! | word | content |
//! |------|---------|
//! | 0    | destination MAC, bytes 0..4 |
//! | 1    | destination MAC, bytes 4..6; source MAC, bytes 0..2 |
//! | 2    | source MAC, bytes 2..6 |
//! | 3    | Ethertype; kind (4 bits), flags (4 bits), place in the ack group (4 + 4 bits) |
//! | 4    | source node; message identifier |
//! | 5    | frame number within the message; the source's epoch |
//! | 6    | data: offset of the payload within the message; header: the oldest message identifier that the source still has open to this destination; ack: epoch of the acknowledged frame |
//!
//! The place in the ack group is the number of the group's frames before and after this one. From it a
//! receiver knows the whole group without the sender's group size and without a division. An ack names the
//! message and the last frame of the group that it acknowledges.
//!
//! A header frame's payload starts at offset 0, so its word 6 carries the oldest open identifier. Older
//! messages were acknowledged or abandoned: the receiver stops waiting for them. A receiver that has just
//! started begins with this identifier.
//!
//! The payload of a data frame starts at byte 28. A header frame continues:
//!
//! | word | content |
//! |------|---------|
//! | 7    | tag; number of frames |
//! | 8    | message length |
//!
//! and its payload starts at byte 36. The payload's length is the smaller of the rest of the frame and the
//! rest of the message (the MAC pads short frames).

use super::descriptor::MESSAGE_LIMIT_BYTES;

/// Ethertype of EMP frames (one of two reserved for local experiments).
pub const ETHERTYPE: u16 = 0x88B5;
/// Bytes of the Ethernet header.
pub const ETHERNET_BYTES: u32 = 14;
/// Bytes of the frame header.
pub const FRAME_HEADER_BYTES: u32 = 14;
/// Bytes of the message header, in the first frame only.
pub const MESSAGE_HEADER_BYTES: u32 = 8;
/// Offset of the payload in a data frame.
pub const DATA_PAYLOAD: u32 = ETHERNET_BYTES + FRAME_HEADER_BYTES;
/// Offset of the payload in a header frame.
pub const HEADER_PAYLOAD: u32 = DATA_PAYLOAD + MESSAGE_HEADER_BYTES;
/// Shortest frame that the MAC sends, without FCS.
pub const MINIMUM_FRAME_BYTES: u32 = 60;

/// Word index: Ethertype and kind.
pub const WORD_TYPE_KIND: usize = 3;
/// Word index: source node and message identifier.
pub const WORD_SOURCE_MESSAGE: usize = 4;
/// Word index: frame number and epoch.
pub const WORD_FRAME_EPOCH: usize = 5;
/// Word index: payload offset (data), oldest open identifier (header), acknowledged epoch (ack).
pub const WORD_OFFSET: usize = 6;
/// Word index: tag and frame count (header frames).
pub const WORD_TAG_FRAMES: usize = 7;
/// Word index: message length (header frames).
pub const WORD_MESSAGE_LENGTH: usize = 8;

/// Position of the kind in the low half of the word at [`WORD_TYPE_KIND`].
pub const KIND_SHIFT: u32 = 12;
/// Mask of the kind after the shift.
pub const KIND_MASK: u32 = 0xF;
/// Flag in the low half of the word at [`WORD_TYPE_KIND`]: the frame is the last of its ack group.
pub const FLAG_GROUP_END: u32 = 1 << 8;

/// Position of the number of frames of the group before this one.
pub const GROUP_BEFORE_SHIFT: u32 = 4;
/// Mask of the number of frames after this one in the group; after the shift, of the number before it.
pub const GROUP_MASK: u32 = 0xF;
/// Most frames of an ack group.
pub const GROUP_LIMIT: u32 = GROUP_MASK + 1;

/// Position of an ack's pressure in the low half of the word at [`WORD_TYPE_KIND`]: fill level of the
/// answering node's receive buffer.
pub const PRESSURE_SHIFT: u32 = 9;
/// Mask of the pressure after the shift: 0 = less than half full, 1 = half full, 2 = three quarters full.
pub const PRESSURE_MASK: u32 = 3;

/// Frame kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// Abandoned by its sender after it got its place in the transmit ring: the receiver ignores it.
    Void = 0,
    /// First frame of a message.
    Header = 1,
    /// Any other frame of a message.
    Data = 2,
    /// Acknowledges the group whose last frame it names.
    Ack = 3,
    /// Tells the sender that the receiver has abandoned the message; fields as in an ack.
    Nack = 4,
    /// Tells the sender that the receiver waits for the header frame of this message, and has dropped what
    /// came after it; fields as in an ack, the frame is 0.
    Gap = 5,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Void,
        Self::Header,
        Self::Data,
        Self::Ack,
        Self::Nack,
        Self::Gap,
    ];

    /// Name in captures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Void => "VOID",
            Self::Header => "HEADER",
            Self::Data => "DATA",
            Self::Ack => "ACK",
            Self::Nack => "NACK",
            Self::Gap => "GAP",
        }
    }

    /// Whether frames of this kind answer another node's message.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Ack | Self::Nack | Self::Gap)
    }

    /// Decodes the kind of the word at [`WORD_TYPE_KIND`]; `None` for an unused value.
    #[must_use]
    pub const fn from_word(word: u32) -> Option<Self> {
        Some(match (word >> KIND_SHIFT) & KIND_MASK {
            0 => Self::Void,
            1 => Self::Header,
            2 => Self::Data,
            3 => Self::Ack,
            4 => Self::Nack,
            5 => Self::Gap,
            _ => return None,
        })
    }
}

/// Payload bytes of a message's first frame.
#[must_use]
pub const fn header_frame_capacity(frame_bytes: u32) -> u32 {
    frame_bytes - FRAME_HEADER_BYTES - MESSAGE_HEADER_BYTES
}

/// Payload bytes of a data frame.
#[must_use]
pub const fn data_frame_capacity(frame_bytes: u32) -> u32 {
    frame_bytes - FRAME_HEADER_BYTES
}

/// Most frames of a message. With 1500-byte frames the longest message has 1412.
pub const FRAME_LIMIT: u32 = 1536;

/// Longest message of a node whose frames have up to this Ethernet payload.
#[must_use]
pub const fn message_limit(frame_bytes: u32) -> u32 {
    let others = (FRAME_LIMIT - 1) * data_frame_capacity(frame_bytes);
    let most = header_frame_capacity(frame_bytes) + others;
    if most < MESSAGE_LIMIT_BYTES {
        most
    } else {
        MESSAGE_LIMIT_BYTES
    }
}
