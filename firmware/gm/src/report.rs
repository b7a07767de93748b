//! Events besides messages: reports and notices.
//!
//! A *report* tells a process that a send is complete: its number and status wait in a ring of the port ([`PortBlock::RING`]) and go to host
//! memory with others of the port in one event. A *notice* is any other event but a message: the port holds one of each type ([`NOTICES`]).
//! Results of collective operations and atomic operations are notices too.
//!
//! The *token* of a send is a word: the address of the port's control block, and in its low bits the number of the send token.
use defs::gm::event::{
    COMPLETED, EVENT_BYTES, LAST_WORD, NEW, NOTICES, REPORT_PAIRS, SENT_TOKENS, SLEEP,
};
use defs::gm::map::Counter;
use defs::gm::port::PORT_COUNT;

use crate::collective::{RESULT_NOTICES, block};
use crate::nic::HostAddress;
use crate::state::{
    FREE, PortBlock, REPORT_BYTES, REPORT_GROUP_BYTES, RING_MASK, SLEEPERS, TOKEN_NUMBER,
    WAKE_SIGNALS, WRITING, port_block, port_number, sleeper, token_port,
};
use crate::{Gm, Nic};

/// The number of the lowest bit that is set, below 8. The usual ways to count zeros multiply, for which the LANai has no instruction.
#[inline(always)]
pub(crate) const fn lowest(bits: u32) -> u32 {
    const { assert!(PORT_COUNT == 8 && NOTICES.len() <= 8) }
    let bit = bits & bits.wrapping_neg();
    (((bit & 0xF0 != 0) as u32) << 2) | (((bit & 0xCC != 0) as u32) << 1) | (bit & 0xAA != 0) as u32
}

impl<N: Nic> Gm<N> {
    /// SEND: the send with this token is complete; 0 if it needs no report. A port that was closed meanwhile gets none.
    #[inline(always)]
    pub(crate) fn report(&mut self, token: u32, status: u32) {
        let port = token_port(token);
        if token == 0 || !port.is_open(self) {
            return;
        }
        let sends = port.sends(self);
        port.set_sends(self, sends - 1);
        self.hand_report(token, status);
    }

    /// RECV: puts the number and the status of a completed send into the port's ring.
    #[inline(always)]
    pub(crate) fn add_report(&mut self, token: u32, status: u32) {
        let port = token_port(token);
        let at = port.report_in(self);
        self.nic.store(
            port.address() + PortBlock::RING + at,
            (token & TOKEN_NUMBER) << 8 | status,
        );
        port.set_report_in(self, (at + 4) & RING_MASK);
        self.mark_reports(port);
    }

    /// A port has something to write.
    #[inline(always)]
    pub(crate) fn mark_reports(&mut self, port: PortBlock) {
        let reports = self.reports() | 1 << port_number(port);
        self.set_reports(reports);
    }

    /// A process has used a token or memory that it does not have: it gets a notice, with an address.
    #[cold]
    #[inline(never)]
    pub(crate) fn violation(&mut self, port: PortBlock, kind: u32, high: u32, low: u32) {
        self.count(Counter::Violations);
        self.notice(port, kind, high, low);
    }

    /// RECV: a notice is to be written. It takes the place of one of the same type that waits.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_notice(&mut self, port: PortBlock, kind: u32, high: u32, low: u32) {
        if !port.receives(self) {
            return;
        }
        for (index, known) in (0..).zip(NOTICES) {
            if known == kind {
                let notices = port.notices(self);
                port.set_notices(self, notices | 1 << index);
                port.notice(index).set_high(self, high);
                port.notice(index).set_low(self, low);
                self.mark_reports(port);
            }
        }
    }

    /// RECV: writes reports and notices as events, until no port has any or no buffer is free. Only the DMA of a group's last buffer is
    /// an event, at which this is called again. So this goes on for all ports: nothing else would call it for a port that was left.
    #[inline(always)]
    pub(crate) fn report_machine(&mut self) {
        let reports = self.reports();
        if reports != 0 {
            let left = self.write_report(reports);
            if left != 0 {
                self.write_more(left);
            }
        }
    }

    /// The other ports, or the rest of a port's reports.
    #[cold]
    #[inline(never)]
    fn write_more(&mut self, ports: u32) {
        let mut reports = ports;
        while reports != 0 {
            reports = self.write_report(reports);
        }
    }

    /// Writes the reports or a notice of one of the ports in `reports` as an event. Returns the ports that have more; 0 if
    /// no buffer is free.
    #[inline(always)]
    fn write_report(&mut self, reports: u32) -> u32 {
        let buffer = self.report_buffer();
        let group = buffer & !(REPORT_GROUP_BYTES - 1);
        if self.nic.load(group) != FREE {
            return 0;
        }
        let number = lowest(reports);
        let port = port_block(number);
        let last = buffer + REPORT_BYTES - 4;
        let wakes = self.wakes();
        let at = match port.notices(self) {
            0 => self.fill_report(port, last),
            notices => self.fill_notice(port, last, notices),
        };
        let out = port.report_out(self);
        let end = port.report_in(self);
        let mut left = reports;
        if out == end && port.notices(self) == 0 {
            left &= !(1 << number);
            self.set_reports(left);
        }
        if at > last {
            return left;
        }
        let slot = self.event_slot(port);
        let host = HostAddress {
            low: slot.low + LAST_WORD - (last - at),
            ..slot
        };
        // DMAs complete in order, so that of a group's last buffer tells that all are. A process that sleeps is to be woken by its own
        // event at once: then the group ends early.
        let next = buffer + REPORT_BYTES;
        if next & (REPORT_GROUP_BYTES - 1) == 0 || wakes & SLEEPERS != 0 {
            self.nic.start_write(host, at, last + 4 - at, group);
            self.end_group(group, wakes & sleeper(number));
        } else {
            self.nic.start_write(host, at, last + 4 - at, 0);
            self.set_report_buffer(next);
        }
        left
    }

    /// The last DMA of a group is under way; its end wakes the process of `sleeper`. The other group is filled next.
    #[inline(always)]
    fn end_group(&mut self, group: u32, sleeper: u32) {
        self.nic.store(group, WRITING | sleeper);
        self.set_report_buffer(group ^ REPORT_GROUP_BYTES);
    }

    /// RECV: messages of high priority are signals from now on, for ports that want them.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_signals(&mut self) {
        let wakes = self.wakes() | WAKE_SIGNALS;
        self.set_wakes(wakes);
    }

    /// Writes the reports of a port so that they end with the word `last`, whose last byte is the event's type: the first report is in
    /// that word, the others lie two in a word before it. Returns where they begin; behind `last` if there are none.
    #[inline(always)]
    fn fill_report(&mut self, port: PortBlock, last: u32) -> u32 {
        let end = port.report_in(self);
        let mut out = port.report_out(self);
        if out == end {
            return last + 4;
        }
        let first = self.nic.load(port.address() + PortBlock::RING + out);
        out = (out + 4) & RING_MASK;
        let mut at = last;
        let mut count = 1;
        while out != end && count < REPORT_PAIRS {
            let mut word = self.nic.load(port.address() + PortBlock::RING + out);
            out = (out + 4) & RING_MASK;
            count += 1;
            if out != end {
                word |= self.nic.load(port.address() + PortBlock::RING + out) << 16;
                out = (out + 4) & RING_MASK;
                count += 1;
            }
            at -= 4;
            self.nic.store(at, word);
        }
        let word = first << 16 | count << 8 | NEW | SENT_TOKENS;
        self.nic.store(last, word);
        port.set_report_out(self, out);
        at
    }

    /// Writes a notice of a port so that it ends with the word `last`; returns where it begins.
    #[cold]
    #[inline(never)]
    fn fill_notice(&mut self, port: PortBlock, last: u32, notices: u32) -> u32 {
        if notices >> RESULT_NOTICES != 0 {
            return self.fill_result(port, last, notices);
        }
        let index = lowest(notices);
        port.set_notices(self, notices & !(1 << index));
        let mut kind = 0;
        for (at, known) in (0..).zip(NOTICES) {
            if at == index {
                kind = known;
            }
        }
        let high = port.notice(index).high(self);
        let low = port.notice(index).low(self);
        if kind == SLEEP {
            // Events after this one interrupt; it does not.
            let wakes = self.wakes() | sleeper(port_number(port));
            self.set_wakes(wakes);
        }
        let begin = last + 4 - EVENT_BYTES;
        for (at, word) in [(0, 0), (4, 0), (8, high), (12, low), (16, kind | NEW)] {
            self.nic.store(begin + at, word);
        }
        begin
    }

    /// Writes the result of a collective or atomic operation so that it ends with the word `last`; returns where it begins.
    #[inline(never)]
    fn fill_result(&mut self, port: PortBlock, last: u32, notices: u32) -> u32 {
        let results = notices >> RESULT_NOTICES;
        let operation = if results & 0xFF != 0 {
            lowest(results & 0xFF)
        } else if results >> 8 & 0xFF != 0 {
            8 + lowest(results >> 8 & 0xFF)
        } else {
            16 + lowest(results >> 16)
        };
        port.set_notices(self, notices & !(1 << (RESULT_NOTICES + operation)));
        let outcome = block(port).outcome(operation);
        let status = outcome.status(self);
        let high = outcome.high(self);
        let low = outcome.low(self);
        let begin = last + 4 - EVENT_BYTES;
        let kind = operation << 8 | COMPLETED | NEW;
        for (at, word) in [(0, high), (4, low), (8, 0), (12, status), (16, kind)] {
            self.nic.store(begin + at, word);
        }
        begin
    }
}
