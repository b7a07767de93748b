//! A core whose translated code is entered, perhaps again and again.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::budget;
use crate::machine::{Code, Leave, Moment, NOT_ACCESSED};
use crate::sites::{Held, Site};

/// A core before translated code is entered. The next instruction is no delay slot.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Address of the next instruction.
    pub pc: u32,
    /// The cycles that are left: an instruction begins as long as there are any.
    pub left: i64,
    /// The tick at which no cycles are left.
    pub end: u64,
    /// Ticks of a cycle.
    pub ticks_per_cycle: u64,
}

/// The bus of the shared memory, for a core.
#[derive(Debug, Clone, Copy)]
pub struct SharedBus {
    /// It is taken until this tick.
    pub free_at: u64,
    /// Another one takes it at this tick. 0 leaves all accesses to shared memory to others.
    pub next_burst: u64,
}

/// A core after translated code was left.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Address of the next instruction.
    pub pc: u32,
    /// Address of the one after it.
    pub next_pc: u32,
    /// The cycles since the start.
    pub spent: Spent,
    /// Ticks for which the core waited for the bus since then.
    pub stalled: u64,
    /// Whether there was an access that others can see.
    pub disturbed: bool,
    /// The cycles from the start up to the last access to shared memory.
    pub shared_at: Option<Spent>,
}

/// Cycles of instructions.
#[derive(Debug, Clone, Copy)]
pub struct Spent {
    /// All of them.
    pub cycles: u64,
    /// Those among them beyond what each instruction takes.
    pub extra: u64,
}

/// A core, with its registers and memories, which translated code executes.
#[derive(Debug)]
pub struct Guest<'a> {
    pub(crate) code: &'a Code,
    pub(crate) moment: Moment,
    /// Cycles at the start, without those that are left to later starts.
    pub(crate) room: i64,
    pub(crate) pc: u32,
    pub(crate) next_pc: u32,
    pub(crate) stalled: u64,
    borrows: PhantomData<&'a Cell<u32>>,
}

impl<'a> Guest<'a> {
    #[inline(always)]
    pub(crate) const fn new(code: &'a Code, moment: Moment) -> Self {
        Self {
            code,
            moment,
            room: 0,
            pc: 0,
            next_pc: 4,
            stalled: 0,
            borrows: PhantomData,
        }
    }

    /// Sets where the core stands.
    #[inline(always)]
    pub fn start(&mut self, start: Start) {
        self.room = start.left.min(budget::MOST_CYCLES);
        let later = (start.left - self.room).cast_unsigned();
        let later = later.wrapping_mul(start.ticks_per_cycle);
        self.moment.budget = budget::of(self.room, 0);
        self.moment.end = start.end.wrapping_sub(later);
        self.moment.ticks_per_cycle = start.ticks_per_cycle;
        self.moment.shared_at = NOT_ACCESSED;
        self.moment.disturbed = 0;
        self.stalled = 0;
        self.pc = start.pc;
        self.next_pc = start.pc.wrapping_add(4);
    }

    /// Executes instructions on these registers from where the core stands, which is not in a delay slot.
    #[inline(always)]
    pub fn run(&mut self, registers: &mut [u32; 256], bus: &mut SharedBus) -> Leave {
        self.moment.pc = self.pc;
        self.moment.refused = 0;
        self.moment.bus_free_at = bus.free_at;
        self.moment.next_burst = bus.next_burst;
        let site = self.code.call(&mut self.moment, registers);
        bus.free_at = self.moment.bus_free_at;
        self.stand_at(site);
        self.moment.budget += budget::of(-i64::from(site.cycles), i64::from(site.extra));
        site.leave
    }

    /// Stands at a site.
    #[inline(always)]
    pub(crate) const fn stand_at(&mut self, site: &Site) {
        self.pc = match site.held {
            Held::Both => self.moment.pc,
            _ => site.pc,
        };
        self.next_pc = match site.held {
            Held::None => site.next_pc,
            _ => self.moment.next_pc,
        };
    }

    /// Whether the next instruction is a delay slot of a branch that was taken.
    #[must_use]
    #[inline(always)]
    pub const fn in_taken_slot(&self) -> bool {
        self.next_pc != self.pc.wrapping_add(4)
    }

    /// The tick at which the next instruction begins.
    #[must_use]
    #[inline(always)]
    pub const fn now(&self) -> u64 {
        let left = budget::left(self.moment.budget).cast_unsigned();
        self.moment
            .end
            .wrapping_sub(left.wrapping_mul(self.moment.ticks_per_cycle))
    }

    /// Where the core stands.
    #[must_use]
    #[inline(always)]
    pub fn end(&self) -> End {
        let Moment {
            budget,
            shared_at,
            disturbed,
            ..
        } = self.moment;
        let spent = |budget| Spent {
            cycles: (self.room - budget::left(budget)).cast_unsigned(),
            extra: budget::extra(budget).cast_unsigned(),
        };
        let accessed = shared_at != NOT_ACCESSED;
        End {
            pc: self.pc,
            next_pc: self.next_pc,
            spent: spent(budget),
            stalled: self.stalled,
            disturbed: disturbed != 0 || accessed,
            shared_at: accessed.then(|| spent(shared_at)),
        }
    }
}
