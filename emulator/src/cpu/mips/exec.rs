//! The executor: a core's state, and the loop that carries out instructions.

use super::bus::{Bus, BusStop, Fault, Width};
use super::isa::Kind::{
    Addiu, Addu, And, Andi, Beq, Beql, Bgez, Bgezal, Bgezall, Bgezl, Bgtz, Bgtzl, Blez, Blezl,
    Bltz, Bltzal, Bltzall, Bltzl, Bne, Bnel, Break, Illegal, J, Jal, Jalr, Joff, Jr, Lb, Lbu, Lh,
    Lhu, Lui, Lw, Missing, Nor, Or, Ori, Pri, Sb, Sh, Sll, Sllv, Slt, Slti, Sltiu, Sltu, Sra, Srav,
    Srl, Srlv, Subu, Sw, Xor, Xori,
};
use super::isa::{self, Op};
use crate::cpu::clock::CpuClock;

/// What a core charges for its own work, in cycles. What an access costs beyond that, its bus
/// charges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreTiming {
    /// Each executed instruction: 1 at least.
    pub instruction_cycles: u32,
    /// A branch or jump that is taken, on top.
    pub taken_branch_cycles: u32,
    /// A likely branch that is not taken, on top: its annulled slot is a bubble in the pipeline.
    pub annulled_slot_cycles: u32,
}

impl Default for CoreTiming {
    fn default() -> Self {
        Self {
            instruction_cycles: 1,
            taken_branch_cycles: 0,
            annulled_slot_cycles: 1,
        }
    }
}

/// Why [`run`] came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// The clock has reached the time given.
    Until,
    /// The number of instructions given was executed.
    Limit,
    /// The bus wants another actor to go first. The next [`run`] goes on with this instruction.
    Wait,
    /// The instruction was executed, and the bus wants the board to look before the core goes on.
    Yield,
    /// The core executed a `break` and stays at it.
    Break {
        /// The instruction's 20-bit code (assemblers put a single operand into its upper half).
        code: u32,
    },
    /// The core cannot execute the instruction at its `pc` and stays there.
    Fault(Fault),
}

/// Why [`run_until`] came back: [`Exit`] in a byte. A board whose cores take turns sees it every few
/// instructions, and hardly ever anything but [`Wait`](Self::Wait).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// [`Exit::Until`].
    Until,
    /// [`Exit::Wait`].
    Wait,
    /// Anything else: [`Core::take_exit`] tells.
    Exit,
}

/// Registers have 32 places; results for register 0 go to a place behind them. The rest lets any
/// byte of an [`Op`] be an index that needs neither a check nor a mask.
const PLACES: usize = 256;

/// Where the link of a call goes.
const RA: usize = 31;

/// A MIPS core.
///
/// The program counter is a pair: the instruction that comes now, and the one that comes after it.
/// A branch changes only the latter, and that is all there is to a delay slot. A branch within a
/// delay slot needs no rule of its own: its first target instruction is executed, then the second
/// branch's target.
#[derive(Debug, Clone)]
pub struct Core {
    /// The core's local time.
    pub clock: CpuClock,
    /// What the core charges.
    pub timing: CoreTiming,
    registers: [u32; PLACES],
    pc: u32,
    next_pc: u32,
    instructions: u64,
    /// An instruction that was fetched, and whose probe was delivered, but whose access must wait.
    held: Option<Op>,
    /// What [`Pause::Exit`] stands for, until it is taken.
    exit: Option<Exit>,
}

impl Default for Core {
    fn default() -> Self {
        Self {
            clock: CpuClock::default(),
            timing: CoreTiming::default(),
            registers: [0; PLACES],
            pc: 0,
            next_pc: 4,
            instructions: 0,
            held: None,
            exit: None,
        }
    }
}

impl Core {
    /// Continues at `pc`; registers keep their values. Whatever stood between a branch and its
    /// target is forgotten.
    pub fn start_at(&mut self, pc: u32) {
        self.pc = pc;
        self.next_pc = pc.wrapping_add(4);
        self.held = None;
    }

    /// Address of the instruction that comes now.
    #[must_use]
    #[inline(always)]
    pub const fn pc(&self) -> u32 {
        self.pc
    }

    /// Address of the instruction that comes after the one at [`pc`](Self::pc): a branch's target
    /// if that is a delay slot.
    #[must_use]
    #[inline(always)]
    pub const fn next_pc(&self) -> u32 {
        self.next_pc
    }

    /// Whether a branch was taken and its delay slot is the next instruction.
    #[must_use]
    pub const fn in_taken_slot(&self) -> bool {
        self.next_pc != self.pc.wrapping_add(4)
    }

    /// Instructions executed so far.
    #[must_use]
    pub const fn instructions(&self) -> u64 {
        self.instructions
    }

    /// The value of register `index`, of which the low five bits count.
    #[must_use]
    pub const fn register(&self, index: usize) -> u32 {
        self.registers[index & 31]
    }

    /// Sets register `index`, of which the low five bits count; register 0 stays 0.
    pub const fn set_register(&mut self, index: usize, value: u32) {
        if index & 31 != 0 {
            self.registers[index & 31] = value;
        }
    }

    /// The 32 registers.
    #[must_use]
    pub fn registers(&self) -> &[u32; 32] {
        self.registers
            .first_chunk()
            .expect("the places begin with the 32 registers")
    }

    /// A tick up to which the core surely executes no more than `limit` instructions in all: each
    /// takes one tick at least. Up to there a loop need not compare their number. It comes closer to
    /// the limit each time that it is asked for, by a tick at least.
    #[must_use]
    pub const fn safe_until(&self, limit: u64) -> u64 {
        let room = limit.saturating_sub(self.instructions);
        self.clock.now.saturating_add(room)
    }

    /// Passes over `instructions` that the board knows to leave the core as it is: an idle loop.
    pub const fn skip(&mut self, instructions: u64, cycles: u64, ticks: u64) {
        self.instructions += instructions;
        self.clock.cycles += cycles;
        self.clock.now += ticks;
    }

    #[inline(always)]
    const fn place(&self, index: u8) -> u32 {
        self.registers[index as usize]
    }

    /// Writes an instruction's result.
    #[inline(always)]
    const fn write(&mut self, op: Op, value: u32) -> Next {
        self.registers[op.dst() as usize] = value;
        Next::Sequence
    }

    /// Leaves the address behind the delay slot in the link register, and goes on to `next`.
    #[inline(always)]
    const fn link(&mut self, next: Next) -> Next {
        self.registers[RA] = self.pc.wrapping_add(8);
        next
    }

    /// What follows from a bus that did not let the instruction `op` read or write.
    #[inline(always)]
    fn stopped(&mut self, op: Op, stop: BusStop) -> Pause {
        match stop {
            BusStop::Wait | BusStop::Yield => {
                self.held = Some(op);
                Pause::Wait
            }
            BusStop::Fault(fault) => self.leave(Exit::Fault(fault)),
        }
    }

    /// Remembers why the core comes back. Rare, and so kept out of the loop.
    #[cold]
    #[inline(never)]
    fn leave(&mut self, exit: Exit) -> Pause {
        self.exit = Some(exit);
        Pause::Exit
    }

    /// Why [`run_until`] came back.
    pub fn take_exit(&mut self, pause: Pause) -> Exit {
        match pause {
            Pause::Until => Exit::Until,
            Pause::Wait => Exit::Wait,
            Pause::Exit => self.exit.take().unwrap_or(Exit::Wait),
        }
    }

    /// Counts and charges an executed instruction, and goes on at `pc`.
    #[inline(always)]
    fn retire(&mut self, pc: u32, next_pc: u32, cycles: u32) {
        self.pc = pc;
        self.next_pc = next_pc;
        self.instructions += 1;
        self.clock.charge(cycles);
    }

    /// Retires an instruction that control leaves by `next`.
    #[inline(always)]
    fn retire_to(&mut self, next: Next) {
        let following = self.next_pc;
        let cycles = self.timing.instruction_cycles;
        match next {
            Next::Sequence => self.retire(following, following.wrapping_add(4), cycles),
            Next::Target(target) => {
                self.retire(
                    following,
                    target,
                    cycles.saturating_add(self.timing.taken_branch_cycles),
                );
            }
            Next::Annul => self.retire(
                following.wrapping_add(4),
                following.wrapping_add(8),
                cycles.saturating_add(self.timing.annulled_slot_cycles),
            ),
        }
    }
}

/// Lets `core` run until its clock reaches `until` (ticks) or it has executed `max_instructions`,
/// or something happens.
///
/// An access of an instruction takes place at the clock's time after its fetch was charged; the
/// instruction's own cycle is charged last. An instruction is fetched, and its probe is delivered,
/// once, however often its load or store must wait.
pub fn run<B: Bus>(core: &mut Core, bus: &mut B, until: u64, max_instructions: u64) -> Exit {
    let limit = core.instructions.saturating_add(max_instructions);
    loop {
        if core.clock.now >= until {
            return Exit::Until;
        }
        if core.instructions >= limit {
            return Exit::Limit;
        }
        let pause = run_until(core, bus, until.min(core.safe_until(limit)));
        if pause != Pause::Until {
            return core.take_exit(pause);
        }
    }
}

/// Like [`run`], without a limit. Always inlined: a board whose cores take turns every few
/// instructions calls it in a loop, and a change of core is a jump then.
#[inline(always)]
pub fn run_until<B: Bus>(core: &mut Core, bus: &mut B, until: u64) -> Pause {
    if core.clock.now >= until {
        return Pause::Until;
    }
    let mut op = match core.held.take() {
        Some(op) => op,
        None => match fetch(core, bus) {
            Ok(op) => op,
            Err(pause) => return pause,
        },
    };
    loop {
        if let Err(pause) = execute(core, bus, op) {
            return pause;
        }
        if core.clock.now >= until {
            return Pause::Until;
        }
        op = match fetch(core, bus) {
            Ok(op) => op,
            Err(pause) => return pause,
        };
    }
}

/// The next instruction, once its probe was delivered.
#[inline(always)]
fn fetch<B: Bus>(core: &mut Core, bus: &mut B) -> Result<Op, Pause> {
    if let Some(op) = bus.fetch_private(core.pc) {
        return Ok(op);
    }
    let op = fetch_at_pc(core, bus)?;
    if op.has_probe() {
        return pass_probes(core, bus, op);
    }
    Ok(op)
}

#[inline(always)]
fn fetch_at_pc<B: Bus>(core: &mut Core, bus: &mut B) -> Result<Op, Pause> {
    let pc = core.pc;
    check_alignment(core, pc, Width::Word)?;
    match bus.fetch(core, pc) {
        Ok(op) => Ok(op),
        Err(BusStop::Fault(fault)) => Err(core.leave(Exit::Fault(fault))),
        Err(BusStop::Wait | BusStop::Yield) => Err(Pause::Wait),
    }
}

/// Delivers the probe of `op`. A `nop` stands there for its probe's sake only: the core steps over it
/// at once, uncharged and uncounted, so that marking a place changes no time.
#[inline(never)]
fn pass_probes<B: Bus>(core: &mut Core, bus: &mut B, mut op: Op) -> Result<Op, Pause> {
    while op.has_probe() {
        bus.probe(core, core.pc);
        if !op.is_nop() {
            break;
        }
        core.pc = core.next_pc;
        core.next_pc = core.next_pc.wrapping_add(4);
        op = fetch_at_pc(core, bus)?;
    }
    Ok(op)
}

#[inline(always)]
fn check_alignment(core: &mut Core, address: u32, width: Width) -> Result<(), Pause> {
    if address & (width as u32 - 1) == 0 {
        Ok(())
    } else {
        Err(misaligned(core, address, width))
    }
}

#[cold]
fn misaligned(core: &mut Core, address: u32, width: Width) -> Pause {
    let width = width as u32;
    core.leave(Exit::Fault(Fault::Misaligned { address, width }))
}

#[inline(always)]
fn load<B: Bus>(core: &mut Core, bus: &mut B, op: Op, width: Width) -> Result<u32, Pause> {
    let address = core.place(op.rs()).wrapping_add(op.imm());
    check_alignment(core, address, width)?;
    match bus.load(core, address, width) {
        Ok(value) => Ok(value),
        Err(stop) => Err(core.stopped(op, stop)),
    }
}

#[inline(always)]
fn store<B: Bus>(core: &mut Core, bus: &mut B, op: Op, width: Width) -> Result<Next, Pause> {
    let address = core.place(op.rs()).wrapping_add(op.imm());
    check_alignment(core, address, width)?;
    let value = core.place(op.rt()) & (u32::MAX >> (32 - 8 * width as u32));
    match bus.store(core, address, width, value) {
        Ok(()) => Ok(Next::Sequence),
        Err(BusStop::Yield) => Err(stored(core)),
        Err(stop) => Err(core.stopped(op, stop)),
    }
}

/// Retires a store that the board wants to look at.
#[cold]
fn stored(core: &mut Core) -> Pause {
    core.retire_to(Next::Sequence);
    core.leave(Exit::Yield)
}

/// Retires a `break`, after which the core stays where it is.
#[cold]
fn broken(core: &mut Core, code: u32) -> Pause {
    core.retire(core.pc, core.next_pc, core.timing.instruction_cycles);
    core.leave(Exit::Break { code })
}

/// The chip does not have the instruction.
#[cold]
fn unknown(core: &mut Core, word: u32) -> Pause {
    core.leave(Exit::Fault(match isa::lookup(word) {
        Some(row) => Fault::Missing {
            mnemonic: row.mnemonic,
            word,
        },
        None => Fault::Illegal { word },
    }))
}

/// Where control goes after an instruction.
enum Next {
    /// To the next instruction.
    Sequence,
    /// To the next instruction and then to this address.
    Target(u32),
    /// Past the next instruction.
    Annul,
}

/// The successor of a branch with a delay slot that is always executed.
#[inline(always)]
fn branch(core: &Core, op: Op, taken: bool) -> Next {
    if taken {
        Next::Target(core.pc.wrapping_add(op.imm()))
    } else {
        Next::Sequence
    }
}

/// The successor of a likely branch.
#[inline(always)]
fn likely(core: &Core, op: Op, taken: bool) -> Next {
    if taken {
        Next::Target(core.pc.wrapping_add(op.imm()))
    } else {
        Next::Annul
    }
}

#[inline(always)]
fn jump_target(core: &Core, op: Op) -> u32 {
    core.pc.wrapping_add(4) & 0xf000_0000 | op.imm()
}

/// Carries out one instruction. If that fails, only [`Exit::Yield`] and [`Exit::Break`] count as
/// execution.
#[inline(always)]
fn execute<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Result<(), Pause> {
    let (rs, rt, imm) = (core.place(op.rs()), core.place(op.rt()), op.imm());
    let next = match op.kind() {
        Sll => core.write(op, rt << (imm & 31)),
        Srl => core.write(op, rt >> (imm & 31)),
        Sra => core.write(op, shift_right_signed(rt, imm)),
        Sllv => core.write(op, rt << (rs & 31)),
        Srlv => core.write(op, rt >> (rs & 31)),
        Srav => core.write(op, shift_right_signed(rt, rs)),
        Addu => core.write(op, rs.wrapping_add(rt)),
        Subu => core.write(op, rs.wrapping_sub(rt)),
        And => core.write(op, rs & rt),
        Or => core.write(op, rs | rt),
        Xor => core.write(op, rs ^ rt),
        Nor => core.write(op, !(rs | rt)),
        Slt => core.write(op, u32::from(signed(rs) < signed(rt))),
        Sltu => core.write(op, u32::from(rs < rt)),
        Addiu => core.write(op, rs.wrapping_add(imm)),
        Slti => core.write(op, u32::from(signed(rs) < signed(imm))),
        Sltiu => core.write(op, u32::from(rs < imm)),
        Andi => core.write(op, rs & imm),
        Ori => core.write(op, rs | imm),
        Xori => core.write(op, rs ^ imm),
        Lui => core.write(op, imm),
        Pri => core.write(op, 32 - (rs & rt).leading_zeros()),
        Lb => load(core, bus, op, Width::Byte).map(|byte| core.write(op, extend_byte(byte)))?,
        Lbu => load(core, bus, op, Width::Byte).map(|byte| core.write(op, byte))?,
        Lh => load(core, bus, op, Width::Half).map(|half| core.write(op, extend_half(half)))?,
        Lhu => load(core, bus, op, Width::Half).map(|half| core.write(op, half))?,
        Lw => load(core, bus, op, Width::Word).map(|word| core.write(op, word))?,
        Sb => store(core, bus, op, Width::Byte)?,
        Sh => store(core, bus, op, Width::Half)?,
        Sw => store(core, bus, op, Width::Word)?,
        Beq => branch(core, op, rs == rt),
        Bne => branch(core, op, rs != rt),
        Blez => branch(core, op, signed(rs) <= 0),
        Bgtz => branch(core, op, signed(rs) > 0),
        Bltz => branch(core, op, signed(rs) < 0),
        Bgez => branch(core, op, signed(rs) >= 0),
        Bltzal => core.link(branch(core, op, signed(rs) < 0)),
        Bgezal => core.link(branch(core, op, signed(rs) >= 0)),
        Beql => likely(core, op, rs == rt),
        Bnel => likely(core, op, rs != rt),
        Blezl => likely(core, op, signed(rs) <= 0),
        Bgtzl => likely(core, op, signed(rs) > 0),
        Bltzl => likely(core, op, signed(rs) < 0),
        Bgezl => likely(core, op, signed(rs) >= 0),
        Bltzall => core.link(likely(core, op, signed(rs) < 0)),
        Bgezall => core.link(likely(core, op, signed(rs) >= 0)),
        J => Next::Target(jump_target(core, op)),
        Jal => core.link(Next::Target(jump_target(core, op))),
        Jr => Next::Target(rs),
        Jalr => {
            core.write(op, core.pc.wrapping_add(8));
            Next::Target(rs)
        }
        Joff => Next::Target(rs.wrapping_add(rt << 3)),
        Break => return Err(broken(core, imm)),
        Missing | Illegal => return Err(unknown(core, imm)),
    };
    core.retire_to(next);
    Ok(())
}

#[inline(always)]
const fn signed(value: u32) -> i32 {
    value.cast_signed()
}

#[inline(always)]
const fn shift_right_signed(value: u32, distance: u32) -> u32 {
    (value.cast_signed() >> (distance & 31)).cast_unsigned()
}

#[inline(always)]
fn extend_byte(byte: u32) -> u32 {
    i32::from((byte as u8).cast_signed()).cast_unsigned()
}

#[inline(always)]
fn extend_half(half: u32) -> u32 {
    i32::from((half as u16).cast_signed()).cast_unsigned()
}
