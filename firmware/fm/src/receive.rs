//! Received packets to the host: packet and flag by one DMA, in the order in which packets came.
use defs::fm::map::Counter;
use defs::fm::packet::{
    CREDIT, CREDIT_MASK, DATA, HEADER_BYTES, NODE_MASK, SENDER_SHIFT, TARGET_SHIFT, WORD_TARGET,
};
use defs::fm::ring::{ARRIVED, RETURNED, SLOT_BYTES};

use crate::nic::Event;
use crate::{Fm, Header, Nic};

/// Bytes of the flag, or of a word of credits.
const WORD_BYTES: u32 = 4;

impl<N: Nic> Fm<N> {
    /// Takes a received packet.
    #[inline(always)]
    pub(crate) fn on_received(&mut self) {
        let Some((packet, length)) = self.nic.receive() else {
            return;
        };
        if !(HEADER_BYTES..=SLOT_BYTES - WORD_BYTES).contains(&length) {
            return self.drop_packet(packet, length, Counter::BadPackets);
        }
        let header = Header::at(packet);
        let target = header.target(self);
        let sender = target >> SENDER_SHIFT & NODE_MASK;
        if target >> TARGET_SHIFT != self.node() || sender >= self.nodes() {
            return self.drop_packet(packet, length, Counter::BadAddress);
        }
        match header.kind(self) {
            DATA => self.deliver(packet, length, target),
            CREDIT => self.take_credit(packet, target, sender),
            _ => self.drop_packet(packet, length, Counter::BadType),
        }
    }

    #[inline(always)]
    fn deliver(&mut self, packet: u32, length: u32, target: u32) {
        self.nic.store(packet + length, ARRIVED | length);
        let bytes = length + WORD_BYTES;
        let slot = self.ring_next();
        let mut next = slot + SLOT_BYTES;
        self.nic.start_write(next - bytes, packet, bytes, packet);
        if next == self.ring_end() {
            next = self.ring();
        }
        self.set_ring_next(next);
        let second = Header::at(packet).handler(self);
        self.nic.mark(Event::PacketReceived, target, second);
    }

    /// The sum of credits goes into the sender's word, without a slot of the ring.
    #[inline(always)]
    fn take_credit(&mut self, packet: u32, target: u32, sender: u32) {
        let word = packet + WORD_TARGET;
        self.nic.store(word, RETURNED | target & CREDIT_MASK);
        let host = self.credits() + (sender << 2);
        self.nic.start_write(host, word, WORD_BYTES, packet);
        self.nic.mark(Event::CreditReceived, target, 0);
    }

    /// Packets on the host: their memory is free again.
    #[inline(always)]
    pub(crate) fn on_written(&mut self) {
        loop {
            let packet = self.nic.write_done();
            if packet == 0 {
                return;
            }
            self.nic.release(packet);
        }
    }

    #[cold]
    #[inline(never)] // Rare: kept out of the path of packets.
    fn drop_packet(&mut self, packet: u32, length: u32, counter: Counter) {
        let first = Header::at(packet).kind(self);
        self.nic.mark(Event::PacketDropped, length, first);
        self.count(counter);
        self.nic.release(packet);
    }
}
