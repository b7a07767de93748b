//! Barriers: pairwise exchange and gather-broadcast.
//!
//! | state | what happens | next |
//! |-------|--------------|------|
//! | `EXCHANGING` | the packet of a step is sent, that of its endpoint awaited | the next step; after the last one the host is told |
//! | `GATHERING` | packets of children are awaited | all have come: the root tells its host, others send a packet to the parent |
//! | `GATHERED` | the packet to the parent waits for a record | `AWAITING` |
//! | `AWAITING` | the packet of the parent is awaited | the host is told |
//! | `RELEASING` | packets to the children are sent, one after the other | no barrier |
//!
//! The host is told before the last packets leave, so the next barrier may be posted before this one is over: it waits in `Block::posted`.
use defs::gm::collective::{
    EXCHANGE, GATHER, RELEASE, SECOND_LIST, STEP, STEP_SEND, STEP_WAIT, TREE_PARENT, TREE_ROOT,
};
use defs::gm::event::Status;
use defs::gm::port::PORT_COUNT;
use defs::record::Memory;

use super::depart::NO_VALUE;
use super::state::{
    AWAITED, AWAITING, Block, EARLIER, EXCHANGING, GATHERED, GATHERING, NONE, PeerList, RELEASING,
    awaits, block, entry_endpoint, list, note,
};
use crate::nic::Role;
use crate::places::Places;
use crate::slot::{slot_node, slot_subport};
use crate::state::{PortBlock, port_number};
use crate::{Gm, Nic};

impl<N: Nic> Gm<N> {
    /// A process has posted a barrier: the slot's last word.
    #[inline(never)]
    pub(crate) fn post_barrier(&mut self, port: PortBlock, word: u32) {
        if !self.has_operations() {
            return self.finish(port, 0, Status::InvalidParameter as u32, NO_VALUE);
        }
        let block = block(port);
        if block.barrier(self) != NONE {
            if block.is_told(self) {
                block.set_posted(self, word);
            }
            // A second barrier of a port is a mistake of its process, which gets one event.
            return;
        }
        self.begin_barrier(port, word);
        self.settle();
    }

    /// Begins the barrier that was posted before the last one was over.
    pub(super) fn begin_next(&mut self, port: PortBlock) {
        let block = block(port);
        let posted = block.posted(self);
        if posted != 0 && block.barrier(self) == NONE {
            block.set_posted(self, 0);
            self.begin_barrier(port, posted);
        }
    }

    /// Begins a barrier of a port. `word`: the last word of its send slot.
    fn begin_barrier(&mut self, port: PortBlock, word: u32) {
        let block = block(port);
        let broken = block.broken(self);
        let count = slot_node(word);
        let algorithm = slot_subport(word) & !SECOND_LIST;
        let list = list::<N>(port, u32::from(slot_subport(word) & SECOND_LIST != 0));
        let parent = u32::from(algorithm == TREE_PARENT);
        if broken != 0 {
            return self.finish(port, 0, broken - 1, NO_VALUE);
        }
        if count > N::NODES || algorithm > TREE_PARENT || count < parent {
            return self.finish(port, 0, Status::InvalidParameter as u32, NO_VALUE);
        }
        let deadline = self.deadline();
        block.set_deadline(self, deadline);
        block.set_told(self, false);
        block.set_count(self, count);
        block.set_list(self, list);
        self.watch(port);
        if algorithm == EXCHANGE {
            block.set_index(self, 0);
            block.set_sent(self, 0);
            block.set_awaited(self, 0);
            block.set_barrier(self, EXCHANGING);
            return self.exchange(port);
        }
        const { assert!(TREE_ROOT == 1 && TREE_PARENT == 2) }
        block.set_parent(self, parent);
        block.set_index(self, parent);
        block.set_barrier(self, GATHERING);
        self.gather(port, list, parent, count);
    }

    /// The packet has come that an exchange awaits: makes the next step, as [`exchange`](Self::exchange) does. This is the way of a
    /// barrier's packets, so it is apart and inlined: without the loop, and while steps are alike it writes no word of the state but the index
    /// and the awaited endpoint.
    #[inline(always)]
    pub(super) fn next_exchange(&mut self, port: PortBlock) {
        let block = block(port);
        let index = block.index(self) + 1;
        let list = block.list(self);
        let entry = list.entry(self, index);
        block.set_index(self, index);
        let usual = entry & (STEP_SEND | STEP_WAIT) == STEP_SEND | STEP_WAIT;
        if index < block.count(self) && usual {
            // The next step is like this one: most are.
            let departs = match N::ROLE {
                Role::Borrower => self.depart_hot(port, entry, STEP),
                _ => self.depart(port, entry, STEP, NO_VALUE),
            };
            if departs && !self.take_note(port, entry) {
                return block.set_awaited(self, awaits(entry_endpoint(entry)));
            }
            return self.exchange_after(port);
        }
        block.set_awaited(self, 0);
        block.set_sent(self, 0);
        if matches!(N::ROLE, Role::Borrower) && index == block.count(self) && !block.is_told(self) {
            // The end, as `exchange` comes to it.
            block.set_told(self, true);
            block.set_barrier(self, NONE);
            return self.finish(port, 0, Status::Success as u32, NO_VALUE);
        }
        self.exchange(port);
    }

    /// A usual step was not sent, or its packet has come early: [`exchange`](Self::exchange) takes over.
    #[cold]
    #[inline(never)]
    fn exchange_after(&mut self, port: PortBlock) {
        let block = block(port);
        let waits = self.waiting_ports() >> port_number(port) & 1 != 0;
        block.set_awaited(self, 0);
        block.set_sent(self, 0);
        if waits || block.barrier(self) != EXCHANGING {
            return;
        }
        let index = block.index(self) + 1;
        block.set_index(self, index);
        self.exchange(port);
    }

    /// Steps of an exchange, as far as they can be made.
    #[inline(never)]
    pub(super) fn exchange(&mut self, port: PortBlock) {
        let block = block(port);
        let count = block.count(self);
        let mut index = block.index(self);
        let mut at = block.list(self).address() + (index << 2);
        while index < count {
            let entry = self.nic.load(at);
            if entry & STEP_WAIT == 0 && index + 1 == count {
                self.tell_barrier(port);
            }
            if block.sent(self) == 0 {
                if entry & STEP_SEND != 0 && !self.depart(port, entry, STEP, NO_VALUE) {
                    return;
                }
                // Also of a step that sends nothing: `next_exchange`, which sends that of the next step, leaves it so.
                block.set_sent(self, 1);
            }
            if entry & STEP_WAIT != 0 && !self.take_note(port, entry) {
                // The address before the value: in this order the compiler keeps the path apart from the one in `next_exchange`.
                return self.store(
                    block.address() + Block::AWAITED,
                    awaits(entry_endpoint(entry)),
                );
            }
            index += 1;
            at += 4;
            block.set_index(self, index);
            block.set_sent(self, 0);
        }
        self.tell_barrier(port);
        block.set_barrier(self, NONE);
    }

    /// Takes the note of a packet that has come from an endpoint. Returns whether there was one.
    #[inline(always)]
    fn take_note(&mut self, port: PortBlock, entry: u32) -> bool {
        let (node, remote) = entry_parts(entry);
        if node >= self.nodes() {
            return false;
        }
        let (at, shift) = note::<N>(node, port_number(port), remote);
        let word = self.nic.load(at);
        let byte = word >> shift & 0xFF;
        if byte == 0 || byte & (AWAITED | EARLIER) != 0 {
            return false;
        }
        self.nic.store(at, word & !(0xFF << shift));
        true
    }

    /// Waits for the packet of an endpoint, unless it has come. Returns whether it has.
    fn take_or_await(&mut self, port: PortBlock, entry: u32) -> bool {
        if self.take_note(port, entry) {
            return true;
        }
        let (node, remote) = entry_parts(entry);
        if node < self.nodes() {
            let (at, shift) = note::<N>(node, port_number(port), remote);
            let word = self.nic.load(at) | AWAITED << shift;
            self.nic.store(at, word);
        }
        false
    }

    /// Waits for the children that have not come.
    fn gather(&mut self, port: PortBlock, list: PeerList, parent: u32, count: u32) {
        let mut left = 0;
        let mut at = list.address() + (parent << 2);
        let end = list.address() + (count << 2);
        while at < end {
            let entry = self.nic.load(at);
            if !self.take_or_await(port, entry) {
                left += 1;
            }
            at += 4;
        }
        block(port).set_left(self, left);
        if left == 0 {
            self.gathered(port);
        }
    }

    /// All children have come.
    pub(super) fn gathered(&mut self, port: PortBlock) {
        let block = block(port);
        if block.parent(self) == 0 {
            self.tell_barrier(port);
            block.set_barrier(self, RELEASING);
            return self.release_children(port);
        }
        block.set_barrier(self, GATHERED);
        let list = block.list(self);
        let parent = list.entry(self, 0);
        if self.depart(port, parent, GATHER, NO_VALUE) {
            block.set_barrier(self, AWAITING);
            self.take_or_await(port, parent);
        }
    }

    /// A packet of an endpoint that a barrier awaits has come.
    #[inline(always)]
    pub(super) fn barrier_came(&mut self, port: PortBlock, subtype: u32) {
        let block = block(port);
        let state = block.barrier(self);
        if state == GATHERING {
            let left = block.left(self) - 1;
            block.set_left(self, left);
            if left == 0 {
                self.gathered(port);
            }
        } else if state == AWAITING && subtype == RELEASE {
            self.tell_barrier(port);
            block.set_barrier(self, RELEASING);
            self.release_children(port);
        }
    }

    /// Sends the packets to the children that are left.
    pub(super) fn release_children(&mut self, port: PortBlock) {
        let block = block(port);
        let count = block.count(self);
        let mut index = block.index(self);
        let list = block.list(self);
        while index < count {
            let entry = list.entry(self, index);
            if !self.depart(port, entry, RELEASE, NO_VALUE) {
                return;
            }
            self.pump();
            index += 1;
            block.set_index(self, index);
        }
        block.set_barrier(self, NONE);
    }

    /// Tells the host that the barrier is complete, once.
    fn tell_barrier(&mut self, port: PortBlock) {
        let block = block(port);
        if !block.is_told(self) {
            block.set_told(self, true);
            self.finish(port, 0, Status::Success as u32, NO_VALUE);
        }
    }

    /// The tick at which an operation fails that begins now.
    pub(super) fn deadline(&mut self) -> u32 {
        let now = self.now();
        now.wrapping_add(self.collective_ticks())
    }
}

/// Node and port of an entry of a list.
#[inline(always)]
const fn entry_parts(entry: u32) -> (u32, u32) {
    (entry >> 16, entry >> 8 & (PORT_COUNT - 1))
}
