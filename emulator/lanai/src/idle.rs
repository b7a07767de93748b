//! Idle loops: a CPU that comes back to the same state without a store, and without a value that follows the time, repeats that
//! round until an event comes. Whole rounds are skipped, with the same results.
//!
//! Two kinds of search find such a round. The first one begins anywhere, after a number of instructions that grows with each search
//! without a result. It remembers the instruction of the round that polls a register; from then on a search also begins each time that the
//! CPU comes to that instruction with the same registers as the last time. So an idle loop is found within a round or two behind an event.

use super::arbitration::Phase;
use super::fabric::Fabric;
use super::isr::HOST_SIG;
use super::run::{part, row_at, status_row};
use super::special::{Row, Special};
use super::sram::{BLOCK_BYTES, OwnSram, SPACE, Sram, SramCode};
use emulator_base::time::SimTime;
use emulator_board::CpuId;
use emulator_cpu::bus::{Access, BusStop, Fault, OwnMemory, Width};
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::lanai::Op;
use emulator_cpu::lanai::bus::{Bus, Passed, Private};
use emulator_cpu::lanai::exec::{Core, Exit, run};
use emulator_state::{state, value_struct};

/// Instructions of the longest round: a search that finds none executes as many.
const LONGEST: u64 = 512;
/// Instructions from an event to the first search, as long as no polling instruction is known. Short, because only such a search can find
/// that instruction.
const FIRST_GAP: u64 = 64;
/// Instructions from an event to the first search, once a polling instruction is known. Long, because most searches begin at that
/// instruction then.
const LATER_GAP: u64 = 1024;
/// Instructions between searches at most: with it a CPU that never idles spends under a hundredth of its instructions on searches.
const LARGEST_GAP: u64 = 1 << 16;

/// A round of an idle loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Round {
    instructions: u64,
    cycles: u64,
    ticks: u64,
}

impl Round {
    const fn between(first: &Core, last: &Core) -> Self {
        Self {
            instructions: last.instructions() - first.instructions(),
            cycles: last.clock.cycles - first.clock.cycles,
            ticks: last.clock.now - first.clock.now,
        }
    }
}

value_struct!(Round {
    instructions: instructions,
    cycles: cycles,
    ticks: ticks
});

/// Most cycles of the bus that are left to the CPU in a clock.
const MOST_LEFT: usize = 2;

/// Recognises idle loops.
#[derive(Debug)]
#[repr(C)] // What each visit of a node reads stands side by side.
pub struct Idle {
    /// The CPU stands before that instruction, and a search is due.
    at_poll: bool,
    /// Searches there without a result since the last event.
    failures: u32,
    /// Number of instructions before the next search anywhere.
    next_search: u64,
    /// The round of the idle loop, by the cycles of the bus that are left to the CPU in each clock: its instructions are the same, its
    /// time is not.
    rounds: [Option<Round>; MOST_LEFT + 1],
    /// A timer passes 0 then, which ends the idle loop even without an event.
    until: SimTime,
    /// Address of the instruction that polls a register in the last round that was found.
    poll: Option<u32>,
    /// Number of instructions before the next search at that instruction.
    next_poll: u64,
    /// A checksum of the CPU's registers when it last came to that instruction, since the last event.
    last_poll: Option<u64>,
    /// The blocks of memory that the loop reads ([`BLOCK_BYTES`]); none if those are too many, or if it reads other registers than the
    /// interrupt status.
    reads: Option<Vec<u32>>,
    gap: u64,
    /// Ticks skipped so far.
    skipped: u64,
    /// Cycles of the bus that were left to the CPU when it last could have skipped rounds, and the number of instructions since which they
    /// are the same.
    steady: (u32, u64),
}

// With another steady time fewer rounds are skipped, or more, with the same results.
state!(Idle {
    reads,
    until,
    next_search,
    gap,
    poll,
    next_poll,
    failures,
    last_poll,
    at_poll,
    skipped
} lists { rounds } fixed { steady });

impl Default for Idle {
    fn default() -> Self {
        Self {
            rounds: [None; MOST_LEFT + 1],
            reads: None,
            until: SimTime::ZERO,
            next_search: FIRST_GAP,
            gap: FIRST_GAP,
            poll: None,
            next_poll: 0,
            failures: 0,
            last_poll: None,
            at_poll: false,
            skipped: 0,
            steady: (0, 0),
        }
    }
}

impl Idle {
    /// Ends the idle loop: something has changed that it may see.
    pub fn wake(&mut self, core: &Core) {
        self.rounds = [None; MOST_LEFT + 1];
        self.gap = match self.poll {
            Some(_) => LATER_GAP,
            None => FIRST_GAP,
        };
        self.next_search = core.instructions() + self.gap;
        self.next_poll = 0;
        self.failures = 0;
        self.last_poll = None;
        self.at_poll = false;
    }

    /// Whether a timer ends the loop at `now`.
    pub(super) fn ends_at(&self, now: SimTime) -> bool {
        now >= self.until
    }

    /// Whether the loop may see what was written into memory.
    pub(super) fn may_see(&self, sram: &Sram) -> bool {
        let reads = self.reads.as_ref().filter(|_| self.is_idle());
        reads.is_none_or(|blocks| sram.has_written(blocks))
    }

    /// Whether the CPU repeats a round.
    #[must_use]
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.rounds.iter().any(Option::is_some)
    }

    /// Ticks that were skipped.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The round while so many cycles are left to the CPU.
    fn round(&self, left: u32) -> Option<Round> {
        self.rounds.get(left as usize).copied().flatten()
    }

    /// The CPU is about to execute an instruction that accesses a register: whether a search is due before it. Asked again for the same
    /// execution, it says no.
    #[inline]
    pub(super) fn is_due(&mut self, core: &Core, fabric: &Fabric) -> bool {
        if self.poll != Some(core.pc()) || core.instructions() < self.next_poll {
            return false;
        }
        self.next_poll = core.instructions() + 1;
        // Behind an event the CPU mostly has work to do: a search would be for nothing.
        let registers = core.checksum();
        let comes_back = self.last_poll.replace(registers) == Some(registers);
        self.at_poll = comes_back && self.round(fabric.bus.left(core.clock.now)).is_none();
        self.at_poll
    }

    /// A tick up to which the CPU runs before it is time for a search, or before the round takes another time. `logged`: its instructions
    /// are recorded.
    pub(super) fn bound(&self, core: &Core, fabric: &Fabric, logged: bool) -> u64 {
        if self.is_idle() {
            let phase = fabric.bus.phase(core.clock.now);
            return match self.round(phase.left).filter(|_| logged) {
                // Then a round is recorded, and others can be skipped.
                Some(round) => phase.until.min(core.clock.now + round.ticks),
                None => phase.until,
            };
        }
        let left = self.next_search.saturating_sub(core.instructions()).max(1);
        core.clock.now.saturating_add(left * TICKS_PER_CYCLE)
    }

    /// Whether [`skip`](Self::skip) may have something to do.
    pub(super) fn is_concerned(&self, core: &Core) -> bool {
        self.at_poll || core.instructions() >= self.next_search || self.is_idle()
    }

    /// Searches a round, if it is time for that.
    fn search(&mut self, core: &Core, fabric: &mut Fabric, phase: Phase) {
        let at_poll = std::mem::take(&mut self.at_poll);
        if !at_poll && (self.is_idle() || core.instructions() < self.next_search) {
            return;
        }
        match find(core, fabric, at_poll, phase) {
            Search::Found(round, reads) => {
                if !self.is_idle() {
                    self.until = fabric.timers.next_pass();
                    // In another phase of the bus it reads the same.
                    self.reads = reads.blocks;
                }
                self.rounds[phase.left as usize] = Some(round);
                self.poll = reads.poll.or(self.poll);
            }
            // The next time that the CPU comes there.
            Search::Unknown if at_poll => {}
            Search::None if at_poll => {
                self.failures += 1;
                let pause = 1_u64.checked_shl(self.failures).unwrap_or(u64::MAX);
                self.next_poll = core.instructions() + pause.min(LARGEST_GAP);
            }
            Search::Unknown | Search::None => {
                self.gap = (self.gap * 2).min(LARGEST_GAP);
                self.next_search = core.instructions() + self.gap;
            }
        }
    }

    /// Skips as many rounds as fit before `end`, with at most `room` instructions, if the CPU repeats one. Returns instructions and ticks
    /// of a round, and the number of rounds, if it skipped any. `logged`: instructions are recorded, so that a round is executed before it is
    /// skipped: the record of skipped rounds refers to it.
    pub(super) fn skip(
        &mut self,
        core: &mut Core,
        fabric: &mut Fabric,
        (end, room): (u64, u64),
        logged: bool,
    ) -> Option<(u64, u64, u64)> {
        let now = fabric.ticks.time_of(core.clock.now);
        if self.is_idle() && self.ends_at(now) {
            self.wake(core);
            return None;
        }
        let phase = fabric.bus.phase(core.clock.now);
        let is_new = self.round(phase.left).is_none();
        if is_new {
            self.search(core, fabric, phase);
        }
        // Noted in phases without a round too: their instructions are no round of the next phase.
        if logged && (is_new || self.steady.0 != phase.left) {
            self.steady = (phase.left, core.instructions());
        }
        let round = self.round(phase.left)?;
        if logged && core.instructions().abs_diff(self.steady.1) < round.instructions {
            return None;
        }
        let end = end.min(phase.until).min(fabric.ticks.first_at(self.until));
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

/// Result of a search for a round.
enum Search {
    /// A round, and its reads.
    Found(Round, ReadSet),
    /// The CPU does not repeat a round.
    None,
    /// The bus changes too early for an answer.
    Unknown,
}

/// The round that begins where the CPU stands, if it comes back there within a phase of the bus. `at_poll`: it stands before an instruction
/// that polls a register, and the search ends when it comes to it again.
fn find(core: &Core, fabric: &mut Fabric, at_poll: bool, phase: Phase) -> Search {
    if phase.left == 0 || phase.left as usize > MOST_LEFT {
        return Search::Unknown;
    }
    let now = fabric.ticks.time_of(core.clock.now);
    let mut copy = core.clone();
    let mut bus = IdleProbe {
        fabric,
        now,
        begin: at_poll.then(|| (core.pc(), core.instructions())),
        reads: ReadSet::default(),
    };
    let limit = core.instructions() + LONGEST;
    while copy.instructions() < limit {
        let most = if at_poll { LONGEST } else { 1 };
        match run(&mut copy, &mut bus, phase.until, most) {
            Exit::Until => return Search::Unknown,
            Exit::Limit => {}
            Exit::Wait if copy.same_position(core) => {}
            _ => return Search::None,
        }
        if copy.pc() == core.pc() && copy.same_position(core) {
            return match copy.clock.now <= phase.until {
                true => Search::Found(Round::between(core, &copy), bus.reads),
                false => Search::Unknown,
            };
        }
    }
    Search::None
}

/// A bus that executes a CPU on trial, without any effect: an instruction that would change something, or reads a value that follows the
/// time, ends the trial.
struct IdleProbe<'a> {
    fabric: &'a mut Fabric,
    now: SimTime,
    /// The trial ends before this instruction (address, and number of instructions before it), once others were executed.
    begin: Option<(u32, u64)>,
    reads: ReadSet,
}

/// Most blocks of memory in a [`ReadSet`]: with more, any write to memory ends the idle loop.
const MOST_BLOCKS: usize = 32;

/// The reads of a round.
#[derive(Debug)]
struct ReadSet {
    /// The first instruction that polls a register.
    poll: Option<u32>,
    /// Blocks of memory, as in [`Idle`]; `None` if there are too many, or if the round reads registers that writes of others change.
    blocks: Option<Vec<u32>>,
}

impl Default for ReadSet {
    fn default() -> Self {
        Self {
            poll: None,
            blocks: Some(Vec::new()),
        }
    }
}

impl ReadSet {
    /// Adds the block of an access to memory.
    fn note(&mut self, address: u32) {
        let block = address / BLOCK_BYTES;
        let Some(blocks) = &mut self.blocks else {
            return;
        };
        if blocks.contains(&block) {
            return;
        }
        match blocks.len() < MOST_BLOCKS {
            true => blocks.push(block),
            false => self.blocks = None,
        }
    }
}

/// Memory that refuses stores, so that a trial cannot change it; loads are noted.
struct ReadOnlySram<'a> {
    memory: OwnSram<'a>,
    reads: &'a mut ReadSet,
}

impl OwnMemory for ReadOnlySram<'_> {
    const WAITS: bool = true;

    fn begin(&mut self, _: u64) {}

    fn stalled(&self) -> u64 {
        self.memory.stalled()
    }

    #[inline(always)]
    fn load(&mut self, address: u32, width: Width, access: Access) -> Option<(u32, u32)> {
        let loaded = self.memory.load(address, width, access)?;
        self.reads.note(address);
        Some(loaded)
    }

    fn store(&mut self, _: u32, _: Width, _: u32, _: Access) -> Option<u32> {
        None
    }
}

/// The end of a trial.
const END: BusStop = BusStop::Fault(Fault::NoCode { address: 0 });

impl IdleProbe<'_> {
    /// An instruction polls a register: the trial ends where it began.
    fn pass(&mut self, core: &Core) -> Result<(), BusStop> {
        let at = (core.pc(), core.instructions());
        self.reads.poll.get_or_insert(at.0);
        match self.begin {
            Some(begin) if begin.0 == at.0 && begin.1 != at.1 => Err(BusStop::Wait),
            _ => Ok(()),
        }
    }

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

impl Bus for IdleProbe<'_> {
    type Code<'b>
        = SramCode<'b>
    where
        Self: 'b;

    type Own<'b>
        = ReadOnlySram<'b>
    where
        Self: 'b;

    type Witness<'b>
        = ()
    where
        Self: 'b;

    const WITNESSED: bool = false;

    fn witness(&mut self) {}

    fn private(&mut self, core: &Core) -> Private<SramCode<'_>, ReadOnlySram<'_>, ()> {
        let Phase { left, until } = self.fabric.bus.phase(core.clock.now);
        let plain = core.clock.ticks_per_cycle == TICKS_PER_CYCLE;
        let waits = self.fabric.bus.access_waits(left);
        let waits = (plain || waits == 0).then_some(waits);
        let (code, memory) = self.fabric.open(true, waits);
        Private {
            code,
            memory: ReadOnlySram {
                memory,
                reads: &mut self.reads,
            },
            witness: (),
            until,
        }
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        let breakpoints = self.fabric.stops.breakpoints(CpuId::new(0));
        if pc >= SPACE || !breakpoints.is_empty() || !self.fabric.probes.at(pc).is_empty() {
            return Err(END);
        }
        let code = self.fabric.code();
        if !code.allows(pc) || code.doubts(pc, self.fabric.sram.word(pc)) {
            return Err(END);
        }
        Ok(self.fabric.sram.glance(pc, core.pipeline()))
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        if address < SPACE {
            let demand = self.fabric.bus.demand(core.pc(), 1);
            let tick = self.fabric.bus.wait(core.clock.now, demand);
            core.clock.stall_until(tick);
            self.reads.note(address);
            return Ok(self.fabric.sram.read(address, width));
        }
        let row = row_at(self.fabric, address).ok_or(END)?;
        self.pass(core)?;
        if row.special != Special::Isr {
            self.reads.blocks = None;
        }
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

    fn interrupt_status(&mut self, core: &mut Core) -> Result<u32, BusStop> {
        self.pass(core)?;
        status_row(self.fabric).map_or(Ok(0), |row| self.read(row))
    }

    fn set_interrupt_status(&mut self, _: &mut Core, value: u32) -> Result<(), BusStop> {
        self.write_status(value)
    }

    fn probe(&mut self, _: &mut Core, _: u32) -> Passed {
        Passed::Instruction
    }
}
