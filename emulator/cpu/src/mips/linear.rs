//! Execution of a loop for all of its periods at once: values that grow by a fixed amount in each period.
//!
//! A loop that follows a timer comes round with other values each time, all of them shifted by the time that has
//! passed. [`LinearCore`] executes one period on values `v + n * slope`, for every `n`. It goes on only while what it
//! does is the same for every `n`: branches, addresses and comparisons must not depend on `n`, and only additions
//! and subtractions may. With slopes of 0 it is a plain core.

use super::alu;
use super::bus::Width;
use super::core::{Core, PLACES, Registers};
use super::exec::{extend_byte, extend_half};
use super::flow;
use super::flow::Next;
use super::isa::Kind::{
    Addiu, Addu, Andi, Beq, Beql, Bne, Bnel, J, Jal, Joff, Lb, Lbu, Lh, Lhu, Lui, Lw, Or, Ori, Sb,
    Sh, Sll, Slti, Sltiu, Sra, Srl, Subu, Sw, Xor, Xori,
};
use super::isa::Op;

/// A value in period `n`: `value + n * slope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Linear {
    /// The value in the first period.
    pub value: u32,
    /// The amount that is added in each period.
    pub slope: u32,
}

impl Linear {
    /// A value that is the same in each period.
    #[must_use]
    pub const fn constant(value: u32) -> Self {
        Self { value, slope: 0 }
    }

    /// The value one period later.
    #[must_use]
    pub const fn next(self) -> Self {
        Self {
            value: self.value.wrapping_add(self.slope),
            slope: self.slope,
        }
    }
}

/// The accesses of a core that executes linear values. They charge their costs to the core, as those of a
/// [`Bus`](super::bus::Bus) do. `None` ends the execution: the access may be different in another period, or others
/// can see it.
pub trait LinearBus {
    /// The decoded instruction at `pc`, whose fetch takes no time.
    fn fetch(&mut self, pc: u32) -> Option<Op>;

    /// Reads memory or a register.
    fn load(&mut self, core: &mut Core, address: u32, width: Width) -> Option<Linear>;

    /// Writes memory or a register.
    fn store(&mut self, core: &mut Core, address: u32, width: Width, value: Linear) -> Option<()>;
}

/// A core whose registers hold linear values.
#[derive(Debug)]
pub struct LinearCore {
    /// The core in the first period.
    pub core: Core,
    slopes: Registers,
}

impl LinearCore {
    /// A core like `core`, whose registers have these slopes.
    #[must_use]
    pub fn new(core: &Core, slopes: &[u32; 32]) -> Self {
        let mut all = [0; PLACES];
        all[..32].copy_from_slice(slopes);
        let core = core.clone();
        Self { core, slopes: all }
    }

    /// A register.
    #[must_use]
    pub const fn register(&self, index: usize) -> Linear {
        Linear {
            value: self.core.register(index),
            slope: self.slopes[index & 31],
        }
    }

    /// Executes an instruction. `None` if it is not the same in each period.
    pub fn step(&mut self, bus: &mut impl LinearBus) -> Option<()> {
        let pc = self.core.pc();
        if pc & 3 != 0 {
            return None;
        }
        let op = bus.fetch(pc)?;
        let values = self.core.registers_mut();
        let next = if let Some(value) = alu::result(op.kind(), op, values) {
            let slope = self.slope_of_result(op)?;
            self.set(op, Linear { value, slope });
            Next::Sequence
        } else if let Some(access) = Access::of(op) {
            self.access(op, access, bus)?;
            Next::Sequence
        } else {
            if !self.goes_the_same_way(op) {
                return None;
            }
            let next = flow::next(self.core.registers_mut(), op, pc)?;
            self.slopes[op.dst() as usize] = 0;
            next
        };
        self.core.retire_to(next);
        Some(())
    }

    const fn slopes_of(&self, op: Op) -> (u32, u32) {
        let (rs, rt) = (op.rs() as usize, op.rt() as usize);
        (self.slopes[rs], self.slopes[rt])
    }

    const fn set(&mut self, op: Op, result: Linear) {
        self.core.write(op, result.value);
        self.slopes[op.dst() as usize] = result.slope;
    }

    /// The slope of the result of an instruction; `None` if the result is not linear.
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

    /// Whether a branch or jump goes the same way in each period.
    #[inline]
    const fn goes_the_same_way(&self, op: Op) -> bool {
        let (rs, rt) = self.slopes_of(op);
        match op.kind() {
            J | Jal => true,
            Beq | Bne | Beql | Bnel => rs == rt,
            Joff => rs == 0 && rt == 0,
            _ => rs == 0,
        }
    }

    /// A load or store; `None` if it is not the same in each period.
    fn access(&mut self, op: Op, access: Access, bus: &mut impl LinearBus) -> Option<()> {
        let (base, slope) = self.slopes_of(op);
        let address = self.core.place(op.rs()).wrapping_add(op.imm());
        if base != 0 || !address.is_multiple_of(access.width as u32) {
            return None;
        }
        let Some(extend) = access.extend else {
            let value = self.core.place(op.rt());
            return bus.store(
                &mut self.core,
                address,
                access.width,
                Linear { value, slope },
            );
        };
        let loaded = bus.load(&mut self.core, address, access.width)?;
        let value = extend(loaded.value);
        self.set(op, Linear { value, ..loaded });
        Some(())
    }
}

/// A load or store.
struct Access {
    width: Width,
    /// Extension of a loaded value to a word; `None` for a store.
    extend: Option<fn(u32) -> u32>,
}

impl Access {
    #[inline]
    fn of(op: Op) -> Option<Self> {
        let zero: fn(u32) -> u32 = |value| value;
        let (width, extend) = match op.kind() {
            Lb => (Width::Byte, Some(extend_byte as fn(u32) -> u32)),
            Lbu => (Width::Byte, Some(zero)),
            Lh => (Width::Half, Some(extend_half as fn(u32) -> u32)),
            Lhu => (Width::Half, Some(zero)),
            Lw => (Width::Word, Some(zero)),
            Sb => (Width::Byte, None),
            Sh => (Width::Half, None),
            Sw => (Width::Word, None),
            _ => return None,
        };
        Some(Self { width, extend })
    }
}
