//! RECV: packets from the wire.
use defs::gm::atomic::{ASK, VALUE};
use defs::gm::collective::{STEP, SUBTYPES};
use defs::gm::gossip::{EXCHANGED, MISSING, SPREAD};
use defs::gm::map::{ACK_PACKETS, Counter};
use defs::gm::mapping;
use defs::gm::packet::{
    ACK, DATA, GET, GOT, HEADER_BYTES, NACK_OPEN, NULL, PUT, PUT_BODY, SIZES, TAIL, TYPE,
};
use defs::gm::port::PORT_COUNT;
use defs::record::Memory;

use crate::gossip::{HELD_COOKIES, HELD_COOKIES_END};
use crate::nic::Event;
use crate::state::{
    Connection, DELAYED, DELAYED_LIMIT, F_DELAYED, F_FRESH, F_NACKED, F_NEW, F_OPEN, F_REFUSED,
    FREE, Header, LAST_WRITE, OWED, OWED_MASK, REFUSAL_MASK, REFUSAL_SHIFT, REPORT_BUFFERS,
    SLEEPERS, Token, WAKE_SIGNALS, connection, next_sequence, port_block, sleeper, target_subport,
};
use crate::transmit::padded;
use crate::{Gm, Nic, answer};

/// A packet of a known peer.
pub struct Packet {
    /// Address of the header.
    pub at: u32,
    /// Length in bytes, with the header.
    pub length: u32,
    /// Number of the connection.
    pub number: u32,
    /// The connection.
    pub connection: Connection,
    /// Header word with session and sequence number.
    pub sequence: u32,
    /// Header word with length and subports.
    pub lengths: u32,
    /// Subtype: the last 16 bits of the first header word.
    pub subtype: u32,
}

/// Packets of messages: subtypes from [`DATA`] on.
const MESSAGES: u32 = 2 * SIZES + 2;

/// Subports of a node, an even number.
const SUBPORTS: u32 = 2 * PORT_COUNT;

/// Whether the cookie of a DMA to the host is the memory of a packet.
const fn is_packet(cookie: u32) -> bool {
    cookie.wrapping_sub(REPORT_BUFFERS) > HELD_COOKIES_END - REPORT_BUFFERS
}

impl<N: Nic> Gm<N> {
    /// RECV: a packet has come.
    #[inline(always)]
    pub(crate) fn on_received(&mut self) {
        if let Some((packet, length)) = self.nic.receive()
            && !self.packet(packet, length)
        {
            self.nic.release(packet);
        }
    }

    /// A DMA to the host is complete: of a packet, or of an event's buffer.
    #[inline(always)]
    pub(crate) fn on_written(&mut self, cookie: u32) {
        match self.wakes() {
            0 => self.written(cookie),
            wakes => self.written_with_wakes(cookie, wakes),
        }
    }

    /// Frees the memory of a completed DMA to the host, or goes on with what waits for it: the cookie says which.
    #[inline(always)]
    fn written(&mut self, cookie: u32) {
        if is_packet(cookie) {
            self.nic.release(cookie);
        } else if cookie == LAST_WRITE {
            self.command_done();
        } else if cookie >= HELD_COOKIES {
            self.held_written(cookie);
        } else {
            self.nic.store(cookie, FREE);
        }
    }

    /// A process that sleeps is woken by an event of its port; a message of high priority is a signal for a process that has signals
    /// now. The packet's header and the buffer's word tell, before their memory is free again.
    #[cold]
    #[inline(never)]
    fn written_with_wakes(&mut self, cookie: u32, wakes: u32) {
        let mut signal = false;
        let event = if is_packet(cookie) {
            let subport = self.ended_message(cookie);
            signal = wakes & WAKE_SIGNALS != 0 && self.is_signal(subport);
            if subport < SUBPORTS {
                sleeper(subport >> 1)
            } else {
                0
            }
        } else if cookie < LAST_WRITE {
            self.nic.load(cookie)
        } else {
            0
        };
        let woken = wakes & event & SLEEPERS;
        self.set_wakes(wakes & !woken);
        self.written(cookie);
        if signal || woken != 0 {
            self.nic.interrupt();
        }
    }

    /// The target's subport of a packet whose last byte is in host memory, if it ends a message; [`SUBPORTS`] if not.
    fn ended_message(&mut self, packet: u32) -> u32 {
        let subtype = Header::at(packet).kind(self) & 0xFFFF;
        let subport = target_subport(Header::at(packet).lengths(self));
        let ends = subtype.wrapping_sub(DATA) < SIZES || subtype == TAIL;
        if ends && subport < SUBPORTS {
            subport
        } else {
            SUBPORTS
        }
    }

    /// Whether a complete message for a subport is of high priority and for a port that has signals now.
    fn is_signal(&mut self, subport: u32) -> bool {
        subport & 1 != 0 && port_block(subport >> 1).signals(self) != 0
    }

    /// Handles a packet. Returns whether RDMA uses its memory.
    #[inline(always)]
    fn packet(&mut self, at: u32, length: u32) -> bool {
        if length < HEADER_BYTES {
            self.count(Counter::BadPackets);
            return false;
        }
        let header = Header::at(at);
        let first = header.kind(self);
        let target = header.target(self);
        let sequence = header.sequence(self);
        let lengths = header.lengths(self);
        let sender = header.sender(self);
        let number = header.connections(self) >> 16;
        let subtype = first & 0xFFFF;
        let known = sender < self.nodes() && number >> 1 == sender;
        let ours = target == self.node() && first >> 16 == TYPE;
        if !(known && ours) {
            self.odd_packet(at, length, first >> 16);
            return false;
        }
        let packet = Packet {
            at,
            length,
            number,
            connection: connection::<N>(number),
            sequence,
            lengths,
            subtype,
        };
        if subtype.wrapping_sub(DATA) < MESSAGES {
            if length == HEADER_BYTES + padded(lengths >> 16) {
                return self.message(&packet);
            }
            self.count(Counter::BadLength);
            false
        } else if subtype.wrapping_sub(ACK) <= NACK_OPEN - ACK {
            if length == HEADER_BYTES {
                self.nic.mark(Event::AckReceived, number, sequence);
                self.ack_came(packet.connection, subtype, sequence, lengths);
            } else {
                self.count(Counter::BadLength);
            }
            false
        } else if subtype.wrapping_sub(STEP) < SUBTYPES {
            if N::LENDS {
                self.lend_or_hand(&packet);
            } else {
                self.collective_packet(&packet);
            }
            false
        } else {
            self.other(&packet)
        }
    }

    /// A packet that is for another node, from an unknown one, or of another type.
    #[cold]
    #[inline(never)]
    fn odd_packet(&mut self, at: u32, length: u32, kind: u32) {
        if kind == TYPE {
            self.count(Counter::BadAddress);
        } else if kind == mapping::TYPE && N::ROLE.sends() {
            self.mapping_packet(at, length);
        } else {
            self.count(Counter::BadType);
        }
    }

    /// Packets that are neither messages nor acks.
    #[inline(never)]
    fn other(&mut self, packet: &Packet) -> bool {
        match packet.subtype {
            PUT | PUT_BODY => self.put(packet),
            GET => self.get(packet),
            GOT => self.got(packet),
            NULL => {
                self.null(packet);
                false
            }
            SPREAD | EXCHANGED | MISSING => self.gossip_packet(packet),
            ASK => {
                self.atomic_ask(packet);
                false
            }
            VALUE => {
                self.value_packet(packet);
                false
            }
            _ => {
                self.count(Counter::BadType);
                false
            }
        }
    }

    /// A packet that carries nothing: it stands for a message that was given up.
    fn null(&mut self, packet: &Packet) {
        if packet.length != HEADER_BYTES {
            return self.count(Counter::BadLength);
        }
        let flags = packet.connection.receive(self);
        let expected = packet.connection.expected(self);
        if flags & F_REFUSED != 0 && packet.sequence == expected {
            let refusal = F_REFUSED | REFUSAL_MASK << REFUSAL_SHIFT;
            packet
                .connection
                .set_receive(self, flags & !refusal | F_OPEN);
        }
        if self.is_expected(packet.connection, packet.sequence) {
            self.drop_partial(packet.connection);
            self.accept(packet.connection, packet.sequence, true);
            // A refusal that still waits would refuse the next packet.
            self.acknowledge(packet.connection);
        }
    }

    /// Whether a packet is the next one of its connection. If not, it is answered.
    #[inline(always)]
    pub(crate) fn is_expected(&mut self, connection: Connection, sequence: u32) -> bool {
        let flags = connection.receive(self);
        let expected = connection.expected(self);
        let usual = sequence == expected && flags & F_OPEN != 0;
        usual || self.is_first(connection, flags, expected, sequence)
    }

    /// The packet is accepted: the next one is expected. An ack follows for several packets, or a time after the last one of
    /// a message.
    #[inline(always)]
    pub(crate) fn accept(&mut self, connection: Connection, sequence: u32, last: bool) {
        let flags = (connection.receive(self) & !(F_NACKED | F_NEW | F_FRESH)) + OWED;
        let next = next_sequence(sequence);
        connection.set_expected(self, next);
        if flags & OWED_MASK >= ACK_PACKETS * OWED {
            connection.set_receive(self, flags & !OWED_MASK);
            self.answer(connection, answer::ACK, next);
        } else {
            connection.set_receive(self, flags);
            if last && flags & F_DELAYED == 0 {
                self.delay_ack(connection, flags);
            }
        }
    }

    /// The ack of a connection waits for the timer: its own, or the next tick.
    #[inline(always)]
    pub(crate) fn delay_ack(&mut self, connection: Connection, flags: u32) {
        let count = self.delayed_count();
        if count == DELAYED_LIMIT {
            return self.acknowledge(connection);
        }
        self.nic.store(DELAYED + (count << 2), connection.address());
        self.set_delayed_count(count + 1);
        connection.set_receive(self, flags | F_DELAYED);
        if count != 0 {
            return;
        }
        if N::ACK_TICK == 0 {
            const { assert!(N::ACK_TICK != 0 || N::ROLE.sends()) }
            self.start_timer();
        } else {
            self.nic.set_ack_timer();
        }
    }

    /// A packet has acknowledged what a connection owes, where RECV runs on this CPU.
    #[inline(always)]
    pub(crate) fn owes_nothing(&mut self, connection: Connection) {
        if N::ROLE.receives() {
            let flags = connection.receive(self);
            connection.set_receive(self, flags & !OWED_MASK);
        }
    }

    /// Acknowledges what a connection owes.
    #[cold]
    #[inline(never)]
    pub(crate) fn acknowledge(&mut self, connection: Connection) {
        let flags = connection.receive(self) & !F_DELAYED;
        let expected = connection.expected(self);
        connection.set_receive(self, flags & !OWED_MASK);
        if flags & OWED_MASK != 0 {
            self.answer(connection, answer::ACK, expected);
        }
    }

    /// The time of the delayed acks has come.
    pub(crate) fn send_delayed_acks(&mut self) {
        let count = self.delayed_count();
        self.set_delayed_count(0);
        let mut at = DELAYED;
        while at < DELAYED + (count << 2) {
            let connection = Connection::at(self.nic.load(at));
            self.acknowledge(connection);
            at += 4;
        }
    }

    /// Sends a nack, or an ack again.
    fn answer_again(&mut self, connection: Connection, flags: u32, kind: u32, sequence: u32) {
        connection.set_receive(self, flags & !OWED_MASK);
        self.answer(connection, kind, sequence);
    }

    /// Handles a packet out of its turn: a new session, a duplicate or one behind a gap. Returns whether it begins a
    /// session.
    #[cold]
    #[inline(never)]
    fn is_first(
        &mut self,
        connection: Connection,
        flags: u32,
        expected: u32,
        sequence: u32,
    ) -> bool {
        let ahead = (sequence >> 16).wrapping_sub(expected >> 16) & 0xFFFF;
        let known = flags & (F_OPEN | F_REFUSED | F_NEW) != 0;
        if !known || (ahead != 0 && ahead < 0x8000) {
            self.drop_partial(connection);
            let first = sequence & 0xFFFF_0000;
            connection.set_expected(self, first);
            if sequence == first {
                // The address before the value: in this order the compiler keeps the two paths that begin a session apart.
                self.store(
                    connection.address() + Connection::RECEIVE,
                    flags & F_DELAYED | F_OPEN | F_FRESH,
                );
                return true;
            }
            self.count(Counter::Gaps);
            let flags = flags & F_DELAYED | F_NEW | F_NACKED | sequence << 16;
            self.answer_again(connection, flags, answer::OPEN, first);
        } else if ahead != 0 {
            self.count(Counter::Duplicates);
        } else if sequence.wrapping_sub(expected) & 0x8000 != 0 {
            self.count(Counter::Duplicates);
            self.answer_again(connection, flags, answer::ACK, expected);
        } else if flags & F_REFUSED != 0 && sequence == expected {
            self.count(Counter::Duplicates);
            let kind = flags >> REFUSAL_SHIFT & REFUSAL_MASK;
            self.answer_again(connection, flags, kind, expected);
        } else if flags & F_NEW != 0 && sequence == expected {
            self.store(
                connection.address() + Connection::RECEIVE,
                flags & F_DELAYED | F_OPEN | F_FRESH,
            );
            return true;
        } else {
            self.count(Counter::Gaps);
            // One nack for each round of packets: a number that is not behind the last one begins another round.
            let round = (sequence.wrapping_sub(flags >> 16) & 0xFFFF).wrapping_sub(1) >= 0x8000;
            let nacked = flags & F_NACKED != 0 && !round;
            let flags = flags & 0xFFFF | sequence << 16 | F_NACKED;
            connection.set_receive(self, flags);
            if !nacked {
                let kind = match flags & (F_NEW | F_FRESH) {
                    0 => answer::NACK,
                    _ => answer::OPEN,
                };
                self.answer_again(connection, flags, kind, expected);
            }
        }
        false
    }

    /// The packet cannot be delivered: its sender is told.
    #[cold]
    #[inline(never)]
    pub(crate) fn refuse_packet(&mut self, packet: &Packet, kind: u32, counter: Counter) -> bool {
        self.count(counter);
        self.nic
            .mark(Event::PacketDropped, packet.number, packet.sequence);
        let mut flags = packet.connection.receive(self) & 0xFFFF | packet.sequence << 16 | F_NACKED;
        if flags & F_FRESH != 0 {
            flags = flags & !(F_OPEN | F_FRESH) | F_NEW;
        }
        if kind >= answer::CLOSED {
            flags = flags & !F_OPEN | F_REFUSED | kind << REFUSAL_SHIFT;
        }
        self.answer_again(packet.connection, flags, kind, packet.sequence);
        if N::ROLE.sends() {
            // Refused packets come again, perhaps without a pause: then a tick looks for the posts that end it.
            self.start_timer();
        }
        false
    }

    /// The message whose first packets have come is given up: its receive token is used for another one.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_partial(&mut self, connection: Connection) {
        let token = connection.partial(self);
        if token.is_some() {
            connection.set_partial(self, Token::NONE);
            self.return_token(token, connection);
        }
    }
}

impl Packet {
    /// Bytes of payload.
    #[inline(always)]
    pub const fn payload_bytes(&self) -> u32 {
        self.lengths >> 16
    }

    /// The node that sent the packet.
    #[inline(always)]
    pub const fn node(&self) -> u32 {
        self.number >> 1
    }
}
