//! The records of the protocol, in NIC memory that only the firmware uses.
//!
//! Every array's length is a power of two and every index is masked or a `u8`: no index that comes
//! from a frame or from the host can miss, and none needs a check. A link is a `u8` slot;
//! [`NO_SLOT`] ends a list.

use crate::ack::{Ack, QUEUE_ENTRIES};
use crate::descriptor::Pages;
use crate::roles::{A, Base, On, Records, Roles, Seat};
use defs::emp::descriptor::{Code, MESSAGE_LIMIT_BYTES, SEND_DESCRIPTORS};

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
/// Bitmaps of groups without an ack: they are big, and no slot above the descriptors is used.
const UNACKED_BITMAPS: usize = SEND_DESCRIPTORS as usize;
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
#[repr(C, align(64))]
pub(crate) struct Transmit {
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
    /// Early waits that have expired since then: see `pace.rs`.
    pub early: u8,
    /// Sending again what was not acknowledged.
    pub resending: bool,
    /// Message identifier.
    pub id: u16,
    pub queueing: Queueing,
    /// Whether the transmitter may have something of it yet when all is acknowledged.
    pub closing: Closing,
    /// Destination.
    pub node: u8,
    /// Next in the send queue.
    pub queue_next: Slot,
    /// Next open message to the same peer, in the order of identifiers; after the newest the oldest.
    pub peer_next: Slot,
    /// Previous open message to the same peer; before the oldest the newest.
    pub peer_previous: Slot,
}

/// What the sender knows of the transmitter's work for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Closing {
    /// When all is acknowledged, all that was queued has left.
    Clear,
    /// Frames were sent again, or page entries are fetched: the transmitter must be asked.
    Ask,
    /// It was asked.
    Asked,
    /// It has nothing left.
    Closed,
}

/// The transmitter's part of a message that is being sent: see `frames.rs`.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(crate) struct Source {
    pub pages: Pages,
    /// DMAs that name this record and are not over.
    pub pending: u8,
    /// Its memory could not be read: nothing more of it is sent.
    pub failed: bool,
    /// The sender wants to know when nothing is pending.
    pub closing: bool,
}

impl Transmit {
    /// Whether a transmitter on the other CPU has nothing of this decided record left.
    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        match self.closing {
            Closing::Clear => self.code == Code::Done,
            Closing::Ask | Closing::Asked => false,
            Closing::Closed => true,
        }
    }

    /// Frames of the ack group behind the one at `cursor`.
    #[inline(always)]
    pub(crate) fn frames_after(&self, cursor: &Cursor) -> u32 {
        let left = self.frames.wrapping_sub(1).wrapping_sub(cursor.number);
        u32::from(cursor.group - 1 - cursor.before).min(u32::from(left))
    }

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

/// The records of a CPU's roles: `TABLE_BYTES` of NIC memory on both CPUs together.
///
/// In this order, what is used most begins within 32 KB: the reach of an instruction's offset.
#[repr(C)]
pub struct Tables<R: Roles> {
    transmit: R::Sender<[Transmit; TRANSMIT_SLOTS]>,
    sources: R::Transmitter<[Source; TRANSMIT_SLOTS]>,
    sinks: R::Deliverer<[Sink; ACTIVE_SLOTS]>,
    active: R::Matcher<[Active; ACTIVE_SLOTS]>,
    posted: R::Matcher<[Posted; POSTED_ENTRIES]>,
    acks: R::Transmitter<[Ack; QUEUE_ENTRIES]>,
    arrived: R::Matcher<[FrameBits; ACTIVE_SLOTS]>,
    unacked: R::Sender<[FrameBits; UNACKED_BITMAPS]>,
}

/// Bytes of all roles' records: a transmit record and bitmap for each slot, the posted receives, an
/// active-receive record and bitmap for each slot, the acks that wait. Nothing in it grows with the number of peers.
pub const TABLE_BYTES: usize = TRANSMIT_SLOTS * (64 + 32)
    + UNACKED_BITMAPS * (FRAME_LIMIT as usize / 8)
    + POSTED_ENTRIES * 16
    + ACTIVE_SLOTS * (32 + 64 + FRAME_LIMIT as usize / 8)
    + QUEUE_ENTRIES * 16;

const _: () = assert!(TABLE_BYTES == 90_112, "docs/emp.md states it");
const _: () = assert!(size_of::<Tables<On<A, Base>>>() == TABLE_BYTES);

const _: () = assert!(size_of::<Transmit>() == 64, "an index is one shift");
const _: () = assert!(size_of::<Source>() == 32, "an index is one shift");
const _: () = assert!(size_of::<Active>() == 32, "an index is one shift");
const _: () = assert!(size_of::<Sink>() == 64, "an index is one shift");
const _: () = assert!(size_of::<Posted>() == 16, "an index is one shift");
const _: () = assert!(MESSAGE_LIMIT_BYTES < FRAME_LIMIT * 1486);

/// Which bitmap is a slot's.
#[inline(always)]
fn unacked_bitmap(slot: Slot) -> usize {
    usize::from(slot).min(UNACKED_BITMAPS - 1)
}

/// A record that is made of zeros.
trait Zero {
    const ZERO: Self;
}

impl<T: Zero, const COUNT: usize> Records for [T; COUNT] {
    const ZERO: Self = [const { T::ZERO }; COUNT];
}

impl Zero for FrameBits {
    const ZERO: Self = Self([0; FRAME_WORDS]);
}

impl Zero for Ack {
    const ZERO: Self = Self::NONE;
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

impl<R: Roles> Default for Tables<R> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Roles> Tables<R> {
    /// Empty tables, all bits zero; [`Emp::poll_start`](crate::Emp::poll_start) links the lists.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            transmit: R::Sender::ZERO,
            sources: R::Transmitter::ZERO,
            sinks: R::Deliverer::ZERO,
            active: R::Matcher::ZERO,
            posted: R::Matcher::ZERO,
            acks: R::Transmitter::ZERO,
            arrived: R::Matcher::ZERO,
            unacked: R::Sender::ZERO,
        }
    }

    /// Links the matcher's lists: no message anywhere, all active records free.
    pub(crate) fn reset(&mut self) {
        if !R::MATCHER {
            return;
        }
        for slot in 0..ACTIVE_SLOTS as u8 {
            self.active_mut(slot).next = slot + 1;
        }
        self.active_mut(ACTIVE_SLOTS as u8 - 1).next = NO_SLOT;
        for posted in self.posted.get_mut() {
            posted.state = Posting::Free;
        }
        let head = self.posted_mut(POSTED_HEAD);
        head.next = POSTED_HEAD;
        head.previous = POSTED_HEAD;
    }

    #[inline(always)]
    pub(crate) fn transmit_mut(&mut self, slot: Slot) -> &mut Transmit {
        &mut self.transmit.get_mut()[usize::from(slot)]
    }

    #[inline(always)]
    pub(crate) fn transmit(&self, slot: Slot) -> &Transmit {
        &self.transmit.get()[usize::from(slot)]
    }

    #[inline(always)]
    pub(crate) fn unacked_mut(&mut self, slot: Slot) -> &mut FrameBits {
        &mut self.unacked.get_mut()[unacked_bitmap(slot)]
    }

    /// A transmit record, to be changed, and the groups that are not acknowledged.
    #[inline(always)]
    pub(crate) fn transmit_and_unacked(&mut self, slot: Slot) -> (&mut Transmit, &FrameBits) {
        (
            &mut self.transmit.get_mut()[usize::from(slot)],
            &self.unacked.get()[unacked_bitmap(slot)],
        )
    }

    #[inline(always)]
    pub(crate) fn source_mut(&mut self, slot: Slot) -> &mut Source {
        &mut self.sources.get_mut()[usize::from(slot)]
    }

    /// A place for an ack that waits.
    #[inline(always)]
    pub(crate) fn ack_mut(&mut self, place: usize) -> &mut Ack {
        &mut self.acks.get_mut()[place & (QUEUE_ENTRIES - 1)]
    }

    #[inline(always)]
    pub(crate) fn sink_mut(&mut self, slot: Slot) -> &mut Sink {
        &mut self.sinks.get_mut()[usize::from(slot) & (ACTIVE_SLOTS - 1)]
    }

    #[inline(always)]
    pub(crate) fn posted(&self, index: u16) -> &Posted {
        &self.posted.get()[usize::from(index) & (POSTED_ENTRIES - 1)]
    }

    #[inline(always)]
    pub(crate) fn posted_mut(&mut self, index: u16) -> &mut Posted {
        &mut self.posted.get_mut()[usize::from(index) & (POSTED_ENTRIES - 1)]
    }

    #[inline(always)]
    pub(crate) fn active_mut(&mut self, slot: Slot) -> &mut Active {
        &mut self.active.get_mut()[usize::from(slot) & (ACTIVE_SLOTS - 1)]
    }

    #[inline(always)]
    pub(crate) fn arrived_mut(&mut self, slot: Slot) -> &mut FrameBits {
        &mut self.arrived.get_mut()[usize::from(slot) & (ACTIVE_SLOTS - 1)]
    }

    /// Active-receive records in the free list that begins with `first`, and those that only remember.
    pub(crate) fn idle_records(&mut self, first: Slot) -> usize {
        if !R::MATCHER {
            return ACTIVE_SLOTS;
        }
        let remembers = |record: &&Active| record.state == Arriving::Remembered;
        let mut count = self.active.get().iter().filter(remembers).count();
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
        let mut tables = Box::new(Tables::<On<A, Base>>::new());
        tables.reset();
        let exact = 0xFFFF_FFFF;
        tables.append_posted(300, 0x0001_0005, exact);
        tables.append_posted(200, 0x0001_0007, 0xFFFF_0000);
        tables.append_posted(439, 0x0001_0005, exact);
        let check = |tables: &Tables<On<A, Base>>, key, expected| {
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
