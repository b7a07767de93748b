//! A core's bus: targets, order and costs of its accesses
//! (docs/tigon2.md, sections 1 and 9).

mod fetch;
mod probes;
mod registers;

use std::cmp::Ordering;
use std::hint::cold_path;

use defs::tigon2::map::{SCRATCHPAD_BASE, SRAM_LIMIT};
use defs::tigon2::regs::WINDOW_BASE;

use crate::cores::CorePrivate;
use crate::fabric::{BoardContext, Fabric};
use crate::inspect::instruction_log::{CoreWitness, standing};
use crate::inspect::stops;
use crate::races::BoardRaces;
use crate::run::private_memory::{OwnScratchpad, PrivateMemory};
use crate::run::rest::RestOfCores;
use crate::sram_banks::SramRange;
use emulator_base::initiator::Actor;
use emulator_board::poller;
use emulator_board::races::{Agent, WordAccess};
use emulator_board::{NodeEvent, ProbeTable, Ran, StageState};
use emulator_cpu::mips::bits::BitChange;
use emulator_cpu::mips::bus::{Bus, BusStop, Fault, Private, Width};
use emulator_cpu::mips::exec::Core;
use emulator_cpu::mips::isa::Op;
use emulator_observe::event::{Details, TraceKind};
use emulator_observe::instructions::{InstructionLog, Record};

/// The bus of one running core. `ALONE`: the other cores are halted; `LOGGED`: executed instructions are
/// logged.
pub struct CpuBus<'a, 'c, const ALONE: bool, const LOGGED: bool> {
    /// The core's private memory and state.
    pub private: &'a mut CorePrivate,
    /// The other core: the one that goes on when this one must wait, if several run.
    pub other_core: &'a mut Core,
    /// The other core's private memory and state.
    pub other_private: &'a mut CorePrivate,
    /// The further cores, which stand, if there are any.
    pub rest: Option<&'a mut RestOfCores<'a>>,
    /// The log of the core's instructions, if it is `LOGGED`.
    pub log: Option<&'a mut InstructionLog>,
    /// The other core's log.
    pub other_log: Option<&'a mut InstructionLog>,
    /// All other blocks.
    pub fabric: &'a mut Fabric,
    /// The node.
    pub ctx: &'a mut BoardContext<'c>,
    /// The firmware's probes.
    pub probes: &'a ProbeTable,
    /// The stages of all cores.
    pub stages: &'a mut [StageState],
    /// Shared accesses must wait from this tick on.
    pub limit: u64,
    /// The cores take turns up to this tick.
    pub turns_until: u64,
    /// 1 if the core goes first when both are at the same tick (CPU A before CPU B), else 0.
    pub goes_first: u64,
    /// The core may return to the board when it idles: only an event can wake it.
    pub may_idle: bool,
    /// Whole periods of loops that follow the timer are skipped.
    pub skips_periods: bool,
    /// Something that the node must look at.
    pub ran: Option<Ran>,
}

/// Whether the idle loop of a core reads the base of the window.
fn is_base_read([own, other]: [&CorePrivate; 2], rest: Option<&RestOfCores<'_>>) -> bool {
    let reads = |private: &CorePrivate| private.idle.has_read(WINDOW_BASE);
    reads(own) || reads(other) || rest.is_some_and(|rest| rest.any(reads))
}

impl<'a, const ALONE: bool, const LOGGED: bool> CpuBus<'a, '_, ALONE, LOGGED> {
    /// Changes to the other core, which goes on in the place of `core` up to `end` or until it would overtake. Only
    /// references change places: busy cores that execute from SRAM do this at every instruction.
    #[inline(always)]
    pub fn change_core(&mut self, core: &mut &'a mut Core, end: u64) {
        std::mem::swap(core, &mut self.other_core);
        std::mem::swap(&mut self.private, &mut self.other_private);
        if LOGGED {
            std::mem::swap(&mut self.log, &mut self.other_log);
        }
        self.goes_first = 1 - self.goes_first;
        self.set_limit(end);
    }

    /// Limits shared accesses to `end`, and to the time of the other core.
    #[inline(always)]
    pub fn set_limit(&mut self, end: u64) {
        self.limit = end.min(self.other_core.clock.now + self.goes_first);
    }

    /// Executes the poll of the host or event of the board that is due, and extends the limit to the next
    /// one, at most to `far`; [`Ran`] if the node must go on.
    pub fn continue_core(&mut self, far: u64) -> Option<Ran> {
        let (poll, event) = (self.ctx.poller.next_time(), self.ctx.queue.next_time());
        debug_assert!(self.fabric.ticks.first_at(poll.min(event)) == self.limit);
        let stop = match poll.cmp(&event) {
            Ordering::Less => self.carry_out_poll(),
            Ordering::Equal => Some(Ran::Due),
            Ordering::Greater => self.handle_event(),
        };
        let next = self.ctx.poller.next_time().min(self.ctx.queue.next_time());
        self.limit = far.min(self.fabric.tick_at(next));
        stop
    }

    /// Carries out the poll that is due at the limit.
    #[inline(always)]
    fn carry_out_poll(&mut self) -> Option<Ran> {
        let due = self.ctx.poller.next_time();
        let (fabric, tick) = (&mut *self.fabric, self.limit);
        let [own, other] = [&*self.private, &*self.other_private];
        let rest = self.rest.as_deref();
        let idle = poller::step(self.ctx, |access, _| {
            fabric.fruitless_poll(access, || is_base_read([own, other], rest), tick)
        });
        match idle {
            true => None,
            false if self.ctx.queue.next_time() == due => Some(Ran::Due),
            false => Some(Ran::Changed),
        }
    }

    /// Handles the event that is due, if it is the board's. The node must look if it starts the transmission of a frame.
    fn handle_event(&mut self) -> Option<Ran> {
        if self.ctx.queue.next_time() >= self.ctx.horizon {
            return Some(Ran::Due);
        }
        let is_mine = |event: &NodeEvent<_>| matches!(event, NodeEvent::Board(_));
        let Some((key, NodeEvent::Board(event))) = self.ctx.queue.pop_if(is_mine) else {
            return Some(Ran::Due);
        };
        self.ran = Some(Ran::Changed);
        self.ctx.now = key.time;
        let units = self.fabric.outbox.units();
        let changed = self.fabric.handle(event, self.ctx);
        for private in [&mut *self.private, &mut *self.other_private] {
            if changed || private.idle.watches() {
                private.idle.wake();
            }
            private.idle.end_period();
        }
        if let Some(rest) = &mut self.rest {
            rest.handled(changed);
        }
        match self.fabric.outbox.units() == units {
            true => None,
            false => self.ran,
        }
    }

    /// Checks that a shared access does not overtake another actor, which confirms all earlier execution of the
    /// core.
    #[inline(always)]
    const fn in_turn(&mut self, core: &Core) -> Result<(), BusStop> {
        if core.clock.now < self.limit {
            if !ALONE {
                self.private.ahead.settle();
            }
            self.private.in_turn_until = core.instructions() + 1;
            Ok(())
        } else {
            Err(BusStop::Wait)
        }
    }

    #[inline(always)]
    fn load_sram(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        self.private.idle.disturb();
        if self.fabric.races.is_some() {
            self.tell_races(core, |races, access| races.loaded(access, address, width));
        }
        self.fabric.sram.take_bus(
            &mut core.clock,
            SramRange::word(address),
            self.fabric.timing.sram_word_cycles,
        );
        core.clock
            .charge(u64::from(self.fabric.timing.sram_load_cycles));
        Ok(self.fabric.sram.read(address, width))
    }

    #[inline(always)]
    fn store_sram(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.in_turn(core)?;
        self.before_write(core, address, width)?;
        if self.fabric.races.is_some() {
            self.tell_races(core, |races, access| {
                races.stored(access, address, width as u32);
            });
        }
        self.fabric.sram.take_bus(
            &mut core.clock,
            SramRange::word(address),
            self.fabric.timing.sram_word_cycles,
        );
        core.clock
            .charge(u64::from(self.fabric.timing.sram_store_cycles));
        self.fabric.sram.write(address, width, value);
        Ok(())
    }

    /// Changes a word of SRAM at once.
    fn change_sram(
        &mut self,
        core: &mut Core,
        address: u32,
        change: BitChange,
    ) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        self.before_write(core, address, Width::Word)?;
        if self.fabric.races.is_some() {
            let takes = matches!(change, BitChange::ClearRun(_));
            self.tell_races(core, |races, access| {
                races.bits_changed(access, address, takes);
            });
        }
        let timing = &self.fabric.timing;
        let (taken, cycles) = match change {
            BitChange::Set(_) => (timing.sram_change_cycles, timing.sram_store_cycles),
            BitChange::ClearRun(_) => (timing.sram_change_cycles, timing.sram_load_cycles),
        };
        let range = SramRange::word(address);
        self.fabric.sram.take_bus(&mut core.clock, range, taken);
        core.clock.charge(u64::from(cycles));
        let word = self.fabric.sram.read(address, Width::Word);
        let changed = change.applied_to(word);
        self.fabric.sram.write(address, Width::Word, changed);
        Ok(word)
    }

    /// Prepares a write to SRAM of a core that is in turn.
    #[inline(always)]
    fn before_write(&mut self, core: &Core, address: u32, width: Width) -> Result<(), BusStop> {
        if self.fabric.sram.holds_code(address) {
            self.alone_with_board(core)?;
            self.other_private.idle.wake();
            if let Some(rest) = &mut self.rest {
                rest.wake();
            }
        }
        self.private.idle.disturb();
        self.watch(core, address, width);
        Ok(())
    }

    /// Starts an instruction, before the time of its fetch.
    #[inline(always)]
    fn break_at(&mut self, core: &Core, pc: u32) {
        if stops::breaks_at(&self.fabric.stops, self.private.index(), pc) {
            self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
            self.record_detail(core, TraceKind::Breakpoint);
        }
    }

    /// Prepares a write to memory.
    #[inline(always)]
    fn watch(&mut self, core: &Core, address: u32, width: Width) {
        if self.fabric.watches_memory() {
            self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
            let (who, cpu) = (self.who(core), Some(self.private.index()));
            self.fabric
                .watch_by(address, width as u32, who, cpu, self.ctx);
        }
    }

    /// Tells the search for races about an access of this core.
    // Out of line: it follows each access to SRAM, and few runs search.
    #[cold]
    #[inline(never)]
    fn tell_races(&mut self, core: &Core, tell: impl FnOnce(&mut BoardRaces, &WordAccess)) {
        let access = WordAccess {
            agent: Agent::of(self.private.who),
            pc: Some(core.pc()),
            time: self.fabric.ticks.time_of(core.clock.now),
        };
        self.fabric.tell_races(|races| tell(races, &access));
    }

    /// Prepares an access that may affect or observe the speculative execution of the other cores: rolls them
    /// back and waits for them.
    #[inline(always)]
    fn alone_with_board(&mut self, core: &Core) -> Result<(), BusStop> {
        let is_ahead = |rest: &RestOfCores<'_>| rest.is_ahead();
        let ahead = self.other_private.ahead.is_active();
        if !ALONE && (ahead || self.rest.as_deref().is_some_and(is_ahead)) {
            Err(self.call_back(core))
        } else {
            Ok(())
        }
    }

    /// Rolls the other cores back that have executed ahead what this one is about to change: the board does it for further ones.
    // Conflicts are rare: kept out of the accesses that look for them.
    #[cold]
    #[inline(never)]
    fn call_back(&mut self, core: &Core) -> BusStop {
        let careful_until = core.clock.now + 1;
        let log = self.other_log.as_deref_mut();
        self.other_private
            .ahead
            .go_back(self.other_core, log, careful_until);
        if let Some(rest) = &mut self.rest {
            rest.left.recalled_until = careful_until;
        }
        // The board starts a new turn: that core is farther from its bounds than before.
        self.limit = 0;
        self.turns_until = 0;
        BusStop::Wait
    }

    /// Whether the core may execute SRAM code out of turn. A core that runs alone is always in
    /// turn.
    #[inline(always)]
    fn may_run_ahead(&mut self, core: &Core) -> bool {
        let single_step = self.private.step_until.is_some();
        if LOGGED && !self.private.ahead.is_active() {
            self.log(InstructionLog::mark);
        }
        ALONE || (!single_step && self.private.ahead.begin(core))
    }

    /// Records an entry in the core's log, if there is one.
    #[inline(always)]
    fn log(&mut self, record: impl FnOnce(&mut InstructionLog)) {
        if LOGGED && let Some(log) = &mut self.log {
            record(log);
        }
    }

    /// Prepares a private action that cannot be rolled back.
    #[inline(always)]
    fn no_way_back(&mut self, core: &Core) -> Result<(), BusStop> {
        if !ALONE && self.private.ahead.is_active() {
            self.in_turn(core)
        } else {
            Ok(())
        }
    }

    /// The core as initiator, with its current instruction.
    const fn who(&self, core: &Core) -> Actor {
        Actor {
            initiator: self.private.who,
            pc: Some(core.pc()),
        }
    }

    #[cold]
    fn record_detail(&mut self, core: &Core, kind: TraceKind) {
        let Actor { initiator, pc } = self.who(core);
        self.ctx
            .trace
            .record_detail(self.ctx.now, initiator, pc, kind);
    }
}

impl<const ALONE: bool, const LOGGED: bool> Bus for CpuBus<'_, '_, ALONE, LOGGED> {
    type Own<'b>
        = PrivateMemory<'b, ALONE>
    where
        Self: 'b;

    type Witness<'b>
        = CoreWitness<'b, LOGGED>
    where
        Self: 'b;

    const WITNESSED: bool = LOGGED;

    #[inline(always)]
    fn witness(&mut self) -> CoreWitness<'_, LOGGED> {
        let viewer = self.private.viewer();
        let log = self.log.as_deref_mut();
        CoreWitness { log, viewer }
    }

    #[inline(always)]
    fn private(
        &mut self,
        core: &Core,
    ) -> Private<'_, PrivateMemory<'_, ALONE>, CoreWitness<'_, LOGGED>> {
        let (base, bytes) = self.private.cache.block();
        let mut runs_ahead = false;
        if core.pc() < SRAM_LIMIT {
            // Code in scratchpads, which is more frequent, does not pay for this.
            cold_path();
            runs_ahead = core.pc().wrapping_sub(base) < bytes && self.may_run_ahead(core);
        }
        let (watches_sram, watches_own) = stops::watched(&self.fabric.stops, self.private.index());
        let direct_sram = !watches_sram && self.fabric.races.is_none();
        let (code, sram) = self.fabric.sram.open();
        let (ops, base) = if core.pc() >= SRAM_LIMIT {
            if !ALONE && self.private.observed() {
                (&[][..], SCRATCHPAD_BASE)
            } else {
                (self.private.scratchpad.ops(), SCRATCHPAD_BASE)
            }
        } else if runs_ahead {
            (code.ops(base, bytes), base)
        } else {
            (&[][..], base)
        };
        let viewer = self.private.viewer();
        let mut log = self.log.as_deref_mut();
        if LOGGED && let Some(log) = &mut log {
            log.make_room();
        }
        let witness = CoreWitness { log, viewer };
        let own = OwnScratchpad {
            scratchpad: &self.private.scratchpad,
            idle: &mut self.private.idle,
            timing: &self.fabric.timing,
            writable: (ALONE || !self.private.ahead.is_active()) && !watches_own,
        };
        Private {
            ops,
            base,
            memory: PrivateMemory::new(own, sram, direct_sram, &core.clock),
            witness,
        }
    }

    #[cold]
    fn between_words(&self, core: &Core, pc: u32) -> Fault {
        self.no_code(core, pc)
    }

    // Called when a core stops: kept out of the loop.
    #[inline(never)]
    fn settle(&mut self, core: &Core) -> Result<(), BusStop> {
        self.in_turn(core)
    }

    #[inline(always)]
    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        if pc < SRAM_LIMIT {
            self.fetch_sram(core, pc)
        } else {
            self.fetch_elsewhere(core, pc)
        }
    }

    #[inline(always)]
    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        if address < SRAM_LIMIT {
            self.load_sram(core, address, width)
        } else if let Some(value) = self.private.scratchpad.get(address, width) {
            let cycles = self.fabric.timing.scratchpad_load_cycles;
            core.clock.charge(u64::from(cycles));
            Ok(value)
        } else {
            self.load_elsewhere(core, address, width)
        }
    }

    #[inline(always)]
    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        if address < SRAM_LIMIT {
            self.store_sram(core, address, width, value)
        } else if self.private.scratchpad.get(address, width).is_some() {
            self.no_way_back(core)?;
            self.private.idle.disturb();
            self.watch(core, address, width);
            let cycles = self.fabric.timing.scratchpad_store_cycles;
            core.clock.charge(u64::from(cycles));
            self.private.scratchpad.write(address, width, value);
            Ok(())
        } else {
            self.store_elsewhere(core, address, width, value)
        }
    }

    fn has_bit_instructions(&self) -> bool {
        self.fabric.timing.bit_instructions
    }

    #[inline(never)]
    fn change_bits(
        &mut self,
        core: &mut Core,
        address: u32,
        change: BitChange,
    ) -> Result<u32, BusStop> {
        if address < SRAM_LIMIT {
            return self.change_sram(core, address, change);
        }
        let Some(word) = self.private.scratchpad.get(address, Width::Word) else {
            self.in_turn(core)?;
            return Err(BusStop::Fault(Fault::NoMemory { address }));
        };
        let changed = change.applied_to(word);
        self.store(core, address, Width::Word, changed)?;
        let cycles = self.fabric.timing.scratchpad_load_cycles;
        core.clock.charge(u64::from(cycles));
        Ok(word)
    }

    // Probes are rare: their delivery is kept out of the core's loop.
    #[inline(never)]
    fn probe(&mut self, core: &mut Core, pc: u32) -> bool {
        let places = self.probes.at(pc);
        let marked = !places.is_empty();
        if marked {
            self.private.idle.disturb();
            self.log(|log| log.note_before(standing(core), Record::Probe { pc }));
        }
        for place in places {
            self.pass_probe(core, place);
        }
        if self.probes.is_bare_call(pc) {
            self.lose_return(core);
        }
        if self.ctx.trace.wants(Details::HANDLERS) {
            self.dispatch(core);
        }
        marked
    }
}
