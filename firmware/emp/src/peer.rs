//! State per peer, all in the peer's 16-byte entry of the route table: message identifiers, epochs, and the
//! heads of two lists.
//!
//! A posted message to a peer takes the next 16-bit identifier. The peer matches messages in that order: it
//! knows the next identifier of each source.
//!
//! A header frame carries the oldest identifier that its source still has open. Everything before it was
//! acknowledged or abandoned, so the receiver continues from there. This is how it skips a message that the
//! sender abandoned, and where it starts with an unknown peer. Identifiers compare within half their range,
//! so a sender must not get far ahead of its oldest open message: a transmit more than [`WINDOW`] after it
//! is refused.
//!
//! A node's epoch grows from start to start. A peer's frames are valid only in its latest known epoch. A
//! header frame or an ack of a later epoch shows that the peer has restarted: its incomplete messages are
//! abandoned, and so are messages to it that its earlier run has received in part. An ack repeats the epoch
//! of the acknowledged frame, so that a node ignores acks meant for its earlier run.

use crate::Emp;
use crate::jobs::{self, Queue};
use crate::nic::Nic;
use crate::roles::Roles;
use crate::tables::{Arriving, NO_SLOT, Slot, Transmit};
use defs::emp::control::{
    EPOCH_DOUBT, EPOCH_UNKNOWN, EPOCH_UNMET, ROUTE_ACTIVE_SHIFT, ROUTE_ENTRY_BYTES, ROUTE_EPOCH,
    ROUTE_MAC_HIGH, ROUTE_MESSAGE_IDS, ROUTE_OLDEST_SHIFT, ROUTE_TABLE_ENTRIES,
};
use defs::emp::descriptor::Code;

const ROUTE_SHIFT: u32 = ROUTE_ENTRY_BYTES.trailing_zeros();
/// Largest distance between the oldest open message to a peer and the newest: half of the comparable range,
/// so that the peer may be equally far behind.
pub(crate) const WINDOW: u16 = 1 << 14;
/// The bits of the epoch word that do not belong to flow control.
const EPOCH_BITS: u32 = EPOCH_DOUBT | EPOCH_UNMET | EPOCH_UNKNOWN | 0xFFFF;

/// The message that an answer of a peer belongs to.
pub(crate) enum Answered {
    /// None that is open.
    Nothing,
    /// The one that is to be answered next.
    Next(Slot),
    /// Perhaps one after it.
    Later,
}

/// Whether identifier or epoch `a` is later than `b`; both wrap.
#[inline(always)]
pub(crate) fn is_after(a: u16, b: u16) -> bool {
    let distance = a.wrapping_sub(b);
    distance != 0 && distance < 0x8000
}

impl<N: Nic> Emp<'_, N> {
    /// NIC address of a word of `node`'s route entry.
    #[inline(always)]
    pub(crate) fn route_word(&self, node: u32, word: u32) -> u32 {
        self.memory.routes() + (node << ROUTE_SHIFT) + (word << 2)
    }

    /// Resets all peers: no messages, and no known epochs.
    pub(crate) fn reset_peers(&mut self) {
        for node in 0..ROUTE_TABLE_ENTRIES {
            let at = self.route_word(node, ROUTE_MAC_HIGH);
            let none = u32::from(NO_SLOT);
            let lists = (none << ROUTE_OLDEST_SHIFT) | (none << ROUTE_ACTIVE_SHIFT);
            self.nic.store(at, self.nic.load(at) | lists);
            let at = self.route_word(node, ROUTE_EPOCH);
            self.nic.store(at, EPOCH_UNKNOWN | EPOCH_UNMET);
        }
    }

    /// Changes a word that has a sender's part and a matcher's part: under the semaphore if these are on
    /// two CPUs.
    #[inline(always)]
    pub(crate) fn change(&mut self, at: u32, change: impl FnOnce(u32) -> u32) {
        if N::Roles::PEERS_SHARED {
            self.nic.lock();
        }
        self.nic.store(at, change(self.nic.load(at)));
        if N::Roles::PEERS_SHARED {
            self.nic.unlock();
        }
    }

    #[inline(always)]
    fn route_slot(&self, node: u32, shift: u32) -> Slot {
        (self.nic.load(self.route_word(node, ROUTE_MAC_HIGH)) >> shift) as Slot
    }

    /// Replaces the head `old` of a list by `new`; returns whether `old` was the head.
    #[inline(always)]
    fn replace_route_slot(&mut self, node: u32, shift: u32, old: Slot, new: Slot) -> bool {
        let at = self.route_word(node, ROUTE_MAC_HIGH);
        let is_head = self.route_slot(node, shift) == old;
        if is_head {
            self.change(at, |word| word ^ (u32::from(old ^ new) << shift));
        }
        is_head
    }

    /// Slot of the oldest open message to `node`.
    #[inline(always)]
    pub(crate) fn oldest_transmit(&self, node: u32) -> Slot {
        self.route_slot(node, ROUTE_OLDEST_SHIFT)
    }

    /// First slot in the list of messages that arrive from `node`.
    #[inline(always)]
    pub(crate) fn first_active(&self, node: u32) -> Slot {
        self.route_slot(node, ROUTE_ACTIVE_SHIFT)
    }

    /// Makes `slot` the first in the list of messages that arrive from `node`; returns the previous first.
    #[inline(always)]
    pub(crate) fn push_active(&mut self, node: u32, slot: Slot) -> Slot {
        let first = self.first_active(node);
        self.replace_route_slot(node, ROUTE_ACTIVE_SHIFT, first, slot);
        first
    }

    /// If `slot` is the first of those messages, makes `next` the first; returns whether it was.
    #[inline(always)]
    pub(crate) fn pop_active(&mut self, node: u32, slot: Slot, next: Slot) -> bool {
        self.replace_route_slot(node, ROUTE_ACTIVE_SHIFT, slot, next)
    }

    /// Makes `slot` the newest open message to `node`; returns its next and its previous one.
    #[inline(always)]
    pub(crate) fn link_transmit(&mut self, node: u32, slot: Slot) -> (Slot, Slot) {
        let oldest = self.oldest_transmit(node);
        if oldest == NO_SLOT {
            self.replace_route_slot(node, ROUTE_OLDEST_SHIFT, NO_SLOT, slot);
            return (slot, slot);
        }
        let record = self.tables.transmit_mut(oldest);
        let newest = record.peer_previous;
        record.peer_previous = slot;
        self.tables.transmit_mut(newest).peer_next = slot;
        (oldest, newest)
    }

    /// Removes `slot` from the list of open messages to `node`.
    #[inline(always)]
    pub(crate) fn unlink_transmit(&mut self, node: u32, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        let (next, previous) = (record.peer_next, record.peer_previous);
        let heir = if next == slot { NO_SLOT } else { next };
        self.replace_route_slot(node, ROUTE_OLDEST_SHIFT, slot, heir);
        self.tables.transmit_mut(previous).peer_next = next;
        self.tables.transmit_mut(next).peer_previous = previous;
    }

    /// Finds the open message to `node` with identifier `id`, which `node` has answered.
    #[inline(always)]
    pub(crate) fn answered_transmit(&mut self, node: u32, id: u16) -> Answered {
        let oldest = self.oldest_transmit(node);
        let mut slot = oldest;
        while slot != NO_SLOT {
            let record = self.tables.transmit_mut(slot);
            if record.id == id {
                return Answered::Next(slot);
            }
            // A decided message may wait for a transmitter on the other CPU for long; nothing was lost.
            if N::Roles::TRANSMITTER || record.code == Code::Pending {
                return Answered::Later;
            }
            slot = record.peer_next;
            if slot == oldest {
                break;
            }
        }
        Answered::Nothing
    }

    /// Finds the open message to `node` with identifier `id`, which was answered although older ones may
    /// wait for acks.
    pub(crate) fn answered_later(&mut self, node: u32, id: u16) -> Option<Slot> {
        let oldest = self.oldest_transmit(node);
        let mut slot = oldest;
        while self.tables.transmit_mut(slot).id != id {
            slot = self.tables.transmit_mut(slot).peer_next;
            if slot == oldest {
                return None;
            }
        }
        self.overtaken(oldest, slot);
        Some(slot)
    }

    /// The identifier of the next message to `node`; `None` if it is too far from the oldest open one.
    #[inline(always)]
    pub(crate) fn next_id(&mut self, node: u32) -> Option<u16> {
        let at = self.route_word(node, ROUTE_MESSAGE_IDS);
        let ids = self.nic.load(at);
        let id = (ids >> 16) as u16;
        let oldest = self.oldest_transmit(node);
        if oldest != NO_SLOT && id.wrapping_sub(self.tables.transmit_mut(oldest).id) >= WINDOW {
            return None;
        }
        self.change(at, |ids| ids.wrapping_add(1 << 16));
        Some(id)
    }

    /// The identifier of the next message expected from `node`.
    #[inline(always)]
    pub(crate) fn expected_id(&self, node: u32) -> u16 {
        self.nic.load(self.route_word(node, ROUTE_MESSAGE_IDS)) as u16
    }

    /// Sets [`expected_id`](Self::expected_id).
    #[inline(always)]
    pub(crate) fn expect_id(&mut self, node: u32, id: u16) {
        let at = self.route_word(node, ROUTE_MESSAGE_IDS);
        self.change(at, |ids| (ids & 0xFFFF_0000) | u32::from(id));
    }

    /// Whether `epoch` is the epoch of `node`'s known header frames, and nothing is in doubt.
    #[inline(always)]
    pub(crate) fn is_sure_of(&self, node: u32, epoch: u32) -> bool {
        let word = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        // The bits are the lowest: a shift drops all others.
        (word ^ epoch) << EPOCH_BITS.leading_zeros() == 0
    }

    /// Whether a data frame of `epoch` is valid if [`is_sure_of`](Self::is_sure_of) returns `false`.
    #[cold]
    #[inline(never)]
    pub(crate) fn has_met(&self, node: u32, epoch: u32) -> bool {
        let word = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        (word ^ epoch) & (EPOCH_UNMET | EPOCH_UNKNOWN | 0xFFFF) == 0
    }

    /// Whether abandoned messages from `node` have been forgotten.
    pub(crate) fn is_in_doubt(&self, node: u32) -> bool {
        self.nic.load(self.route_word(node, ROUTE_EPOCH)) & EPOCH_DOUBT != 0
    }

    /// Records that some abandoned messages of `node` before the expected one have been forgotten.
    pub(crate) fn doubt(&mut self, node: u32) {
        let at = self.route_word(node, ROUTE_EPOCH);
        self.change(at, |word| word | EPOCH_DOUBT);
    }

    /// Checks a header frame with an epoch for which [`is_sure_of`](Self::is_sure_of) returns `false`.
    /// Returns whether it is valid.
    #[cold]
    #[inline(never)]
    pub(crate) fn meet(&mut self, node: u32, epoch: u32, oldest: u16) -> bool {
        if !self.hear(node, epoch) {
            return false;
        }
        let at = self.route_word(node, ROUTE_EPOCH);
        let word = self.nic.load(at);
        if word & EPOCH_UNMET != 0 {
            self.change(at, |word| word & !EPOCH_UNMET);
            self.expect_id(node, oldest);
        } else if !is_after(self.expected_id(node), oldest) {
            // Its source has no open message before the expected one: the doubt ends.
            self.change(at, |word| word & !EPOCH_DOUBT);
        }
        true
    }

    /// Whether an ack that `node` sent in `epoch` is valid.
    #[inline(always)]
    pub(crate) fn knows(&mut self, node: u32, epoch: u32) -> bool {
        let word = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        (word ^ epoch) << EPOCH_UNKNOWN.leading_zeros() == 0 || self.hear(node, epoch)
    }

    /// Checks a frame that `node` has sent in `epoch`; returns whether it is valid. After a restart of the
    /// node, messages of its earlier run end.
    #[cold]
    #[inline(never)]
    fn hear(&mut self, node: u32, epoch: u32) -> bool {
        let at = self.route_word(node, ROUTE_EPOCH);
        let word = self.nic.load(at);
        let known = word & EPOCH_UNKNOWN == 0;
        if known && word & 0xFFFF == epoch {
            return true;
        }
        if known && !is_after(epoch as u16, word as u16) {
            return false;
        }
        self.change(at, |word| (word & !EPOCH_BITS) | EPOCH_UNMET | epoch);
        if known {
            self.abandon(node, None);
            if N::Roles::SENDER {
                self.fail_begun(node);
            } else {
                let job =
                    (jobs::reports::NEW_LIFE << jobs::KIND_SHIFT) | (node << jobs::SLOT_SHIFT);
                self.nic.put(Queue::Reports, [job]);
            }
        }
        true
    }

    /// After a restart of `node`, fails the open messages to it that it has partly acknowledged: they can
    /// never be complete. The others start again.
    pub(crate) fn fail_begun(&mut self, node: u32) {
        self.fail_messages(node, |record| record.groups_sent() != record.outstanding);
    }

    /// Fails the open messages to `node` that are `hopeless`.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail_messages(&mut self, node: u32, hopeless: fn(&Transmit) -> bool) {
        let mut left = self.open_count;
        let mut slot = self.oldest_transmit(node);
        while slot != NO_SLOT && left != 0 {
            let record = self.tables.transmit_mut(slot);
            let next = record.peer_next;
            if record.code == Code::Pending && hopeless(record) {
                record.code = Code::Timeout;
                self.settle_at_last(slot);
            }
            slot = next;
            left -= 1;
        }
    }

    /// The message from `node` with the key (node and identifier) for which frames are expected.
    #[inline(always)]
    pub(crate) fn find_active(&mut self, node: u32, key: u32) -> Option<Slot> {
        let mut slot = self.first_active(node);
        while slot != NO_SLOT {
            let record = self.tables.active_mut(slot);
            if record.key == key && record.state == Arriving::Open {
                return Some(slot);
            }
            slot = record.next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::is_after;

    #[test]
    fn identifiers_wrap() {
        let check = |a, b, expected| assert_eq!(is_after(a, b), expected, "{a} after {b}");
        check(1, 0, true);
        check(0, 1, false);
        check(7, 7, false);
        check(0, 0xFFFF, true);
        check(0x7FFF, 0, true);
        check(0xFFFF, 2, false);
    }
}
