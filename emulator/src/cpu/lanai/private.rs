//! The fast path: instructions on plain registers and private memory.

use super::alu::{self, Computed};
use super::bus::{Bus, OwnMemory, Private, Width};
use super::core::{Core, CoreTiming, Position, Registers};
use super::exec::extend;
use super::fields::Update;
use super::kind::Kind;
use super::op::{NOWHERE, Op};
use super::pipeline::Pipeline;
use crate::cpu::witness::Witness;

/// Reason why [`run`] returned.
pub(super) enum Stop {
    /// The core stands before this instruction, which carries no probe and begins in time.
    Op(Op),
    /// The time may be over.
    Time,
    /// The core stands before an instruction that must be fetched.
    Unknown,
}

/// State of the loop besides registers and memory, in few numbers, so that they
/// stay in registers of the host.
struct Progress {
    position: Position,
    /// The cycles that are left: an instruction begins in time as long as there are any.
    left: i64,
    /// Cycles beyond the ones that each instruction takes.
    extra_cycles: i64,
}

/// Executes instructions from the program counter on, as long as they are private and begin before
/// `until`.
#[inline(always)]
pub(super) fn run<B: Bus>(core: &mut Core, bus: &mut B, until: u64) -> Stop {
    let Some(position) = core.position() else {
        return Stop::Unknown;
    };
    let mut private = bus.private(core);
    let room = core.room(until);
    private.memory.begin(room.cast_unsigned());
    let mut progress = Progress {
        position,
        left: room,
        extra_cycles: 0,
    };
    let cycle = core.clock.ticks_per_cycle;
    let (registers, timing, pipeline) = core.parts();
    // One loop for each pipeline that real chips and compilers have.
    let loop_of = match shape(pipeline) {
        Some((0, 1)) => carry_out::<_, _, 0, 1>,
        Some((1, 1)) => carry_out::<_, _, 1, 1>,
        Some((2, 2)) => carry_out::<_, _, 2, 2>,
        _ => return Stop::Unknown,
    };
    let stop = loop_of(registers, timing, cycle, &mut private, &mut progress);
    let cycles = (room - progress.left).cast_unsigned();
    let extra = progress.extra_cycles.cast_unsigned();
    core.end(&progress.position, cycles, extra);
    stop
}

/// The slots behind a load and behind a branch. `None` if the loop does not know the slots behind a load of the program
/// counter: those of a branch and one more.
const fn shape(pipeline: &Pipeline) -> Option<(u8, u8)> {
    if pipeline.pc_load_slots == pipeline.branch_slots + 1 {
        Some((pipeline.load_slots, pipeline.branch_slots))
    } else {
        None
    }
}

/// The loop of [`run`], with the ticks per cycle. `LOADS` is the number of slots behind a load, `SLOTS` behind a branch.
fn carry_out<M: OwnMemory, W: Witness, const LOADS: u8, const SLOTS: u8>(
    registers: &mut Registers,
    timing: &CoreTiming,
    cycle: u64,
    private: &mut Private<'_, M, W>,
    progress: &mut Progress,
) -> Stop {
    let mut at = progress.position;
    let mut left = progress.left;
    let mut extra = progress.extra_cycles;
    let each = i64::from(timing.instruction_cycles);
    let stop = loop {
        if left <= 0 {
            break Stop::Time;
        }
        let Some(op) = private.at(at.pc) else {
            break Stop::Unknown;
        };
        let kind = op.plain_kind();
        let pc = at.pc;
        let mut wait = 0;
        if LOADS == 0 && at.loaded != NOWHERE && op.reads(at.loaded) {
            wait = i64::from(timing.load_use_cycles);
        }
        if let Some(Computed { value, flags }) =
            alu::result(kind, op, registers, at.flags, pc, at.next)
        {
            at.step::<LOADS>(registers);
            registers[op.dst() as usize] = value;
            at.flags = flags;
        } else if let Some(access) = kind.access() {
            let Some((address, cycles)) = carry_out_access::<M, LOADS>(
                registers,
                &mut at,
                op,
                access,
                &mut private.memory,
                (left - wait).cast_unsigned(),
            ) else {
                break Stop::Op(op);
            };
            left -= i64::from(cycles);
            extra += i64::from(cycles);
            private
                .witness
                .accessed(address, 0, u64::from(cycles) * cycle);
        } else {
            match kind {
                Kind::Jump => at.jump::<LOADS, SLOTS>(registers, op.imm()),
                Kind::Branch => {
                    if alu::holds(op.dst().into(), at.flags) {
                        at.jump::<LOADS, SLOTS>(registers, op.imm());
                    } else {
                        at.step::<LOADS>(registers);
                    }
                }
                Kind::Conditional => {
                    let computed = alu::conditional(op, registers, at.flags);
                    at.step::<LOADS>(registers);
                    if let Some(Computed { value, flags }) = computed {
                        registers[op.dst() as usize] = value;
                        at.flags = flags;
                    }
                }
                Kind::LoadPc if SLOTS == 1 => {
                    let address = registers[op.rs() as usize]
                        .wrapping_add(registers[op.rt() as usize].wrapping_add(op.imm()))
                        & !3;
                    let room = (left - wait).cast_unsigned();
                    let Some((target, cycles)) = private.memory.load(address, Width::Word, room)
                    else {
                        break Stop::Op(op);
                    };
                    at.step::<LOADS>(registers);
                    at.third = target & !3;
                    left -= i64::from(cycles);
                    extra += i64::from(cycles);
                    private
                        .witness
                        .accessed(address, 0, u64::from(cycles) * cycle);
                }
                _ => {
                    break if op.has_probe() {
                        Stop::Unknown
                    } else {
                        Stop::Op(op)
                    };
                }
            }
        }
        if wait != 0 {
            left -= wait;
            extra += wait;
            private.witness.branched(wait.cast_unsigned() * cycle);
        }
        left -= each;
        private.witness.executed(pc, each.cast_unsigned() * cycle);
    };
    progress.position = at;
    progress.left = left;
    progress.extra_cycles = extra;
    stop
}

impl Position {
    /// Goes on to the next instruction, and lets loaded values arrive.
    #[inline(always)]
    const fn step<const LOADS: u8>(&mut self, registers: &mut Registers) {
        self.pc = self.next;
        self.next = self.third;
        self.third = self.next.wrapping_add(4);
        if LOADS == 0 {
            self.loaded = NOWHERE;
        } else {
            let (place, value) = self.arrivals[0];
            registers[place as usize] = value;
            self.arrivals[0] = if LOADS > 1 {
                self.arrivals[1]
            } else {
                (NOWHERE, 0)
            };
            if LOADS > 1 {
                self.arrivals[1] = (NOWHERE, 0);
            }
        }
    }

    /// Likewise; the instruction is a jump.
    #[inline(always)]
    const fn jump<const LOADS: u8, const SLOTS: u8>(
        &mut self,
        registers: &mut Registers,
        target: u32,
    ) {
        self.step::<LOADS>(registers);
        if SLOTS == 1 {
            self.next = target;
            self.third = target.wrapping_add(4);
        } else {
            self.third = target;
        }
    }

    /// Sends a loaded value to its register.
    #[inline(always)]
    const fn receive<const LOADS: u8>(&mut self, registers: &mut Registers, place: u8, value: u32) {
        match LOADS {
            0 => {
                registers[place as usize] = value;
                self.loaded = place;
            }
            1 => self.arrivals[0] = (place, value),
            _ => self.arrivals[1] = (place, value),
        }
    }
}

/// Reads or writes the core's own memory; gives the address and what that costs. `None` if the core must use its bus:
/// then nothing has changed.
#[inline(always)]
fn carry_out_access<M: OwnMemory, const LOADS: u8>(
    registers: &mut Registers,
    at: &mut Position,
    op: Op,
    (width, signed, stores, update): (Width, bool, bool, Update),
    memory: &mut M,
    left: u64,
) -> Option<(u32, u32)> {
    let base = registers[op.rs() as usize];
    let sum = base.wrapping_add(registers[op.rt() as usize].wrapping_add(op.imm()));
    let address = if matches!(update, Update::After) {
        base
    } else {
        sum
    } & !(width as u32 - 1);
    let updates = matches!(update, Update::After | Update::Before);
    if stores {
        let value = registers[op.dst() as usize] & width.mask();
        let cycles = memory.store(address, width, value, left)?;
        at.step::<LOADS>(registers);
        if updates {
            registers[op.rs() as usize] = sum;
        }
        return Some((address, cycles));
    }
    let (value, cycles) = memory.load(address, width, left)?;
    let value = if signed { extend(value, width) } else { value };
    at.step::<LOADS>(registers);
    if updates {
        registers[op.rs() as usize] = sum;
    }
    at.receive::<LOADS>(registers, op.dst(), value);
    Some((address, cycles))
}
