//! Causes of events (docs/tigon2.md, section 3).

use defs::tigon2::event::{self, HARDWARE_MASK};
use defs::tigon2::regs;

use crate::sim::time::SimTime;
use crate::tigon2::board::Tigon2;

/// General register with the dispatch mask of our firmware: `$k0`.
const MASK: usize = 26;

impl Tigon2 {
    /// The cause of a set bit in the event register of a CPU.
    pub(super) fn cause_of_event(&self, cpu: usize, bit: u32, now: SimTime) -> String {
        let read = |offset| self.register(offset, now);
        match bit {
            event::TIMER => {
                let (count, reference) = (read(regs::TIMER), read(regs::timer_reference(cpu)));
                format!("the timer, at {count} us, has passed the reference {reference}")
            }
            event::MAILBOX => {
                let mailboxes = read(mailbox_events(cpu));
                format!("the host has written mailboxes {}", numbers(mailboxes))
            }
            event::RX_COMPLETE => "the MAC: received frames wait".into(),
            event::READ_DMA_DONE => "the DMA assist: descriptors of the read ring are done".into(),
            event::WRITE_DMA_DONE => {
                "the DMA assist: descriptors of the write ring are done".into()
            }
            event::READ_DMA_ATTENTION => "the DMA read channel: an error".into(),
            event::WRITE_DMA_ATTENTION => "the DMA write channel: an error".into(),
            event::MAC_RX_ATTENTION => "the receive side of the MAC: an attention bit".into(),
            event::MAC_TX_ATTENTION => "the transmit side of the MAC: an attention bit".into(),
            _ if HARDWARE_MASK >> bit & 1 != 0 => "hardware".into(),
            _ => "software: a write to this register".into(),
        }
    }

    /// The dispatch mask of a CPU, by the convention of our firmware.
    pub(super) fn dispatch_mask(&self, cpu: usize) -> Option<(&'static str, u32)> {
        let registers = self.cores.get(cpu)?.core.registers();
        Some(("$k0", registers[MASK]))
    }

    /// The mailbox event register of a CPU.
    pub(super) fn mailbox_note(&self, cpu: usize, now: SimTime) -> String {
        match self.register(mailbox_events(cpu), now) {
            0 => "mailbox event register: 00000000, no mailbox was written".into(),
            mailboxes => {
                let numbers = numbers(mailboxes);
                format!("mailbox event register: {mailboxes:08x}, mailboxes {numbers}")
            }
        }
    }
}

const fn mailbox_events(cpu: usize) -> u32 {
    match cpu {
        0 => regs::MAILBOX_EVENT_A,
        _ => regs::MAILBOX_EVENT_B,
    }
}

fn numbers(bits: u32) -> String {
    let set = (0..u32::BITS).filter(|bit| bits >> bit & 1 != 0);
    let numbers: Vec<_> = set.map(|bit| bit.to_string()).collect();
    numbers.join(", ")
}
