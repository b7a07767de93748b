//! Acks and nacks that come in, and sends that are complete.
use defs::gm::event::Status;
use defs::gm::map::Counter;
use defs::gm::packet::{ACK, MTU, NACK, NACK_DOWN, NACK_OPEN, NACK_REJECT};

use crate::nic::Event;
use crate::remote::REPLIES;
use crate::state::{
    ACKS, ANSWER_MASK, ANSWER_SHIFT, ANSWERED_MASK, ANSWERED_SHIFT, BACK_OFF_MASK, BACK_OFF_SHIFT,
    Connection, F_ACK, F_HELD, F_READY, K_ATOMIC, K_GET, Record, connection_number, ever_sent,
    packets_between, ready_list,
};
use crate::{Gm, Nic, answer};

/// Ticks before a packet is sent again for which the target had no receive token.
const HOLD_TICKS: u32 = 2;

impl<N: Nic> Gm<N> {
    /// Puts an ack or nack into the list. It takes the place of the one that waits.
    #[inline(always)]
    pub(crate) fn queue_answer(&mut self, connection: Connection, kind: u32, sequence: u32) {
        let flags = connection.flags(self);
        if flags & F_ACK != 0
            && kind == answer::ACK
            && flags >> ANSWER_SHIFT & ANSWER_MASK == answer::VALUE
        {
            // What waits acknowledges too.
            return;
        }
        let mut new = flags & !(ANSWER_MASK << ANSWER_SHIFT) | kind << ANSWER_SHIFT | F_ACK;
        if !N::ROLE.receives() || N::LENDS {
            new = new & !(ANSWERED_MASK << ANSWERED_SHIFT)
                | (sequence & ANSWERED_MASK) << ANSWERED_SHIFT;
        }
        connection.set_flags(self, new);
        if flags & F_ACK == 0 {
            self.append(ACKS, connection.address(), Connection::ACK_NEXT);
        }
    }

    /// Handles an ack or nack: all packets before its sequence number have arrived.
    #[inline(always)]
    pub(crate) fn take_ack(
        &mut self,
        connection: Connection,
        subtype: u32,
        sequence: u32,
        reason: u32,
    ) {
        let window = connection.window(self);
        let next = connection.send(self);
        if (sequence ^ next) >> 16 != 0 {
            return;
        }
        let count = packets_between(window, sequence);
        let under_way = packets_between(window, ever_sent(window));
        if subtype == NACK_OPEN && count != 0 && sequence & 0xFFFF == 0 {
            // Number 0 was acknowledged before: the other node does not know of it. It acknowledges nothing, even where the
            // numbers begin again.
            return self.new_session(connection);
        }
        if count > under_way {
            return;
        }
        if count != 0 {
            connection.set_window(self, window & 0xFFFF_0000 | sequence & 0xFFFF);
            self.progress(connection);
            self.release_packets(connection, count);
            if next.wrapping_sub(sequence) & 0x8000 != 0 {
                self.catch_up(connection, sequence);
            }
            let flags = connection.flags(self);
            if flags & (F_READY | F_HELD) == 0 && connection.cursor(self).is_some() {
                self.make_ready(connection, flags);
            }
        }
        if subtype != ACK {
            self.take_nack(connection, subtype, reason);
        }
    }

    /// Packets were acknowledged: the waits begin anew.
    #[inline(always)]
    fn progress(&mut self, connection: Connection) {
        let now = self.now();
        let resend = now.wrapping_add(self.resend_ticks());
        let fails_at = now.wrapping_add(self.fatal_ticks());
        let flags = connection.flags(self);
        connection.set_deadline(self, resend);
        connection.set_fails_at(self, fails_at);
        connection.set_flags(self, flags & !(BACK_OFF_MASK << BACK_OFF_SHIFT));
    }

    /// Takes acknowledged packets from the oldest records.
    #[inline(always)]
    fn release_packets(&mut self, connection: Connection, count: u32) {
        let mut left = count;
        let mut record = connection.first(self);
        while left != 0 && record.is_some() {
            left -= 1;
            let acked = record.acked(self);
            if record.length(self) - acked <= MTU {
                record = self.release_first(connection, record);
            } else {
                record.set_acked(self, acked + MTU);
            }
        }
    }

    /// The oldest record is complete: it is reported and freed. Returns the next one.
    #[inline(always)]
    fn release_first(&mut self, connection: Connection, record: Record) -> Record {
        let next = record.next(self);
        connection.set_first(self, next);
        let kind = record.kind(self);
        if kind == K_GET {
            self.await_get(record);
        } else if kind == K_ATOMIC {
            self.await_value(record);
        } else {
            let token = record.token(self);
            self.free_record(record);
            self.report(token, Status::Success as u32);
        }
        next
    }

    /// A record is free again.
    #[inline(always)]
    pub(crate) fn free_record(&mut self, record: Record) {
        if record.address() >= REPLIES {
            return self.free_other(record);
        }
        let free = self.free_records();
        record.set_kind(self, 0);
        record.set_next(self, free);
        self.set_free_records(record);
    }

    /// Packets that were to be sent again have been acknowledged: the next one is the oldest unacknowledged one.
    #[cold]
    #[inline(never)]
    fn catch_up(&mut self, connection: Connection, sequence: u32) {
        let first = connection.first(self);
        connection.set_send(self, sequence);
        connection.set_cursor(self, first);
        if first.is_some() {
            let acked = first.acked(self);
            first.set_sent(self, acked);
        }
    }

    /// A connection with packets to send goes into its list.
    #[inline(always)]
    fn make_ready(&mut self, connection: Connection, flags: u32) {
        connection.set_flags(self, flags | F_READY);
        let priority = connection_number::<N>(connection) & 1;
        self.append(
            ready_list(priority),
            connection.address(),
            Connection::READY_NEXT,
        );
    }

    /// SEND: the other node has refused packets of a connection; `subtype` says which, `reason` why.
    #[cold]
    #[inline(never)]
    fn take_nack(&mut self, connection: Connection, subtype: u32, reason: u32) {
        let first = connection.first(self);
        if first.is_none() {
            return;
        }
        match subtype {
            NACK | NACK_OPEN => self.go_back(connection),
            NACK_REJECT => {
                self.fail(connection, first, answer::status(reason), false);
                self.go_back(connection);
            }
            NACK_DOWN => {
                let flags = connection.flags(self);
                let deadline = self.now().wrapping_add(HOLD_TICKS);
                connection.set_flags(self, flags | F_HELD);
                connection.set_deadline(self, deadline);
            }
            _ => {}
        }
    }

    /// Sends a connection again from its oldest unacknowledged packet on.
    #[inline(never)]
    pub(crate) fn go_back(&mut self, connection: Connection) {
        let flags = connection.flags(self) & !F_HELD;
        connection.set_flags(self, flags);
        let first = connection.first(self);
        if first.is_none() {
            return;
        }
        let window = connection.window(self);
        let sequence = connection.send(self) & 0xFFFF_0000 | window & 0xFFFF;
        let cursor = connection.cursor(self);
        if cursor.is_some() {
            cursor.set_sent(self, 0);
        }
        self.catch_up(connection, sequence);
        let wait = self.resend_ticks() << (flags >> BACK_OFF_SHIFT & BACK_OFF_MASK);
        let deadline = self.now().wrapping_add(wait);
        connection.set_deadline(self, deadline);
        if flags & F_READY == 0 {
            self.make_ready(connection, flags);
        }
        self.count(Counter::Resends);
        self.nic
            .mark(Event::Resend, connection_number::<N>(connection), sequence);
    }

    /// The other node has lost its state: the unacknowledged records begin a new session.
    #[cold]
    #[inline(never)]
    fn new_session(&mut self, connection: Connection) {
        let mut record = connection.first(self);
        while record.is_some() {
            record.set_sent(self, 0);
            record.set_acked(self, 0);
            record = record.next(self);
        }
        self.begin_session(connection);
        self.go_back(connection);
    }

    /// The next packet begins a new session.
    pub(crate) fn begin_session(&mut self, connection: Connection) {
        self.count(Counter::Sessions);
        let session = connection.send(self) & 0xFFFF_0000;
        connection.set_send(self, session.wrapping_add(1 << 16));
        connection.set_window(self, 0);
    }
}
