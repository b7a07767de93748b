//! Execution of a loop for all of its rounds at once: values that grow by a fixed amount in each round.
//!
//! A loop that follows a timer comes round with different values each time, all of them shifted by the time
//! that has passed. [`LinearCore`] carries out one round on values `v + n * slope` for every `n`. It goes on
//! only as long as what it does is the same for every `n`: branches, addresses and comparisons must not
//! depend on `n`, and only additions and subtractions may.

use super::alu;
use super::bus::Width;
use super::core::{CoreTiming, PLACES, Registers};
use super::exec::{Core, extend_byte, extend_half};
use super::flow::{self, Next};
use super::isa::Kind::{
    Addiu, Addu, Andi, Beq, Beql, Bne, Bnel, J, Jal, Joff, Lb, Lbu, Lh, Lhu, Lui, Lw, Or, Ori, Sb,
    Sh, Sll, Slti, Sltiu, Sra, Srl, Subu, Sw, Xor, Xori,
};
use super::isa::Op;

/// A value in round `n`: `value + n * slope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Linear {
    /// The value in the first round.
    pub value: u32,
    /// What is added in each round.
    pub slope: u32,
}

impl Linear {
    /// A value that is the same in each round.
    #[must_use]
    pub const fn constant(value: u32) -> Self {
        Self { value, slope: 0 }
    }
}

/// What the core reaches while it executes linear values. `None` ends the execution: the access may be
/// different in another round, or affects others.
pub trait LinearBus {
    /// The instruction at `pc`, whose fetch takes no time.
    fn fetch(&mut self, pc: u32) -> Option<Op>;

    /// Reads memory or a register `cycles` after the round began; gives the value and the cycles that it takes.
    fn load(&mut self, address: u32, width: Width, cycles: u64) -> Option<(Linear, u32)>;

    /// Writes memory or a register; gives the cycles that it takes.
    fn store(&mut self, address: u32, width: Width, value: Linear) -> Option<u32>;
}

/// A core whose registers hold linear values.
#[derive(Debug)]
pub struct LinearCore {
    values: Registers,
    slopes: Registers,
    pc: u32,
    next_pc: u32,
    timing: CoreTiming,
    /// Values in the first round are all that counts: slopes are not followed.
    first_round_only: bool,
    /// Cycles since the beginning.
    pub cycles: u64,
    /// Instructions since the beginning.
    pub instructions: u64,
}

impl LinearCore {
    /// A core like `core`, whose registers have these slopes; without slopes only the first round is carried out.
    #[must_use]
    pub fn new(core: &Core, slopes: Option<&[u32; 32]>) -> Self {
        let mut all = [0; PLACES];
        if let Some(slopes) = slopes {
            all[..32].copy_from_slice(slopes);
        }
        Self {
            values: *core.all_registers(),
            slopes: all,
            pc: core.pc(),
            next_pc: core.next_pc(),
            timing: core.timing,
            first_round_only: slopes.is_none(),
            cycles: 0,
            instructions: 0,
        }
    }

    /// The address of the next instruction.
    #[must_use]
    pub const fn pc(&self) -> u32 {
        self.pc
    }

    /// Whether the next instruction stands in the slot of a branch that was taken.
    #[must_use]
    pub const fn in_taken_slot(&self) -> bool {
        self.next_pc != self.pc.wrapping_add(4)
    }

    /// A register.
    #[must_use]
    pub const fn register(&self, index: usize) -> Linear {
        Linear {
            value: self.values[index & 31],
            slope: self.slopes[index & 31],
        }
    }

    /// Carries out an instruction. `None` if it is not the same in each round.
    pub fn step(&mut self, bus: &mut impl LinearBus) -> Option<()> {
        let op = bus.fetch(self.pc)?;
        if op.has_probe() || self.pc & 3 != 0 {
            return None;
        }
        let (next, extra) = if let Some(value) = alu::result(op.kind(), op, &self.values) {
            let slope = self.slope_of_result(op)?;
            self.set(op, Linear { value, slope });
            (Next::Sequence, 0)
        } else if let Some(cycles) = self.access(op, bus) {
            (Next::Sequence, cycles?)
        } else {
            if !self.goes_the_same_way(op) {
                return None;
            }
            let next = flow::next(&mut self.values, op, self.pc)?;
            self.slopes[op.dst() as usize] = 0;
            (next, 0)
        };
        self.retire(next, extra);
        Some(())
    }

    const fn slopes_of(&self, op: Op) -> (u32, u32) {
        if self.first_round_only {
            return (0, 0);
        }
        let (rs, rt) = (op.rs() as usize, op.rt() as usize);
        (self.slopes[rs], self.slopes[rt])
    }

    const fn set(&mut self, op: Op, result: Linear) {
        self.values[op.dst() as usize] = result.value;
        self.slopes[op.dst() as usize] = result.slope;
    }

    /// The slope of what an instruction computes; `None` if the result is not linear.
    const fn slope_of_result(&self, op: Op) -> Option<u32> {
        let (rs, rt) = self.slopes_of(op);
        let (zero_rs, zero_rt) = (op.rs() == 0, op.rt() == 0);
        Some(match op.kind() {
            Lui => 0,
            Addu => rs.wrapping_add(rt),
            Subu => rs.wrapping_sub(rt),
            Addiu => rs,
            Or | Xor if zero_rs => rt,
            Or | Xor if zero_rt => rs,
            Ori | Xori if op.imm() == 0 => rs,
            Sll | Srl | Sra if op.imm() & 31 == 0 => rt,
            Andi | Ori | Xori | Slti | Sltiu if rs == 0 => 0,
            Sll | Srl | Sra if rt == 0 => 0,
            Andi | Ori | Xori | Slti | Sltiu | Sll | Srl | Sra => return None,
            _ if rs == 0 && rt == 0 => 0,
            _ => return None,
        })
    }

    /// Whether a branch or jump goes the same way in each round.
    const fn goes_the_same_way(&self, op: Op) -> bool {
        let (rs, rt) = self.slopes_of(op);
        match op.kind() {
            J | Jal => true,
            Beq | Bne | Beql | Bnel => rs == rt,
            Joff => rs == 0 && rt == 0,
            _ => rs == 0,
        }
    }

    /// A load or store: the cycles that it takes, or `None` within if it is not the same in each round.
    fn access(&mut self, op: Op, bus: &mut impl LinearBus) -> Option<Option<u32>> {
        let byte: fn(u32) -> u32 = |value| value;
        let (width, store, extend): (_, _, fn(u32) -> u32) = match op.kind() {
            Lb => (Width::Byte, false, extend_byte),
            Lbu => (Width::Byte, false, byte),
            Lh => (Width::Half, false, extend_half),
            Lhu => (Width::Half, false, byte),
            Lw => (Width::Word, false, byte),
            Sb => (Width::Byte, true, byte),
            Sh => (Width::Half, true, byte),
            Sw => (Width::Word, true, byte),
            _ => return None,
        };
        let (base, slope) = self.slopes_of(op);
        let address = self.values[op.rs() as usize].wrapping_add(op.imm());
        if base != 0 || !address.is_multiple_of(width as u32) {
            return Some(None);
        }
        if store {
            let value = self.values[op.rt() as usize];
            return Some(bus.store(address, width, Linear { value, slope }));
        }
        let Some((loaded, cycles)) = bus.load(address, width, self.cycles) else {
            return Some(None);
        };
        let value = extend(loaded.value);
        self.set(op, Linear { value, ..loaded });
        Some(Some(cycles))
    }

    fn retire(&mut self, next: Next, access_cycles: u32) {
        let mut cycles = access_cycles + self.timing.instruction_cycles;
        self.pc = self.next_pc;
        self.next_pc = self.pc.wrapping_add(4);
        match next {
            Next::Sequence => {}
            Next::Target(target) => {
                self.next_pc = target;
                cycles += self.timing.taken_branch_cycles;
            }
            Next::Annul => {
                self.pc = self.next_pc;
                self.next_pc = self.pc.wrapping_add(4);
                cycles += self.timing.annulled_slot_cycles;
            }
        }
        self.cycles += u64::from(cycles);
        self.instructions += 1;
    }
}
