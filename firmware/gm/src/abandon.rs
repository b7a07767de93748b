//! Sends that fail or are given up, and the streams that an error stops.
//!
//! A sequence number that a packet was ever sent with stays: the receiver may have accepted it. So a send that fails keeps
//! its place with packets that carry nothing, one for each number that it has used. What it has not used goes to the next
//! send.
//!
//! A **stream** leads from a port to a port of another node, with one priority. When a send fails, its stream stops: later
//! sends wait until the program resumes the stream, or drops them.
use defs::gm::event::Status;
use defs::gm::map::{Counter, ROUTE_VALID};
use defs::gm::packet::MTU;
use defs::gm::port::STOPPED_STREAMS;

use crate::collective::K_COLLECTIVE;
use crate::state::{
    ACTIVE_SHIFT, Connection, K_ATOMIC, K_GET, K_NULL, K_REPLY, P_STOPPED, Peer, PortBlock, Record,
    connection, connection_number, ever_sent, packets_between, target_subport, token_port,
};
use crate::{Gm, Nic};

impl<N: Nic> Gm<N> {
    /// Reports a send as failed and stops its stream. The answer to a get says that it has failed. With `unsent` the other
    /// node may have accepted what was sent after it: that goes on.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail(
        &mut self,
        connection: Connection,
        record: Record,
        status: Status,
        unsent: bool,
    ) {
        let token = record.token(self);
        if record.kind(self) == K_REPLY && record.failed(self) == 0 {
            return self.fail_answer(connection, record);
        }
        let stream = self.stream_of(connection, record);
        self.operation_lost(record, status);
        self.cancel(connection, record);
        if token != 0 {
            self.count(Counter::FailedSends);
            self.report(token, status as u32);
            self.stop_stream(connection, token_port(token), stream, unsent);
        }
    }

    /// The packet of a collective or atomic operation could not be delivered.
    #[cold]
    #[inline(never)]
    fn operation_lost(&mut self, record: Record, status: Status) {
        let kind = record.kind(self);
        if kind == K_COLLECTIVE {
            self.packet_lost(record, status as u32);
        } else if kind == K_ATOMIC {
            self.atomic_lost(record, status);
        }
    }

    /// Node and subport that a record is for.
    fn stream_of(&self, connection: Connection, record: Record) -> u32 {
        let node = connection_number::<N>(connection) >> 1;
        node << 8 | target_subport(record.ports(self))
    }

    /// Packets that the rest of a record takes.
    fn packets(&self, record: Record) -> u32 {
        let left = record.length(self) - record.acked(self);
        if left == 0 { 1 } else { ((left - 1) >> 12) + 1 }
    }

    /// Packets of a record that were ever sent and are not acknowledged, and the record before it, or 0; `None` if it is not
    /// in the connection's list.
    fn sent_packets(&self, connection: Connection, record: Record) -> Option<(u32, Record)> {
        let window = connection.window(self);
        // Numbers that were ever sent, from the record that is looked at on.
        let mut sent = packets_between(window, ever_sent(window));
        let mut before = Record::NONE;
        let mut at = connection.first(self);
        while at != record {
            if at.is_none() {
                return None;
            }
            sent -= self.packets(at).min(sent);
            before = at;
            at = at.next(self);
        }
        Some((self.packets(record).min(sent), before))
    }

    /// Takes a record out of its connection; if packets of it have been sent, it carries nothing from now on.
    fn cancel(&mut self, connection: Connection, record: Record) {
        let Some((sent, before)) = self.sent_packets(connection, record) else {
            return;
        };
        let acked = record.acked(self);
        let next = record.next(self);
        record.set_token(self, 0);
        if sent == 0 && acked == 0 {
            self.remove(connection, before, record);
            return self.free_record(record);
        }
        // What has left may have been the message's packets still. So one packet follows if the message is not complete: it
        // tells the receiver, whose token is used again.
        let used = acked + (sent << 12);
        let more = used < record.length(self);
        let end = used + (u32::from(more) << 12);
        record.set_kind(self, K_NULL);
        record.set_length(self, end);
        if connection.cursor(self) == record && record.sent(self) >= end {
            record.set_sent(self, 0);
            connection.set_cursor(self, next);
        }
    }

    /// The answer to a get says from its next packet on that it has failed. It keeps the numbers that it has used.
    fn fail_answer(&mut self, connection: Connection, record: Record) {
        let Some((used, _)) = self.sent_packets(connection, record) else {
            return;
        };
        let end = record.acked(self) + (used << 12);
        let next = record.sent(self) + 1;
        self.fail_reply(record, end.max(next));
    }

    /// Takes a record out of its connection's list; `before` is the one before it, or 0.
    fn remove(&mut self, connection: Connection, before: Record, record: Record) {
        let next = record.next(self);
        if before.is_none() {
            connection.set_first(self, next);
        } else {
            before.set_next(self, next);
        }
        if connection.last(self) == record {
            connection.set_last(self, before);
        }
        if connection.cursor(self) == record {
            connection.set_cursor(self, next);
        }
    }

    /// Stops a stream of a port: the port's later sends in it wait; with `unsent` only those of which nothing was sent.
    fn stop_stream(&mut self, connection: Connection, port: PortBlock, stream: u32, unsent: bool) {
        if !port.is_open(self) || !self.add_stopped(port, stream) {
            return;
        }
        let mut record = connection.first(self);
        while record.is_some() {
            let next = record.next(self);
            let token = record.token(self);
            if token != 0
                && token_port(token) == port
                && self.stream_of(connection, record) == stream
            {
                let sent = self.sent_packets(connection, record);
                if !unsent || sent.is_none_or(|(sent, _)| sent == 0) {
                    self.set_aside(connection, port, record);
                }
            }
            record = next;
        }
    }

    /// Notes a stream as stopped. Returns whether it is.
    fn add_stopped(&mut self, port: PortBlock, stream: u32) -> bool {
        if self.is_stopped(port, stream) {
            return true;
        }
        let count = port.stream_count(self);
        if count == STOPPED_STREAMS {
            return false;
        }
        port.set_stream(self, count, stream);
        port.set_stream_count(self, count + 1);
        let sends = port.sends(self);
        port.set_sends(self, sends | P_STOPPED);
        true
    }

    /// Whether a stream is stopped.
    pub(crate) fn is_stopped(&self, port: PortBlock, stream: u32) -> bool {
        let count = port.stream_count(self);
        let mut stopped = false;
        for index in 0..count {
            stopped |= port.stream(self, index) == stream;
        }
        stopped
    }

    /// A copy of a send waits in the stopped stream; the send itself is given up.
    fn set_aside(&mut self, connection: Connection, port: PortBlock, record: Record) {
        let copy = self.free_records();
        let token = record.token(self);
        if copy.is_none() {
            self.cancel(connection, record);
            return self.report(token, Status::Dropped as u32);
        }
        let free = copy.next(self);
        self.set_free_records(free);
        let mut at = 0;
        while at < defs::gm::map::RECORD_BYTES {
            let word = self.nic.load(record.address() + at);
            self.nic.store(copy.address() + at, word);
            at += 4;
        }
        copy.set_sent(self, 0);
        copy.set_acked(self, 0);
        copy.set_connection(self, connection);
        if copy.kind(self) == K_GET {
            // Answers to the first request are not for this one.
            self.number_get(copy);
        }
        self.cancel(connection, record);
        self.append(port.waiting(), copy.address(), Record::NEXT);
    }

    /// A stopped stream goes on: its sends are sent, or dropped.
    pub(crate) fn resume(&mut self, port: PortBlock, stream: u32, drop: bool) {
        let count = port.stream_count(self);
        for index in 0..count {
            if port.stream(self, index) == stream {
                let last = port.stream(self, count - 1);
                port.set_stream(self, index, last);
                port.set_stream_count(self, count - 1);
                break;
            }
        }
        if port.stream_count(self) == 0 {
            let sends = port.sends(self);
            port.set_sends(self, sends & !P_STOPPED);
        }
        let mut record = Record::at(port.waiting().first(self));
        port.waiting().set_first(self, 0);
        while record.is_some() {
            let next = record.next(self);
            let to = record.connection(self);
            if self.stream_of(to, record) != stream {
                self.append(port.waiting(), record.address(), Record::NEXT);
            } else if drop {
                let token = record.token(self);
                self.free_record(record);
                self.report(token, Status::Dropped as u32);
            } else {
                self.add_record(to, record);
            }
            record = next;
        }
    }

    /// The node does not answer: all sends to it fail, and the next one begins a new session.
    pub(crate) fn give_up(&mut self, connection: Connection) {
        let peer = connection.address() & !(defs::gm::map::PEER_BYTES - 1);
        let status = match Peer::at(peer).route(self) & ROUTE_VALID {
            0 => Status::NodeUnreachable,
            _ => Status::TimedOut,
        };
        let mut record = connection.first(self);
        connection.set_first(self, Record::NONE);
        connection.set_cursor(self, Record::NONE);
        while record.is_some() {
            let next = record.next(self);
            let token = record.token(self);
            let stream = self.stream_of(connection, record);
            self.operation_lost(record, status);
            self.free_record(record);
            if token != 0 {
                self.count(Counter::FailedSends);
                self.report(token, status as u32);
                let port = token_port(token);
                if port.is_open(self) {
                    self.add_stopped(port, stream);
                }
            }
            record = next;
        }
        self.begin_session(connection);
    }

    /// The sends of a port that is closed carry nothing from now on.
    pub(crate) fn give_up_port(&mut self, port: PortBlock) {
        let mut number = self.first_active();
        while number != 0 {
            let to = connection::<N>(number - 1);
            let mut record = to.first(self);
            while record.is_some() {
                let next = record.next(self);
                let token = record.token(self);
                self.forget_atomic(port, record);
                if token != 0 && token_port(token) == port {
                    self.cancel(to, record);
                }
                record = next;
            }
            number = to.flags(self) >> ACTIVE_SHIFT;
        }
        self.forget_atomics(port);
        let mut record = self.gets();
        while record.is_some() {
            if token_port(record.token(self)) == port {
                record.set_token(self, 0);
            }
            record = record.next(self);
        }
        let mut record = Record::at(port.waiting().first(self));
        port.waiting().set_first(self, 0);
        while record.is_some() {
            let next = record.next(self);
            self.free_record(record);
            record = next;
        }
    }
}

const _: () = assert!(MTU == 1 << 12);
