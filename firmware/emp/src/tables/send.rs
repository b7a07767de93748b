//! Records of outgoing messages.

use super::{Slot, Zero};
use crate::descriptor::Pages;
use crate::pace::EARLY_NOW;
use defs::emp::descriptor::Code;

/// Position of the next frame in an outgoing message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    /// Message offset of the frame's payload.
    pub offset: u32,
    /// Frame number.
    pub number: u16,
    /// Frames of the ack group before this one.
    pub before: u8,
    /// Size of a full ack group of this message.
    pub group: u8,
}

impl Cursor {
    /// Position of a message's first frame.
    pub(crate) const fn start(group: u8) -> Self {
        Self {
            offset: 0,
            number: 0,
            before: 0,
            group,
        }
    }
}

/// Queue state of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queueing {
    /// The record has no frames to send.
    Out,
    /// The record is in the send queue.
    In,
    /// Held by flow control (`flow`).
    Held,
}

/// An outgoing message: see `transmit.rs`. The field order keeps fields that are cleared together on word
/// boundaries: the chip has no unaligned store.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Transmit {
    /// Bytes of the message.
    pub length: u32,
    /// The frame to send next.
    pub cursor: Cursor,
    /// While `resending`: the first frame that was never sent. 0: no frame was ever sent again.
    pub fresh: Cursor,
    /// Expiry time of the retransmission timer, in us; valid while `outstanding` is not 0.
    pub deadline_us: u32,
    /// Number of groups whose last frame was sent and that are not acknowledged.
    pub outstanding: u16,
    /// Frames of the message.
    pub frames: u16,
    /// Frames of the last group.
    pub last_group: u8,
    /// Result; `Pending` while undecided.
    pub code: Code,
    /// Timeouts since the last progress.
    pub retries: u8,
    /// Early waits that have expired since the last progress: see `pace.rs`.
    pub early: u8,
    /// Number of tried messages to the peer after the last try; valid if this one `is_tried`.
    pub tried: u8,
    /// Unacknowledged frames are being sent again.
    pub resending: bool,
    /// Message identifier.
    pub id: u16,
    pub queueing: Queueing,
    /// Whether the transmitter may have unfinished work when all is acknowledged.
    pub closing: Closing,
    /// Destination node.
    pub node: u8,
    /// Next in the send queue.
    pub queue_next: Slot,
    /// Next open message to the same peer, in the order of identifiers; after the newest the oldest.
    pub peer_next: Slot,
    /// Previous open message to the same peer; before the oldest the newest.
    pub peer_previous: Slot,
}

/// The sender's knowledge of the transmitter's work for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Closing {
    /// When all frames are acknowledged, the transmitter has no unfinished work.
    Clear,
    /// Frames were sent again, or page entries are being fetched: the transmitter must be asked.
    Ask,
    /// The transmitter was asked.
    Asked,
    /// The transmitter has finished.
    Closed,
}

/// The transmitter's part of an outgoing message: see `frames.rs`.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Source {
    pub pages: Pages,
    /// DMAs in progress that refer to this record.
    pub pending: u8,
    /// The message's memory could not be read: no more frames are sent.
    pub failed: bool,
    /// The sender has asked for a report when nothing is pending.
    pub closing: bool,
}

impl Transmit {
    /// Whether a transmitter on the other CPU has finished with this decided record.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        match self.closing {
            Closing::Clear => self.code == Code::Done,
            Closing::Ask | Closing::Asked => false,
            Closing::Closed => true,
        }
    }

    /// Number of frames of the ack group after the one at `cursor`.
    #[inline(always)]
    pub(crate) fn frames_after(&self, cursor: &Cursor) -> u32 {
        let left = self.frames.wrapping_sub(1).wrapping_sub(cursor.number);
        u32::from(cursor.group - 1 - cursor.before).min(u32::from(left))
    }

    /// Whether it was sent again without an ack since.
    #[inline(always)]
    pub(crate) fn is_tried(&self) -> bool {
        self.retries != 0 || self.early & !EARLY_NOW != 0
    }

    /// Prepares the first try since the last progress.
    pub(crate) fn begin_tries(&mut self) {
        if !self.is_tried() {
            // As long as it is not the oldest one, its tries do not count.
            self.tried = u8::MAX;
        }
    }

    /// Number of frames sent at least once.
    #[inline(always)]
    pub(crate) fn sent(&self) -> u16 {
        if self.resending {
            self.fresh.number
        } else {
            self.cursor.number
        }
    }

    /// Number of groups whose last frame has been sent, acknowledged or not.
    pub(crate) fn groups_sent(&self) -> u16 {
        let sent = self.sent();
        let (mut frames, mut groups) = (u16::from(self.cursor.group), 0);
        while frames <= sent {
            frames += u16::from(self.cursor.group);
            groups += 1;
        }
        // The last group may be shorter.
        let whole = frames - u16::from(self.cursor.group);
        groups + u16::from(sent == self.frames && whole != sent)
    }
}

impl Zero for Transmit {
    const ZERO: Self = Self {
        length: 0,
        cursor: Cursor::start(0),
        fresh: Cursor::start(0),
        deadline_us: 0,
        frames: 0,
        outstanding: 0,
        id: 0,
        node: 0,
        last_group: 0,
        retries: 0,
        early: 0,
        tried: 0,
        resending: false,
        queueing: Queueing::Out,
        closing: Closing::Clear,
        code: Code::Pending,
        queue_next: 0,
        peer_next: 0,
        peer_previous: 0,
    };
}

impl Zero for Source {
    const ZERO: Self = Self {
        pages: Pages::ZERO,
        pending: 0,
        failed: false,
        closing: false,
    };
}
