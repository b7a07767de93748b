//! Execution of the CPU: its bus, and how far it runs (docs/lanai.md, section 3.10).
//!
//! There is one CPU, so nothing takes turns: it runs up to the next event, and every access before that is in order.

use std::sync::Arc;

use super::arbitration::Phase;
use super::board::Lanai;
use super::fabric::{BoardContext, Fabric};
use super::idle::Idle;
use super::inspect::instruction_log::{self, CpuWitness};
use super::special::{Row, Special, find, offset_of, rows};
use super::sram::{OwnSram, SPACE, SramCode};
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::{CpuId, StageState, StopReason};
use emulator_cpu::ahead::Ahead;
use emulator_cpu::architecture::Architecture;
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::lanai::Op;
use emulator_cpu::lanai::architecture::LANAI;
use emulator_cpu::lanai::bus::{Bus, BusStop, Fault, Passed, Private, Width};
use emulator_cpu::lanai::exec::{self, Core, Exit};
use emulator_cpu::shell::Shell;
use emulator_observe::event::{Details, TraceKind};
use emulator_observe::instructions::{InstructionLog, Record};

/// The CPU.
pub const CPU: Initiator = Initiator::Cpu(0);

/// Bits of a register's word that an access of this width concerns, and their shift.
pub(super) const fn part(address: u32, width: Width) -> (u32, u32) {
    (width.mask(), width.shift(address))
}

/// The interrupt status of this chip.
pub(super) fn status_row(fabric: &Fabric) -> Option<&'static Row> {
    let mut rows = rows(fabric.generation()).iter();
    rows.find(|row| row.special == Special::Isr)
}

/// The special register at a CPU's address.
pub(super) fn row_at(fabric: &Fabric, address: u32) -> Option<&'static Row> {
    let generation = fabric.generation();
    find(generation, offset_of(generation, address)?)
}

/// The bus of the running CPU. `LOGGED`: its instructions are recorded.
pub(super) struct CpuBus<'a, 'c, const LOGGED: bool> {
    pub(super) fabric: &'a mut Fabric,
    pub(super) ctx: &'a mut BoardContext<'c>,
    pub(super) stage: &'a mut StageState,
    idle: &'a mut Idle,
    /// Accesses must wait from this tick on.
    limit: u64,
}

impl<const LOGGED: bool> CpuBus<'_, '_, LOGGED> {
    /// Nothing answers at `address`. The chip goes on; firmware whose code is known stops, since its program is wrong.
    #[cold]
    fn nothing_at(&mut self, address: u32, verb: &str) -> Result<(), BusStop> {
        if self.fabric.code().is_declared() {
            // The stop of the CPU tells it.
            return Err(BusStop::Fault(Fault::NothingThere { address }));
        }
        self.mistake(format!("{verb} {address:#x}: nothing answers"));
        Ok(())
    }

    /// Checks that an access is in order, and brings the node's time to it.
    fn in_turn(&mut self, core: &Core) -> Result<(), BusStop> {
        if core.clock.now >= self.limit {
            return Err(BusStop::Wait);
        }
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        Ok(())
    }

    /// Waits of an access to memory, in clocks; `None` if accesses must use this bus: a write may be watched, or a wait is not a whole
    /// cycle of a stretched stage.
    fn memory_waits(&self, core: &Core, left: u32) -> Option<u8> {
        let watched = !self.fabric.stops.watches.is_empty();
        let stretched = core.clock.ticks_per_cycle != TICKS_PER_CYCLE;
        let waits = self.fabric.bus.access_waits(left);
        (!watched && (waits == 0 || !stretched)).then_some(waits)
    }

    /// Waits for the cycles of the memory bus that an access to memory takes.
    fn wait_for_memory(&self, core: &mut Core) {
        let demand = self.fabric.bus.demand(core.pc(), 1);
        let tick = self.fabric.bus.wait(core.clock.now, demand);
        core.clock.stall_until(tick);
    }

    fn detail(&mut self, core: &Core, kind: TraceKind) {
        let pc = Some(core.pc());
        self.ctx.trace.record_detail(self.ctx.now, CPU, pc, kind);
    }

    fn mistake(&mut self, text: String) {
        Fabric::mistake(text, CPU, self.ctx);
    }

    /// Records an entry in the log of instructions, if there is one.
    pub(super) fn log(&mut self, record: impl FnOnce(&mut InstructionLog)) {
        if LOGGED && let Some(log) = self.ctx.trace.instructions_mut(0) {
            record(log);
        }
    }

    /// Whether something is due before the CPU's limit, or has left the board.
    fn must_yield(&mut self) -> bool {
        let next = self.ctx.queue.next_time();
        self.fabric.ticks.first_at(next) < self.limit || !self.fabric.outbox.is_empty()
    }

    fn write_register(&mut self, core: &Core, row: &Row, value: u32) -> Result<(), BusStop> {
        if self.ctx.trace.wants(Details::REGISTERS) {
            let address = self.fabric.generation().register_base() + row.offset;
            self.detail(core, TraceKind::RegisterWrite { address, value });
        }
        self.fabric.write_special(row, value, CPU, self.ctx);
        match self.must_yield() {
            true => Err(BusStop::Yield),
            false => Ok(()),
        }
    }

    fn read_register(&mut self, core: &Core, row: &Row) -> u32 {
        let value = self.fabric.read_special(row, self.ctx.now);
        if self.ctx.trace.wants(Details::REGISTERS) {
            let address = self.fabric.generation().register_base() + row.offset;
            self.detail(core, TraceKind::RegisterRead { address, value });
        }
        value
    }

    fn watch(&mut self, core: &Core, address: u32, width: Width) {
        let end = address + width as u32;
        let watches = self.fabric.stops.watches.iter();
        let hit = watches.filter(|watch| {
            let last = watch.address.saturating_add(watch.length);
            watch.address < end && address < last
        });
        let hits: Vec<_> = hit.map(|watch| (watch.address, watch.length)).collect();
        for (address, length) in hits {
            self.detail(core, TraceKind::MemoryWrite { address, length });
        }
    }
}

impl<const LOGGED: bool> Bus for CpuBus<'_, '_, LOGGED> {
    type Code<'b>
        = SramCode<'b>
    where
        Self: 'b;

    type Own<'b>
        = OwnSram<'b>
    where
        Self: 'b;

    type Witness<'b>
        = CpuWitness<'b, LOGGED>
    where
        Self: 'b;

    const WITNESSED: bool = LOGGED;

    #[inline(always)]
    fn witness(&mut self) -> CpuWitness<'_, LOGGED> {
        CpuWitness::of(self.ctx.trace)
    }

    #[inline(always)]
    fn private(
        &mut self,
        core: &Core,
    ) -> Private<SramCode<'_>, OwnSram<'_>, CpuWitness<'_, LOGGED>> {
        // Engines end their use of the bus with time alone, and begin it only at events.
        let Phase { left, until } = self.fabric.bus.phase(core.clock.now);
        let waits = self.memory_waits(core, left);
        let (code, memory) = self.fabric.open(left > 0, waits);
        Private {
            code,
            memory,
            witness: CpuWitness::of(self.ctx.trace),
            until,
        }
    }

    fn fetch(&mut self, core: &mut Core, pc: u32) -> Result<Op, BusStop> {
        if pc >= self.fabric.code_space {
            return Err(BusStop::Fault(self.fabric.no_code(core, pc)));
        }
        self.in_turn(core)?;
        let demand = self.fabric.bus.demand(pc, 0);
        let tick = self.fabric.bus.wait(core.clock.now, demand);
        core.clock.stall_until(tick);
        let is_new = LOGGED && !self.fabric.sram.is_decoded(pc);
        let op = self.fabric.fetch(pc, core.pipeline(), Ahead::new(!LOGGED));
        if op.has_probe() && !self.fabric.is_code(core, pc, op) {
            return Err(BusStop::Fault(self.fabric.no_code(core, pc)));
        }
        if is_new {
            let address = pc & (self.fabric.sram.size() - 1);
            let word = self.fabric.sram.word(pc);
            self.log(|log| log.note(Record::Word { address, word }));
        }
        Ok(op)
    }

    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        if address < SPACE {
            self.wait_for_memory(core);
            return Ok(self.fabric.sram.read(address, width));
        }
        let Some(row) = row_at(self.fabric, address) else {
            return self.nothing_at(address, "load from").map(|()| 0);
        };
        if self.idle.is_due(core, self.fabric) {
            return Err(BusStop::Wait);
        }
        core.clock
            .charge(self.fabric.timing.register_load_cycles.into());
        let (mask, shift) = part(address, width);
        Ok(self.read_register(core, row) >> shift & mask)
    }

    fn store(
        &mut self,
        core: &mut Core,
        address: u32,
        width: Width,
        value: u32,
    ) -> Result<(), BusStop> {
        self.in_turn(core)?;
        if address < SPACE {
            let stack_pointer = core.register(LANAI.stack_pointer());
            if let Some(limit) = self.fabric.probes.stack_end_before(address, stack_pointer) {
                return Err(BusStop::Fault(Fault::StackOverflow { address, limit }));
            }
            self.wait_for_memory(core);
            if !self.fabric.stops.watches.is_empty() {
                self.watch(core, address, width);
            }
            self.fabric.sram.write(address, width, value);
            return Ok(());
        }
        let Some(row) = row_at(self.fabric, address) else {
            return self.nothing_at(address, "store to");
        };
        core.clock
            .charge(self.fabric.timing.register_store_cycles.into());
        let (mask, shift) = part(address, width);
        self.write_register(core, row, (value & mask) << shift)
    }

    fn interrupt_status(&mut self, core: &mut Core) -> Result<u32, BusStop> {
        self.in_turn(core)?;
        if self.idle.is_due(core, self.fabric) {
            return Err(BusStop::Wait);
        }
        Ok(self.fabric.status(self.ctx.now))
    }

    fn set_interrupt_status(&mut self, core: &mut Core, value: u32) -> Result<(), BusStop> {
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        match status_row(self.fabric) {
            Some(row) => self.write_register(core, row, value),
            None => Ok(()),
        }
    }

    fn probe(&mut self, core: &mut Core, pc: u32) -> Passed {
        let breakpoints = self.fabric.stops.breakpoints(CpuId::new(0));
        if breakpoints.binary_search(&pc).is_ok() {
            self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
            self.detail(core, TraceKind::Breakpoint);
        }
        self.pass_probes(core, pc)
    }
}

impl Lanai {
    /// Largest number of instructions of the CPU.
    #[inline]
    fn limit(&self) -> u64 {
        self.instruction_limit.min(self.held_after)
    }

    /// Whether the CPU executes instructions and may execute more.
    #[inline]
    pub(super) fn runnable(&self) -> bool {
        self.running && self.core.instructions() < self.limit()
    }

    /// Runs the CPU up to `until`; `false` if an event was scheduled that may be due earlier.
    pub(super) fn run_to(&mut self, until: SimTime, ctx: &mut BoardContext) -> bool {
        if ctx.trace.begins_instructions() {
            instruction_log::begin(&mut self.fabric, ctx.trace);
        }
        match ctx.trace.instructions_mut(0).is_some() {
            true => self.run_logged::<true>(until, ctx),
            false => self.run_logged::<false>(until, ctx),
        }
    }

    /// Runs the CPU up to `until`. `LOGGED`: its instructions are recorded.
    fn run_logged<const LOGGED: bool>(&mut self, until: SimTime, ctx: &mut BoardContext) -> bool {
        let end = self.fabric.ticks.first_at(until);
        while self.runnable() && self.core.clock.now < end {
            if self.skip_idle {
                self.skip_rounds(end, LOGGED, ctx);
                if self.core.clock.now >= end || !self.runnable() {
                    break;
                }
            }
            let safe = self.core.safe_until(self.limit());
            let bound = self.idle.bound(&self.core, &self.fabric, LOGGED);
            let mut bus = CpuBus::<LOGGED> {
                fabric: &mut self.fabric,
                stage: &mut self.stage,
                idle: &mut self.idle,
                ctx,
                limit: end,
            };
            let pause = exec::run_until(&mut self.core, &mut bus, end.min(safe).min(bound));
            bus.log(|log| log.ends(self.core.clock.now, log.end()));
            match self.core.take_exit(pause) {
                Exit::Until | Exit::Limit | Exit::Wait => {}
                Exit::Yield => return false,
                Exit::Break { code } => self.stop(StopReason::Break { code }, None, ctx),
                Exit::Fault(fault) => {
                    let text: Arc<str> = fault.to_string().into();
                    self.stop(StopReason::Fault(text, fault.kind()), fault.blamed(), ctx);
                }
            }
        }
        true
    }

    /// Stops the CPU for a reason of its own: a `break`, or a fault.
    fn stop(&mut self, reason: StopReason, blamed: Option<u32>, ctx: &mut BoardContext) {
        let text: Arc<str> = reason.to_string().into();
        let pc = self.core.pc();
        let kind = TraceKind::CoreStopped { pc, reason: text };
        let now = self.fabric.ticks.time_of(self.core.clock.now);
        ctx.trace.record_at(now, CPU, Some(pc), kind);
        self.running = false;
        self.stopped = Some(reason);
        self.blamed = blamed;
        self.idle.wake(&self.core);
    }

    /// Skips whole rounds of an idle loop up to `end`. `logged`: its instructions are recorded.
    fn skip_rounds(&mut self, end: u64, logged: bool, ctx: &mut BoardContext) {
        if !self.idle.is_concerned(&self.core) {
            return;
        }
        let room = self.limit() - self.core.instructions();
        let (core, fabric) = (&mut self.core, &mut self.fabric);
        let skipped = self.idle.skip(core, fabric, (end, room), logged);
        if let (Some((instructions, ticks, rounds)), Some(log)) =
            (skipped, ctx.trace.instructions_mut(0))
        {
            log.rounds(instructions, rounds, ticks);
        }
    }
}
