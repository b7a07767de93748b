//! RDMA: packets of messages to receive tokens.
use defs::gm::event::{
    BAD_RECEIVE_MEMORY, EVENT, EVENT_BYTES, FAST, FAST_BYTES, HIGH, NEW, PEER, QUEUE_BYTES,
    RECEIVE, SLOT_BYTES, WORD_BUFFER, WORD_LENGTH as EVENT_LENGTH, WORD_NODE,
    WORD_TYPE as EVENT_TYPE,
};
use defs::gm::map::{Counter, TOKENS};
use defs::gm::packet::{DATA, HEADER_BYTES, MTU, SIZES, TAIL, capacity};
use defs::record;

use crate::nic::{Event, HostAddress};
use crate::receive::Packet;
use crate::state::{
    Connection, EVENT_BUFFER_BYTES, EVENT_BUFFERS, EVENT_BUFFERS_BYTES, List, PortBlock, Token,
    connection_number, port_block,
};
use crate::transmit::padded;
use crate::{Gm, Nic, answer};

/// The port whose token has this address.
const fn port_of(token: Token) -> PortBlock {
    port_block((token.address() - TOKENS) >> 12)
}

const _: () = assert!(256 * defs::gm::map::TOKEN_BYTES == 1 << 12);

record! {
    /// Event of a message, as the host reads it.
    struct EventWords {
        /// Address of the buffer, upper half.
        buffer_high, set_buffer_high: u32 = WORD_BUFFER;
        /// Address of the buffer, lower half.
        buffer_low, set_buffer_low: u32 = WORD_BUFFER + 4;
        /// Length of the message in bytes.
        length, set_length: u32 = EVENT_LENGTH;
        /// Sending node and tag.
        node, set_node: u32 = WORD_NODE;
        /// Size, subports, type.
        kind, set_kind: u32 = EVENT_TYPE;
    }
}

/// Destination of a packet of a message: port, receive token, and bytes of the message before the packet.
struct Target {
    port: PortBlock,
    token: Token,
    /// Bytes of the message before the packet.
    before: u32,
}

impl<N: Nic> Gm<N> {
    /// RECV: a packet of a message. Returns whether RDMA uses its memory.
    #[inline(always)]
    pub(crate) fn message(&mut self, packet: &Packet) -> bool {
        if !self.is_expected(packet.connection, packet.sequence) {
            return false;
        }
        let Some(port) = self.target_port(packet) else {
            return false;
        };
        let size = packet.subtype - DATA;
        let length = packet.payload_bytes();
        if size < SIZES && length <= FAST_BYTES {
            return self.short_message(packet, port, size);
        }
        self.long_message(packet, port, size)
    }

    /// A message that lies before its event in the receive queue.
    #[inline(always)]
    fn short_message(&mut self, packet: &Packet, port: PortBlock, size: u32) -> bool {
        let length = packet.payload_bytes();
        if length > capacity(size) {
            self.count(Counter::BadLength);
            return false;
        }
        let token = self.next_token(packet, port, size);
        if token.is_none() {
            return false;
        }
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        let bytes = padded(length);
        let local = packet.at + HEADER_BYTES;
        let slot = self.event_slot(port);
        let low = slot.low + EVENT;
        if N::EVENT_BEHIND_PAYLOAD {
            let event = local + bytes;
            self.write_event(event, packet, token, length, FAST);
            let host = HostAddress {
                low: low - bytes,
                ..slot
            };
            self.nic
                .start_write(host, local, bytes + EVENT_BYTES, packet.at);
        } else {
            let event = self.event_buffer();
            self.write_event(event, packet, token, length, FAST);
            if bytes != 0 {
                let host = HostAddress {
                    low: low - bytes,
                    ..slot
                };
                self.nic.start_write(host, local, bytes, 0);
            }
            let host = HostAddress { low, ..slot };
            self.nic.start_write(host, event, EVENT_BYTES, packet.at);
        }
        self.accept(packet.connection, packet.sequence, true);
        self.release_token(port, token);
        self.count_delivered();
        true
    }

    /// A message of one packet or more for a buffer.
    #[inline(never)]
    fn long_message(&mut self, packet: &Packet, port: PortBlock, size: u32) -> bool {
        let length = packet.payload_bytes();
        if length == 0 || length > MTU {
            self.count(Counter::BadLength);
            return false;
        }
        let (token, before) = if size < 2 * SIZES {
            (self.next_token(packet, port, size & (SIZES - 1)), 0)
        } else {
            self.partial(packet, port)
        };
        if token.is_none() {
            return false;
        }
        let most = capacity(token.tag(self) >> 16);
        let to = Target {
            port,
            token,
            before,
        };
        let end = before + length;
        let base = token.low(self);
        let low = base.wrapping_add(before);
        let high = token.high(self).wrapping_add(u32::from(low < base));
        let key = port.receive_key(self);
        if end > most {
            return self.refuse_rest(packet, &to);
        }
        let Some(pieces) = self.pieces(high, low, key, length) else {
            return self.bad_buffer(packet, &to);
        };
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        let local = packet.at + HEADER_BYTES;
        let last = size < SIZES || packet.subtype == TAIL;
        if last {
            self.start_writes(&pieces, local, length, 0);
            let event = match N::EVENT_BEHIND_PAYLOAD {
                true => local + padded(length),
                false => self.event_buffer(),
            };
            let slot = self.event_slot(port);
            self.write_event(event, packet, token, end, 0);
            let host = HostAddress {
                low: slot.low + EVENT,
                ..slot
            };
            self.nic.start_write(host, event, EVENT_BYTES, packet.at);
            packet.connection.set_partial(self, Token::NONE);
            self.release_token(port, token);
            self.count_delivered();
        } else {
            self.start_writes(&pieces, local, length, packet.at);
            token.set_bytes(self, end);
            packet.connection.set_partial(self, token);
        }
        self.accept(packet.connection, packet.sequence, last);
        true
    }

    /// Takes the next receive token of a size for a packet's priority; 0 if there is none, which the sender is told.
    #[inline(always)]
    fn next_token(&mut self, packet: &Packet, port: PortBlock, size: u32) -> Token {
        if packet.connection.partial_address(self) != 0 {
            self.drop_partial(packet.connection);
        }
        // As `port.tokens(..)`, with the address before the index: each message takes this path, and its registers stay as they were.
        let list =
            List::at(port.address() + PortBlock::LISTS + (((packet.number & 1) << 5 | size) << 3));
        let mut token = Token::at(list.first(self));
        if token.is_none() {
            token = self.late_token(packet, port, size, list);
            if token.is_none() {
                return Token::NONE;
            }
        }
        let next = token.next(self);
        list.set_first(self, next.address());
        token
    }

    /// The list of a size is empty: tokens may wait in the queue.
    #[cold]
    #[inline(never)]
    fn late_token(&mut self, packet: &Packet, port: PortBlock, size: u32, list: List) -> Token {
        while list.first(self) == 0 && self.take_token(port) {}
        let token = Token::at(list.first(self));
        if token.is_none() {
            let accepted = port.accept(self, packet.number & 1);
            if accepted >> size & 1 == 0 {
                self.refuse_packet(packet, answer::REFUSED, Counter::Refused);
            } else {
                self.refuse_packet(packet, answer::DOWN, Counter::NoToken);
            }
        }
        token
    }

    /// The token of the message whose first packets have come, and their bytes; 0 if its port was closed meanwhile.
    #[inline(always)]
    fn partial(&mut self, packet: &Packet, port: PortBlock) -> (Token, u32) {
        let token = packet.connection.partial(self);
        if token.is_none() || port_of(token) != port {
            self.refuse_packet(packet, answer::CLOSED, Counter::ClosedPort);
            return (Token::NONE, 0);
        }
        (token, token.bytes(self))
    }

    /// A message that is longer than its size: the sender is told.
    #[cold]
    #[inline(never)]
    fn refuse_rest(&mut self, packet: &Packet, to: &Target) -> bool {
        packet.connection.set_partial(self, Token::NONE);
        self.return_token(to.token, packet.connection);
        self.refuse_packet(packet, answer::REFUSED, Counter::BadLength)
    }

    /// The process has not registered the buffer of a receive token: it is told, and the token is gone. The sender
    /// tries again, or fails if a part of the message was accepted.
    #[cold]
    #[inline(never)]
    fn bad_buffer(&mut self, packet: &Packet, to: &Target) -> bool {
        let high = to.token.high(self);
        let low = to.token.low(self).wrapping_add(to.before);
        self.violation(to.port, BAD_RECEIVE_MEMORY, high, low);
        packet.connection.set_partial(self, Token::NONE);
        self.release_token(to.port, to.token);
        let kind = match to.before {
            0 => answer::DOWN,
            _ => answer::REFUSED,
        };
        self.refuse_packet(packet, kind, Counter::Refused)
    }

    /// Puts the token of a message that was given up back to its list, as the first one.
    pub(crate) fn return_token(&mut self, token: Token, connection: Connection) {
        let port = port_of(token);
        let size = token.tag(self) >> 16;
        let priority = connection_number::<N>(connection) & 1;
        let list = port.tokens(priority << 5 | size);
        let first = Token::at(list.first(self));
        token.set_next(self, first);
        list.set_first(self, token.address());
        if first.is_none() {
            list.set_last(self, token.address());
        }
    }

    /// Writes the event of a message.
    #[inline(always)]
    fn write_event(&mut self, event: u32, packet: &Packet, token: Token, length: u32, fast: u32) {
        let high = token.high(self);
        let low = token.low(self);
        let tag = token.tag(self);
        let mut kind = NEW + RECEIVE + (packet.number & 1) * HIGH + fast;
        if (packet.lengths >> 9 ^ packet.lengths >> 1) & 0x7F == 0 {
            kind += PEER;
        }
        let subports = (packet.lengths & 0xFF) << 16 | packet.lengths & 0xFF00;
        let event = EventWords::at(event);
        event.set_buffer_high(self, high);
        event.set_buffer_low(self, low);
        event.set_length(self, length);
        let node = packet.node();
        event.set_node(self, node << 16 | tag & 0xFFFF);
        event.set_kind(self, tag >> 16 << 24 | subports | kind);
    }

    /// A buffer for an event: as many as DMAs can be under way are used in turn.
    #[inline(always)]
    fn event_buffer(&mut self) -> u32 {
        let event = self.next_event_buffer();
        let next = EVENT_BUFFERS | (event + EVENT_BUFFER_BYTES) & (EVENT_BUFFERS_BYTES - 1);
        self.set_next_event_buffer(next);
        event
    }

    /// Counts a message that was delivered.
    #[inline(always)]
    fn count_delivered(&mut self) {
        let counter = Self::counter_at(Counter::Delivered);
        let delivered = self.nic.load(counter).wrapping_add(1);
        self.nic.store(counter, delivered);
    }

    /// The slot of a port's receive queue that is written next.
    #[inline(always)]
    pub(crate) fn event_slot(&mut self, port: PortBlock) -> HostAddress {
        let low = port.event(self);
        let high = port.queue_high(self);
        let base = port.queue_low(self);
        let next = low.wrapping_add(SLOT_BYTES);
        let next = match next.wrapping_sub(base) {
            QUEUE_BYTES => base,
            _ => next,
        };
        port.set_event(self, next);
        HostAddress { high, low }
    }
}
