//! Records of posted receives, and of arriving messages.

use super::{Slot, Zero};
use crate::descriptor::Pages;
use defs::emp::descriptor::Code;

/// A posted receive, a member of a doubly linked list in posting order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posted {
    /// Source and tag to match.
    pub key: u32,
    /// Bits of `key` to compare: 0 for wildcards.
    pub mask: u32,
    pub next: u16,
    pub previous: u16,
    pub state: Posting,
}

/// State of a receive descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Posting {
    /// Owned by the host.
    Free,
    /// In the list of posted receives.
    Waiting,
    /// A message has begun to fill it; its status is not yet written.
    Filling,
}

/// An arriving message: see the module `receive`.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Active {
    /// Source node (high half) and message identifier, as in the frame.
    pub key: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Frames of the message.
    pub frames: u16,
    /// Number of frames that have not arrived; 0 for an abandoned message.
    pub missing: u16,
    /// Descriptor of the posted receive.
    pub descriptor: u16,
    /// Length of its first frame.
    pub frame_bytes: u16,
    /// Value of `missing` at the last silence check.
    pub missing_then: u16,
    /// Number of consecutive silence checks without a new frame.
    pub quiet: u16,
    pub state: Arriving,
    /// Next active message of the same peer, or next free record.
    pub next: Slot,
}

/// The deliverer's part of an arriving message: see `deliver.rs`.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Sink {
    pub pages: Pages,
    /// Source node (high half) and message identifier.
    pub key: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Bytes of the posted receive.
    pub capacity: u32,
    /// The message's tag.
    pub tag: u16,
    /// Descriptor of the posted receive.
    pub descriptor: u16,
    /// DMAs in progress that refer to this record.
    pub pending: u16,
    /// Result: `Done` unless an error occurs.
    pub code: Code,
    /// No more frames will come.
    pub complete: bool,
}

/// State of an arriving message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Arriving {
    /// Waiting for frames or the last DMAs; or the record is free.
    Open,
    /// Abandoned or restarted by its source; waiting for the last DMAs.
    Closed,
    /// Abandoned by this node; waiting for the last DMAs.
    GivenUp,
    /// Abandoned, and reported to the host. The record answers further frames.
    Remembered,
}

impl Zero for Posted {
    const ZERO: Self = Self {
        key: 0,
        mask: 0,
        next: 0,
        previous: 0,
        state: Posting::Free,
    };
}

impl Zero for Active {
    const ZERO: Self = Self {
        key: 0,
        length: 0,
        frames: 0,
        missing: 0,
        descriptor: 0,
        frame_bytes: 0,
        missing_then: 0,
        quiet: 0,
        state: Arriving::Open,
        next: 0,
    };
}

impl Zero for Sink {
    const ZERO: Self = Self {
        pages: Pages::ZERO,
        key: 0,
        length: 0,
        capacity: 0,
        tag: 0,
        descriptor: 0,
        pending: 0,
        code: Code::Pending,
        complete: false,
    };
}
