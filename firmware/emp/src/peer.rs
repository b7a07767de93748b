//! What a node knows of its peers: message identifiers and epochs.
//!
//! A message to a peer takes the next 16-bit identifier at its posting. The peer matches messages in
//! that order: of a source it knows the identifier that must come next.
//!
//! A header frame carries the oldest identifier that its source still has open. Everything before it
//! was acknowledged or given up, so the receiver goes on from there: this is how it gets past a
//! message that the sender gave up, and where it begins with a peer that it does not know yet.
//!
//! A node's epoch grows from start to start. Of a peer's frames only those of its latest known epoch
//! count; a header frame of a later epoch shows that the peer has started anew: what it left unfinished
//! is abandoned. An ack repeats the epoch of what it acknowledges, so that a node takes no ack
//! that was meant for its earlier life.
//!
//! An ack tells its sender's epoch too. Without it a message could be done of which one life of the peer
//! has acknowledged the beginning and the next life the rest, and nobody has all. So a peer that starts anew
//! ends what its earlier life has acknowledged in part.

use crate::Emp;
use crate::nic::Nic;
use crate::tables::{NO_SLOT, Slot};
use defs::emp::control::{
    EPOCH_HEARD, EPOCH_KNOWN, ROUTE_ENTRY_BYTES, ROUTE_EPOCH, ROUTE_MESSAGE_IDS,
};
use defs::emp::descriptor::Code;

const ROUTE_SHIFT: u32 = ROUTE_ENTRY_BYTES.trailing_zeros();

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

    /// The identifier of the next message to `node`.
    #[inline(always)]
    pub(crate) fn next_id(&mut self, node: u32) -> u16 {
        let at = self.route_word(node, ROUTE_MESSAGE_IDS);
        let ids = self.nic.load(at);
        self.nic.store(at, ids.wrapping_add(1 << 16));
        (ids >> 16) as u16
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
        let ids = self.nic.load(at);
        self.nic.store(at, (ids & 0xFFFF_0000) | u32::from(id));
    }

    /// Whether `epoch` is the one that `node` is known by.
    #[inline(always)]
    pub(crate) fn knows_epoch(&self, node: u32, epoch: u32) -> bool {
        self.nic.load(self.route_word(node, ROUTE_EPOCH)) == EPOCH_KNOWN | epoch
    }

    /// A header frame came with an epoch that is not the known one. Says whether it counts.
    #[cold]
    #[inline(never)]
    pub(crate) fn meet_epoch(&mut self, node: u32, epoch: u32, oldest: u16) -> bool {
        if !self.hear_epoch(node, epoch) {
            return false;
        }
        let at = self.route_word(node, ROUTE_EPOCH);
        self.nic.store(at, EPOCH_KNOWN | epoch);
        self.expect_id(node, oldest);
        true
    }

    /// Whether an ack counts that `node` sent in its life `epoch`.
    #[inline(always)]
    pub(crate) fn counts_ack(&mut self, node: u32, epoch: u32) -> bool {
        let heard = self.nic.load(self.route_word(node, ROUTE_EPOCH));
        heard & !(EPOCH_KNOWN & !EPOCH_HEARD) == EPOCH_HEARD | epoch || self.hear_epoch(node, epoch)
    }

    /// A frame came with an epoch that may not be the latest of `node`. Says whether it counts. If it is the
    /// first of a new life, what the earlier one left behind is given up.
    #[cold]
    #[inline(never)]
    fn hear_epoch(&mut self, node: u32, epoch: u32) -> bool {
        let at = self.route_word(node, ROUTE_EPOCH);
        let heard = self.nic.load(at);
        if heard & EPOCH_HEARD != 0 {
            if heard & 0xFFFF == epoch {
                return true;
            }
            if !is_after(epoch as u16, heard as u16) {
                return false;
            }
        }
        self.nic.store(at, EPOCH_HEARD | epoch);
        self.abandon(node, None);
        self.fail_torn(node);
        true
    }

    /// Gives up the messages to `node` of which its earlier life has acknowledged a part: nobody will have
    /// all of them.
    fn fail_torn(&mut self, node: u32) {
        let mut slot = self.tables.peers[usize::from(node as u8)].first_transmit;
        while slot != NO_SLOT {
            let record = self.tables.transmit_mut(slot);
            let next = record.peer_next;
            if record.code == Code::Pending && record.groups_sent() != record.outstanding {
                record.code = Code::Timeout;
                self.settle_transmit(slot);
            }
            slot = next;
        }
    }

    /// Gives up the unfinished messages from `node`: those before an identifier, or all.
    #[cold]
    #[inline(never)]
    pub(crate) fn abandon(&mut self, node: u32, before: Option<u16>) {
        let mut slot = self.tables.peers[usize::from(node as u8)].first_active;
        while slot != NO_SLOT {
            let record = self.tables.active_mut(slot);
            let next = record.next;
            let gone = before.is_none_or(|before| is_after(before, record.key as u16));
            if gone && record.missing != 0 {
                record.abandoned = true;
                record.missing = 0;
                record.code = Code::Timeout;
                self.settle_receive(slot);
            }
            slot = next;
        }
    }

    /// The message from `node` with the key (node and identifier) of which frames are awaited.
    #[inline(always)]
    pub(crate) fn find_active(&mut self, node: u32, key: u32) -> Option<Slot> {
        let mut slot = self.tables.peers[usize::from(node as u8)].first_active;
        while slot != NO_SLOT {
            let record = self.tables.active_mut(slot);
            if record.key == key && !record.abandoned {
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
