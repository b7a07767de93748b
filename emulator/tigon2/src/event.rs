//! The event registers (docs/tigon2.md, section 3): stored software bits and derived hardware bits.

use super::cpus::{CpuPlan, PerCpu};
use defs::tigon2::event::{HARDWARE_MASK, MAILBOX};
use emulator_state::state;

/// The hardware bits that all CPUs see alike, and each one's stored bits.
#[derive(Debug, Clone)]
pub struct EventRegisters {
    stored: PerCpu<u32>,
    /// Levels of DMA and MAC, common to all.
    levels: u32,
}

state!(EventRegisters { stored, levels });

impl EventRegisters {
    /// No event is set.
    #[must_use]
    pub fn new(cpus: CpuPlan) -> Self {
        Self {
            stored: PerCpu::new(cpus),
            levels: 0,
        }
    }

    /// State after power-on.
    pub fn reset(&mut self) {
        self.stored.reset();
        self.levels = 0;
    }

    /// Sets the levels that DMA and MAC drive; returns whether they changed.
    pub fn set_levels(&mut self, levels: u32) -> bool {
        let changed = self.levels != levels;
        self.levels = levels;
        changed
    }

    /// Value read by a CPU, given its mailbox level and its timer level.
    #[inline(always)]
    #[must_use]
    pub fn read(&self, cpu: usize, mailbox_events: u32, timer_bit: u32) -> u32 {
        self.stored[cpu] | self.levels | (u32::from(mailbox_events != 0) << MAILBOX) | timer_bit
    }

    /// The levels that DMA and MAC drive.
    #[must_use]
    #[inline(always)]
    pub const fn levels(&self) -> u32 {
        self.levels
    }

    /// Whether a CPU reads another value than with these levels.
    #[must_use]
    #[inline(always)]
    pub fn differ_from(&self, levels: u32) -> bool {
        let changed = self.levels ^ levels;
        changed != 0
            && self
                .stored
                .each()
                .iter()
                .any(|stored| changed & !stored != 0)
    }

    /// Writes the register; only the stored bits change.
    pub fn write(&mut self, cpu: usize, value: u32) {
        self.stored[cpu] = value & !HARDWARE_MASK;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use defs::tigon2::event::{READ_DMA_DONE, SOFT_SEND, TIMER};

    #[test]
    fn hardware_bits_ignore_writes() {
        let mut events = EventRegisters::new(CpuPlan::CHIP);
        events.write(0, 1 << SOFT_SEND | 1 << READ_DMA_DONE | 1 << 27);
        assert_eq!(events.read(0, 0, 0), 1 << SOFT_SEND | 1 << 27);
        assert!(events.set_levels(1 << READ_DMA_DONE));
        assert!(!events.set_levels(1 << READ_DMA_DONE));
        assert!(events.differ_from(0) && !events.differ_from(1 << READ_DMA_DONE));
        events.write(0, 0);
        assert_eq!(
            events.read(0, 4, 1 << TIMER),
            1 << READ_DMA_DONE | 1 << MAILBOX | 1 << TIMER
        );
        assert_eq!(events.read(1, 0, 0), 1 << READ_DMA_DONE);
    }
}
