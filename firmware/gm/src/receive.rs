//! RECV and RDMA: packets from the wire to receive tokens.

use defs::gm::event::{
    EVENT, EVENT_BYTES, FAST, FAST_BYTES, HIGH, NEW, PEER, QUEUE_BYTES, RECEIVE, SLOT_BYTES,
    WORD_BUFFER, WORD_LENGTH as EVENT_LENGTH, WORD_MESSAGE, WORD_NODE, WORD_TYPE as EVENT_TYPE,
};
use defs::gm::map::{COUNTERS, Counter, NODE, NODES};
use defs::gm::packet::{
    ACK, DATA, HEADER_BYTES, MTU, NACK, NACK_DOWN, NACK_OPEN, NACK_REJECT, NULL, SIZES, TYPE,
    WORD_CONNECTIONS, WORD_LENGTH, WORD_SENDER, WORD_SEQUENCE, WORD_TARGET, WORD_TYPE, capacity,
};
use defs::gm::port::{PORT_COUNT, PORT_QUEUE_HIGH, PORT_QUEUE_LOW};

use crate::nic::{Event, HostAddress};
use crate::post::{connection, next_sequence, port_block};
use crate::state::{
    ACK_BUFFER, ACKS, ARMED, BUFFER_STATE, C_ACK_NEXT, C_ACK_SEQUENCE, C_ACK_TYPE, C_EXPECTED,
    C_FLAGS, F_ACK, F_NACKED, F_OPEN, FREE, P_EVENT, P_FREE_TOKEN, P_LISTS, P_OPEN, RECEIVE_OTHER,
    T_HIGH, T_LOW, T_NEXT, T_TAG, WRITING,
};
use crate::transmit::padded;
use crate::{Gm, Nic};

/// A data packet in a receive buffer.
struct Packet {
    buffer: u32,
    /// Number of the connection.
    number: u32,
    connection: u32,
    /// Header word with session and sequence number.
    sequence: u32,
    /// Header word with length and subports.
    lengths: u32,
    size: u32,
}

/// Where a message goes.
struct Target {
    port: u32,
    token: u32,
}

impl<N: Nic> Gm<N> {
    /// RECV: a packet is in the armed buffer.
    #[inline(always)]
    pub(crate) fn on_received(&mut self) {
        let buffer = self.nic.load(ARMED);
        if buffer == 0 {
            return;
        }
        let length = self.nic.received(buffer);
        let other = buffer ^ RECEIVE_OTHER;
        let mut armed = 0;
        if self.nic.load(other + BUFFER_STATE) == FREE {
            self.nic.arm(other);
            armed = other;
        }
        let kept = self.packet(buffer, length);
        if kept {
            self.nic.store(buffer + BUFFER_STATE, WRITING);
        } else if armed == 0 {
            self.nic.arm(buffer);
            armed = buffer;
        }
        self.nic.store(ARMED, armed);
    }

    /// A DMA to the host is complete, whose buffer's state is at `cookie`.
    #[inline(always)]
    pub(crate) fn on_written(&mut self, cookie: u32) {
        self.nic.store(cookie, FREE);
        if cookie < ACK_BUFFER && self.nic.load(ARMED) == 0 {
            let buffer = cookie - BUFFER_STATE;
            self.nic.arm(buffer);
            self.nic.store(ARMED, buffer);
        }
    }

    /// Handles a packet. Returns whether RDMA uses its buffer.
    #[inline(always)]
    fn packet(&mut self, buffer: u32, length: u32) -> bool {
        let first = self.nic.load(buffer + WORD_TYPE);
        let target = self.nic.load(buffer + WORD_TARGET);
        let sequence = self.nic.load(buffer + WORD_SEQUENCE);
        let lengths = self.nic.load(buffer + WORD_LENGTH);
        let sender = self.nic.load(buffer + WORD_SENDER);
        let number = self.nic.load(buffer + WORD_CONNECTIONS) >> 16;
        let known = first >> 16 == TYPE && sender < self.nic.load(NODES);
        let ours = target == self.nic.load(NODE) && number >> 1 == sender;
        let whole = length == HEADER_BYTES + padded(lengths >> 16);
        if !(known && ours && whole) {
            self.other_packet(buffer, length);
            return false;
        }
        let connection = connection(number);
        let subtype = first & 0xFFFF;
        let size = subtype.wrapping_sub(DATA);
        if size < SIZES {
            let packet = Packet {
                buffer,
                number,
                connection,
                sequence,
                lengths,
                size,
            };
            self.data(&packet)
        } else if subtype == NULL {
            self.null(connection, sequence);
            false
        } else if subtype.wrapping_sub(ACK) <= NACK_OPEN - ACK {
            self.nic.mark(Event::AckReceived, number, sequence);
            self.take_ack(connection, number, subtype, sequence);
            false
        } else {
            self.count(Counter::BadPackets);
            false
        }
    }

    /// A packet that carries nothing but its sequence number.
    #[cold]
    #[inline(never)]
    fn null(&mut self, connection: u32, sequence: u32) {
        if self.is_expected(connection, sequence) {
            self.accept(connection, sequence);
        }
    }

    /// Whether a packet is the next one of its connection. If not, it is answered.
    #[inline(always)]
    fn is_expected(&mut self, connection: u32, sequence: u32) -> bool {
        let flags = self.nic.load(connection + C_FLAGS);
        let expected = self.nic.load(connection + C_EXPECTED);
        let usual = sequence == expected && flags & F_OPEN != 0;
        usual || self.is_first(connection, flags, expected, sequence)
    }

    /// The packet is accepted: the next one is expected, and an ack waits.
    #[inline(always)]
    fn accept(&mut self, connection: u32, sequence: u32) {
        let flags = self.nic.load(connection + C_FLAGS) & !F_NACKED;
        let next = next_sequence(sequence);
        self.nic.store(connection + C_EXPECTED, next);
        self.queue_ack(connection, flags, ACK, next);
    }

    /// Puts an ack or nack into the list. It takes the place of the one that waits.
    #[inline(always)]
    fn queue_ack(&mut self, connection: u32, flags: u32, subtype: u32, sequence: u32) {
        self.nic.store(
            connection + C_ACK_TYPE,
            defs::gm::packet::first_word(subtype),
        );
        self.nic.store(connection + C_ACK_SEQUENCE, sequence);
        self.nic.store(connection + C_FLAGS, flags | F_ACK);
        if flags & F_ACK == 0 {
            self.append(ACKS, connection, C_ACK_NEXT);
        }
    }

    /// Handles a packet out of its turn: a new session, a duplicate or one behind a gap. Returns whether it begins a
    /// session.
    #[cold]
    #[inline(never)]
    fn is_first(&mut self, connection: u32, flags: u32, expected: u32, sequence: u32) -> bool {
        let ahead = (sequence >> 16).wrapping_sub(expected >> 16) & 0xFFFF;
        let known = flags & F_OPEN != 0;
        if !known || (ahead != 0 && ahead < 0x8000) {
            let flags = flags & !F_NACKED | F_OPEN;
            let first = sequence & 0xFFFF_0000;
            self.nic.store(connection + C_EXPECTED, first);
            if sequence == first {
                self.nic.store(connection + C_FLAGS, flags);
                return true;
            }
            self.count(Counter::Gaps);
            self.queue_ack(connection, flags | F_NACKED, NACK_OPEN, first);
        } else if ahead != 0 {
            self.count(Counter::Duplicates);
        } else if sequence.wrapping_sub(expected) & 0x8000 != 0 {
            self.count(Counter::Duplicates);
            if flags & F_ACK == 0 {
                self.queue_ack(connection, flags, ACK, expected);
            }
        } else {
            self.count(Counter::Gaps);
            if flags & F_NACKED == 0 {
                self.queue_ack(connection, flags | F_NACKED, NACK, expected);
            }
        }
        false
    }

    /// The packet cannot be delivered: its sender is told.
    #[cold]
    #[inline(never)]
    fn refuse_packet(&mut self, packet: &Packet, subtype: u32, counter: Counter) -> bool {
        self.count(counter);
        self.nic
            .mark(Event::PacketDropped, packet.number, packet.sequence);
        let flags = self.nic.load(packet.connection + C_FLAGS) | F_NACKED;
        self.queue_ack(packet.connection, flags, subtype, packet.sequence);
        false
    }

    /// Handles a message.
    #[inline(always)]
    fn data(&mut self, packet: &Packet) -> bool {
        if !self.is_expected(packet.connection, packet.sequence) {
            return false;
        }
        let subport = packet.lengths >> 8 & 0xFF;
        let length = packet.lengths >> 16;
        let sound = subport < 2 * PORT_COUNT
            && (subport ^ packet.number) & 1 == 0
            && length <= capacity(packet.size).min(MTU);
        if !sound {
            self.count(Counter::BadPackets);
            return false;
        }
        let port = port_block(subport >> 1);
        if self.nic.load(port + P_OPEN) == 0 {
            return self.refuse_packet(packet, NACK_REJECT, Counter::ClosedPort);
        }
        let list = port + P_LISTS + (((packet.number & 1) << 5 | packet.size) << 3);
        let mut token = self.nic.load(list);
        if token == 0 {
            while self.take_token(port) {}
            token = self.nic.load(list);
            if token == 0 {
                return self.refuse_packet(packet, NACK_DOWN, Counter::NoToken);
            }
        }
        let next = self.nic.load(token + T_NEXT);
        self.nic.store(list, next);
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        self.deliver(packet, &Target { port, token });
        self.accept(packet.connection, packet.sequence);
        true
    }

    /// RDMA: the message and its event to the host.
    #[inline(always)]
    fn deliver(&mut self, packet: &Packet, to: &Target) {
        let &Target { port, token } = to;
        let high = self.nic.load(token + T_HIGH);
        let low = self.nic.load(token + T_LOW);
        let tag = self.nic.load(token + T_TAG);
        let slot = self.event_slot(port);
        let length = packet.lengths >> 16;
        let bytes = padded(length);
        let local = packet.buffer + HEADER_BYTES;
        let event = local + bytes;
        let same = (packet.lengths >> 9 ^ packet.lengths >> 1) & 0x7F == 0;
        let mut kind = NEW + RECEIVE + (packet.number & 1) * HIGH;
        if same {
            kind += PEER;
        }
        let (mut message_high, mut message_low) = (high, low);
        let fast = length <= FAST_BYTES;
        if fast {
            kind += FAST;
            message_high = slot.high;
            message_low = slot.low + EVENT - bytes;
        }
        let subports = packet.lengths & 0xFF;
        let target = packet.lengths >> 8 & 0xFF;
        self.nic.store(event + WORD_MESSAGE, message_high);
        self.nic.store(event + WORD_MESSAGE + 4, message_low);
        self.nic.store(event + WORD_BUFFER, high);
        self.nic.store(event + WORD_BUFFER + 4, low);
        self.nic.store(event + EVENT_LENGTH, length);
        let node = packet.number >> 1;
        self.nic.store(event + WORD_NODE, node << 16 | tag & 0xFFFF);
        self.nic.store(event + WORD_NODE + 4, 0);
        let last = packet.size << 24 | subports << 16 | target << 8 | kind;
        self.nic.store(event + EVENT_TYPE, last);
        let cookie = packet.buffer + BUFFER_STATE;
        if fast {
            let host = HostAddress {
                low: message_low,
                ..slot
            };
            self.nic
                .start_write(host, local, bytes + EVENT_BYTES, cookie);
        } else {
            self.nic
                .start_write(HostAddress { high, low }, local, length, 0);
            let host = HostAddress {
                low: slot.low + EVENT,
                ..slot
            };
            self.nic.start_write(host, event, EVENT_BYTES, cookie);
        }
        // The rest is not urgent.
        let free = self.nic.load(port + P_FREE_TOKEN);
        self.nic.store(token + T_NEXT, free);
        self.nic.store(port + P_FREE_TOKEN, token);
        let counter = COUNTERS + ((Counter::Delivered as u32) << 2);
        let delivered = self.nic.load(counter).wrapping_add(1);
        self.nic.store(counter, delivered);
    }

    /// The slot of a port's receive queue that is written next.
    #[inline(always)]
    pub(crate) fn event_slot(&mut self, port: u32) -> HostAddress {
        let low = self.nic.load(port + P_EVENT);
        let high = self.nic.load(port + PORT_QUEUE_HIGH);
        let base = self.nic.load(port + PORT_QUEUE_LOW);
        let next = low.wrapping_add(SLOT_BYTES);
        let next = match next.wrapping_sub(base) {
            QUEUE_BYTES => base,
            _ => next,
        };
        self.nic.store(port + P_EVENT, next);
        HostAddress { high, low }
    }
}
