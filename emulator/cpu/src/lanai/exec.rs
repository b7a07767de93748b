//! The executor: the loop that executes instructions, and the general way to execute one.

use super::alu::{self, Computed};
use super::bus::{Bus, BusStop, Fault, Passed, Width};
pub use super::core::{Core, CoreTiming};
use super::fields::{self, Update};
use super::isa;
use super::kind::Kind;
use super::op::{NOWHERE, Op};
use super::packed::Combined;
use super::pipeline::{Feature, ISR, PC};
use super::private;
use crate::exit::FastExit;
pub use crate::exit::{Exit, Pause};
use crate::shell::{Shell, run_limited};
use crate::witness::Witness;

/// Lets `core` run until its clock reaches `until` (ticks) or it has executed `max_instructions`,
/// or something happens.
///
/// An access of an instruction takes place at the clock's time after its fetch, and a wait for a loaded value, were
/// charged; the instruction's own cycle is charged last. An instruction is fetched, and its probe is delivered,
/// once, however often its load or store must wait.
pub fn run<B: Bus>(core: &mut Core, bus: &mut B, until: u64, max_instructions: u64) -> Exit {
    run_limited(core, until, max_instructions, |core, until| {
        run_until(core, bus, until)
    })
}

/// Like [`run`], without a limit.
pub fn run_until<B: Bus>(core: &mut Core, bus: &mut B, until: u64) -> Pause {
    let mut held = core.held.take();
    bus.witness().begins(core.clock.now);
    loop {
        if core.clock.now >= until {
            core.held = held;
            return Pause::Until;
        }
        let op = match held.take() {
            Some(op) => op,
            None => match private::run(core, bus, until) {
                FastExit::Op(op) => op,
                FastExit::Time => continue,
                FastExit::Unknown => match fetch_probed(core, bus) {
                    Ok(op) => op,
                    Err(pause) => return pause,
                },
            },
        };
        if let Err(pause) = execute(core, bus, op) {
            return pause;
        }
    }
}

/// The next instruction, once its probe was delivered.
fn fetch_probed<B: Bus>(core: &mut Core, bus: &mut B) -> Result<Op, Pause> {
    let op = fetch(core, bus)?;
    if op.has_probe() {
        return pass_probes(core, bus, op);
    }
    Ok(op)
}

fn fetch<B: Bus>(core: &mut Core, bus: &mut B) -> Result<Op, Pause> {
    let before = core.clock.moment(B::WITNESSED);
    match bus.fetch(core, core.pc()) {
        Ok(op) => {
            if B::WITNESSED {
                let (stalled, spent) = core.clock.since(before);
                bus.witness().fetched(stalled, spent);
            }
            Ok(op)
        }
        Err(BusStop::Fault(fault)) => Err(stop(core, bus, Exit::Fault(fault))),
        Err(BusStop::Wait | BusStop::Yield) => Err(Pause::Wait),
    }
}

/// Delivers the probe of `op`. A firmware probe has a `nop` of its own: the core skips it,
/// uncharged and uncounted, so that a mark costs no time.
// Probes are rare, and one test in the fetch finds them: their delivery is kept out of the loop.
#[inline(never)]
fn pass_probes<B: Bus>(core: &mut Core, bus: &mut B, mut op: Op) -> Result<Op, Pause> {
    while op.has_probe() {
        match bus.probe(core, core.pc()) {
            Passed::Probe if op.is_nop() => {}
            Passed::Probe | Passed::Instruction => break,
            Passed::End => return Err(stop(core, bus, Exit::Break { code: 0 })),
        }
        core.let_arrive();
        core.advance();
        op = fetch(core, bus)?;
    }
    Ok(op.without_probe())
}

/// Stops the core, once the stop is confirmed. Until then it fetches the instruction again
/// each time.
#[cold]
fn stop<B: Bus>(core: &mut Core, bus: &mut B, exit: Exit) -> Pause {
    match bus.settle(core) {
        Ok(()) => core.leave(exit),
        Err(_) => Pause::Wait,
    }
}

/// Reports an access since `before` to the witness.
#[inline(always)]
fn tell_access<B: Bus>(core: &Core, bus: &mut B, address: u32, before: (u64, u64)) {
    if B::WITNESSED {
        let (stalled, spent) = core.clock.since(before);
        bus.witness().accessed(address, stalled, spent);
    }
}

/// Handles an access of the instruction `op` that the bus did not complete.
#[cold]
fn stopped<B: Bus>(core: &mut Core, bus: &mut B, op: Op, reason: BusStop) -> Pause {
    match reason {
        BusStop::Wait | BusStop::Yield => {
            core.held = Some(op);
            Pause::Wait
        }
        BusStop::Fault(fault) => stop(core, bus, Exit::Fault(fault)),
    }
}

/// Faults on an instruction that the pipeline does not have.
#[cold]
fn unknown<B: Bus>(core: &mut Core, bus: &mut B, word: u32) -> Pause {
    let address = core.pc();
    let fault = match isa::lookup(word, core.pipeline()) {
        Some(row) => Fault::Missing {
            address,
            mnemonic: match row.feature(word) {
                Feature::Nested => "nested",
                Feature::Predicates if row.feature == Feature::Base => "conditional",
                _ => row.name(word),
            },
            word,
        },
        None => Fault::Illegal { address, word },
    };
    stop(core, bus, Exit::Fault(fault))
}

/// Changes that an instruction makes to the core, once it is certain that it is executed.
#[derive(Debug, Clone, Copy, Default)]
struct Effects {
    /// A computed value and its register.
    result: Option<(u8, u32)>,
    /// A loaded value and its register.
    loaded: Option<(u8, u32)>,
    /// Flags.
    flags: Option<u32>,
    /// Target of a branch.
    target: Option<u32>,
    /// The board must act.
    yields: bool,
}

/// An access to memory.
#[derive(Debug, Clone, Copy)]
struct Access {
    address: u32,
    width: Width,
    signed: bool,
    stores: bool,
    /// Register that is loaded or stored.
    register: u8,
    /// New value of the base register.
    base: Option<u32>,
}

/// Executes one instruction. On failure, only [`Exit::Yield`] counts as execution.
fn execute<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Result<(), Pause> {
    let loaded = core.take_loaded();
    if loaded != NOWHERE && op.reads(loaded) {
        wait_for_value(core, bus);
    }
    if op.is_special() {
        load_specials(core, bus, op)?;
    }
    let effects = effects(core, bus, op);
    if op.is_special() {
        core.forget_specials();
    }
    let effects = effects?;
    let (pc, before) = (core.pc(), core.clock.now);
    commit(core, effects);
    core.count();
    if B::WITNESSED {
        bus.witness().executed(pc, core.clock.now - before);
    }
    if effects.yields {
        return Err(core.leave(Exit::Yield));
    }
    Ok(())
}

/// Charges the wait of an interlocked pipeline for a loaded value.
fn wait_for_value<B: Bus>(core: &mut Core, bus: &mut B) {
    let before = core.clock.now;
    core.charge_load_use();
    if B::WITNESSED {
        bus.witness().branched(core.clock.now - before);
    }
}

/// Reads registers that are no plain storage.
fn load_specials<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Result<(), Pause> {
    let status = if core.pipeline().interrupt_register && op.reads(ISR) {
        match bus.interrupt_status(core) {
            Ok(value) => Some(value),
            Err(reason) => return Err(stopped(core, bus, op, reason)),
        }
    } else {
        None
    };
    core.load_specials(status);
    Ok(())
}

/// The changes that an instruction makes to the core. Accesses to memory and to the interrupt status are carried out.
fn effects<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Result<Effects, Pause> {
    let kind = op.kind();
    if let Some(access) = access_of(core, op) {
        return access_memory(core, bus, op, access);
    }
    if matches!(kind, Kind::Missing | Kind::Illegal) {
        return Err(unknown(core, bus, op.imm()));
    }
    let (pc, next, flags) = (core.pc(), core.next_pc(), core.flags());
    let registers = core.places();
    let target = match kind {
        Kind::Jump => Some(op.imm()),
        Kind::Branch if alu::holds(op.dst().into(), flags) => Some(op.imm()),
        Kind::BranchRelative if alu::holds(op.dst().into(), flags) => {
            Some(registers[op.rs() as usize].wrapping_add(op.imm()))
        }
        _ => None,
    };
    let computed = match kind {
        Kind::Conditional => alu::conditional(op, registers, flags),
        kind => alu::result(kind, op, registers, flags, pc, next),
    };
    let mut effects = Effects {
        target,
        ..Effects::default()
    };
    if let Some(Computed { value, flags }) = computed {
        effects.result = Some((op.dst(), value));
        effects.flags = kind.sets_flags(op).then_some(flags);
        if op.dst() == ISR && core.pipeline().interrupt_register {
            match bus.set_interrupt_status(core, value) {
                Ok(()) => {}
                Err(BusStop::Yield) => effects.yields = true,
                Err(reason) => return Err(stopped(core, bus, op, reason)),
            }
        }
    }
    Ok(effects)
}

/// The access of an instruction, if it is one.
fn access_of(core: &Core, op: Op) -> Option<Access> {
    let registers = core.places();
    let base = registers[op.rs() as usize];
    let other = registers[op.rt() as usize];
    let access = |width, signed, stores, register, update, sum: u32| {
        let address = if update == Update::After { base } else { sum };
        Access {
            address: address & !(width as u32 - 1),
            width,
            signed,
            stores,
            register,
            base: (update == Update::After || update == Update::Before).then_some(sum),
        }
    };
    if op.kind() == Kind::Combined {
        let combined = Combined::of(op);
        let (sum, _) = alu::compute(combined.operator, base, other, core.flags());
        return Some(access(
            combined.width,
            combined.signed,
            combined.stores,
            combined.register,
            combined.update,
            sum,
        ));
    }
    let sum = base.wrapping_add(other.wrapping_add(op.imm()));
    if op.kind() == Kind::LoadPc {
        return Some(access(Width::Word, false, false, PC, Update::None, sum));
    }
    let (width, signed, stores, update) = op.kind().access()?;
    Some(access(width, signed, stores, op.dst(), update, sum))
}

/// Carries out an access.
fn access_memory<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    op: Op,
    access: Access,
) -> Result<Effects, Pause> {
    let Access {
        address,
        width,
        register,
        ..
    } = access;
    let mut effects = Effects {
        result: access.base.map(|base| (op.rs(), base)),
        ..Effects::default()
    };
    let before = core.clock.moment(B::WITNESSED);
    // An updated interrupt status, once the access is certain.
    let status = access
        .base
        .filter(|_| op.rs() == ISR && core.pipeline().interrupt_register);
    if access.stores {
        let value = core.places()[register as usize] & width.mask();
        match bus.store(core, address, width, value) {
            Ok(()) => {}
            Err(BusStop::Yield) => effects.yields = true,
            Err(reason) => return Err(stopped(core, bus, op, reason)),
        }
        tell_access(core, bus, address, before);
        effects.yields |= write_status(core, bus, status)?;
        return Ok(effects);
    }
    let value = match bus.load(core, address, width) {
        Ok(value) => value,
        Err(reason) => return Err(stopped(core, bus, op, reason)),
    };
    tell_access(core, bus, address, before);
    let value = if access.signed {
        extend(value, width)
    } else {
        value
    };
    effects.loaded = Some((register, value));
    effects.yields |= write_status(core, bus, status)?;
    if register == ISR && core.pipeline().interrupt_register {
        effects.loaded = None;
        effects.yields |= write_status(core, bus, Some(value))?;
    }
    Ok(effects)
}

/// Writes the interrupt status, if the instruction, which has accessed memory, does so. Returns whether the board must act.
fn write_status<B: Bus>(core: &mut Core, bus: &mut B, value: Option<u32>) -> Result<bool, Pause> {
    let Some(value) = value else {
        return Ok(false);
    };
    match bus.set_interrupt_status(core, value) {
        Ok(()) | Err(BusStop::Wait) => Ok(false),
        Err(BusStop::Yield) => Ok(true),
        Err(BusStop::Fault(fault)) => Err(stop(core, bus, Exit::Fault(fault))),
    }
}

/// Changes registers and position: first the loaded values that are due, then computed values, then flags.
fn commit(core: &mut Core, effects: Effects) {
    let from = core.pc();
    core.let_arrive();
    core.advance();
    if let Some((register, value)) = effects.result {
        core.write(register, value, from);
    }
    if let Some(flags) = effects.flags {
        core.write_flags(flags);
    }
    if let Some((register, value)) = effects.loaded {
        core.receive(register, value, from);
    }
    if let Some(target) = effects.target {
        core.jump(target, core.pipeline().branch_slots);
    }
}

/// Extends the sign of a value.
#[inline(always)]
pub(super) const fn extend(value: u32, width: Width) -> u32 {
    fields::signed(value, 8 * width as u32).cast_unsigned()
}
