//! A core's state: registers, program counter, clock and counts.

use super::exec::Exit;
use super::flow::Next;
use super::isa::Op;
use super::op::Held;
use crate::clock::CpuClock;
use crate::shell::Shell;
use emulator_state::state;

/// Cycles that a core charges for its own work. Its bus charges additional costs of
/// accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreTiming {
    /// Each executed instruction: 1 at least.
    pub instruction_cycles: u32,
    /// Additional cycles of a taken branch or jump.
    pub taken_branch_cycles: u32,
    /// Additional cycles of a likely branch that is not taken: its annulled slot is a bubble in the pipeline.
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

/// Size of the register array: 32 registers, and an entry behind them for results for register 0. The size makes any
/// byte of an [`Op`] a valid index without a check or a mask.
pub(super) const PLACES: usize = 256;

/// The place for the address of the last `jr`.
pub(super) const JUMPED_FROM: usize = 40;

/// The registers with the places behind them.
pub(super) type Registers = [u32; PLACES];

/// A MIPS core.
///
/// The program counter is a pair: the instruction that comes now, and the one that comes after it.
/// A branch changes only the latter, and that is all there is to a delay slot. A branch within a
/// delay slot needs no rule of its own: its first target instruction is executed, then the second
/// branch's target.
#[derive(Debug, Clone)]
#[repr(C)] // The registers come first: their address is the core's.
pub struct Core {
    registers: Registers,
    /// The core's local time.
    pub clock: CpuClock,
    /// Cycles that the core charges for its own work.
    pub timing: CoreTiming,
    pc: u32,
    next_pc: u32,
    instructions: u64,
    /// Skipped instructions among them.
    skipped: u64,
    /// An instruction that was fetched, and whose probe was delivered, but whose access must wait.
    pub(super) held: Held,
    /// The exit that [`Pause::Exit`](crate::exit::Pause::Exit) stands for, until it is taken.
    exit: Option<Exit>,
}

// An exit is taken before the core comes to rest.
state!(Core { registers, clock, pc, next_pc, instructions, skipped, held } fixed { timing, exit });

/// Saved state of a core ([`Core::save`]).
#[derive(Debug, Clone, Default)]
pub struct Checkpoint {
    registers: [u32; 32],
    pc: u32,
    next_pc: u32,
    instructions: u64,
    clock: CpuClock,
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
            skipped: 0,
            held: Held::NONE,
            exit: None,
        }
    }
}

impl Shell for Core {
    #[inline(always)]
    fn clock(&self) -> &CpuClock {
        &self.clock
    }

    #[inline(always)]
    fn instructions(&self) -> u64 {
        self.instructions
    }

    #[inline(always)]
    fn exit_mut(&mut self) -> &mut Option<Exit> {
        &mut self.exit
    }
}

impl Core {
    /// Continues at `pc`; registers keep their values. A pending branch is
    /// cancelled.
    pub fn start_at(&mut self, pc: u32) {
        self.pc = pc;
        self.next_pc = pc.wrapping_add(4);
        self.held = Held::NONE;
    }

    /// Address of the current instruction.
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

    /// Whether the next instruction was fetched: its execution must wait.
    #[must_use]
    pub const fn is_fetched(&self) -> bool {
        self.held.op().is_some()
    }

    /// Instructions executed so far.
    #[must_use]
    pub const fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Instructions that were passed over by [`skip`](Self::skip) so far.
    #[must_use]
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Ticks of the own cycles of an instruction.
    #[must_use]
    #[inline(always)]
    pub fn pace(&self) -> u64 {
        u64::from(self.timing.instruction_cycles) * self.clock.ticks_per_cycle
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

    /// Creates a checkpoint, before a fetch.
    #[inline(always)]
    pub fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.registers.copy_from_slice(self.registers());
        checkpoint.pc = self.pc;
        checkpoint.next_pc = self.next_pc;
        checkpoint.instructions = self.instructions;
        checkpoint.clock.clone_from(&self.clock);
    }

    /// Rolls the core back to a checkpoint.
    pub fn restore(&mut self, checkpoint: &Checkpoint) {
        self.registers[..32].copy_from_slice(&checkpoint.registers);
        self.pc = checkpoint.pc;
        self.next_pc = checkpoint.next_pc;
        self.instructions = checkpoint.instructions;
        self.clock.clone_from(&checkpoint.clock);
        self.held = Held::NONE;
    }

    /// Passes over `instructions` that the board knows to leave the core as it is: an idle loop.
    pub const fn skip(&mut self, instructions: u64, cycles: u64, ticks: u64) {
        self.instructions += instructions;
        self.skipped += instructions;
        self.clock.cycles += cycles;
        self.clock.now += ticks;
    }

    /// The registers with the places behind them.
    #[inline(always)]
    pub(super) const fn registers_mut(&mut self) -> &mut Registers {
        &mut self.registers
    }

    /// Address of the last jump to what a register held, which a return is.
    #[must_use]
    pub const fn jumped_from(&self) -> u32 {
        self.registers[JUMPED_FROM]
    }

    /// The registers with the places behind them, and what instructions cost.
    #[inline(always)]
    pub(super) const fn parts(&mut self) -> (&mut Registers, &CoreTiming) {
        (&mut self.registers, &self.timing)
    }

    #[inline(always)]
    pub(super) const fn place(&self, index: u8) -> u32 {
        self.registers[index as usize]
    }

    /// Writes an instruction's result.
    #[inline(always)]
    pub(super) const fn write(&mut self, op: Op, value: u32) {
        self.registers[op.dst() as usize] = value;
    }

    /// Counts and charges an executed instruction, and goes on at `pc`.
    #[inline(always)]
    pub(super) fn retire(&mut self, pc: u32, next_pc: u32, cycles: u32) {
        self.pc = pc;
        self.next_pc = next_pc;
        self.instructions += 1;
        self.clock.charge(u64::from(cycles));
    }

    /// Goes on behind an instruction without counting it.
    #[inline(always)]
    pub(super) const fn step_over(&mut self) {
        self.pc = self.next_pc;
        self.next_pc = self.pc.wrapping_add(4);
    }

    /// Counts and charges executed instructions, which took `cycles`, `extra_cycles` of them beyond what
    /// each one takes, and goes on at `pc` and then `next_pc`.
    #[inline(always)]
    pub(super) fn advance(&mut self, pc: u32, next_pc: u32, cycles: u64, extra_cycles: u64) {
        self.pc = pc;
        self.next_pc = next_pc;
        self.instructions += match self.timing.instruction_cycles {
            0 | 1 => cycles - extra_cycles,
            each => (cycles - extra_cycles) / u64::from(each),
        };
        self.clock.charge(cycles);
    }

    /// Retires an instruction that control leaves by `next`.
    #[inline(always)]
    pub(super) fn retire_to(&mut self, next: Next) {
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
