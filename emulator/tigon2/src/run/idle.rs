//! Detection of a core that idles in its dispatch loop, so that the loop can be skipped exactly.
//!
//! Idle firmware polls its event register, and perhaps a few other registers on
//! the way (a software DMA assist polls its rings). When the core returns to a read with unchanged
//! general registers, having read unchanged values at the same addresses and written nothing,
//! then every further round is identical until a value that it reads changes, by an event of a
//! device, the timer, another core or the host. The board may then skip whole rounds: clock, cycles
//! and instruction count advance by multiples of one round. [`period`](super::period) handles loops that follow the
//! timer.

use defs::tigon2::map::REGISTER_BYTES;
use defs::tigon2::regs;

use crate::cores::owner_of;
use emulator_base::time::SimTime;
use emulator_cpu::mips::exec::Core;
use emulator_state::state;
use emulator_state::value_struct;

/// Most registers that a round may read besides its event register.
const MOST_READS: usize = 16;

/// Whether only an event, a store or the host changes the value of the register at `offset`, and not
/// time alone. Registers of further CPUs are not told apart.
pub(super) const fn stands_still(offset: u32) -> bool {
    let moves = matches!(
        offset,
        regs::TIMER | regs::EVENT_A | regs::EVENT_B | regs::WINDOW_DATA
    );
    !moves && offset < REGISTER_BYTES && owner_of(offset).is_none()
}

/// Other reads of a round: offsets and values.
#[derive(Debug, Clone, Default)]
struct Reads {
    count: usize,
    registers: [(u32, u32); MOST_READS],
}

value_struct!(Reads {
    count: count,
    registers: registers
});

impl Reads {
    fn all(&self) -> &[(u32, u32)] {
        &self.registers[..self.count]
    }

    fn offsets(&self) -> impl Iterator<Item = u32> {
        self.all().iter().map(|(offset, _)| *offset)
    }

    /// Sets the values to those that the reads find `times` periods later; the values of `before` were read one period earlier.
    fn repeat(&mut self, before: &Self, times: u64) {
        for ((_, value), (_, before)) in self.registers.iter_mut().zip(&before.registers) {
            *value = later(*value, *before, times);
        }
    }

    /// Notes a read; tells whether there was room.
    fn note(&mut self, offset: u32, value: u32) -> bool {
        let room = self.registers.get_mut(self.count);
        self.count += usize::from(room.is_some());
        room.map(|place| *place = (offset, value)).is_some()
    }
}

/// A value `times` periods after `value`; `before` was one period earlier.
const fn later(value: u32, before: u32, times: u64) -> u32 {
    value.wrapping_add(value.wrapping_sub(before).wrapping_mul(times as u32))
}

/// A round of an idle loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// Ticks of the clock.
    pub ticks: u64,
    /// Own cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
}

value_struct!(Round {
    ticks: ticks,
    cycles: cycles,
    instructions: instructions
});

/// State of a core at its last read of the event register.
#[derive(Debug, Clone)]
struct Poll {
    pc: u32,
    value: u32,
    registers: [u32; 32],
    /// Reads of the round before it.
    reads: Reads,
    ticks: u64,
    cycles: u64,
    stalled: u64,
    instructions: u64,
}

value_struct!(Poll {
    pc: pc,
    value: value,
    registers: registers,
    reads: reads,
    ticks: ticks,
    cycles: cycles,
    stalled: stalled,
    instructions: instructions,
});

/// Polls before the first search for a period, and most polls between two of them: each that fails makes the next one
/// four times as late, so that loops without a period lose little time.
const PATIENCE: [u32; 2] = [16, 1 << 16];

/// Limits of the rest of a core that repeats a period: until then it does nothing that others can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// Ticks of a period.
    pub ticks: u64,
    /// Earliest time at which the loop changes by itself.
    pub until: SimTime,
    /// The loop reads registers that others change, besides its event register.
    pub watches: bool,
}

value_struct!(Rest {
    ticks: ticks,
    until: until,
    watches: watches
});

/// The search for a period.
#[derive(Debug, Clone, Copy)]
struct Search {
    /// Polls since the last search.
    polls: u32,
    /// Polls before the next search.
    patience: u32,
    found: Option<Rest>,
    /// Before this tick the core does not return to the board to skip periods.
    pause_until: u64,
}

value_struct!(Search {
    polls: polls,
    patience: patience,
    found: found,
    pause_until: pause_until
});

impl Default for Search {
    fn default() -> Self {
        Self {
            polls: 0,
            patience: PATIENCE[0],
            found: None,
            pause_until: 0,
        }
    }
}

/// Watches one core.
#[derive(Debug, Clone, Default)]
pub struct IdleDetector {
    last: Option<Box<Poll>>,
    /// Something other than pure work happened since the last poll.
    disturbed: bool,
    /// The reads of the present round.
    reads: Reads,
    /// The round that will repeat.
    idle: Option<Round>,
    /// Ticks of all rounds so far that repeated the one before them.
    idle_ticks: u64,
    /// Instructions of those among them that were executed.
    repeated: u64,
    search: Search,
}

state!(IdleDetector {
    last,
    disturbed,
    reads,
    idle,
    idle_ticks,
    repeated,
    search
});

impl IdleDetector {
    /// Notes that the core did something that makes the next round differ, or that others can see.
    #[inline(always)]
    pub fn disturb(&mut self) {
        self.disturbed = true;
    }

    /// Notes that the core read a register that is not its event register.
    pub fn watch(&mut self, offset: u32, value: u32) {
        if self.disturbed || !stands_still(offset) || !self.reads.note(offset, value) {
            self.disturbed = true;
        }
    }

    /// Whether the core's loop reads more than its event register: any event may affect it, even
    /// one in the round that determines whether it idles, after the read.
    #[must_use]
    pub fn watches(&self) -> bool {
        let reads = self.last.as_ref().map_or(0, |last| last.reads.count);
        self.reads.count > 0
            || self.idle.is_some() && reads > 0
            || self.search.found.is_some_and(|rest| rest.watches)
    }

    /// Whether the core's present or last round has read the register at `offset`.
    #[must_use]
    #[inline]
    pub fn has_read(&self, offset: u32) -> bool {
        let last = self.last.iter().flat_map(|last| last.reads.offsets());
        self.reads.offsets().chain(last).any(|read| read == offset)
    }

    /// Ends the idle loop: a value for which the core waits may have changed, or the core itself was changed.
    pub fn wake(&mut self) {
        self.idle = None;
        self.disturbed = true;
        self.end_period();
    }

    /// Ends the period, which the core may not repeat any more. A new one is searched soon.
    pub fn end_period(&mut self) {
        if self.search.found.take().is_some() {
            self.search.polls = self.search.patience - 2;
        }
    }

    /// The core is at a poll that does not repeat a round. Tells whether a period is to be searched.
    pub const fn wants_search(&mut self) -> bool {
        self.search.polls += 1;
        self.search.polls >= self.search.patience
    }

    /// Ends a search with its result.
    pub fn end_search(&mut self, found: Option<Rest>) {
        let [least, most] = PATIENCE;
        self.search.patience = match found {
            Some(_) => least,
            None => self.search.patience.saturating_mul(4).min(most),
        };
        self.search.polls = 0;
        self.search.found = found;
    }

    /// The rest of the core, if it repeats a period.
    #[must_use]
    #[inline(always)]
    pub const fn rest(&self) -> Option<Rest> {
        self.search.found
    }

    /// Keeps the core from returning to the board, to skip periods, before this tick.
    pub const fn pause_until(&mut self, tick: u64) {
        self.search.pause_until = tick;
    }

    /// Whether the core may return to the board to skip periods.
    #[must_use]
    pub const fn may_skip_periods(&self, core: &Core) -> bool {
        core.clock.now >= self.search.pause_until
    }

    /// Whether the core's state is that of `before`, one period later.
    pub(super) fn is_like(&self, before: &Self) -> bool {
        let kind = |detector: &Self| {
            let last = detector.last.as_ref();
            let last = last.map(|last| (last.pc, last.value, last.stalled));
            (last, detector.disturbed, detector.idle)
        };
        let reads = |detector: &Self| -> Vec<u32> {
            let last = detector.last.iter().flat_map(|last| last.reads.offsets());
            last.chain(detector.reads.offsets()).collect()
        };
        kind(self) == kind(before) && reads(self) == reads(before)
    }

    /// Sets the state to that of `times` periods after `second`, which is one period after `first`.
    pub(super) fn repeat(&mut self, first: &Self, second: &Self, times: u64) {
        let search = self.search;
        self.clone_from(second);
        self.search = search;
        for (count, before) in [
            (&mut self.idle_ticks, first.idle_ticks),
            (&mut self.repeated, first.repeated),
        ] {
            *count += times * (*count - before);
        }
        self.reads.repeat(&first.reads, times);
        if let (Some(last), Some(before)) = (&mut self.last, &first.last) {
            last.repeat(before, times);
        }
    }

    /// The round that the core repeats, if it idles.
    #[must_use]
    pub const fn idle(&self) -> Option<Round> {
        self.idle
    }

    /// Ticks that the core has idled so far: rounds that were like the one before, stepped or skipped.
    #[must_use]
    pub const fn idle_ticks(&self) -> u64 {
        self.idle_ticks
    }

    /// Instructions of rounds that were like the one before, and were not skipped.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The value of the event register when the core was last seen to idle, if it idles.
    #[must_use]
    pub fn idle_at(&self) -> Option<u32> {
        self.idle.and(self.last.as_ref()).map(|last| last.value)
    }

    /// The core is about to read `value` from its event register. Tells whether it idles.
    pub fn poll(&mut self, core: &Core, value: u32) -> bool {
        let clean = !std::mem::take(&mut self.disturbed);
        let idle = self.look(core, value, clean);
        self.reads.count = 0;
        // The slot's own address may be the branch's target: the core would come to the same read with equal registers,
        // and go on elsewhere.
        self.disturbed = core.in_taken_slot();
        idle
    }

    fn look(&mut self, core: &Core, value: u32, clean: bool) -> bool {
        match &mut self.last {
            // Directly after a skip no instruction was executed: the core continues.
            Some(last) if clean && last.is_now(core, value) => false,
            Some(last) if clean && last.repeats(core, value, &self.reads) => {
                let round = last.round(core);
                let steady = core.clock.stalled == last.stalled;
                last.remember_time(core);
                self.idle_ticks += round.ticks;
                self.repeated += round.instructions;
                if steady {
                    self.idle = Some(round);
                }
                steady
            }
            Some(last) => {
                last.remember(core, value, &self.reads);
                self.idle = None;
                false
            }
            last @ None => {
                *last = Some(Box::new(Poll::new(core, value, &self.reads)));
                false
            }
        }
    }

    /// Skips whole rounds up to the tick `target`, at most `room` instructions.
    /// Returns the round and their number.
    pub fn skip_rounds(&mut self, core: &mut Core, target: u64, room: u64) -> Option<(Round, u64)> {
        let round = self.idle?;
        let rounds = target.saturating_sub(core.clock.now) / round.ticks.max(1);
        let rounds = rounds.min(room / round.instructions.max(1));
        if rounds == 0 {
            return None;
        }
        core.skip(
            rounds * round.instructions,
            rounds * round.cycles,
            rounds * round.ticks,
        );
        self.skipped(round, rounds);
        Some((round, rounds))
    }

    /// `rounds` whole rounds were skipped, wherever in its loop the core stands: the last read moves
    /// along, so that the next one is still one round away from it.
    fn skipped(&mut self, round: Round, rounds: u64) {
        if let Some(last) = &mut self.last {
            self.idle_ticks += rounds * round.ticks;
            last.ticks += rounds * round.ticks;
            last.cycles += rounds * round.cycles;
            last.instructions += rounds * round.instructions;
        }
    }
}

impl Poll {
    fn new(core: &Core, value: u32, reads: &Reads) -> Self {
        let mut poll = Self {
            pc: 0,
            value: 0,
            registers: [0; 32],
            reads: Reads::default(),
            ticks: 0,
            cycles: 0,
            stalled: 0,
            instructions: 0,
        };
        poll.remember(core, value, reads);
        poll
    }

    fn remember(&mut self, core: &Core, value: u32, reads: &Reads) {
        self.pc = core.pc();
        self.value = value;
        self.registers.copy_from_slice(core.registers());
        self.reads.count = reads.count;
        self.reads.registers[..reads.count].copy_from_slice(reads.all());
        self.remember_time(core);
    }

    fn remember_time(&mut self, core: &Core) {
        self.ticks = core.clock.now;
        self.cycles = core.clock.cycles;
        self.stalled = core.clock.stalled;
        self.instructions = core.instructions();
    }

    /// Moves the read on by `times` periods; `before` was one period earlier.
    fn repeat(&mut self, before: &Self, times: u64) {
        for (value, before) in self.registers.iter_mut().zip(&before.registers) {
            *value = later(*value, *before, times);
        }
        self.reads.repeat(&before.reads, times);
        self.ticks += times * (self.ticks - before.ticks);
        self.cycles += times * (self.cycles - before.cycles);
        self.instructions += times * (self.instructions - before.instructions);
    }

    /// Whether the core still stands at that read.
    fn is_now(&self, core: &Core, value: u32) -> bool {
        self.instructions == core.instructions() && self.pc == core.pc() && self.value == value
    }

    fn repeats(&self, core: &Core, value: u32, reads: &Reads) -> bool {
        self.pc == core.pc()
            && self.value == value
            && !core.in_taken_slot()
            && self.registers == *core.registers()
            && self.reads.all() == reads.all()
    }

    const fn round(&self, core: &Core) -> Round {
        Round {
            ticks: core.clock.now - self.ticks,
            cycles: core.clock.cycles - self.cycles,
            instructions: core.instructions() - self.instructions,
        }
    }
}
