//! The records of the protocol, in NIC memory that only the firmware uses.
//!
//! Every array's length is a power of two and every index is masked or a `u8`: no index that comes
//! from a frame or from the host can miss, and none needs a check. A link is a `u8` slot;
//! [`NO_SLOT`] ends a list.

use crate::ack::{Ack, QUEUE_ENTRIES};
use crate::descriptor::Pages;
use defs::emp::descriptor::{Code, MESSAGE_LIMIT_BYTES};

/// A transmit or active-receive record.
pub(crate) type Slot = u8;
/// The end of a list of slots.
pub(crate) const NO_SLOT: Slot = 0xFF;
/// Most frames of a message. With 1500-byte frames the longest message has 1412.
pub const FRAME_LIMIT: u32 = 1536;
/// Words of a bitmap with a bit for each frame.
pub(crate) const FRAME_WORDS: usize = (FRAME_LIMIT / 32) as usize;
/// Slots for transmit records: one for each send descriptor, which is its index.
pub const TRANSMIT_SLOTS: usize = 256;
/// Slots for active receives: messages of which frames have arrived and others are to come.
pub const ACTIVE_SLOTS: usize = 64;
/// Entries of the list of posted receives, a power of two above the number of descriptors.
const POSTED_ENTRIES: usize = 512;
/// The head of the list of posted receives.
pub(crate) const POSTED_HEAD: u16 = (POSTED_ENTRIES - 1) as u16;

/// A frame bitmap. Longer than needed, so that a masked word index fits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameBits([u32; FRAME_WORDS]);

impl FrameBits {
    /// Clears the bits of frames `0..frames`.
    #[inline(always)]
    pub(crate) fn clear(&mut self, frames: u16) {
        self.0[0] = 0;
        if frames > 31 {
            self.clear_more(frames);
        }
    }

    #[inline(never)]
    fn clear_more(&mut self, frames: u16) {
        let last = usize::from(frames >> 5);
        for word in self.0.iter_mut().take(last + 1) {
            *word = 0;
        }
    }

    #[inline(always)]
    fn word(&self, index: u32) -> u32 {
        self.0.get(index as usize).copied().unwrap_or(0)
    }

    /// Whether frame `number`'s bit is set.
    #[inline(always)]
    pub(crate) fn has(&self, number: u16) -> bool {
        self.word(u32::from(number >> 5)) & bit(number) != 0
    }

    /// Sets frame `number`'s bit.
    #[inline(always)]
    pub(crate) fn insert(&mut self, number: u16) {
        if let Some(word) = self.0.get_mut(usize::from(number >> 5)) {
            *word |= bit(number);
        }
    }

    /// Clears frame `number`'s bit.
    #[inline(always)]
    pub(crate) fn remove(&mut self, number: u16) {
        if let Some(word) = self.0.get_mut(usize::from(number >> 5)) {
            *word &= !bit(number);
        }
    }

    /// Whether the bits of all frames `first..=first + more` are set; `more` is at most 15.
    #[inline(always)]
    pub(crate) fn has_all(&self, first: u16, more: u32) -> bool {
        let (index, shift) = (u32::from(first >> 5), u32::from(first & 31));
        let mut bits = self.word(index) >> shift;
        if shift + more > 31 {
            bits |= self.word(index + 1) << (32 - shift);
        }
        let all = (2 << more) - 1;
        bits & all == all
    }

    /// The first set bit at or after `number` and before `limit`.
    pub(crate) fn next(&self, number: u16, limit: u16) -> Option<u16> {
        let mut at = number;
        while at < limit {
            let bits = self.word(u32::from(at >> 5)) >> (at & 31);
            if bits == 0 {
                at = (at | 31) + 1;
            } else if bits & 1 != 0 {
                return Some(at);
            } else {
                at += 1;
            }
        }
        None
    }
}

#[inline(always)]
fn bit(number: u16) -> u32 {
    1 << (number & 31)
}

/// A place in an outgoing message: the next frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor {
    /// Message offset of the frame's payload.
    pub offset: u32,
    /// Frame number.
    pub number: u16,
    /// Frames of the ack group before it.
    pub before: u8,
    /// Frames of a whole ack group of this message.
    pub group: u8,
}

impl Cursor {
    /// The first frame of a message.
    pub(crate) const fn start(group: u8) -> Self {
        Self {
            offset: 0,
            number: 0,
            before: 0,
            group,
        }
    }
}

/// Whether a message has frames to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Queueing {
    /// It has none.
    Out,
    /// It is in the send queue.
    In,
    /// It waits for its receiver (`flow`).
    Held,
}

/// A message that is being sent: see `transmit.rs`. The order of the fields keeps neighbours that are
/// cleared together on word boundaries: the chip has no unaligned store.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Transmit {
    pub pages: Pages,
    /// Bytes of the message.
    pub length: u32,
    /// The frame to send next.
    pub cursor: Cursor,
    /// While `resending`: the first frame that has not been sent at all.
    pub fresh: Cursor,
    /// When the retransmission timer expires, in us; valid while `outstanding` is not 0.
    pub deadline_us: u32,
    /// Groups whose last frame was sent and that are not acknowledged.
    pub outstanding: u16,
    /// Frames of the message.
    pub frames: u16,
    /// Frames of the last group.
    pub last_group: u8,
    /// What will become of it; `Pending` while undecided.
    pub code: Code,
    /// Timeouts since the last progress.
    pub retries: u8,
    /// Sending again what was not acknowledged.
    pub resending: bool,
    /// Message identifier.
    pub id: u16,
    pub queueing: Queueing,
    /// DMAs that name this record and are not over.
    pub pending: u8,
    /// Destination.
    pub node: u8,
    /// Next in the send queue.
    pub queue_next: Slot,
    /// Next open message to the same peer, in the order of identifiers; after the newest the oldest.
    pub peer_next: Slot,
    /// Previous open message to the same peer; before the oldest the newest.
    pub peer_previous: Slot,
}

impl Transmit {
    /// Frames that have been sent at least once.
    #[inline(always)]
    pub(crate) fn sent(&self) -> u16 {
        if self.resending {
            self.fresh.number
        } else {
            self.cursor.number
        }
    }

    /// Groups whose last frame has been sent, acknowledged or not.
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

/// A message that is being received: see `receive.rs`.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Active {
    pub pages: Pages,
    /// Source node (high half) and message identifier: the frame's word.
    pub key: u32,
    /// Bytes of the message.
    pub length: u32,
    /// Bytes of the posted receive.
    pub capacity: u32,
    /// Frames of the message.
    pub frames: u16,
    /// Frames that have not arrived; none are awaited of an abandoned message.
    pub missing: u16,
    /// DMAs that name this record and are not over.
    pub pending: u16,
    /// The posted receive's descriptor.
    pub descriptor: u16,
    /// Bytes of its first frame.
    pub frame_bytes: u16,
    /// `missing` when silence was looked for last.
    pub missing_then: u16,
    /// How often in a row no frame had come.
    pub quiet: u16,
    pub state: Arriving,
    /// What will become of it: `Done` unless something goes wrong.
    pub code: Code,
    /// Next active message of the same peer, or next free record.
    pub next: Slot,
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

/// All records: [`TABLE_BYTES`] of NIC memory.
pub struct Tables {
    pub(crate) transmit: [Transmit; TRANSMIT_SLOTS],
    pub(crate) unacked: [FrameBits; TRANSMIT_SLOTS],
    posted: [Posted; POSTED_ENTRIES],
    active: [Active; ACTIVE_SLOTS],
    arrived: [FrameBits; ACTIVE_SLOTS],
    pub(crate) acks: [Ack; QUEUE_ENTRIES],
    /// Of each open message the early waits that have expired: see `pace.rs`.
    pub(crate) early: [u8; TRANSMIT_SLOTS],
}

/// Bytes of [`Tables`]: a transmit record and bitmap for each slot, the posted receives, an
/// active-receive record and bitmap for each slot, the acks that wait, a count for each transmit. Nothing in it grows with the number of peers.
pub const TABLE_BYTES: usize = TRANSMIT_SLOTS * (64 + FRAME_LIMIT as usize / 8)
    + POSTED_ENTRIES * 16
    + ACTIVE_SLOTS * (64 + FRAME_LIMIT as usize / 8)
    + QUEUE_ENTRIES * 16
    + TRANSMIT_SLOTS;

const _: () = assert!(TABLE_BYTES == 90_880, "docs/emp.md states it");
const _: () = assert!(size_of::<Tables>() == TABLE_BYTES);

const _: () = assert!(size_of::<Transmit>() == 64, "an index is one shift");
const _: () = assert!(size_of::<Active>() == 64, "an index is one shift");
const _: () = assert!(size_of::<Posted>() == 16, "an index is one shift");
const _: () = assert!(MESSAGE_LIMIT_BYTES < FRAME_LIMIT * 1486);

impl Default for Tables {
    fn default() -> Self {
        Self::new()
    }
}

impl Tables {
    /// Empty tables, all bits zero; [`Emp::poll_start`](crate::Emp::poll_start) links the lists.
    #[must_use]
    pub const fn new() -> Self {
        let transmit = Transmit {
            pages: Pages::ZERO,
            length: 0,
            cursor: Cursor::start(0),
            fresh: Cursor::start(0),
            deadline_us: 0,
            frames: 0,
            outstanding: 0,
            pending: 0,
            id: 0,
            node: 0,
            last_group: 0,
            retries: 0,
            resending: false,
            queueing: Queueing::Out,
            code: Code::Pending,
            queue_next: 0,
            peer_next: 0,
            peer_previous: 0,
        };
        let active = Active {
            pages: Pages::ZERO,
            key: 0,
            length: 0,
            capacity: 0,
            frames: 0,
            missing: 0,
            pending: 0,
            descriptor: 0,
            frame_bytes: 0,
            missing_then: 0,
            quiet: 0,
            state: Arriving::Open,
            code: Code::Pending,
            next: 0,
        };
        let posted = Posted {
            key: 0,
            mask: 0,
            next: 0,
            previous: 0,
            state: Posting::Free,
        };
        Self {
            transmit: [transmit; TRANSMIT_SLOTS],
            unacked: [FrameBits([0; FRAME_WORDS]); TRANSMIT_SLOTS],
            posted: [posted; POSTED_ENTRIES],
            active: [active; ACTIVE_SLOTS],
            arrived: [FrameBits([0; FRAME_WORDS]); ACTIVE_SLOTS],
            acks: [Ack::NONE; QUEUE_ENTRIES],
            early: [0; TRANSMIT_SLOTS],
        }
    }

    /// Links the lists: no message anywhere, all active records free.
    pub(crate) fn reset(&mut self) {
        for slot in 0..ACTIVE_SLOTS as u8 {
            self.active_mut(slot).next = slot + 1;
        }
        self.active_mut(ACTIVE_SLOTS as u8 - 1).next = NO_SLOT;
        for posted in &mut self.posted {
            posted.state = Posting::Free;
        }
        let head = self.posted_mut(POSTED_HEAD);
        head.next = POSTED_HEAD;
        head.previous = POSTED_HEAD;
    }

    #[inline(always)]
    pub(crate) fn transmit_mut(&mut self, slot: Slot) -> &mut Transmit {
        &mut self.transmit[usize::from(slot)]
    }

    #[inline(always)]
    pub(crate) fn posted(&self, index: u16) -> &Posted {
        &self.posted[usize::from(index) & (POSTED_ENTRIES - 1)]
    }

    #[inline(always)]
    pub(crate) fn posted_mut(&mut self, index: u16) -> &mut Posted {
        &mut self.posted[usize::from(index) & (POSTED_ENTRIES - 1)]
    }

    #[inline(always)]
    pub(crate) fn active_mut(&mut self, slot: Slot) -> &mut Active {
        &mut self.active[usize::from(slot) & (ACTIVE_SLOTS - 1)]
    }

    #[inline(always)]
    pub(crate) fn arrived_mut(&mut self, slot: Slot) -> &mut FrameBits {
        &mut self.arrived[usize::from(slot) & (ACTIVE_SLOTS - 1)]
    }

    /// Active-receive records in the free list that begins with `first`, and those that only remember.
    pub(crate) fn idle_records(&mut self, first: Slot) -> usize {
        let remembers = |record: &&Active| record.state == Arriving::Remembered;
        let mut count = self.active.iter().filter(remembers).count();
        let mut slot = first;
        while slot != NO_SLOT && count <= ACTIVE_SLOTS {
            slot = self.active_mut(slot).next;
            count += 1;
        }
        count
    }

    /// Appends a posted receive to the list.
    #[inline(always)]
    pub(crate) fn append_posted(&mut self, index: u16, key: u32, mask: u32) {
        let previous = self.posted(POSTED_HEAD).previous;
        *self.posted_mut(index) = Posted {
            key,
            mask,
            next: POSTED_HEAD,
            previous,
            state: Posting::Waiting,
        };
        self.posted_mut(previous).next = index;
        self.posted_mut(POSTED_HEAD).previous = index;
    }

    /// The oldest posted receive that takes `key`.
    #[inline(always)]
    pub(crate) fn find_posted(&self, key: u32) -> Option<u16> {
        let mut index = self.posted(POSTED_HEAD).next;
        while index != POSTED_HEAD {
            let posted = self.posted(index);
            if (posted.key ^ key) & posted.mask == 0 {
                return Some(index);
            }
            index = posted.next;
        }
        None
    }

    /// Takes a posted receive out of the list; `state` says what it is from then on.
    #[inline(always)]
    pub(crate) fn unlink_posted(&mut self, index: u16, state: Posting) {
        self.posted_mut(index).state = state;
        let (next, previous) = (self.posted(index).next, self.posted(index).previous);
        self.posted_mut(previous).next = next;
        self.posted_mut(next).previous = previous;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::boxed::Box;

    #[test]
    fn frame_bits_answer_like_a_set() {
        let mut bits = FrameBits([u32::MAX; FRAME_WORDS]);
        bits.clear(1412);
        assert_eq!(bits.next(0, 1412), None);
        for number in [30, 31, 32, 33, 64, 1410, 1411] {
            bits.insert(number);
        }
        let check = |first, more, expected| {
            assert_eq!(bits.has_all(first, more), expected, "{first} + {more}");
        };
        check(30, 0, true);
        check(30, 3, true);
        check(30, 4, false);
        check(29, 2, false);
        check(31, 2, true);
        check(32, 1, true);
        check(1410, 1, true);
        check(1410, 2, false);
        check(0xFFFF, 15, false);
        assert_eq!(bits.next(0, 1412), Some(30));
        assert_eq!(bits.next(34, 1412), Some(64));
        assert_eq!(bits.next(65, 1411), Some(1410));
        assert_eq!(bits.next(65, 1410), None);
        bits.remove(64);
        assert!(!bits.has(64) && bits.has(33) && !bits.has(0xFFFF));
    }

    #[test]
    fn posted_receives_match_in_posting_order() {
        let mut tables = Box::new(Tables::new());
        tables.reset();
        let exact = 0xFFFF_FFFF;
        tables.append_posted(300, 0x0001_0005, exact);
        tables.append_posted(200, 0x0001_0007, 0xFFFF_0000);
        tables.append_posted(439, 0x0001_0005, exact);
        let check = |tables: &Tables, key, expected| {
            assert_eq!(tables.find_posted(key), expected, "{key:#x}");
        };
        check(&tables, 0x0001_0005, Some(300));
        check(&tables, 0x0001_0009, Some(200));
        check(&tables, 0x0002_0005, None);
        tables.unlink_posted(300, Posting::Filling);
        check(&tables, 0x0001_0005, Some(200));
        tables.unlink_posted(200, Posting::Filling);
        check(&tables, 0x0001_0005, Some(439));
        check(&tables, 0x0001_0009, None);
        tables.unlink_posted(439, Posting::Filling);
        check(&tables, 0x0001_0005, None);
    }
}
