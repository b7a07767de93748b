//! What a node knows of its peers: message identifiers, epochs, and the heads of two lists, all in the
//! peer's 16-byte entry of the route table.
//!
//! A message to a peer takes the next 16-bit identifier at its posting. The peer matches messages in
//! that order: of a source it knows the identifier that must come next.
//!
//! A header frame carries the oldest identifier that its source still has open. Everything before it
//! was acknowledged or given up, so the receiver goes on from there: this is how it gets past a
//! message that the sender gave up, and where it begins with a peer that it does not know yet.
//! Identifiers compare within half their range; so nobody may be far ahead of the oldest open message:
//! a transmit more than [`WINDOW`] after it is refused.
//!
//! A node's epoch grows from start to start. Of a peer's frames only those of its latest known epoch
//! count. A header frame or an ack of a later epoch shows that the peer has started anew: what it left
//! unfinished is given up, and so are the messages to it of which its earlier life has a part. An ack repeats the
//! epoch of what it acknowledges, so that a node takes no ack that was meant for its earlier life.

use crate::Emp;
use crate::jobs::{self, Queue};
use crate::nic::Nic;
use crate::roles::Roles;
use crate::tables::{Arriving, NO_SLOT, Slot};
use defs::emp::control::{
    EPOCH_DOUBT, EPOCH_UNKNOWN, EPOCH_UNMET, ROUTE_ACTIVE_SHIFT, ROUTE_ENTRY_BYTES, ROUTE_EPOCH,
    ROUTE_MAC_HIGH, ROUTE_MESSAGE_IDS, ROUTE_OLDEST_SHIFT, ROUTE_TABLE_ENTRIES,
};
use defs::emp::descriptor::Code;

const ROUTE_SHIFT: u32 = ROUTE_ENTRY_BYTES.trailing_zeros();
/// Identifiers from the oldest open message to a peer to the newest: half of what still compares right,
/// so that the peer may be as far behind.
pub(crate) const WINDOW: u16 = 1 << 14;
/// The bits of the epoch word that are not the flow's.
const EPOCH_BITS: u32 = EPOCH_DOUBT | EPOCH_UNMET | EPOCH_UNKNOWN | 0xFFFF;

/// Whether identifier or epoch `a` comes after `b`; they wrap.
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

    /// No message anywhere, and nothing known of any peer.
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

    /// Changes a word of which one part is the sender's and one the matcher's: under the semaphore, where these
    /// are on two CPUs.
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

    /// Replaces the head `old` of a list by `new` if it is the head; says whether it was.
    #[inline(always)]
    fn replace_route_slot(&mut self, node: u32, shift: u32, old: Slot, new: Slot) -> bool {
        let at = self.route_word(node, ROUTE_MAC_HIGH);
        let is_head = self.route_slot(node, shift) == old;
        if is_head {
            self.change(at, |word| word ^ (u32::from(old ^ new) << shift));
        }
        is_head
    }

    /// The oldest open message to `node`.
    #[inline(always)]
    pub(crate) fn oldest_transmit(&self, node: u32) -> Slot {
        self.route_slot(node, ROUTE_OLDEST_SHIFT)
    }

    /// The first message in the list of those that arrive from `node`.
    #[inline(always)]
    pub(crate) fn first_active(&self, node: u32) -> Slot {
        self.route_slot(node, ROUTE_ACTIVE_SHIFT)
    }

    /// Makes `slot` the first message in the list of those that arrive from `node`; the result is the
    /// one that was it.
    #[inline(always)]
    pub(crate) fn push_active(&mut self, node: u32, slot: Slot) -> Slot {
        let first = self.first_active(node);
        self.replace_route_slot(node, ROUTE_ACTIVE_SHIFT, first, slot);
        first
    }

    /// If `slot` is the first of those messages, makes `next` the first; says whether it was.
    #[inline(always)]
    pub(crate) fn pop_active(&mut self, node: u32, slot: Slot, next: Slot) -> bool {
        self.replace_route_slot(node, ROUTE_ACTIVE_SHIFT, slot, next)
    }

    /// Makes `slot` the newest open message to `node`; the result is its next and its previous one.
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

    /// Takes `slot` out of the list of open messages to `node`.
    #[inline(always)]
    pub(crate) fn unlink_transmit(&mut self, node: u32, slot: Slot) {
        let record = self.tables.transmit_mut(slot);
        let (next, previous) = (record.peer_next, record.peer_previous);
        let heir = if next == slot { NO_SLOT } else { next };
        self.replace_route_slot(node, ROUTE_OLDEST_SHIFT, slot, heir);
        self.tables.transmit_mut(previous).peer_next = next;
        self.tables.transmit_mut(next).peer_previous = previous;
    }

    /// The open message to `node` with identifier `id`.
    #[inline(always)]
    pub(crate) fn find_transmit(&mut self, node: u32, id: u16) -> Option<Slot> {
        let oldest = self.oldest_transmit(node);
        let mut slot = oldest;
        while slot != NO_SLOT {
            let record = self.tables.transmit_mut(slot);
            if record.id == id {
                return Some(slot);
            }
            slot = record.peer_next;
            if slot == oldest {
                break;
            }
        }
        None
    }

    /// The identifier of the next message to `node`; `None` if that is too far from the oldest open one.
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

    /// The identifier of the message that `node` must begin next.
    #[inline(always)]
    pub(crate) fn expected_id(&self, node: u32) -> u16 {
        self.nic.load(self.route_word(node, ROUTE_MESSAGE_IDS)) as u16
    }

    /// Sets what [`expected_id`](Self::expected_id) says.
    #[inline(always)]
    pub(crate) fn expect_id(&mut self, node: u32, id: u16) {
        let at = self.route_word(node, ROUTE_MESSAGE_IDS);
        self.change(at, |ids| (ids & 0xFFFF_0000) | u32::from(id));
    }

    /// Whether `epoch` is the one in which `node`'s header frames are known, and nothing is in doubt.
    #[inline(always)]
    pub(crate) fn is_sure_of(&self, node: u32, epoch: u32) -> bool {
        let word = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        // The bits are the lowest: a shift drops all others.
        (word ^ epoch) << EPOCH_BITS.leading_zeros() == 0
    }

    /// Whether a data frame of `epoch` counts, when [`is_sure_of`](Self::is_sure_of) says no.
    #[cold]
    #[inline(never)]
    pub(crate) fn has_met(&self, node: u32, epoch: u32) -> bool {
        let word = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        (word ^ epoch) & (EPOCH_UNMET | EPOCH_UNKNOWN | 0xFFFF) == 0
    }

    /// Whether there were messages from `node` that nobody remembers to have been given up here.
    pub(crate) fn is_in_doubt(&self, node: u32) -> bool {
        self.nic.load(self.route_word(node, ROUTE_EPOCH)) & EPOCH_DOUBT != 0
    }

    /// Notes that of `node`'s messages before the expected one some are given up and forgotten.
    pub(crate) fn doubt(&mut self, node: u32) {
        let at = self.route_word(node, ROUTE_EPOCH);
        self.change(at, |word| word | EPOCH_DOUBT);
    }

    /// A header frame came with an epoch of which [`is_sure_of`](Self::is_sure_of) says no. Says
    /// whether it counts.
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
            // Nothing before the expected message is open at its source: no doubt is left.
            self.change(at, |word| word & !EPOCH_DOUBT);
        }
        true
    }

    /// Whether an ack that `node` sent in `epoch` counts.
    #[inline(always)]
    pub(crate) fn knows(&mut self, node: u32, epoch: u32) -> bool {
        let word = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        (word ^ epoch) << EPOCH_UNKNOWN.leading_zeros() == 0 || self.hear(node, epoch)
    }

    /// `node` has sent something in `epoch`: whether that counts. If it is a later life of the node, what
    /// its earlier life has begun is over.
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

    /// `node` has started anew: of the open messages to it, those of which it has acknowledged something can
    /// never be whole any more. The others begin again.
    pub(crate) fn fail_begun(&mut self, node: u32) {
        let mut left = self.open_count;
        let mut slot = self.oldest_transmit(node);
        while slot != NO_SLOT && left != 0 {
            let record = self.tables.transmit_mut(slot);
            let next = record.peer_next;
            if record.code == Code::Pending && record.groups_sent() != record.outstanding {
                record.code = Code::Timeout;
                self.settle_transmit(slot);
            }
            slot = next;
            left -= 1;
        }
    }

    /// The message from `node` with the key (node and identifier) of which frames are awaited.
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
