//! Completed sends: reports to the host.

use defs::gm::event::{LAST_WORD, NEW, REPORT_PAIRS, SENT_TOKENS};
use defs::gm::port::PORT_COUNT;

use crate::nic::HostAddress;
use crate::post::port_block;
use crate::state::{
    FREE, P_OPEN, P_REPORT_IN, P_REPORT_OUT, P_RING, REPORT, REPORT_END, REPORT_FILL, REPORT_OTHER,
    REPORTS, RING_MASK, WRITING,
};
use crate::{Gm, Nic};

/// The number of the only bit that is set, below [`PORT_COUNT`]. The usual ways to count zeros multiply.
#[inline(always)]
const fn place(bit: u32) -> u32 {
    const { assert!(PORT_COUNT == 8) }
    (((bit & 0xF0 != 0) as u32) << 2) | (((bit & 0xCC != 0) as u32) << 1) | (bit & 0xAA != 0) as u32
}

impl<N: Nic> Gm<N> {
    /// Notes that a send is complete, whose port and slot are `token`; 0 is none.
    #[inline(always)]
    pub(crate) fn report(&mut self, token: u32, status: u32) {
        let port = token & !0x7FF;
        if token == 0 || self.nic.load(port + P_OPEN) == 0 {
            return;
        }
        let at = self.nic.load(port + P_REPORT_IN);
        self.nic
            .store(port + P_RING + at, (token & 0x3F) << 8 | status);
        self.nic.store(port + P_REPORT_IN, (at + 4) & RING_MASK);
        let number = (port - defs::gm::map::PORTS) >> 11;
        let reports = self.nic.load(REPORTS) | 1 << number;
        self.nic.store(REPORTS, reports);
    }

    /// Writes the reports of one port as an event.
    #[inline(always)]
    pub(crate) fn report_machine(&mut self) {
        let reports = self.nic.load(REPORTS);
        let buffer = self.nic.load(REPORT_FILL);
        if reports == 0 || self.nic.load(buffer) != FREE {
            return;
        }
        let bit = reports & reports.wrapping_neg();
        let number = place(bit);
        let port = port_block(number);
        let end = self.nic.load(port + P_REPORT_IN);
        let mut out = self.nic.load(port + P_REPORT_OUT);
        let first = self.nic.load(port + P_RING + out);
        out = (out + 4) & RING_MASK;
        let last = buffer + REPORT_END - 4;
        let mut at = last;
        let mut count = 1;
        while out != end && count < REPORT_PAIRS {
            let mut word = self.nic.load(port + P_RING + out);
            out = (out + 4) & RING_MASK;
            count += 1;
            if out != end {
                word |= self.nic.load(port + P_RING + out) << 16;
                out = (out + 4) & RING_MASK;
                count += 1;
            }
            at -= 4;
            self.nic.store(at, word);
        }
        let word = first << 16 | count << 8 | NEW | SENT_TOKENS;
        self.nic.store(last, word);
        self.nic.store(port + P_REPORT_OUT, out);
        if out == end {
            self.nic.store(REPORTS, reports & !bit);
        }
        let slot = self.event_slot(port);
        let host = HostAddress {
            low: slot.low + LAST_WORD - (last - at),
            ..slot
        };
        self.nic
            .start_write(host, at, last + 4 - at, buffer | REPORT);
        self.nic.store(buffer, WRITING);
        self.nic.store(REPORT_FILL, buffer ^ REPORT_OTHER);
    }
}
