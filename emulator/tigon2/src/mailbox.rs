//! Mailboxes: SRAM words whose host write raises an event (docs/tigon2-registers.md, section 2).

use super::cpus::{CpuPlan, PerCpu};
use defs::tigon2::map::{MAILBOX_BASE, MAILBOX_COUNT};
use emulator_state::state;

/// The mailbox event registers of the CPUs.
#[derive(Debug, Clone)]
pub struct Mailbox {
    events: PerCpu<u32>,
}

state!(Mailbox { events });

impl Mailbox {
    /// No mailbox is written.
    #[must_use]
    pub fn new(cpus: CpuPlan) -> Self {
        Self {
            events: PerCpu::new(cpus),
        }
    }

    /// State after power-on.
    pub fn reset(&mut self) {
        self.events.reset();
    }

    /// The mailbox whose low word is at this SRAM address, if any.
    #[must_use]
    pub const fn index_of(address: u32) -> Option<u32> {
        let offset = address.wrapping_sub(MAILBOX_BASE);
        if offset < MAILBOX_COUNT * 8 && offset % 8 == 4 {
            Some(offset / 8)
        } else {
            None
        }
    }

    /// Sets the event of mailbox `index` (below 32), after a host write of its low word. The register file has two registers, also
    /// where no CPU B is.
    pub fn raise(&mut self, index: u32) {
        for events in self.events.of_units_mut() {
            *events |= 1 << index;
        }
    }

    /// A CPU's mailbox event register (0 = A).
    #[must_use]
    pub fn read(&self, cpu: usize) -> u32 {
        self.events[cpu]
    }

    /// Clears the bits that are 1 in `bits`.
    pub fn clear(&mut self, cpu: usize, bits: u32) {
        self.events[cpu] &= !bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_low_words_raise_and_ones_clear() {
        assert_eq!(Mailbox::index_of(0x104), Some(0));
        assert_eq!(Mailbox::index_of(0x100), None);
        assert_eq!(Mailbox::index_of(0x1FC), Some(31));
        assert_eq!(Mailbox::index_of(0x200), None);
        assert_eq!(Mailbox::index_of(0x0FC), None);
        let mut mailbox = Mailbox::new(CpuPlan::CHIP);
        mailbox.raise(2);
        mailbox.raise(31);
        mailbox.clear(0, 4);
        assert_eq!(mailbox.read(0), 1 << 31);
        assert_eq!(mailbox.read(1), 1 << 31 | 4);
    }
}
