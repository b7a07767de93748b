//! The records of the protocol, in NIC memory without other users.
//!
//! Every array's length is a power of two and every index is masked or a `u8`: indices from a frame or from
//! the host are always in bounds, without checks. A link is a `u8` slot; [`NO_SLOT`] ends a list.

mod bits;
mod receive;
mod send;

pub(crate) use bits::FrameBits;
pub(crate) use receive::{Active, Arriving, Posted, Posting, Sink};
pub(crate) use send::{Closing, Cursor, Queueing, Source, Transmit};

use crate::ack::{Ack, QUEUE_ENTRIES};
use crate::roles::{A, Base, Records, Roles, RolesOn, Seat};
use defs::emp::descriptor::{MESSAGE_LIMIT_BYTES, SEND_DESCRIPTORS};
pub use defs::emp::frame::FRAME_LIMIT;

/// Index of a transmit or active-receive record.
pub(crate) type Slot = u8;
/// The end of a list of slots.
pub(crate) const NO_SLOT: Slot = 0xFF;
/// Slots for transmit records: a send descriptor's index is its slot.
pub const TRANSMIT_SLOTS: usize = 256;
/// Number of bitmaps of unacknowledged groups: they are big, and slots above the descriptors are unused.
const UNACKED_BITMAPS: usize = SEND_DESCRIPTORS as usize;
/// Slots for active receives: messages with some frames received and others missing.
pub const ACTIVE_SLOTS: usize = 64;
/// Entries of the list of posted receives, a power of two above the number of descriptors.
const POSTED_ENTRIES: usize = 512;
/// Words for peers' early frames, a power of two. Peers may share one: then a gap is reported more often.
const HEARD_ENTRIES: usize = 64;
/// The head of the list of posted receives.
pub(crate) const POSTED_HEAD: u16 = (POSTED_ENTRIES - 1) as u16;

/// The records of a CPU's roles: `TABLE_BYTES` of NIC memory on both CPUs together.
///
/// The field order puts hot fields below 32 KB: the range of an instruction's offset.
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
    heard: R::Matcher<[u32; HEARD_ENTRIES]>,
}

/// Size of all roles' records: a transmit record and bitmap per slot, the posted receives, an
/// active-receive record and bitmap per slot, the waiting acks, the early frames.
pub const TABLE_BYTES: usize = TRANSMIT_SLOTS * (64 + 32)
    + UNACKED_BITMAPS * (FRAME_LIMIT as usize / 8)
    + POSTED_ENTRIES * 16
    + ACTIVE_SLOTS * (32 + 64 + FRAME_LIMIT as usize / 8)
    + QUEUE_ENTRIES * 16
    + HEARD_ENTRIES * 4;

const _: () = assert!(TABLE_BYTES == 90_368, "docs/emp.md states it");
const _: () = assert!(size_of::<Tables<RolesOn<A, Base>>>() == TABLE_BYTES);

const _: () = assert!(size_of::<Transmit>() == 64, "an index is one shift");
const _: () = assert!(size_of::<Source>() == 32, "an index is one shift");
const _: () = assert!(size_of::<Active>() == 32, "an index is one shift");
const _: () = assert!(size_of::<Sink>() == 64, "an index is one shift");
const _: () = assert!(size_of::<Posted>() == 16, "an index is one shift");
const _: () = assert!(MESSAGE_LIMIT_BYTES < FRAME_LIMIT * 1486);

/// Index of a slot's bitmap.
#[inline(always)]
fn unacked_bitmap(slot: Slot) -> usize {
    usize::from(slot).min(UNACKED_BITMAPS - 1)
}

/// A record with all bits zero.
trait Zero {
    const ZERO: Self;
}

impl<T: Zero, const COUNT: usize> Records for [T; COUNT] {
    const ZERO: Self = [const { T::ZERO }; COUNT];
}

impl Zero for u32 {
    const ZERO: Self = 0;
}

impl Zero for Ack {
    const ZERO: Self = Self::NONE;
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
            heard: R::Matcher::ZERO,
        }
    }

    /// Links the matcher's lists: no messages, all active records free.
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
        *self.heard.get_mut() = Records::ZERO;
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

    /// A transmit record, mutable, and its unacknowledged groups.
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

    /// An entry for a waiting ack.
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

    /// The early frames of a peer: the message that is expected from it (high half), and the position behind
    /// its first frame of the early frame heard last; 0 = none.
    #[inline(always)]
    pub(crate) fn heard_mut(&mut self, node: u32) -> &mut u32 {
        &mut self.heard.get_mut()[node as usize & (HEARD_ENTRIES - 1)]
    }

    #[inline(always)]
    pub(crate) fn arrived_mut(&mut self, slot: Slot) -> &mut FrameBits {
        &mut self.arrived.get_mut()[usize::from(slot) & (ACTIVE_SLOTS - 1)]
    }

    /// Number of active-receive records in the free list from `first` on, plus those that remember
    /// abandoned messages.
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

    /// The oldest posted receive that matches `key`.
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

    /// Removes a posted receive from the list and sets its state.
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
    fn posted_receives_match_in_posting_order() {
        let mut tables = Box::new(Tables::<RolesOn<A, Base>>::new());
        tables.reset();
        let exact = 0xFFFF_FFFF;
        tables.append_posted(300, 0x0001_0005, exact);
        tables.append_posted(200, 0x0001_0007, 0xFFFF_0000);
        tables.append_posted(439, 0x0001_0005, exact);
        let check = |tables: &Tables<RolesOn<A, Base>>, key, expected| {
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
