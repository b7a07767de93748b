//! Packets to other members of an operation.
use defs::gm::collective::{
    ACKED_BYTES, AGAIN, LOCAL, LOCAL_BYTES, LOCAL_COUNT, LOCAL_VALUES, PARTIAL, PARTIAL_AGAIN,
    VALUE_BYTES, endpoint,
};
use defs::gm::event::Status;
use defs::gm::map::ROUTE_VALID;
use defs::gm::packet::{HEADER_BYTES, first_word};
use defs::gm::port::PORT_COUNT;
use defs::record::Memory;

use super::origin;
use super::state::{ACKED_DUE, LocalPacket, Payload, RECORD_FREED, block};
use super::vector::local_vector;
use crate::remote::Plan;
use crate::state::{
    FREE, Peer, PortBlock, READY, Record, connection, peer, port_block, port_number,
};
use crate::{Gm, Nic};

/// Kind of a record: a packet of an operation.
pub const K_COLLECTIVE: u32 = 6;

/// A value and the tag of its operation.
#[derive(Clone, Copy)]
pub struct Value {
    /// The tag.
    pub tag: u32,
    /// Upper half.
    pub high: u32,
    /// Lower half.
    pub low: u32,
}

/// Value of packets that carry none: those of barriers.
pub const NO_VALUE: Value = Value {
    tag: 0,
    high: 0,
    low: 0,
};

/// The packet of a record; what lies behind the header is written.
#[inline(always)]
pub fn value_packet(memory: &mut impl Memory, extra: u32, record: Record) -> Plan {
    let subtype = record.number(memory);
    let connection = record.connection(memory);
    let expected = connection.expected(memory);
    memory.store(extra, expected);
    let mut plan = Plan::message(first_word(subtype), 0);
    plan.extra = ACKED_BYTES;
    if subtype >= PARTIAL {
        for (at, word) in [
            (4, Record::REMOTE_HIGH),
            (8, Record::HIGH),
            (12, Record::LOW),
        ] {
            let value = memory.load(record.address() + word);
            memory.store(extra + at, value);
        }
        plan.extra = ACKED_BYTES + VALUE_BYTES;
    }
    plan
}

const _: () = assert!(HEADER_BYTES.is_multiple_of(4) && LOCAL_COUNT.is_power_of_two());

impl<N: Nic> Gm<N> {
    /// Sends a packet of an operation from a port to an endpoint. Returns false if it cannot leave now: then the port goes on when
    /// it can, or its operations have failed.
    #[inline(always)]
    pub(super) fn depart(&mut self, port: PortBlock, to: u32, subtype: u32, value: Value) -> bool {
        let opening = block(port).opening(self);
        self.depart_of(port, to, opening << 16 | subtype, value)
    }

    /// Sends a packet back to its sender, with the sender's opening. Returns false if it cannot leave now.
    #[inline(always)]
    pub(super) fn send_back(&mut self, port: PortBlock, to: u32, what: u32, value: Value) -> bool {
        self.depart_of(port, to, what, value)
    }

    /// [`depart`](Self::depart) of a packet of a barrier, in the memory of its caller.
    #[inline(always)]
    pub(super) fn depart_hot(&mut self, port: PortBlock, to: u32, subtype: u32) -> bool {
        let opening = block(port).opening(self);
        self.depart_with(port, to, opening << 16 | subtype, NO_VALUE)
    }

    /// `what`: subtype, and an opening in the upper half.
    #[inline(never)]
    fn depart_of(&mut self, port: PortBlock, to: u32, what: u32, value: Value) -> bool {
        self.depart_with(port, to, what, value)
    }

    /// Sends a packet, in the memory of its caller.
    #[inline(always)]
    fn depart_with(&mut self, port: PortBlock, to: u32, what: u32, value: Value) -> bool {
        let node = to >> 16;
        let remote = to >> 8 & 0xFF;
        if remote >= PORT_COUNT || node >= self.nodes() {
            return self.cannot_depart(port, what, Status::InvalidParameter);
        }
        if node == self.node() {
            return self.depart_here(port, remote, what, value);
        }
        if Peer::at(peer::<N>(node)).route(self) & ROUTE_VALID == 0 {
            return self.cannot_depart(port, what, Status::NodeUnreachable);
        }
        let record = self.free_packets();
        if record.is_none() {
            return self.wait_for_record(port);
        }
        let free = record.next(self);
        self.set_free_packets(free);
        let own = port_number(port) << 1;
        let ports = what & 0xFFFF_0000 | remote << 9 | own;
        let subtype = what & 0xFFFF;
        let connection = connection::<N>(node << 1);
        // Its other words are those of a free record.
        record.set_ports(self, ports);
        record.set_key(self, port.address());
        record.set_connection(self, connection);
        record.set_number(self, subtype);
        if subtype >= PARTIAL {
            record.set_remote_high(self, value.tag);
            record.set_high(self, value.high);
            if N::VECTORS {
                self.keep_vector(record, value);
            } else {
                record.set_low(self, value.low);
            }
        }
        let buffer = self.fill_buffer();
        if buffer.state(self) != FREE || !self.add_sent(connection, record) {
            self.add_record(connection, record);
            return true;
        }
        let header = buffer.header();
        let sequence = self.take_sequence(connection);
        let start = self.packet_header(header, connection, first_word(subtype), sequence, ports);
        let expected = connection.expected(self);
        let payload = Payload::at(header + HEADER_BYTES);
        payload.set_acked(self, expected);
        let mut end = header + HEADER_BYTES + ACKED_BYTES;
        if subtype >= PARTIAL {
            payload.set_tag(self, value.tag);
            if N::VECTORS {
                end = self.write_vector(payload.address(), value);
            } else {
                payload.set_high(self, value.high);
                payload.set_low(self, value.low);
                end += VALUE_BYTES;
            }
        }
        self.owes_nothing(connection);
        buffer.set_start(self, start);
        buffer.set_end(self, end);
        buffer.set_state(self, READY);
        self.set_fill_buffer(buffer.other());
        self.send_machine();
        true
    }

    /// Prepares a free record: only what differs between packets is written later.
    pub(super) fn prepare_packet(&mut self, record: Record) {
        record.set_kind(self, K_COLLECTIVE);
        record.set_length(self, 0);
        record.set_sent(self, 0);
        record.set_acked(self, 0);
        record.set_token(self, 0);
    }

    /// There is no way to the endpoint: the operations fail; what only goes back is dropped.
    #[cold]
    #[inline(never)]
    fn cannot_depart(&mut self, port: PortBlock, what: u32, status: Status) -> bool {
        let subtype = what & 0xFFFF;
        if subtype == AGAIN || subtype == PARTIAL_AGAIN {
            return true;
        }
        self.break_port(port, status as u32);
        false
    }

    /// The packet is for a port of this board: it is looked at later in the same step.
    #[cold]
    #[inline(never)]
    fn depart_here(&mut self, port: PortBlock, remote: u32, what: u32, value: Value) -> bool {
        let subtype = what & 0xFFFF;
        let at = self.local_in();
        let next = LOCAL | (at + LOCAL_BYTES) & (LOCAL_COUNT * LOCAL_BYTES - 1);
        let full = next == self.local_out();
        let used = self.local_values();
        let mut waits = full;
        if subtype == PARTIAL && used >= LOCAL_VALUES {
            // A value that a reduction waits for needs no place.
            let own = endpoint(self.node(), port_number(port));
            waits |= !self.awaiting(port_block(remote), own, value.tag);
        }
        if waits {
            return self.wait_for_record(port);
        }
        if subtype == PARTIAL {
            self.set_local_values(used + 1);
        }
        let node = self.node();
        let from = origin::pack::<N>(subtype, node, port_number(port), remote, what >> 16);
        let packet = LocalPacket::at(at);
        packet.set_origin(self, from | origin::OWN_BOARD);
        packet.set_tag(self, value.tag);
        packet.set_high(self, value.high);
        let low = if N::VECTORS && subtype >= PARTIAL {
            self.keep_at(local_vector(packet), value)
        } else {
            value.low
        };
        packet.set_low(self, low);
        self.set_local_in(next);
        true
    }

    /// No record is free: the port goes on when one is. Returns `false`: the packet has not left.
    #[cold]
    #[inline(never)]
    fn wait_for_record(&mut self, port: PortBlock) -> bool {
        let waiting = self.waiting_ports() | 1 << port_number(port);
        self.set_waiting_ports(waiting);
        if N::LENDS {
            // What was acknowledged frees records.
            let acked = self.acked_count() | ACKED_DUE;
            self.set_acked_count(acked);
        }
        false
    }

    /// The record of a packet is free again: ports that wait for one go on.
    #[inline(always)]
    pub(crate) fn free_packet(&mut self, record: Record) {
        let free = self.free_packets();
        if record.kind(self) != K_COLLECTIVE {
            // It was given up and has kept its number.
            self.prepare_packet(record);
        }
        record.set_next(self, free);
        self.set_free_packets(record);
        if self.waiting_ports() != 0 {
            self.keep_record(record);
        }
    }

    /// Keeps the first free record for ports that wait. They go on when nothing else is to do: what frees a record may be under way for one of
    /// them.
    #[cold]
    #[inline(never)]
    fn keep_record(&mut self, record: Record) {
        let free = record.next(self);
        self.set_free_packets(free);
        let kept = self.kept_records();
        record.set_next(self, kept);
        self.set_kept_records(record);
        let acked = self.acked_count() | RECORD_FREED;
        self.set_acked_count(acked);
    }

    /// Makes the records free that were kept.
    #[cold]
    #[inline(never)]
    pub(super) fn free_kept_records(&mut self) {
        let mut record = self.kept_records();
        self.set_kept_records(Record::at(0));
        while record.is_some() {
            let next = record.next(self);
            let free = self.free_packets();
            record.set_next(self, free);
            self.set_free_packets(record);
            record = next;
        }
    }

    /// Takes the packets between ports of this board, and lets ports go on whose packets wait.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        if self.local_out() != self.local_in() {
            self.take_local();
        }
        let waiting = self.waiting_ports();
        if waiting != 0 {
            self.wake_waiting(waiting);
        }
    }

    /// Lets ports go on that have waited for a record, a bit for each.
    #[cold]
    #[inline(never)]
    fn wake_waiting(&mut self, ports: u32) {
        let mut waiting = ports;
        self.set_waiting_ports(0);
        self.free_kept_records();
        let mut number = 0;
        while waiting != 0 {
            if waiting & 1 != 0 {
                self.go_on(port_block(number));
            }
            waiting >>= 1;
            number += 1;
        }
        self.take_local();
    }

    /// Lets packets leave while more are made.
    #[inline(never)]
    pub(crate) fn pump(&mut self) {
        self.read_machine();
        self.send_machine();
    }

    /// Takes all packets between ports of this board.
    #[cold]
    #[inline(never)]
    fn take_local(&mut self) {
        loop {
            let at = self.local_out();
            if at == self.local_in() {
                return;
            }
            let next = LOCAL | (at + LOCAL_BYTES) & (LOCAL_COUNT * LOCAL_BYTES - 1);
            self.set_local_out(next);
            let packet = LocalPacket::at(at);
            let from = packet.origin(self);
            let value = Value {
                tag: packet.tag(self),
                high: packet.high(self),
                low: packet.low(self),
            };
            self.arrive(from, value);
        }
    }
}
