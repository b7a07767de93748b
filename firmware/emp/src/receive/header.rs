//! Header words of a frame, and its position in its message.

use crate::Emp;
use crate::ack::Ack;
use crate::deliver::Delivery;
use crate::nic::{Nic, RxFrame, type_kind};
use crate::tables::FrameBits;
use defs::emp::frame::{
    DATA_PAYLOAD, FLAG_GROUP_END, GROUP_BEFORE_SHIFT, GROUP_MASK, HEADER_PAYLOAD, KIND_SHIFT, Kind,
    WORD_FRAME_EPOCH, WORD_SOURCE_MESSAGE,
};

/// Header words common to all frames of a message.
#[derive(Clone, Copy)]
pub(super) struct Header {
    /// Source node and message identifier.
    pub key: u32,
    /// Source node.
    pub node: u32,
    /// Frame number.
    pub number: u16,
    /// The source's epoch.
    pub epoch: u32,
    /// Frames of the ack group before this one.
    pub before: u16,
    /// Frames of the ack group after this one.
    pub after: u16,
    /// The sender marked the frame as the last of its group.
    pub group_end: bool,
}

/// A frame's position in its message.
pub(super) struct FramePosition {
    pub delivery: Delivery,
    /// This is the last missing frame of the message.
    pub last: bool,
    /// For a message's first frame: data for its record.
    pub opening: Option<Opening>,
}

/// Contents of a message header.
#[derive(Clone, Copy)]
pub(super) struct Opening {
    /// The posted receive that matches the message.
    pub posted: u16,
    /// Length of this frame.
    pub frame_bytes: u16,
    /// Bytes of the message.
    pub length: u32,
    /// Tag (high half) and number of frames.
    pub tag_frames: u32,
    /// The oldest message that the source has open.
    pub oldest: u16,
}

impl<N: Nic> Emp<'_, N> {
    /// Reads the header words of the frame at `start`.
    #[inline(always)]
    pub(super) fn header(&self, start: u32, type_kind: u32) -> Header {
        let key = self.word(start, WORD_SOURCE_MESSAGE);
        let number_epoch = self.word(start, WORD_FRAME_EPOCH);
        Header {
            key,
            node: key >> 16,
            number: (number_epoch >> 16) as u16,
            epoch: number_epoch & 0xFFFF,
            before: ((type_kind >> GROUP_BEFORE_SHIFT) & GROUP_MASK) as u16,
            after: (type_kind & GROUP_MASK) as u16,
            group_end: type_kind & FLAG_GROUP_END != 0,
        }
    }
}

impl Header {
    /// An answer for the frame's group.
    #[inline(always)]
    pub(super) fn answer(&self, kind: Kind) -> Ack {
        Ack {
            key: self.key,
            number: u32::from(self.number) + u32::from(self.after),
            epoch: self.epoch,
            kind,
        }
    }

    /// Whether the frame and its group lie within a message of `frames` frames.
    #[inline(always)]
    pub(super) fn fits(&self, frames: u16) -> bool {
        self.before <= self.number
            && u32::from(self.number) + u32::from(self.after) < u32::from(frames)
    }

    /// Whether all frames of the frame's group have arrived.
    #[inline(always)]
    pub(super) fn group_in(&self, arrived: &FrameBits) -> bool {
        let first = self.number.wrapping_sub(self.before);
        arrived.has_all(first, u32::from(self.before + self.after) & GROUP_MASK)
    }
}

/// Whether a frame is intact and part of a message: `Some(true)` for a header frame, `Some(false)` for a
/// data frame.
#[inline(always)]
pub(super) fn part_of_message(frame: &RxFrame, type_kind: u32) -> Option<bool> {
    if !frame.intact {
        None
    } else if is_kind(type_kind, Kind::Header) && frame.length >= HEADER_PAYLOAD {
        Some(true)
    } else if is_kind(type_kind, Kind::Data) && frame.length >= DATA_PAYLOAD {
        Some(false)
    } else {
        None
    }
}

/// Whether a frame with this word is an EMP frame of kind `kind`.
#[inline(always)]
pub(super) fn is_kind(word: u32, kind: Kind) -> bool {
    word >> KIND_SHIFT == type_kind(kind) >> KIND_SHIFT
}
