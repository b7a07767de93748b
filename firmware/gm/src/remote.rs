//! Puts and gets: memory of another node.
//!
//! Each packet of a put names its place at the target, so the receiver keeps nothing of it. A get is a request with a
//! number; the target answers with packets that name the number and the place of their bytes. The process of the port
//! that a put or get names must have registered the memory, and must allow others to use it.
//!
//! A get's record stays in its connection until the request is acknowledged, then it waits in `GETS`. RECV ends it, also
//! one that takes too long: so no bytes come after its report.
use defs::gm::event::Status;
use defs::gm::map::{Counter, RECORD_BYTES, RECORD_COUNT, RECORDS};
use defs::gm::packet::{
    GET, GET_BYTES, GOT, GOT_BYTES, GOT_FAILED, HEADER_BYTES, MTU, NULL, PUT, PUT_BODY, PUT_BYTES,
    first_word,
};
use defs::record;

use crate::atomic::ask_packet;
use crate::collective::{K_COLLECTIVE, value_packet, vector_packet};
use crate::nic::Event;
use crate::receive::Packet;
use crate::state::{
    Connection, GETS, K_ATOMIC, K_GET, K_NULL, K_PUT, K_REPLY, K_WAITING, PortBlock, Record,
    connection_number, port_block, target_subport,
};
use crate::timer::is_reached;
use crate::transmit::padded;
use crate::{Gm, Nic, answer};

/// A packet to send.
pub struct Plan {
    /// First word of its header.
    pub first: u32,
    /// Bytes between header and payload.
    pub extra: u32,
    /// Bytes of payload.
    pub bytes: u32,
}

impl Plan {
    /// A packet of a message.
    #[inline(always)]
    pub const fn message(first: u32, bytes: u32) -> Self {
        Self {
            first,
            extra: 0,
            bytes,
        }
    }
}

/// Bits of a get's number that hold its record's; a count lies above, so that no number comes again soon.
const GET_SHIFT: u32 = 10;

const _: () = assert!(RECORD_COUNT <= 1 << GET_SHIFT && RECORD_BYTES == 1 << 6);

record! {
    /// Words between the header of a packet and its bytes: of a put, or of bytes that a get asks for.
    struct Payload {
        /// Put: address at the target, upper half.
        high, set_high: u32 = 0;
        /// Put: address at the target, lower half.
        low, set_low: u32 = 4;
        /// Answer to a get: number of the get.
        number, set_number: u32 = 0;
        /// Answer to a get: place of the bytes in what was asked for; or [`GOT_FAILED`] with a status.
        place, set_place: u32 = 4;
    }
}

/// Address of the first record of an answer to a get.
pub const REPLIES: u32 = RECORDS + RECORD_COUNT * RECORD_BYTES;

impl<N: Nic> Gm<N> {
    /// The next packet of a record that is no message. What lies between header and payload is written.
    #[inline(never)]
    pub(crate) fn plan_other(
        &mut self,
        header: u32,
        record: Record,
        kind: u32,
        sent: u32,
        left: u32,
    ) -> Plan {
        let extra = header + HEADER_BYTES;
        let bytes = left.min(MTU);
        match kind {
            K_PUT => {
                let low = record.remote_low(self);
                let place = low.wrapping_add(sent);
                let high = record
                    .remote_high(self)
                    .wrapping_add(u32::from(place < low));
                let payload = Payload::at(extra);
                payload.set_high(self, high);
                payload.set_low(self, place);
                Plan {
                    first: first_word(if left <= MTU { PUT } else { PUT_BODY }),
                    extra: PUT_BYTES,
                    bytes,
                }
            }
            K_GET => {
                for (at, word) in [
                    (0, Record::REMOTE_HIGH),
                    (4, Record::REMOTE_LOW),
                    (8, Record::ASKED),
                    (12, Record::NUMBER),
                ] {
                    let value = self.nic.load(record.address() + word);
                    self.nic.store(extra + at, value);
                }
                Plan {
                    first: first_word(GET),
                    extra: GET_BYTES,
                    bytes: 0,
                }
            }
            K_REPLY => {
                let number = record.number(self);
                let failed = record.failed(self);
                let payload = Payload::at(extra);
                payload.set_number(self, number);
                let place = if failed == 0 {
                    sent
                } else {
                    GOT_FAILED | failed
                };
                payload.set_place(self, place);
                Plan {
                    first: first_word(GOT),
                    extra: GOT_BYTES,
                    bytes: if failed == 0 { bytes } else { 0 },
                }
            }
            K_COLLECTIVE if N::VECTORS => vector_packet(self, extra, record),
            K_COLLECTIVE => value_packet(self, extra, record),
            K_ATOMIC => ask_packet(self, extra, record),
            _ => Plan::message(first_word(NULL), 0),
        }
    }

    /// SEND: gives a get its number.
    pub(crate) fn number_get(&mut self, record: Record) {
        let count = self.get_count().wrapping_add(1);
        self.set_get_count(count);
        record.set_number(self, count << GET_SHIFT | (record.address() - RECORDS) >> 6);
    }

    /// The process of an answer to a get has not registered its bytes any more: the next packets say so, up to `end`.
    pub(crate) fn fail_reply(&mut self, record: Record, end: u32) {
        record.set_failed(self, Status::PermissionDenied as u32);
        record.set_length(self, end);
    }

    /// RECV: a packet of a put.
    #[inline(never)]
    pub(crate) fn put(&mut self, packet: &Packet) -> bool {
        let bytes = packet.payload_bytes();
        let sound = packet.length == HEADER_BYTES + PUT_BYTES + padded(bytes) && bytes <= MTU;
        if !sound {
            self.count(Counter::BadLength);
            return false;
        }
        if !self.is_expected(packet.connection, packet.sequence) {
            return false;
        }
        let Some(port) = self.target_port(packet) else {
            return false;
        };
        let extra = packet.at + HEADER_BYTES;
        let last = packet.subtype == PUT;
        if port.allow(self) == 0 {
            return self.refuse_packet(packet, answer::FORBIDDEN, Counter::Refused);
        }
        if bytes != 0 {
            let high = Payload::at(extra).high(self);
            let low = Payload::at(extra).low(self);
            let key = port.receive_key(self);
            let Some(pieces) = self.pieces(high, low, key, bytes) else {
                return self.refuse_packet(packet, answer::FORBIDDEN, Counter::Refused);
            };
            self.start_writes(&pieces, extra + PUT_BYTES, bytes, packet.at);
        }
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        self.accept(packet.connection, packet.sequence, last);
        if last {
            self.count(Counter::Delivered);
        }
        bytes != 0
    }

    /// RECV: the request of a get. SEND answers it.
    #[inline(never)]
    pub(crate) fn get(&mut self, packet: &Packet) -> bool {
        if packet.length != HEADER_BYTES + GET_BYTES || packet.payload_bytes() != 0 {
            self.count(Counter::BadLength);
            return false;
        }
        if !self.is_expected(packet.connection, packet.sequence) {
            return false;
        }
        let Some(port) = self.target_port(packet) else {
            return false;
        };
        if port.allow(self) == 0 {
            return self.refuse_packet(packet, answer::FORBIDDEN, Counter::Refused);
        }
        let record = self.free_replies();
        if record.is_none() {
            return self.refuse_packet(packet, answer::DOWN, Counter::NoToken);
        }
        let free = record.next(self);
        self.set_free_replies(free);
        let extra = packet.at + HEADER_BYTES;
        for (word, at) in [
            (Record::HIGH, 0),
            (Record::LOW, 4),
            (Record::LENGTH, 8),
            (Record::NUMBER, 12),
        ] {
            let value = self.nic.load(extra + at);
            self.nic.store(record.address() + word, value);
        }
        let key = port.receive_key(self);
        let length = record.length(self);
        // The answer goes from the port to the requesting one.
        let ports = (packet.lengths & 0xFF) << 8 | packet.lengths >> 8 & 0xFF;
        record.write(
            self,
            [
                (Record::KIND, K_REPLY),
                (Record::KEY, key),
                (Record::PORTS, ports),
                (Record::TOKEN, 0),
                (Record::SENT, 0),
                (Record::ACKED, 0),
                (Record::CONNECTION, 0),
            ],
        );
        if length >> 31 != 0 {
            self.fail_reply(record, 1);
        }
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        self.accept(packet.connection, packet.sequence, true);
        self.reply(packet.connection, record);
        false
    }

    /// RECV: bytes that a get has asked for.
    #[inline(never)]
    pub(crate) fn got(&mut self, packet: &Packet) -> bool {
        let bytes = packet.payload_bytes();
        if packet.length != HEADER_BYTES + GOT_BYTES + padded(bytes) || bytes > MTU {
            self.count(Counter::BadLength);
            return false;
        }
        if !self.is_expected(packet.connection, packet.sequence) {
            return false;
        }
        let extra = packet.at + HEADER_BYTES;
        let number = Payload::at(extra).number(self);
        let place = Payload::at(extra).place(self);
        self.nic
            .mark(Event::PacketReceived, packet.number, packet.sequence);
        let Some(record) = self.find_get(packet.connection, number) else {
            // It was given up.
            self.accept(packet.connection, packet.sequence, true);
            return false;
        };
        let asked = record.asked(self);
        if place & GOT_FAILED != 0 {
            self.get_ends(record, answer::status(place & 0xFF));
            self.accept(packet.connection, packet.sequence, true);
            return false;
        }
        let last = place.wrapping_add(bytes) == asked;
        let inside = place <= asked && bytes <= asked - place;
        let pieces = match inside && bytes != 0 {
            true => self.record_pieces(record, place, bytes),
            false => None,
        };
        self.accept(packet.connection, packet.sequence, last);
        if let Some(pieces) = &pieces {
            self.start_writes(pieces, extra + GOT_BYTES, bytes, packet.at);
            let fails_at = self.now().wrapping_add(self.fatal_ticks());
            record.set_fails_at(self, fails_at);
        } else if bytes != 0 || !inside {
            self.get_ends(record, Status::PermissionDenied);
            return false;
        }
        if last {
            self.get_ends(record, Status::Success);
        }
        pieces.is_some()
    }

    /// The get with a number that waits for bytes of the node at the other end of a connection.
    fn find_get(&mut self, connection: Connection, number: u32) -> Option<Record> {
        let index = number & ((1 << GET_SHIFT) - 1);
        if index >= RECORD_COUNT {
            return None;
        }
        let record = Record::at(RECORDS + (index << 6));
        let kind = record.kind(self);
        let from = record.connection(self);
        let fits = (kind == K_GET || kind == K_WAITING)
            && record.number(self) == number
            && connection_number::<N>(from) >> 1 == connection_number::<N>(connection) >> 1;
        // A closed port's get has no token.
        (fits && record.token(self) != 0).then_some(record)
    }

    /// SEND: a get has ended; `number` is its number.
    pub(crate) fn end_get(&mut self, record: Record, number: u32, status: u32) {
        let kind = record.kind(self);
        if record.number(self) != number || (kind != K_GET && kind != K_WAITING) {
            return;
        }
        let token = record.token(self);
        record.set_token(self, 0);
        if kind == K_GET {
            // Its request is not acknowledged: the record keeps the sequence number.
            record.set_kind(self, K_NULL);
            record.set_length(self, MTU);
        } else {
            self.unlink(GETS, record);
            self.free_record(record);
        }
        if status != Status::Success as u32 {
            self.count(Counter::FailedSends);
        }
        self.report(token, status);
    }

    /// SEND: the request of a get is acknowledged: it waits for its bytes.
    pub(crate) fn await_get(&mut self, record: Record) {
        let first = self.gets();
        let fails_at = self.now().wrapping_add(self.fatal_ticks());
        record.set_fails_at(self, fails_at);
        record.set_kind(self, K_WAITING);
        record.set_next(self, first);
        self.set_gets(record);
        self.start_timer();
    }

    /// SEND: ends the gets that have waited too long.
    pub(crate) fn expire_gets(&mut self, now: u32) {
        let mut record = self.gets();
        while record.is_some() {
            let next = record.next(self);
            let fails_at = record.fails_at(self);
            if is_reached(fails_at, now) {
                let again = now.wrapping_add(self.fatal_ticks());
                record.set_fails_at(self, again);
                if record.token(self) == 0 {
                    self.unlink(GETS, record);
                    self.free_record(record);
                } else {
                    let number = record.number(self);
                    self.cancel_get(record, number);
                }
            }
            record = next;
        }
    }

    /// Takes a record out of a list that begins at `link`.
    pub(crate) fn unlink(&mut self, link: u32, record: Record) {
        let mut link = link;
        loop {
            let at = self.nic.load(link);
            if at == 0 {
                return;
            }
            if at == record.address() {
                let next = record.next(self);
                return self.nic.store(link, next.address());
            }
            link = at + Record::NEXT;
        }
    }

    /// The block of the port that a packet is for, if it is open; else the packet is refused.
    #[inline(always)]
    pub(crate) fn target_port(&mut self, packet: &Packet) -> Option<PortBlock> {
        let subport = target_subport(packet.lengths);
        if subport >= 2 * defs::gm::port::PORT_COUNT || (subport ^ packet.number) & 1 != 0 {
            self.count(Counter::BadAddress);
            return None;
        }
        let port = port_block(subport >> 1);
        if !port.receives(self) {
            self.refuse_packet(packet, answer::CLOSED, Counter::ClosedPort);
            return None;
        }
        Some(port)
    }
}
