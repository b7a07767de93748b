//! Idle loops: a CPU that comes back to the same state without a store, and without a value that follows the time, repeats that
//! round until an event comes. Whole rounds are skipped, with the same results.

use super::fabric::Fabric;
use super::isr::HOST_SIG;
use super::run::{part, row_at, status_row};
use super::special::{Row, Special};
use super::sram::SPACE;
use crate::board::CpuId;
use crate::cpu::bus::{BusStop, Fault, Width};
use crate::cpu::clock::TICKS_PER_CYCLE;
use crate::cpu::lanai::Op;
use crate::cpu::lanai::bus::{Bus, Passed, Private};
use crate::cpu::lanai::exec::{Core, Exit, run};
use crate::sim::time::SimTime;
use crate::{state, value_struct};

/// Instructions of the longest round.
const LONGEST: u64 = 512;
/// Instructions from an event to the first search.
const FIRST_GAP: u64 = 64;
/// Instructions between searches at most.
const LARGEST_GAP: u64 = 1 << 16;

/// A round of an idle loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    instructions: u64,
    cycles: u64,
    ticks: u64,
}

value_struct!(Round {
    instructions: instructions,
    cycles: cycles,
    ticks: ticks
});

/// Recognises idle loops.
#[derive(Debug)]
pub struct Idle {
    round: Option<Round>,
    /// A timer passes 0 then, which ends the idle loop even without an event.
    until: SimTime,
    /// Number of instructions before the next search.
    next_search: u64,
    gap: u64,
    /// Ticks skipped so far.
    skipped: u64,
}

state!(Idle {
    round,
    until,
    next_search,
    gap,
    skipped
});

impl Default for Idle {
    fn default() -> Self {
        Self {
            round: None,
            until: SimTime::ZERO,
            next_search: FIRST_GAP,
            gap: FIRST_GAP,
            skipped: 0,
        }
    }
}

impl Idle {
    /// Something has changed that the loop may see.
    pub fn wake(&mut self, core: &Core) {
        self.round = None;
        self.gap = FIRST_GAP;
        self.next_search = core.instructions() + FIRST_GAP;
    }

    /// Whether the CPU repeats a round.
    #[must_use]
    pub const fn is_idle(&self) -> bool {
        self.round.is_some()
    }

    /// Ticks that were skipped.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// A tick up to which the CPU runs before it is time for a search.
    pub(super) fn bound(&self, core: &Core, fabric: &Fabric) -> u64 {
        let left = self.next_search.saturating_sub(core.instructions()).max(1);
        match self.round {
            // It repeats the round, but waits for the bus now and then: the round as such is skipped behind that.
            Some(_) if !fabric.bus.is_quiet(core.clock.now) => fabric.bus.quiet_from(),
            Some(_) => u64::MAX,
            None => core.clock.now.saturating_add(left * TICKS_PER_CYCLE),
        }
    }

    /// Whether it is time for a search.
    pub(super) const fn wants_search(&self, core: &Core) -> bool {
        self.round.is_none() && core.instructions() >= self.next_search
    }

    /// Skips as many rounds as fit before `end`, with at most `room` instructions, if the CPU repeats one. Returns instructions and ticks of a round, and the number of rounds, if it skipped any.
    pub(super) fn skip(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric,
        end: u64,
        room: u64,
    ) -> Option<(u64, u64, u64)> {
        let now = fabric.ticks.time_of(core.clock.now);
        if self.round.is_some() && now >= self.until {
            self.wake(core);
            return None;
        }
        if self.round.is_some() && !fabric.bus.is_quiet(core.clock.now) {
            return None;
        }
        if self.round.is_none() {
            self.round = find(core, fabric);
            self.until = fabric.timers.next_pass();
            if self.round.is_none() {
                self.gap = (self.gap * 2).min(LARGEST_GAP);
                self.next_search = core.instructions() + self.gap;
                return None;
            }
        }
        let round = self.round?;
        let end = end.min(fabric.ticks.first_at(self.until));
        let times = end.saturating_sub(core.clock.now) / round.ticks.max(1);
        let times = times.min(room / round.instructions.max(1));
        core.skip(
            times * round.instructions,
            times * round.cycles,
            times * round.ticks,
        );
        self.skipped += times * round.ticks;
        (times > 0).then_some((round.instructions, round.ticks, times))
    }
}

/// The round that begins where the CPU stands, if it comes back there.
fn find(core: &Core, fabric: &mut Fabric) -> Option<Round> {
    if !fabric.bus.is_quiet(core.clock.now) {
        return None;
    }
    let now = fabric.ticks.time_of(core.clock.now);
    let mut copy = core.clone();
    let mut bus = Trial { fabric, now };
    for _ in 0..LONGEST {
        if run(&mut copy, &mut bus, u64::MAX, 1) != Exit::Limit {
            return None;
        }
        if copy.pc() == core.pc() && copy.same_position(core) {
            return Some(Round {
                instructions: copy.instructions() - core.instructions(),
                cycles: copy.clock.cycles - core.clock.cycles,
                ticks: copy.clock.now - core.clock.now,
            });
        }
    }
    None
}

/// A bus on which nothing changes: whatever would change something, or follows the time, stops the trial.
struct Trial<'a> {
    fabric: &'a mut Fabric,
    now: SimTime,
}

/// The end of a trial.
const END: BusStop = BusStop::Fault(Fault::NoCode { address: 0 });

impl Trial<'_> {
    /// A register's value, if it does not follow the time.
    fn read(&self, row: &Row) -> Result<u32, BusStop> {
        match row.special {
            Special::Timer(_) | Special::Rtc | Special::Cycles => Err(END),
            _ => Ok(self.fabric.read_special(row, self.now)),
        }
    }

    /// A write of the interrupt status is nothing if it clears no bit that is set.
    fn write_status(&self, value: u32) -> Result<(), BusStop> {
        let status = self.fabric.status(self.now);
        match value & (status | HOST_SIG) {
            0 => Ok(()),
            _ => Err(END),
        }
    }
}

impl Bus for Trial<'_> {
    type Own<'b>
        = ()
    where
        Self: 'b;

    type Witness<'b>
        = ()
    where
        Self: 'b;

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    fn private(&mut self, _: &Core) -> Private<'_, (), ()> {
        Private::default()
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        let breakpoints = self.fabric.stops.breakpoints(CpuId::new(0));
        if pc >= SPACE || !breakpoints.is_empty() || !self.fabric.probes.at(pc).is_empty() {
            return Err(END);
        }
        Ok(self.fabric.sram.fetch(pc, core.pipeline(), |_| false))
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        if address < SPACE {
            let demand = self.fabric.bus.demand(core.pc(), 1);
            let tick = self.fabric.bus.wait(core.clock.now, demand);
            core.clock.stall_until(tick);
            return Ok(self.fabric.sram.read(address, width));
        }
        let row = row_at(self.fabric, address).ok_or(END)?;
        core.clock
            .charge(self.fabric.timing.register_load_cycles.into());
        let (mask, shift) = part(address, width);
        Ok(self.read(row)? >> shift & mask)
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        let row = row_at(self.fabric, address).ok_or(END)?;
        if row.special != Special::Isr {
            return Err(END);
        }
        core.clock
            .charge(self.fabric.timing.register_store_cycles.into());
        let (mask, shift) = part(address, width);
        self.write_status((value & mask) << shift)
    }

    fn interrupt_status(&mut self, _: &mut Core) -> Result<u32, BusStop> {
        status_row(self.fabric).map_or(Ok(0), |row| self.read(row))
    }

    fn set_interrupt_status(&mut self, _: &mut Core, value: u32) -> Result<(), BusStop> {
        self.write_status(value)
    }

    fn probe(&mut self, _: &mut Core, _: u32) -> Passed {
        Passed::Instruction
    }
}
