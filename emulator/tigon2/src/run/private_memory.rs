//! Memory that a core accesses without its bus: its scratchpad, and all of SRAM while it runs alone.

use defs::tigon2::map::SRAM_LIMIT;

use crate::run::idle::IdleDetector;
use crate::scratchpad::Scratchpad;
use crate::sram::AloneSram;
use crate::timing::Timing;
use emulator_cpu::bus::Access;
use emulator_cpu::clock::CpuClock;
use emulator_cpu::mips::bus::{OwnMemory, Width};

/// A scratchpad, accessed by its core without the bus.
pub struct OwnScratchpad<'a> {
    pub(crate) scratchpad: &'a Scratchpad,
    pub(crate) idle: &'a mut IdleDetector,
    pub(crate) timing: &'a Timing,
    /// Stores may bypass the bus: no rollback is pending and no watchpoint is set.
    pub(crate) writable: bool,
}

impl OwnMemory for OwnScratchpad<'_> {
    #[inline(always)]
    fn begin(&mut self, _: u64) {}

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, _: Access) -> Option<(u32, u32)> {
        let value = self.scratchpad.get(address, width)?;
        Some((value, self.timing.scratchpad_load_cycles))
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, _: Access) -> Option<u32> {
        if !self.writable || !self.scratchpad.set(address, width, value) {
            return None;
        }
        self.idle.disturb();
        Some(self.timing.scratchpad_store_cycles)
    }
}

/// A scratchpad, and SRAM too if the core runs `ALONE`: it is then the only user of SRAM until its time is
/// over, so each of its accesses is in turn. An access that must wait for the SRAM bus is left to
/// [`CpuBus`](crate::run::bus::CpuBus).
pub struct PrivateMemory<'a, const ALONE: bool> {
    pub(crate) own: OwnScratchpad<'a>,
    pub(crate) sram: AloneSram<'a>,
    /// Accesses to SRAM may bypass the bus: no watchpoint is set, and no races are looked for.
    direct_sram: bool,
    /// End of all its cycles, in ticks, and the ticks per cycle.
    end: u64,
    ticks_per_cycle: u64,
}

impl<'a, const ALONE: bool> PrivateMemory<'a, ALONE> {
    /// The memory of the core whose clock this is.
    #[inline(always)]
    pub(crate) const fn new(
        own: OwnScratchpad<'a>,
        sram: AloneSram<'a>,
        direct_sram: bool,
        clock: &CpuClock,
    ) -> Self {
        Self {
            own,
            sram,
            direct_sram,
            end: clock.now,
            ticks_per_cycle: clock.ticks_per_cycle,
        }
    }

    #[inline(always)]
    fn takes_bus(&mut self, left: i64) -> bool {
        let now = self
            .end
            .wrapping_sub(left.cast_unsigned().wrapping_mul(self.ticks_per_cycle));
        let free = self
            .sram
            .take_free_bus(now, self.own.timing.sram_word_cycles);
        if free {
            self.own.idle.disturb();
        }
        free
    }
}

impl<const ALONE: bool> OwnMemory for PrivateMemory<'_, ALONE> {
    #[inline(always)]
    fn begin(&mut self, cycles: u64) {
        let span = cycles.wrapping_mul(self.ticks_per_cycle);
        self.end = self.end.wrapping_add(span);
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, access: Access) -> Option<(u32, u32)> {
        if !ALONE || address >= SRAM_LIMIT {
            return self.own.load(address, width, access);
        }
        if !self.direct_sram {
            return None;
        }
        let cycles = self.own.timing.sram_load_cycles;
        self.takes_bus(access.left)
            .then(|| (self.sram.read(address, width), cycles))
    }

    #[inline(always)]
    fn store(&mut self, address: u32, width: Width, value: u32, access: Access) -> Option<u32> {
        if !ALONE || address >= SRAM_LIMIT {
            return self.own.store(address, width, value, access);
        }
        if !self.direct_sram {
            return None;
        }
        let cycles = self.own.timing.sram_store_cycles;
        self.takes_bus(access.left).then(|| {
            self.sram.write(address, width, value);
            cycles
        })
    }
}
