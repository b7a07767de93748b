//! Send slots to the wire. The DMA of a packet starts before anything else is looked at.
use defs::fm::map::{
    CONTROL_END_MASK, CONTROL_ROUTE_SHIFT, Counter, MORE_PHYSICAL_SHIFT, MULTI_LIMIT, ROUTE_LIMIT,
    ROUTE_WORDS, ROUTES, SEND_SLOT_BYTES, SEND_SLOTS, SEND_SLOTS_END, SLOT_LIST,
};
use defs::fm::packet::{HEADER_BYTES, NODE_MASK, SENDER_SHIFT, WORD_TYPE};

use crate::nic::Event;
use crate::{Fm, Header, Nic, SendSlot};

/// log2 of the bytes of a route's entry.
const ROUTE_SHIFT: u32 = defs::fm::map::ROUTE_BYTES.trailing_zeros();
/// Mask of the sender in [`Header::target`].
const SENDER: u32 = NODE_MASK << SENDER_SHIFT;

impl<N: Nic> Fm<N> {
    /// Starts the packet of the next slot, or prepares the next copy of the one that is leaving. Returns whether it did anything.
    #[inline(always)]
    pub(crate) fn send_machine(&mut self) -> bool {
        let slot = self.slot();
        if self.sending() == 0 {
            let control = slot.control(self);
            if control == 0 {
                return false;
            }
            self.start(slot, control);
            return true;
        }
        if !N::MULTI_SEND || self.left() == 0 || self.copy() != 0 {
            return false;
        }
        let passed = self.nic.has_read(slot.header().address() + HEADER_BYTES);
        if passed {
            self.rewrite(slot);
        }
        passed
    }

    #[inline(always)]
    fn start(&mut self, slot: SendSlot, control: u32) {
        let header = slot.header();
        let end = control & CONTROL_END_MASK;
        self.nic
            .send(header.address() - (control >> CONTROL_ROUTE_SHIFT), end);
        self.mark_packet(Event::PacketSent, header);
        self.set_sending(1);
        if !N::MULTI_SEND {
            return;
        }
        let more = slot.more(self);
        if more != 0 {
            slot.set_more(self, 0);
            if more >= MULTI_LIMIT {
                return self.count(Counter::BadLists);
            }
            self.set_left(more);
            self.set_entry(slot.address() + SLOT_LIST);
            self.set_end(end);
        }
    }

    #[inline(always)]
    fn mark_packet(&mut self, event: Event, header: Header) {
        let first = header.target(self);
        let second = header.handler(self);
        self.nic.mark(event, first, second);
    }

    /// Writes node, credits and route of the next destination over those of the packet that is leaving.
    #[inline(always)]
    fn rewrite(&mut self, slot: SendSlot) {
        let header = slot.header();
        let at = self.entry();
        let entry = self.nic.load(at);
        self.set_entry(at + 4);
        let old = header.target(self);
        header.set_target(self, entry & !SENDER | old & SENDER);
        let route = ROUTES + ((entry >> MORE_PHYSICAL_SHIFT & NODE_MASK) << ROUTE_SHIFT);
        let length = self.nic.load(route);
        let mut copied = 0;
        while copied < length && copied < ROUTE_LIMIT {
            copied += 4;
            let word = self.nic.load(route + ROUTE_WORDS + ROUTE_LIMIT - copied);
            self.nic.store(header.address() + WORD_TYPE - copied, word);
        }
        self.set_copy(header.address() - length);
    }

    /// A packet has left: its next copy follows, or its slot is free.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self) {
        let slot = self.slot();
        if N::MULTI_SEND {
            let left = self.left();
            if left != 0 {
                return self.send_copy(slot, left);
            }
        }
        self.set_sending(0);
        slot.set_control(self, 0);
        let done = self.slots_done().wrapping_add(1);
        self.set_slots_done(done);
        let mut next = slot.address() + SEND_SLOT_BYTES;
        if next == SEND_SLOTS_END {
            next = SEND_SLOTS;
        }
        self.set_slot(SendSlot::at(next));
    }

    #[inline(always)]
    fn send_copy(&mut self, slot: SendSlot, left: u32) {
        if self.copy() == 0 {
            self.rewrite(slot);
        }
        let start = self.copy();
        let end = self.end();
        self.nic.send(start, end);
        self.set_copy(0);
        self.set_left(left - 1);
        self.mark_packet(Event::CopySent, slot.header());
    }
}
