//! The event ring in host memory, and interrupts (docs/tigon2-driver.md, section 8).

use defs::acenic::message::{self, EVENT_BYTES};
use defs::acenic::{EVENT_CONSUMER, EVENT_ENTRIES, MAILBOX_INTERRUPT, MASK_INTERRUPTS, Mode};
use tigon2_hal::dma::{RingFull, Transfer};
use tigon2_hal::regs::{self, HostControl, LocalControl};
use tigon2_hal::{mailbox, sram};

use crate::dma::{push_word, push_write, write};
use crate::statistics::{count, count_at};
use crate::{Firmware, tables, trace};

const SHIFT: u32 = EVENT_BYTES.trailing_zeros();
const MASK: u32 = EVENT_ENTRIES - 1;

/// The event ring and its copy in SRAM.
pub struct EventRing {
    /// Index after the last event in the copy.
    produced: u32,
    /// Index after the last event queued to the host.
    pushed: u32,
    /// Producer index last reported to the host.
    reported: u32,
    /// An interrupt is pending because the host's handler was running.
    interrupt_owed: bool,
}

impl EventRing {
    pub const fn new() -> Self {
        Self {
            produced: 0,
            pushed: 0,
            reported: 0,
            interrupt_owed: false,
        }
    }
}

/// Counter of an event type.
const fn counter(what: u32) -> Option<u32> {
    use defs::acenic::stats::word;
    Some(match what {
        message::FIRMWARE_RUNNING => word("nic_events_nic_firmware_operational"),
        message::STATISTICS_UPDATED => word("nic_events_stats_updated"),
        message::LINK_STATE => word("nic_events_link_state_changed"),
        message::ERROR => word("nic_events_error"),
        message::MULTICAST_CHANGED => word("nic_events_mcast_list_updated"),
        message::JUMBO_RESET => word("nic_events_reset_jumbo_ring"),
        _ => return None,
    })
}

impl Firmware {
    /// Sends an event to the host.
    #[inline(never)]
    pub fn send_event(&mut self, what: u32, code: u32, index: u32) {
        let ring = &mut self.events;
        let next = (ring.produced + 1) & MASK;
        if next == sram::read(EVENT_CONSUMER) & MASK {
            count!("nic_event_ring_full");
            trace!("evtFull", what, code, index);
            return;
        }
        if let Some(counter) = counter(what) {
            count_at(counter, 1);
        }
        let slot = tables::events() + (ring.produced << SHIFT);
        sram::write(slot, message::word(what, code, index));
        sram::write(slot + 4, 0);
        ring.produced = next;
        self.push_reports();
    }

    /// Queues waiting events and then the producer index.
    pub fn push_events(&mut self) -> Result<(), RingFull> {
        while self.events.pushed != self.events.produced {
            let at = self.events.pushed << SHIFT;
            let host = self.info.event.address.plus(at);
            push_write(&Transfer {
                host_high: host.high,
                host_low: host.low,
                local: tables::events() + at,
                length: EVENT_BYTES,
                state: self.control.write,
                kind: write::EVENT,
                index: 0,
            })?;
            self.events.pushed = (self.events.pushed + 1) & MASK;
        }
        let producer = self.events.pushed;
        if producer != self.events.reported {
            let address = self.info.event_producer;
            push_word(address, producer, write::EVENT_PRODUCER, self.control.write)?;
            self.events.reported = producer;
        }
        Ok(())
    }

    /// Interrupts the host, unless its modes contain this bit.
    #[inline(always)]
    pub fn interrupt_unless(&mut self, without: Mode) {
        if !self.mode.contains(without) {
            self.interrupt();
        }
    }

    fn interrupt(&mut self) {
        let control = HostControl::from_bits_retain(regs::read(regs::HOST_CONTROL));
        let asserted = control.contains(HostControl::INTERRUPT);
        let handler_runs = mailbox::value(MAILBOX_INTERRUPT) == 1;
        let masked = sram::read(MASK_INTERRUPTS) != 0;
        if asserted || handler_runs || masked {
            count!("nic_avoided_interrupts");
            // If the interrupt is asserted, the host has not looked yet and will find the new event. Otherwise send it later.
            self.events.interrupt_owed = !asserted;
        } else {
            count!("nic_interrupts");
            self.events.interrupt_owed = false;
            regs::set(regs::LOCAL_CONTROL, LocalControl::RAISE_INTERRUPT.bits());
        }
    }

    /// Raises a pending interrupt: the host may have left its interrupt handler.
    pub fn make_up_for_interrupt(&mut self) {
        if self.events.interrupt_owed {
            self.interrupt();
        }
    }
}
