//! Effects of register accesses by CPUs, host and debugger (docs/tigon2-registers.md, section 2).
//!
//! The callers determine time and cost of an access: `run::bus` for the CPUs, `board` for the host.

use defs::tigon2::banks::{private_of, timer_reference};
use defs::tigon2::regs::{self, HostControl};

use super::cores::{ControlEffect, CorePrivate, owner_of, read_control, write_control};
use super::fabric::{BoardContext, Fabric};
use super::map;
use super::races::BoardRaces;
use super::run::rest::RestOfCores;
use emulator_base::initiator::Actor;
use emulator_base::time::SimTime;
use emulator_board::StageState;
use emulator_board::races::Agent;
use emulator_cpu::clock::TICKS_PER_CYCLE;
use emulator_cpu::mips::exec::Core;
use emulator_observe::event::{Details, TraceKind};

/// Everything that a register access can reach.
pub(super) struct Chip<'a, 'r> {
    /// Two of the cores.
    pub pair: [(&'a mut Core, &'a mut CorePrivate); 2],
    /// The others, if there are any.
    pub rest: Option<&'a mut RestOfCores<'r>>,
    /// The blocks that all share.
    pub fabric: &'a mut Fabric,
    /// The stages of all cores.
    pub stages: &'a mut [StageState],
}

/// Offset in CPU A's registers for offset `offset` in those of CPU `owner`.
const fn as_cpu_a(owner: usize, offset: u32) -> u32 {
    offset - private_of(owner)
}

/// Value of a register. Reads have no side effects.
pub(super) fn read_register<'a>(
    fabric: &Fabric,
    core: impl FnOnce(usize) -> (&'a Core, &'a CorePrivate),
    offset: u32,
    now: SimTime,
) -> u32 {
    let control = owner_of(offset).and_then(|owner| {
        let (core, private) = core(owner);
        read_control(core, private, &fabric.sram, as_cpu_a(owner, offset))
    });
    control.unwrap_or_else(|| fabric.read_register(offset, now))
}

/// The core with this index, among two and the rest.
fn own_unit<'c>(
    pair: &'c mut [(&mut Core, &mut CorePrivate); 2],
    rest: Option<&'c mut RestOfCores<'_>>,
    owner: usize,
) -> Option<(&'c mut Core, &'c mut CorePrivate)> {
    if let Some((core, private)) = pair.iter_mut().find(|(_, one)| one.index() == owner) {
        return Some((core, private));
    }
    let unit = rest?.find_mut(owner)?;
    Some((&mut unit.core, &mut unit.private))
}

impl Chip<'_, '_> {
    /// Writes a register at `ctx.now`, which is `tick` on the cores' clock. Returns whether the cores must stop, so
    /// that the board checks times and cores again.
    pub fn write_register(
        &mut self,
        offset: u32,
        value: u32,
        who: Actor,
        tick: u64,
        ctx: &mut BoardContext,
    ) -> bool {
        if ctx.trace.wants(Details::REGISTERS) {
            let address = map::register_address(offset);
            let kind = TraceKind::RegisterWrite { address, value };
            ctx.trace
                .record_detail(ctx.now, who.initiator, who.pc, kind);
        }
        if self.fabric.races.is_some() {
            self.fabric.register_races(offset, value, who, ctx.now);
        }
        self.wake_others(offset, who);
        if let Some(owner) = owner_of(offset)
            && let Some(stops) = self.write_control(owner, offset, value, who, tick, ctx)
        {
            return stops;
        }
        let resets = offset == regs::HOST_CONTROL && value & HostControl::RESET.bits() != 0;
        if resets {
            if ctx.trace.wants(Details::EVENTS) {
                self.fabric.tell_timer_before(ctx.now, ctx.trace);
            }
            self.reset(ctx);
        }
        self.fabric.write_register(offset, value, who, ctx) || resets
    }

    /// Ends the idle rounds of each CPU except the writer. A CPU's own alarm concerns another one only if that one's
    /// loop reads it.
    fn wake_others(&mut self, offset: u32, who: Actor) {
        let alarm = who.initiator.cpu().map(timer_reference);
        let wake = |private: &mut CorePrivate| {
            let concerned = alarm != Some(offset) || private.idle.has_read(offset);
            if private.who != who.initiator && concerned {
                private.idle.wake();
            }
        };
        let [(_, one), (_, other)] = &mut self.pair;
        wake(one);
        wake(other);
        if let Some(rest) = &mut self.rest {
            rest.for_each(|_, private| wake(private));
        }
    }

    /// Registers as after power-on, all CPUs halted, no pending work; memory is kept.
    pub fn reset(&mut self, ctx: &mut BoardContext) {
        self.fabric.reset(ctx);
        self.fabric.tell_races(BoardRaces::reset);
        let halt = |core: &mut Core, private: &mut CorePrivate| {
            private.halt();
            private.stopped = None;
            core.clock.ticks_per_cycle = TICKS_PER_CYCLE;
        };
        for (core, private) in &mut self.pair {
            halt(core, private);
        }
        if let Some(rest) = &mut self.rest {
            rest.for_each(halt);
        }
        self.stages.iter_mut().for_each(StageState::abandon);
    }

    /// Writes a register of a CPU; `None` if it is plain storage.
    fn write_control(
        &mut self,
        owner: usize,
        offset: u32,
        value: u32,
        who: Actor,
        tick: u64,
        ctx: &mut BoardContext,
    ) -> Option<bool> {
        let (core, private) = own_unit(&mut self.pair, self.rest.as_deref_mut(), owner)?;
        let as_a = as_cpu_a(owner, offset);
        if as_a == regs::SCRATCH_DATA && self.fabric.watches_memory() {
            let address = private.scratch_address();
            self.fabric.watch_by(address, 4, who, Some(owner), ctx);
        }
        Some(
            match write_control(core, private, &mut self.fabric.sram, as_a, value)? {
                ControlEffect::Stored => false,
                ControlEffect::Halted | ControlEffect::Stepped => true,
                ControlEffect::Started => {
                    core.clock.start_at(tick);
                    private.stopped = None;
                    let (by, cpu) = (Agent::of(who.initiator), Agent::of(private.who));
                    self.fabric.tell_races(|races| races.started(by, cpu));
                    let kind = TraceKind::CoreStarted { pc: core.pc() };
                    ctx.trace.record_at(ctx.now, private.who, who.pc, kind);
                    true
                }
                ControlEffect::Running => {
                    let text = format!("write of {offset:#05x} while the CPU runs: no effect");
                    Fabric::mistake(who, text, ctx);
                    false
                }
                ControlEffect::ReadOnly => {
                    let text = format!("write of {offset:#05x}, which is read only: no effect");
                    Fabric::mistake(who, text, ctx);
                    false
                }
            },
        )
    }
}
