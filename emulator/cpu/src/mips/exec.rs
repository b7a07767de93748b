//! The executor: the loop that executes instructions.

use std::mem;

use super::alu;
use super::bits::{self, BitChange};
use super::bus::{Bus, BusStop, Fault, Width};
pub use super::core::{Checkpoint, Core, CoreTiming};
use super::flow::{self, Next};
use super::isa::Kind::{Break, Illegal, Lb, Lbu, Lh, Lhu, Lw, Missing, Sb, Setb, Sh, Sw, Update};
use super::isa::{self, Kind, Op};
use super::op::Held;
use super::private;
use super::witness::Witness;
use crate::exit::FastExit;
pub use crate::exit::{Exit, Pause};
use crate::shell::{Shell, run_limited};

/// Lets `core` run until its clock reaches `until` (ticks) or it has executed `max_instructions`,
/// or something happens.
///
/// An access of an instruction takes place at the clock's time after its fetch was charged; the
/// instruction's own cycle is charged last. An instruction is fetched, and its probe is delivered,
/// once, however often its load or store must wait.
pub fn run<B: Bus>(core: &mut Core, bus: &mut B, until: u64, max_instructions: u64) -> Exit {
    run_limited(core, until, max_instructions, |core, until| {
        run_until(core, bus, until)
    })
}

/// Like [`run`], without a limit. Always inlined: a board whose cores take turns every few
/// instructions calls it in a loop, and a change of core is a jump then.
#[inline(always)]
pub fn run_until<B: Bus>(core: &mut Core, bus: &mut B, until: u64) -> Pause {
    let mut held = mem::take(&mut core.held);
    bus.witness().begins(core);
    loop {
        if core.clock.now >= until {
            core.held = held;
            return Pause::Until;
        }
        let op = match mem::take(&mut held).op() {
            Some(op) => op,
            None => match private::run(core, bus, until) {
                FastExit::Op(op) => op,
                FastExit::Time => continue,
                FastExit::Unknown => match fetch_probed(core, bus) {
                    Ok(Some(op)) => op,
                    // The next instruction may be private.
                    Ok(None) => continue,
                    Err(pause) => return pause,
                },
            },
        };
        if let Err(pause) = execute(core, bus, op) {
            return pause;
        }
    }
}

/// The next instruction, once its probe was delivered; `None` if the core has skipped it.
#[inline(always)]
fn fetch_probed<B: Bus>(core: &mut Core, bus: &mut B) -> Result<Option<Op>, Pause> {
    let op = fetch(core, bus)?;
    if op.has_probe() {
        return Ok(pass_probe(core, bus, op));
    }
    Ok(Some(op))
}

#[inline(always)]
fn fetch<B: Bus>(core: &mut Core, bus: &mut B) -> Result<Op, Pause> {
    let pc = core.pc();
    if !pc.is_multiple_of(4) {
        let fault = bus.between_words(core, pc);
        return Err(stop(core, bus, Exit::Fault(fault)));
    }
    let before = core.clock.moment(B::WITNESSED);
    match bus.fetch(core, pc) {
        Ok(op) => {
            if B::WITNESSED {
                let (stalled, spent) = core.clock.since(before);
                bus.witness().fetched(core, stalled, spent);
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
fn pass_probe<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Option<Op> {
    let marked = bus.probe(core, core.pc());
    bus.witness().paces(core);
    // Other marks, such as breakpoints, are at instructions of the firmware.
    if !marked || !op.is_nop() {
        return Some(op.without_probe());
    }
    let (pc, next_pc) = (core.pc(), core.next_pc());
    core.step_over();
    bus.witness().leaves_out(pc, next_pc, core.pc());
    None
}

#[inline(always)]
fn check_alignment<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    address: u32,
    width: Width,
) -> Result<(), Pause> {
    if address & (width as u32 - 1) == 0 {
        Ok(())
    } else {
        Err(misaligned(core, bus, address, width))
    }
}

#[cold]
fn misaligned<B: Bus>(core: &mut Core, bus: &mut B, address: u32, width: Width) -> Pause {
    let width = width as u32;
    stop(core, bus, Exit::Fault(Fault::Misaligned { address, width }))
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

#[inline(always)]
fn load<B: Bus>(
    core: &mut Core,
    bus: &mut B,
    op: Op,
    width: Width,
    extend: impl FnOnce(u32) -> u32,
) -> Result<Next, Pause> {
    let address = core.place(op.rs()).wrapping_add(op.imm());
    check_alignment(core, bus, address, width)?;
    let before = core.clock.moment(B::WITNESSED);
    match bus.load(core, address, width) {
        Ok(value) => {
            core.write(op, extend(value));
            tell_access(core, bus, address, before);
            Ok(Next::Sequence)
        }
        Err(stop) => Err(stopped(core, bus, op, stop)),
    }
}

#[inline(always)]
fn store<B: Bus>(core: &mut Core, bus: &mut B, op: Op, width: Width) -> Result<Next, Pause> {
    let address = core.place(op.rs()).wrapping_add(op.imm());
    check_alignment(core, bus, address, width)?;
    let value = core.place(op.rt()) & (u32::MAX >> (32 - 8 * width as u32));
    let before = core.clock.moment(B::WITNESSED);
    match bus.store(core, address, width, value) {
        Ok(()) => {
            tell_access(core, bus, address, before);
            Ok(Next::Sequence)
        }
        Err(BusStop::Yield) => {
            tell_access(core, bus, address, before);
            Err(stored(core, bus))
        }
        Err(stop) => Err(stopped(core, bus, op, stop)),
    }
}

/// Reports an access since `before` to the witness.
#[inline(always)]
fn tell_access<B: Bus>(core: &Core, bus: &mut B, address: u32, before: (u64, u64)) {
    if B::WITNESSED {
        let (stalled, spent) = core.clock.since(before);
        let (pc, next_pc) = (core.pc(), core.next_pc());
        bus.witness().accessed(pc, next_pc, address, stalled, spent);
    }
}

/// Retires an instruction that control leaves by `next`.
#[inline(always)]
fn retire<B: Bus>(core: &mut Core, bus: &mut B, next: Next) {
    if B::WITNESSED {
        let ticks = core.clock.ticks_per_cycle;
        let (pc, next_pc) = (core.pc(), core.next_pc());
        next.report(&mut bus.witness(), &core.timing, ticks, pc, next_pc);
    }
    core.retire_to(next);
}

/// Handles an access of the instruction `op` that the bus did not complete.
#[inline(always)]
fn stopped<B: Bus>(core: &mut Core, bus: &mut B, op: Op, reason: BusStop) -> Pause {
    match reason {
        BusStop::Wait | BusStop::Yield => {
            core.held = Held::of(op);
            Pause::Wait
        }
        BusStop::Fault(fault) => stop(core, bus, Exit::Fault(fault)),
    }
}

/// Retires a store that the board must handle.
#[cold]
fn stored<B: Bus>(core: &mut Core, bus: &mut B) -> Pause {
    bus.witness().paces(core);
    retire(core, bus, Next::Sequence);
    core.leave(Exit::Yield)
}

/// Executes a `break`, at which the core stays.
#[cold]
fn broken<B: Bus>(core: &mut Core, bus: &mut B, code: u32) -> Pause {
    let pause = stop(core, bus, Exit::Break { code });
    if pause == Pause::Exit {
        let cycles = core.timing.instruction_cycles;
        core.retire(core.pc(), core.next_pc(), cycles);
        bus.witness().stays(core);
    }
    pause
}

/// Faults on an instruction that the chip does not have.
#[cold]
fn unknown<B: Bus>(core: &mut Core, bus: &mut B, word: u32) -> Pause {
    let address = core.pc();
    let fault = match isa::lookup(word) {
        Some(row) if row.kind == Kind::Missing => Fault::Missing {
            address,
            mnemonic: row.mnemonic,
            word,
        },
        _ => Fault::Illegal { address, word },
    };
    stop(core, bus, Exit::Fault(fault))
}

/// Executes a bit instruction.
// Few programs have them: kept out of the loop.
#[cold]
#[inline(never)]
fn change_bits<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Result<Next, Pause> {
    if !bus.has_bit_instructions() {
        return Err(unknown(core, bus, op.imm()));
    }
    let (base, index) = (core.place(op.rs()), core.place(op.rt()));
    let address = bits::word_of(base, index);
    check_alignment(core, bus, address, Width::Word)?;
    let change = match op.kind() {
        Setb => BitChange::Set(index % 32),
        _ => BitChange::ClearRun(index % 32),
    };
    let before = core.clock.moment(B::WITNESSED);
    match bus.change_bits(core, address, change) {
        Ok(word) => {
            core.write(op, index.wrapping_add(change.count_in(word)));
            tell_access(core, bus, address, before);
            Ok(Next::Sequence)
        }
        Err(stop) => Err(stopped(core, bus, op, stop)),
    }
}

/// Executes one instruction. On failure, only [`Exit::Yield`] and [`Exit::Break`] count as
/// execution.
#[inline(always)]
fn execute<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Result<(), Pause> {
    if let Some(value) = alu::result(op.kind(), op, core.registers_mut()) {
        core.write(op, value);
        retire(core, bus, Next::Sequence);
        return Ok(());
    }
    let next = match op.kind() {
        Lb => load(core, bus, op, Width::Byte, extend_byte)?,
        Lbu => load(core, bus, op, Width::Byte, |byte| byte)?,
        Lh => load(core, bus, op, Width::Half, extend_half)?,
        Lhu => load(core, bus, op, Width::Half, |half| half)?,
        Lw => load(core, bus, op, Width::Word, |word| word)?,
        Sb => store(core, bus, op, Width::Byte)?,
        Sh => store(core, bus, op, Width::Half)?,
        Sw => store(core, bus, op, Width::Word)?,
        Setb | Update => change_bits(core, bus, op)?,
        Break => return Err(broken(core, bus, op.imm())),
        Missing | Illegal => return Err(unknown(core, bus, op.imm())),
        _ => {
            let pc = core.pc();
            flow::next(core.registers_mut(), op, pc).unwrap_or(Next::Sequence)
        }
    };
    retire(core, bus, next);
    Ok(())
}

#[inline(always)]
pub(super) fn extend_byte(byte: u32) -> u32 {
    i32::from((byte as u8).cast_signed()).cast_unsigned()
}

#[inline(always)]
pub(super) fn extend_half(half: u32) -> u32 {
    i32::from((half as u16).cast_signed()).cast_unsigned()
}
