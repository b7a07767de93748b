//! The bus of the external SRAM, which all actors share (docs/tigon2.md, section 1).

use emulator_base::time::{ClockDomain, SimTime};
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_state::{state, value_struct};

/// Bursts that take the bus at fixed times: they are accounted for when the
/// bus is next used.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Time of the next one.
    pub(super) next: SimTime,
    /// Period.
    pub(super) period: SimTime,
    /// Number of bursts left.
    pub(super) left: u32,
    /// Bus cycles of each.
    pub(super) cycles: u32,
    /// The clock that counts the bus's ticks.
    pub(super) ticks: ClockDomain,
}

value_struct!(Bursts {
    next: next,
    period: period,
    left: left,
    cycles: cycles,
    ticks: ticks
});

impl Bursts {
    /// The tick of the next one; the latest possible tick if none is left.
    pub(super) fn next_tick(&self) -> u64 {
        match self.left {
            0 => u64::MAX,
            _ => self.ticks.first_at(self.next),
        }
    }
}

/// Until when the bus is taken, and what takes it later on.
#[derive(Debug)]
pub(super) struct SramBus {
    /// The bus is taken until this tick.
    pub(super) free_at: u64,
    /// Bursts that take it later on.
    bursts: Option<Bursts>,
    /// The tick of the next one.
    pub(super) next_burst: u64,
}

state!(SramBus {
    free_at,
    bursts,
    next_burst
});

impl Default for SramBus {
    fn default() -> Self {
        Self {
            free_at: 0,
            bursts: None,
            next_burst: u64::MAX,
        }
    }
}

impl SramBus {
    /// The bus in front of several banks, which has no times of its own: bursts are always due, so that who accesses memory without
    /// looking at the banks never finds it free.
    pub(super) fn of_banks() -> Self {
        Self {
            next_burst: 0,
            ..Self::default()
        }
    }

    /// Whether the bus is in front of several banks.
    #[inline(always)]
    pub(super) const fn is_of_banks(&self) -> bool {
        self.next_burst == 0
    }

    /// Takes the bus for `cycles` at `tick`, from which on it is free.
    #[inline(always)]
    pub(super) fn occupy(&mut self, tick: u64, cycles: u32) {
        self.free_at = tick + u64::from(cycles) * TICKS_PER_CYCLE;
    }

    /// The tick at which the bus is free, after the bursts up to `tick`.
    #[inline(always)]
    pub(super) fn free_from(&mut self, tick: u64) -> u64 {
        if tick >= self.next_burst {
            self.take_bursts(tick);
        }
        self.free_at
    }

    /// Sets the bursts that take the bus from now on. Earlier ones must be over.
    pub(super) fn expect_bursts(&mut self, bursts: Bursts) {
        let tick = bursts.next_tick();
        self.free_from(tick);
        self.next_burst = tick;
        self.bursts = Some(bursts);
    }

    /// Ends the bursts.
    pub(super) fn stop_bursts(&mut self) {
        self.next_burst = u64::MAX;
        self.bursts = None;
    }

    /// Lets the bursts up to `tick` take the bus.
    // Between two bursts cores access the bus many times: kept out of `free_from`, which each access inlines.
    #[inline(never)]
    fn take_bursts(&mut self, tick: u64) {
        let Some(bursts) = &mut self.bursts else {
            return;
        };
        while self.next_burst <= tick && bursts.left > 0 {
            let span = u64::from(bursts.cycles) * TICKS_PER_CYCLE;
            self.free_at = self.free_at.max(self.next_burst) + span;
            bursts.left -= 1;
            bursts.next += bursts.period;
            self.next_burst = bursts.next_tick();
        }
    }
}
