//! Send slots to the wire. The DMA of a packet starts before anything else is looked at.

use defs::fm::map::{
    CONTROL_END_MASK, CONTROL_ROUTE_SHIFT, Counter, MORE_PHYSICAL_SHIFT, MULTI_LIMIT, ROUTE_LIMIT,
    ROUTE_WORDS, ROUTES, SEND_SLOT_BYTES, SEND_SLOTS, SEND_SLOTS_END, SLOT_CONTROL, SLOT_HEADER,
    SLOT_LIST, SLOT_MORE, SLOTS_DONE,
};
use defs::fm::packet::{
    HEADER_BYTES, NODE_MASK, SENDER_SHIFT, WORD_HANDLER, WORD_TARGET, WORD_TYPE,
};

use crate::nic::Event;
use crate::{COPY, END, ENTRY, Fm, LEFT, Nic, SENDING, SLOT};

/// log2 of the bytes of a route's entry.
const ROUTE_SHIFT: u32 = defs::fm::map::ROUTE_BYTES.trailing_zeros();
/// The sender's part of a header's [`WORD_TARGET`].
const SENDER: u32 = NODE_MASK << SENDER_SHIFT;

impl<N: Nic> Fm<N> {
    /// Starts the packet of the next slot, or prepares the next copy of the one that is leaving. Returns whether it did anything.
    #[inline(always)]
    pub(crate) fn send_machine(&mut self) -> bool {
        let slot = self.nic.load(SLOT);
        if self.nic.load(SENDING) == 0 {
            let control = self.nic.load(slot + SLOT_CONTROL);
            if control == 0 {
                return false;
            }
            self.start(slot, control);
            return true;
        }
        if !N::MULTI_SEND || self.nic.load(LEFT) == 0 || self.nic.load(COPY) != 0 {
            return false;
        }
        let passed = self.nic.has_read(slot + SLOT_HEADER + HEADER_BYTES);
        if passed {
            self.rewrite(slot);
        }
        passed
    }

    #[inline(always)]
    fn start(&mut self, slot: u32, control: u32) {
        let header = slot + SLOT_HEADER;
        let end = control & CONTROL_END_MASK;
        self.nic
            .send(header - (control >> CONTROL_ROUTE_SHIFT), end);
        self.mark_packet(Event::PacketSent, header);
        self.nic.store(SENDING, 1);
        if !N::MULTI_SEND {
            return;
        }
        let more = self.nic.load(slot + SLOT_MORE);
        if more != 0 {
            self.nic.store(slot + SLOT_MORE, 0);
            if more >= MULTI_LIMIT {
                return self.count(Counter::BadLists);
            }
            self.nic.store(LEFT, more);
            self.nic.store(ENTRY, slot + SLOT_LIST);
            self.nic.store(END, end);
        }
    }

    #[inline(always)]
    fn mark_packet(&mut self, event: Event, header: u32) {
        let first = self.nic.load(header + WORD_TARGET);
        let second = self.nic.load(header + WORD_HANDLER);
        self.nic.mark(event, first, second);
    }

    /// Writes node, credits and route of the next destination over those of the packet that is leaving.
    #[inline(always)]
    fn rewrite(&mut self, slot: u32) {
        let header = slot + SLOT_HEADER;
        let at = self.nic.load(ENTRY);
        let entry = self.nic.load(at);
        self.nic.store(ENTRY, at + 4);
        let old = self.nic.load(header + WORD_TARGET);
        self.nic
            .store(header + WORD_TARGET, entry & !SENDER | old & SENDER);
        let route = ROUTES + ((entry >> MORE_PHYSICAL_SHIFT & NODE_MASK) << ROUTE_SHIFT);
        let length = self.nic.load(route);
        let mut copied = 0;
        while copied < length && copied < ROUTE_LIMIT {
            copied += 4;
            let word = self.nic.load(route + ROUTE_WORDS + ROUTE_LIMIT - copied);
            self.nic.store(header + WORD_TYPE - copied, word);
        }
        self.nic.store(COPY, header - length);
    }

    /// A packet has left: its next copy follows, or its slot is free.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self) {
        let slot = self.nic.load(SLOT);
        if N::MULTI_SEND {
            let left = self.nic.load(LEFT);
            if left != 0 {
                return self.send_copy(slot, left);
            }
        }
        self.nic.store(SENDING, 0);
        self.nic.store(slot + SLOT_CONTROL, 0);
        let done = self.nic.load(SLOTS_DONE).wrapping_add(1);
        self.nic.store(SLOTS_DONE, done);
        let mut next = slot + SEND_SLOT_BYTES;
        if next == SEND_SLOTS_END {
            next = SEND_SLOTS;
        }
        self.nic.store(SLOT, next);
    }

    #[inline(always)]
    fn send_copy(&mut self, slot: u32, left: u32) {
        if self.nic.load(COPY) == 0 {
            self.rewrite(slot);
        }
        let start = self.nic.load(COPY);
        let end = self.nic.load(END);
        self.nic.send(start, end);
        self.nic.store(COPY, 0);
        self.nic.store(LEFT, left - 1);
        self.mark_packet(Event::CopySent, slot + SLOT_HEADER);
    }
}
