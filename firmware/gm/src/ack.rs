//! Acks and nacks that come in.

use defs::gm::event::Status;
use defs::gm::map::{Counter, FATAL_TICKS, RESEND_TICKS};
use defs::gm::packet::{ACK, NACK, NACK_DOWN, NACK_OPEN, NACK_REJECT};

use crate::nic::Event;
use crate::post::next_sequence;
use crate::state::{
    C_CURSOR, C_DEADLINE, C_FATAL, C_FIRST, C_FLAGS, C_NEXT, C_READY_NEXT, F_HELD, F_READY,
    FREE_RECORD, NOW, R_NEXT, R_SEQUENCE, R_TOKEN, READY_LOW,
};
use crate::{Gm, Nic};

/// Ticks before a packet is sent again for which the target had no receive token.
const HOLD_TICKS: u32 = 2;

impl<N: Nic> Gm<N> {
    /// Handles an ack or nack: all packets before its sequence number have arrived.
    #[inline(always)]
    pub(crate) fn take_ack(&mut self, connection: u32, number: u32, subtype: u32, sequence: u32) {
        let first = self.nic.load(connection + C_FIRST);
        let next = self.nic.load(connection + C_NEXT);
        if first == 0 || (sequence ^ next) >> 16 != 0 {
            return;
        }
        let base = self.nic.load(first + R_SEQUENCE);
        let mut count = sequence.wrapping_sub(base) & 0xFFFF;
        let outstanding = next.wrapping_sub(base) & 0xFFFF;
        if count > outstanding {
            if subtype == NACK_OPEN {
                self.new_session(connection, number);
            }
            return;
        }
        if count != 0 {
            let now = self.nic.load(NOW);
            let resend = now.wrapping_add(self.nic.load(RESEND_TICKS));
            let fatal = now.wrapping_add(self.nic.load(FATAL_TICKS));
            self.nic.store(connection + C_DEADLINE, resend);
            self.nic.store(connection + C_FATAL, fatal);
            while count != 0 {
                self.free_first(connection, Status::Success);
                count -= 1;
            }
        }
        if subtype != ACK {
            self.take_nack(connection, number, subtype);
        }
    }

    #[cold]
    #[inline(never)]
    fn take_nack(&mut self, connection: u32, number: u32, subtype: u32) {
        let first = self.nic.load(connection + C_FIRST);
        if first == 0 {
            return;
        }
        match subtype {
            NACK | NACK_OPEN => self.go_back(connection, number),
            NACK_REJECT => {
                self.fail_first(connection, Status::TargetPortClosed);
                self.go_back(connection, number);
            }
            NACK_DOWN => {
                let flags = self.nic.load(connection + C_FLAGS);
                let deadline = self.nic.load(NOW).wrapping_add(HOLD_TICKS);
                self.nic.store(connection + C_FLAGS, flags | F_HELD);
                self.nic.store(connection + C_DEADLINE, deadline);
            }
            _ => {}
        }
    }

    /// Frees a connection's oldest record and reports it.
    #[inline(always)]
    pub(crate) fn free_first(&mut self, connection: u32, status: Status) {
        let record = self.nic.load(connection + C_FIRST);
        let next = self.nic.load(record + R_NEXT);
        self.nic.store(connection + C_FIRST, next);
        if self.nic.load(connection + C_CURSOR) == record {
            self.nic.store(connection + C_CURSOR, next);
        }
        let token = self.nic.load(record + R_TOKEN);
        let free = self.nic.load(FREE_RECORD);
        self.nic.store(record + R_NEXT, free);
        self.nic.store(FREE_RECORD, record);
        self.report(token, status as u32);
    }

    /// Reports the oldest send as failed; its record only keeps the sequence number.
    pub(crate) fn fail_first(&mut self, connection: u32, status: Status) {
        let record = self.nic.load(connection + C_FIRST);
        let token = self.nic.load(record + R_TOKEN);
        self.count(Counter::FailedSends);
        self.report(token, status as u32);
        self.make_null(record);
    }

    /// Sends a connection again from its oldest record on.
    #[inline(never)]
    pub(crate) fn go_back(&mut self, connection: u32, number: u32) {
        let first = self.nic.load(connection + C_FIRST);
        let flags = self.nic.load(connection + C_FLAGS) & !F_HELD;
        self.nic.store(connection + C_CURSOR, first);
        let deadline = self.nic.load(NOW).wrapping_add(self.nic.load(RESEND_TICKS));
        self.nic.store(connection + C_DEADLINE, deadline);
        self.nic.store(connection + C_FLAGS, flags | F_READY);
        if flags & F_READY == 0 {
            self.append(READY_LOW + ((number & 1) << 3), connection, C_READY_NEXT);
        }
        self.count(Counter::Resends);
        let sequence = self.nic.load(first + R_SEQUENCE);
        self.nic.mark(Event::Resend, number, sequence);
    }

    /// The other node has lost its state: the unacknowledged packets begin a new session.
    #[cold]
    #[inline(never)]
    fn new_session(&mut self, connection: u32, number: u32) {
        self.count(Counter::Sessions);
        let mut sequence = (self.nic.load(connection + C_NEXT) & 0xFFFF_0000).wrapping_add(1 << 16);
        let mut record = self.nic.load(connection + C_FIRST);
        while record != 0 {
            self.nic.store(record + R_SEQUENCE, sequence);
            sequence = next_sequence(sequence);
            record = self.nic.load(record + R_NEXT);
        }
        self.nic.store(connection + C_NEXT, sequence);
        self.go_back(connection, number);
    }
}
