//! The hardware DMA assist: feeds the channels from two rings of 64 descriptors in SRAM
//! (docs/tigon2-io.md, section 5).

use defs::tigon2::regs::AssistState;
use defs::tigon2::rings::{DMA_DESCRIPTOR_BYTES, DMA_RING_ENTRIES};

use super::ring::RingPointers;
use emulator_state::state;

/// Ring pointers and state.
#[derive(Debug)]
pub struct Assist {
    /// The bits that software set.
    control: u32,
    /// Read ring (host to NIC).
    pub read: RingPointers,
    /// Write ring (NIC to host).
    pub write: RingPointers,
}

state!(Assist {
    control,
    read,
    write
});

impl Default for Assist {
    fn default() -> Self {
        let ring = RingPointers::new(DMA_RING_ENTRIES, DMA_DESCRIPTOR_BYTES);
        Self {
            control: 0,
            read: ring.clone(),
            write: ring,
        }
    }
}

impl Assist {
    const STATUS: u32 = AssistState::WRITE_BUSY
        .union(AssistState::WRITE_PENDING)
        .union(AssistState::READ_BUSY)
        .union(AssistState::READ_PENDING)
        .bits();

    /// Writes the state register; its status bits are read only.
    pub fn write_state(&mut self, value: u32) {
        self.control = value & !Self::STATUS;
    }

    /// The state register, given the activity of the channels.
    #[must_use]
    pub const fn state(&self, read_busy: bool, write_busy: bool) -> u32 {
        let mut state = self.control;
        if read_busy {
            state |= AssistState::READ_BUSY.bits();
        }
        if write_busy {
            state |= AssistState::WRITE_BUSY.bits();
        }
        if self.read.pending() != 0 {
            state |= AssistState::READ_PENDING.bits();
        }
        if self.write.pending() != 0 {
            state |= AssistState::WRITE_PENDING.bits();
        }
        state
    }

    /// Whether the assist may start a descriptor, given that the other channel is busy or not.
    #[must_use]
    pub const fn may_start(&self, other_busy: bool) -> bool {
        let on = self.control & AssistState::ENABLE.bits() != 0;
        let paused = self.control & AssistState::PAUSE.bits() != 0;
        let alone = self.control & AssistState::ONE_DMA.bits() != 0;
        on && !paused && !(alone && other_busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_bits_are_derived() {
        let mut assist = Assist::default();
        assist.write_state(0xFFFF_FFFF);
        assist.read.producer = 2;
        let state = AssistState::from_bits_retain(assist.state(false, true));
        assert!(state.contains(AssistState::READ_PENDING | AssistState::WRITE_BUSY));
        assert!(!state.intersects(AssistState::WRITE_PENDING | AssistState::READ_BUSY));
    }

    #[test]
    fn pause_and_one_at_a_time() {
        let mut assist = Assist::default();
        assert!(!assist.may_start(false));
        assist.write_state(AssistState::ENABLE.bits());
        assert!(assist.may_start(true));
        assist.write_state((AssistState::ENABLE | AssistState::ONE_DMA).bits());
        assert!(assist.may_start(false) && !assist.may_start(true));
        assist.write_state((AssistState::ENABLE | AssistState::PAUSE).bits());
        assert!(!assist.may_start(false));
    }
}
