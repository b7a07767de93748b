//! Ports that are opened and closed, operations that fail, and the results that go to the host.
use defs::gm::collective::{
    AGAIN, COLLECTIVE_RECORD_COUNT, COLLECTIVE_RECORDS, DESCRIPTOR_COUNT, LOCAL, LOCAL_VALUES,
    OPENINGS, PARTIAL_AGAIN, UNEXPECTED_VALUES, VALUE_BUFFER_BYTES, VALUES, endpoint,
};
use defs::gm::event::Status;
use defs::gm::map::{Counter, RECORD_BYTES};
use defs::gm::port::PORT_COUNT;

use super::depart::{NO_VALUE, Value};
use super::origin;
use super::state::{
    AWAITED, Block, COLLECTIVE_STATE_END, EARLIER, EXCHANGING, GATHERED, NONE, RELEASING, TAKEN,
    ValueBuffer, block, end_word, ended_operation, ended_status,
};
use crate::places::Places;
use crate::state::{PortBlock, Record, port_block, port_number};
use crate::timer::is_reached;
use crate::{Gm, Nic};

/// Bit of a port's notices: the first result of its operations.
pub const RESULT_NOTICES: u32 = 8;

impl<N: Nic> Gm<N> {
    /// Prepares the memory of operations, if the board has it.
    #[cold]
    #[inline(never)]
    pub(crate) fn prepare_collectives(&mut self) {
        self.clear(TAKEN, COLLECTIVE_STATE_END);
        if !self.has_operations() {
            return;
        }
        self.set_local_in(LOCAL);
        self.set_local_out(LOCAL);
        let nodes = self.nodes();
        let notes = N::NOTES;
        self.clear(notes, notes + (nodes << 6));
        for number in 0..PORT_COUNT {
            let block = block(port_block(number));
            let (from, to) = block.own_words();
            self.clear(from, to);
            // Another opening than before a restart, as the session is another one.
            let session = self.session() & 15;
            block.set_opening(self, session << 1);
        }
        let count = COLLECTIVE_RECORD_COUNT;
        self.free_list(COLLECTIVE_RECORDS, count, RECORD_BYTES, Record::NEXT);
        for number in 0..count {
            self.prepare_packet(Record::at(COLLECTIVE_RECORDS + number * RECORD_BYTES));
        }
        self.set_free_packets(Record::at(COLLECTIVE_RECORDS));
        self.set_kept_records(Record::at(0));
        let count = UNEXPECTED_VALUES + LOCAL_VALUES;
        self.free_list(VALUES, count, VALUE_BUFFER_BYTES, ValueBuffer::NEXT);
        self.set_free_values(ValueBuffer::at(VALUES));
        if N::VECTORS {
            self.prepare_vectors();
        }
        self.prepare_gossip();
        self.prepare_atomics();
    }

    /// A port was opened: what came before is sent back.
    pub(crate) fn open_collectives(&mut self, port: PortBlock) {
        if !self.has_operations() {
            return;
        }
        let block = block(port);
        let opening = block.opening(self);
        let next = if opening == OPENINGS { 1 } else { opening + 1 };
        block.write(
            self,
            [
                (Block::BARRIER, NONE),
                (Block::AWAITED, 0),
                (Block::POSTED, 0),
                (Block::OPENING, next),
                (Block::BROKEN, 0),
                (Block::SCAN, 0),
                (Block::REDUCTIONS, 0),
            ],
        );
        let mut at = N::NOTES + (port_number(port) << 3);
        for _ in 0..self.nodes() {
            self.note_earlier(at);
            self.note_earlier(at + 4);
            at += 64;
        }
        let mut value = block.first_value(self);
        while value.is_some() {
            value.set_closed(self, true);
            value = value.next(self);
        }
        self.send_earlier(port);
        self.settle();
    }

    /// Marks the four notes of a word as earlier than the port's opening.
    fn note_earlier(&mut self, at: u32) {
        let word = self.nic.load(at);
        if word == 0 {
            return;
        }
        let mut marked = 0;
        let mut shift = 0;
        while shift < 32 {
            let byte = word >> shift & 0xFF;
            if byte != 0 && byte & AWAITED == 0 {
                marked |= (byte | EARLIER) << shift;
            }
            shift += 8;
        }
        self.nic.store(at, marked);
    }

    /// Sends what came before the port's opening back, as far as it can leave.
    fn send_earlier(&mut self, port: PortBlock) {
        let block = block(port);
        let nodes = self.nodes();
        let mut node = block.scan(self);
        while node < nodes {
            for remote in 0..PORT_COUNT {
                let (at, shift) = super::state::note::<N>(node, port_number(port), remote);
                let word = self.nic.load(at);
                let byte = word >> shift & 0xFF;
                if byte & EARLIER != 0 {
                    let what = (byte & 0x1F) << 16 | AGAIN;
                    if !self.send_back(port, endpoint(node, remote), what, NO_VALUE) {
                        return;
                    }
                    self.nic.store(at, word & !(0xFF << shift));
                }
            }
            node += 1;
            block.set_scan(self, node);
        }
        self.send_values_back(port);
    }

    /// Sends back the values that came while the port was closed; keeps the others, and those that cannot leave yet.
    fn send_values_back(&mut self, port: PortBlock) {
        let block = block(port);
        let mut value = block.first_value(self);
        block.set_first_value(self, ValueBuffer::NONE);
        let mut can_leave = true;
        while value.is_some() {
            let next = value.next(self);
            let from = value.origin(self);
            if can_leave && value.is_closed(self) {
                let back = Value {
                    tag: value.tag(self),
                    high: value.high(self),
                    low: value.low(self),
                };
                let to = endpoint(origin::node::<N>(from), origin::remote(from));
                let what = origin::opening::<N>(from) << 16 | PARTIAL_AGAIN;
                can_leave = self.send_back(port, to, what, back);
            }
            if can_leave && value.is_closed(self) {
                self.free_value(value);
            } else {
                self.append(block.values(), value.address(), ValueBuffer::NEXT);
            }
            value = next;
        }
    }

    /// A port is closed: its operations end without events. Values that it has not used are dropped.
    pub(crate) fn close_collectives(&mut self, port: PortBlock) {
        if !self.has_operations() {
            return;
        }
        let block = block(port);
        let mut value = block.first_value(self);
        block.set_first_value(self, ValueBuffer::NONE);
        while value.is_some() {
            let next = value.next(self);
            self.free_value(value);
            value = next;
        }
        block.write(
            self,
            [
                (Block::BARRIER, NONE),
                (Block::AWAITED, 0),
                (Block::POSTED, 0),
                (Block::REDUCTIONS, 0),
                (Block::SCAN, u32::MAX),
            ],
        );
        self.close_groups(port);
        if N::VECTORS {
            self.close_requests(port);
        }
        let mask = !(1 << port_number(port));
        self.set_active_ports(self.active_ports() & mask);
        self.set_waiting_ports(self.waiting_ports() & mask);
        self.free_kept_records();
    }

    /// A port has an operation under way: its time is watched.
    #[inline(always)]
    pub(crate) fn watch(&mut self, port: PortBlock) {
        let active = self.active_ports() | 1 << port_number(port);
        self.set_active_ports(active);
        self.start_timer();
    }

    /// Packets of a port can leave again.
    #[inline(never)]
    pub(super) fn go_on(&mut self, port: PortBlock) {
        if !port.is_open(self) {
            return;
        }
        let state = block(port).barrier(self);
        if state == EXCHANGING {
            self.exchange(port);
        } else if state == GATHERED {
            self.gathered(port);
        } else if state == RELEASING {
            self.release_children(port);
        }
        self.begin_next(port);
        self.reductions_go_on(port);
        self.send_earlier(port);
    }

    /// A tick: operations that take too long fail. Returns whether any is under way.
    #[inline(never)]
    pub(crate) fn look_at_collectives(&mut self, now: u32) {
        if N::VECTORS {
            self.remind_host(now);
        }
        let mut left = self.active_ports();
        let mut number = 0;
        while left != 0 {
            if left & 1 != 0 {
                self.look_at_operations(port_block(number), now);
            }
            left >>= 1;
            number += 1;
        }
    }

    /// A tick: breaks a port whose operations take too long; a port without operations is not looked at any more.
    fn look_at_operations(&mut self, port: PortBlock, now: u32) {
        let block = block(port);
        let barrier = block.barrier(self);
        let gossip = self.has_gossip(port);
        if barrier == NONE && block.reductions(self) == 0 && !gossip {
            let active = self.active_ports() & !(1 << port_number(port));
            return self.set_active_ports(active);
        }
        let deadline = block.deadline(self);
        let late = barrier != NONE && is_reached(deadline, now);
        let late_group = gossip && self.look_at_groups(port, now);
        if late || late_group || self.is_reduction_late(port, now) {
            self.break_port(port, Status::TimedOut as u32);
        }
    }

    /// A packet of an operation could not be delivered.
    #[cold]
    #[inline(never)]
    pub(crate) fn packet_lost(&mut self, record: Record, status: u32) {
        let port = PortBlock::at(record.key(self));
        if port.is_open(self) {
            self.break_port(port, status);
        }
    }

    /// All operations of a port fail, and further ones until it is opened again: its groups are not in step any more.
    #[cold]
    #[inline(never)]
    pub(crate) fn break_port(&mut self, port: PortBlock, status: u32) {
        let block = block(port);
        let barrier = block.barrier(self);
        let told = block.is_told(self);
        let posted = block.posted(self);
        let instances = block.reductions(self);
        block.write(
            self,
            [
                (Block::BARRIER, NONE),
                (Block::AWAITED, 0),
                (Block::POSTED, 0),
                (Block::BROKEN, status + 1),
                (Block::REDUCTIONS, 0),
            ],
        );
        if barrier != NONE && !told || posted != 0 {
            self.finish(port, 0, status, NO_VALUE);
        }
        self.break_groups(port, status);
        for number in 0..DESCRIPTOR_COUNT {
            if instances >> number & 1 != 0 {
                self.finish(port, number + 1, status, NO_VALUE);
            }
        }
    }

    /// SEND: the host is told of the end of an operation.
    #[inline(never)]
    pub(crate) fn finish(&mut self, port: PortBlock, operation: u32, status: u32, value: Value) {
        self.count(Counter::Collectives);
        self.hand_result(port, end_word(operation, status), value);
        if N::ROLE.receives() {
            self.report_machine();
        }
    }

    /// RECV: notes the result of an operation for its event. `end`: an [`end_word`].
    pub(crate) fn add_result(&mut self, port: PortBlock, end: u32, high: u32, low: u32) {
        if !port.receives(self) {
            return;
        }
        let operation = ended_operation(end);
        let outcome = block(port).outcome(operation);
        outcome.set_status(self, ended_status(end));
        outcome.set_high(self, high);
        outcome.set_low(self, low);
        let notices = port.notices(self) | 1 << (RESULT_NOTICES + operation);
        port.set_notices(self, notices);
        self.mark_reports(port);
    }
}

const _: () = assert!(PORT_COUNT <= 8);
