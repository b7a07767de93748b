//! The CPUs of a board as data: their number, registers and scratchpads.
//!
//! The chip has two CPUs, A and B. A `tigon-n` is the same chip with one to eight, A to H, as its timing profile says (`core.cpus`). Each has a
//! [`CoreUnit`](crate::cores::CoreUnit) of its own in the board's list, and a place in each [`PerCpu`]; SRAM, DMA, MAC and the one semaphore
//! serve all. The registers of A and B are where the chip has them; the others have banks behind what the chip uses
//! ([`banks`]), where two read-only registers tell firmware the number of CPUs, and which one reads. The scratchpads of C
//! to H are as large as that of B: code that fits one of them fits all.
//!
//! The machinery runs two cores at a time, `rest` being the others: see `run::turns`. So a board with one CPU has a second
//! unit, which never starts.

use std::ops::{Index, IndexMut};

use defs::tigon2::banks::{self, CHIP_CPUS, MOST_CPUS};
use defs::tigon2::map::{REGISTER_BYTES, SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES};

use super::inspect::debugger::{CPUS, CPUS_N};
use super::inspect::names::{NAMES, NAMES_N};
use emulator_base::initiator::Initiator;
use emulator_board::CpuInfo;
use emulator_observe::names::BoardNames;
use emulator_state::{Reader, State, StateError, Value, Writer};

/// The CPUs that a board has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuPlan {
    count: u8,
    /// The board is a `tigon-n`.
    any_number: bool,
}

impl CpuPlan {
    /// The two CPUs of the chip.
    pub const CHIP: Self = Self {
        count: CHIP_CPUS as u8,
        any_number: false,
    };

    /// So many CPUs on a `tigon-n`; `None` if it cannot have as many.
    #[must_use]
    pub fn any_number(count: u32) -> Option<Self> {
        let count = u8::try_from(count).ok()?;
        let fits = (1..=MOST_CPUS).contains(&usize::from(count));
        fits.then_some(Self {
            count,
            any_number: true,
        })
    }

    /// The number of CPUs.
    #[must_use]
    pub const fn count(self) -> usize {
        self.count as usize
    }

    /// The number of units that the board models: two, at least.
    #[must_use]
    pub const fn units(self) -> usize {
        match self.count() {
            ..CHIP_CPUS => CHIP_CPUS,
            count => count,
        }
    }

    /// The names of a board with these CPUs.
    #[must_use]
    pub const fn names(self) -> &'static BoardNames {
        match self.any_number {
            true => &NAMES_N,
            false => &NAMES,
        }
    }

    /// The CPUs, for tools.
    #[must_use]
    pub fn infos(self) -> &'static [CpuInfo] {
        match self.any_number {
            true => &CPUS_N[..self.count()],
            false => &CPUS[..self.count()],
        }
    }

    /// Whether there is a register at an offset.
    #[must_use]
    #[inline(always)]
    pub const fn has_register(self, offset: u32) -> bool {
        offset < REGISTER_BYTES || self.any_number && self.is_in_banks(offset)
    }

    const fn is_in_banks(self, offset: u32) -> bool {
        banks::BANKS <= offset && offset < banks::bank(self.units())
    }
}

/// Bytes of the scratchpad of a CPU.
#[must_use]
pub const fn scratchpad_bytes(cpu: usize) -> u32 {
    match cpu {
        0 => SCRATCHPAD_A_BYTES,
        _ => SCRATCHPAD_B_BYTES,
    }
}

/// An initiator that accesses addresses as a CPU sees them, on a board with these CPUs.
#[derive(Debug, Clone, Copy)]
pub struct Viewer {
    /// The initiator. Others than CPUs see what CPU A sees.
    pub who: Initiator,
    /// CPUs of the board.
    pub cpus: CpuPlan,
}

/// A value for each CPU that a board may have.
#[derive(Debug, Clone)]
pub struct PerCpu<T> {
    cpus: CpuPlan,
    values: [T; MOST_CPUS],
}

impl<T: Default> PerCpu<T> {
    /// Default values, on a board with these CPUs.
    #[must_use]
    pub fn new(cpus: CpuPlan) -> Self {
        Self {
            cpus,
            values: Default::default(),
        }
    }

    /// Default values, as after power-on.
    pub fn reset(&mut self) {
        *self = Self::new(self.cpus);
    }
}

impl<T> PerCpu<T> {
    /// CPUs of the board.
    #[must_use]
    pub const fn cpus(&self) -> CpuPlan {
        self.cpus
    }

    /// The values of the CPUs that the board has, CPU A first.
    #[inline(always)]
    pub fn each(&self) -> &[T] {
        &self.values[..self.cpus.count().min(MOST_CPUS)]
    }

    /// The values of the CPUs that the board has, CPU A first.
    #[inline(always)]
    pub fn each_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.cpus.count().min(MOST_CPUS)]
    }

    /// The values of the units that the board models.
    pub fn of_units_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.cpus.units()]
    }
}

impl<T> Index<usize> for PerCpu<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, cpu: usize) -> &T {
        &self.values[cpu % MOST_CPUS]
    }
}

impl<T> IndexMut<usize> for PerCpu<T> {
    #[inline(always)]
    fn index_mut(&mut self, cpu: usize) -> &mut T {
        &mut self.values[cpu % MOST_CPUS]
    }
}

/// The values of the units that the board models.
impl<T: Value> State for PerCpu<T> {
    fn save(&self, out: &mut Writer) {
        let values = &self.values[..self.cpus.units()];
        values.iter().for_each(|value| value.write(out));
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        for value in self.of_units_mut() {
            *value = T::read(from)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_one_to_eight_cpus() {
        let counts = (0..=300).filter_map(CpuPlan::any_number);
        let counts: Vec<_> = counts.map(CpuPlan::count).collect();
        assert_eq!(counts, [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn registers_are_those_of_the_cpus() {
        let has = |plan: CpuPlan, offset| plan.has_register(offset);
        let three = CpuPlan::any_number(3).unwrap();
        for plan in [CpuPlan::CHIP, three] {
            assert!(has(plan, 0x3FC) && !has(plan, 0x400) && !has(plan, 0xFFC));
        }
        assert!(!has(CpuPlan::CHIP, banks::CPU_COUNT));
        assert!(has(three, banks::CPU_COUNT) && has(three, banks::event_register(2)));
        assert!(!has(three, banks::event_register(3)));
        let one = CpuPlan::any_number(1).unwrap();
        assert!(has(one, banks::CPU_NUMBER) && !has(one, banks::FIRST_BANK));
    }

    #[test]
    fn state_has_the_values_of_the_units() {
        let bytes = |plan| {
            let mut out = Writer::default();
            PerCpu::<u32>::new(plan).save(&mut out);
            out.into_bytes().len()
        };
        assert_eq!(bytes(CpuPlan::CHIP), 8);
        assert_eq!(bytes(CpuPlan::any_number(1).unwrap()), 8);
        assert_eq!(bytes(CpuPlan::any_number(5).unwrap()), 20);
    }
}
