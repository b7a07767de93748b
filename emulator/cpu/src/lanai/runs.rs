//! Runs: decoded instructions that follow one another in memory, and what they cost.

use super::bus::OwnCode;
use super::core::RunPosition;
use super::op::Op;
use crate::decoded::Place;

/// Costs of instructions.
#[derive(Debug, Clone, Copy)]
pub(super) struct CycleCosts {
    /// Cycles of each instruction: 1 at least.
    pub each: i64,
    /// Cycles of a wait for a loaded value.
    pub wait: i64,
    /// Ticks per cycle.
    pub cycle: u64,
}

impl CycleCosts {
    /// The number of instructions that begin within so many cycles.
    #[inline(always)]
    fn begin_within(self, cycles: i64) -> usize {
        let cycles = cycles.max(0).cast_unsigned();
        let count = match self.each {
            1 => cycles,
            each => cycles.div_ceil(each.cast_unsigned()),
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Cycles of so many instructions.
    #[inline(always)]
    const fn cycles_of(self, count: usize) -> i64 {
        self.each * count.cast_signed() as i64
    }
}

/// A taken jump whose slots are still to be executed.
#[derive(Debug, Clone, Copy)]
struct Jump {
    /// Address behind the last slot.
    end: u32,
    target: u32,
}

/// The instructions that are executed next. Each one takes one from the front; what takes time besides, takes them from the back.
#[derive(Debug)]
pub(super) struct Run<'a> {
    /// Instructions that begin in time, up to the last slot of a jump.
    ops: &'a [Place<Op>],
    /// Address of the first one of these.
    pc: u32,
    /// Cycles that are left beyond theirs.
    slack: i64,
    jump: Option<Jump>,
    /// Address at which the run began.
    first: u32,
}

impl<'a> Run<'a> {
    /// The run that begins at an address, with so many cycles left.
    #[inline(always)]
    pub fn at(first: u32, code: &'a impl OwnCode, left: i64, costs: CycleCosts) -> Self {
        let ops = code.from(first);
        let ops = ops.get(..costs.begin_within(left)).unwrap_or(ops);
        Self {
            ops,
            pc: first,
            slack: left - costs.cycles_of(ops.len()),
            jump: None,
            first,
        }
    }

    /// The next instruction, if it begins in time, and the ones behind it.
    #[inline(always)]
    pub const fn next(&self) -> Option<(&'a Place<Op>, &'a [Place<Op>])> {
        self.ops.split_first()
    }

    /// Moves on to the instructions behind the next one.
    #[inline(always)]
    pub const fn advance(&mut self, rest: &'a [Place<Op>]) {
        self.ops = rest;
        self.pc = self.pc.wrapping_add(4);
    }

    /// The next instruction, if it begins in time.
    #[inline(always)]
    pub fn peek(&self) -> Option<Op> {
        self.ops.first().map(Place::get)
    }

    /// Address of the next instruction.
    #[inline(always)]
    pub const fn address(&self) -> u32 {
        self.pc
    }

    /// The number of instructions that are over.
    #[inline(always)]
    pub fn executed(&self) -> u64 {
        u64::from(self.pc.wrapping_sub(self.first) >> 2)
    }

    /// The cycles that are left.
    #[inline(always)]
    pub fn left(&self, costs: CycleCosts) -> i64 {
        self.slack + costs.cycles_of(self.ops.len())
    }

    /// Something besides the instructions takes time.
    #[inline(always)]
    pub fn spend(&mut self, cycles: i64, costs: CycleCosts) {
        self.slack -= cycles;
        if self.slack <= -costs.each {
            let late = match costs.each {
                1 => -self.slack,
                each => -self.slack / each,
            };
            self.cut(usize::try_from(late).unwrap_or(usize::MAX), costs);
        }
    }

    /// Leaves the last `count` instructions away.
    #[inline(always)]
    fn cut(&mut self, count: usize, costs: CycleCosts) {
        let count = count.min(self.ops.len());
        self.ops = &self.ops[..self.ops.len() - count];
        self.slack += costs.cycles_of(count);
    }

    /// A jump decides what follows behind `slots` instructions more. `false` if one of these depends on that itself, or may.
    #[inline(always)]
    pub fn jump(&mut self, target: u32, slots: u8, costs: CycleCosts) -> bool {
        let slots = usize::from(slots);
        self.jump = Some(Jump {
            end: self.pc.wrapping_add((slots as u32) << 2),
            target,
        });
        let count = self.ops.len();
        self.cut(count.saturating_sub(slots), costs);
        let mut ops = self.ops.iter();
        // What is not decoded yet carries a mark: another thread may decode it before it is executed.
        !ops.any(|op| {
            let op = op.get();
            op.is_marked() || op.kind().depends_on_path()
        })
    }

    /// Goes on at the target of a jump, once all its slots are over. `false` if there is none.
    #[inline(always)]
    pub fn follow(&mut self, code: &'a impl OwnCode, costs: CycleCosts) -> bool {
        match self.jump {
            Some(Jump { end, target }) if end == self.pc => {
                *self = Self::at(target, code, self.left(costs), costs);
                true
            }
            _ => false,
        }
    }

    /// Sets a core's position to the next instruction.
    #[inline(always)]
    pub const fn store_position(&self, at: &mut RunPosition) {
        let pc = self.pc;
        at.pc = pc;
        at.next = pc.wrapping_add(4);
        at.third = pc.wrapping_add(8);
        if let Some(Jump { end, target }) = self.jump {
            match end.wrapping_sub(pc) {
                4 => {
                    at.next = target;
                    at.third = target.wrapping_add(4);
                }
                _ => at.third = target,
            }
        }
    }
}
