//! Records of posted receives, and of messages that are being received.

use super::{Slot, Zero};
use crate::descriptor::Pages;
use defs::emp::descriptor::Code;

/// A posted receive, a member of a doubly linked list in posting order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posted {
    /// Source and tag to match.
    pub key: u32,
    /// Bits of `key` that count: 0 where the receive takes any.
    pub mask: u32,
    pub next: u16,
    pub previous: u16,
    pub state: Posting,
}

/// What a receive descriptor is to the NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Posting {
    /// The host's.
    Free,
    /// In the list of posted receives.
    Waiting,
    /// A message has begun to fill it; its status is not yet written.
    Filling,
}

/// A message that is being received: see the module `receive`.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Active {
    /// Source node (high half) and message identifier: the frame's word.
    pub key: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Frames of the message.
    pub frames: u16,
    /// Frames that have not arrived; none are awaited of an abandoned message.
    pub missing: u16,
    /// The posted receive's descriptor.
    pub descriptor: u16,
    /// Bytes of its first frame.
    pub frame_bytes: u16,
    /// `missing` when silence was looked for last.
    pub missing_then: u16,
    /// How often in a row no frame had come.
    pub quiet: u16,
    pub state: Arriving,
    /// Next active message of the same peer, or next free record.
    pub next: Slot,
}

/// The deliverer's part of a message that is being received: see `deliver.rs`.
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
    /// The posted receive's descriptor.
    pub descriptor: u16,
    /// DMAs that name this record and are not over.
    pub pending: u16,
    /// What will become of it: `Done` unless something goes wrong.
    pub code: Code,
    /// No more frames come.
    pub complete: bool,
}

/// How an arriving message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Arriving {
    /// Its frames, or the last DMAs, are awaited. Or the record is free.
    Open,
    /// Its source has given it up or started anew; its last DMAs are awaited.
    Closed,
    /// This node has given it up; its last DMAs are awaited.
    GivenUp,
    /// Given up, and the host knows. The record says so to frames that still come.
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
