//! The core's architecture for gdb: a big-endian 32-bit MIPS.
//!
//! Registers are in gdb's order for MIPS. gdb requires status, `lo`, `hi`, bad address and floating point
//! registers, which the core does not have: they are reported as unavailable; those of floating point as 0, since gdb's
//! `info all-registers` ends at one that is unavailable. `cause` is synthetic: as on
//! processors with exceptions, its highest bit marks that the next instruction is in the delay slot of the
//! one at `pc` (`super::slots`).

use std::num::NonZeroUsize;

use gdbstub::arch::{Arch, RegId, Registers};

/// Number of general registers.
const GENERAL: usize = 32;
/// Size of a register in bytes.
const WIDTH: usize = 4;
/// Numbers of registers in gdb's protocol for MIPS.
const CAUSE: usize = 36;
const PC: usize = 37;
/// First register of floating point.
const FLOATING: usize = 38;
/// Number of registers with floating point: 32 registers, control and implementation.
const ALL: usize = 72;

/// The bit of `cause` that marks a delay slot.
pub const IN_DELAY_SLOT: u32 = 1 << 31;

/// The architecture.
#[derive(Debug, Clone, Copy)]
pub struct BigEndianMips;

impl Arch for BigEndianMips {
    type Usize = u32;
    type Registers = CoreRegisters;
    /// Length of the instruction: 4.
    type BreakpointKind = usize;
    type RegId = GdbRegister;

    fn target_description_xml() -> Option<&'static str> {
        Some(include_str!("target.xml"))
    }
}

/// Values of a core's registers, as exchanged with gdb.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CoreRegisters {
    /// The general registers.
    pub general: [u32; GENERAL],
    /// Whether the next instruction is in a delay slot: [`IN_DELAY_SLOT`].
    pub cause: u32,
    /// Program counter.
    pub pc: u32,
}

impl CoreRegisters {
    /// Value of a register; `None` if the core does not have it.
    #[must_use]
    pub fn value(&self, register: GdbRegister) -> Option<u32> {
        match register.0 {
            CAUSE => Some(self.cause),
            PC => Some(self.pc),
            FLOATING..ALL => Some(0),
            index => self.general.get(index).copied(),
        }
    }
}

impl Registers for CoreRegisters {
    type ProgramCounter = u32;

    fn pc(&self) -> u32 {
        self.pc
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for index in 0..ALL {
            match self.value(GdbRegister(index)) {
                Some(value) => value.to_be_bytes().map(Some).map(&mut write_byte),
                None => [None; WIDTH].map(&mut write_byte),
            };
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let (words, _) = bytes.as_chunks::<WIDTH>();
        let word = |index: usize| words.get(index).map(|word| u32::from_be_bytes(*word));
        for (index, value) in self.general.iter_mut().enumerate() {
            *value = word(index).ok_or(())?;
        }
        self.cause = word(CAUSE).ok_or(())?;
        self.pc = word(PC).ok_or(())?;
        Ok(())
    }
}

/// A register by gdb's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GdbRegister(usize);

impl GdbRegister {
    /// Index among the general registers, if it is one.
    #[must_use]
    pub const fn general(self) -> Option<usize> {
        match self.0 < GENERAL {
            true => Some(self.0),
            false => None,
        }
    }

    /// Whether this is the program counter.
    #[must_use]
    pub const fn is_pc(self) -> bool {
        self.0 == PC
    }
}

impl RegId for GdbRegister {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        (id < ALL).then_some((Self(id), NonZeroUsize::new(WIDTH)))
    }

    fn to_raw_id(&self) -> Option<usize> {
        Some(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_go_to_gdb_and_come_back() {
        let mut registers = CoreRegisters {
            cause: IN_DELAY_SLOT,
            pc: 0xC0_1508,
            ..CoreRegisters::default()
        };
        for (index, value) in registers.general.iter_mut().enumerate() {
            *value = 0x0102_0304 * index as u32;
        }
        let mut bytes = Vec::new();
        registers.gdb_serialize(|byte| bytes.push(byte));
        assert_eq!(bytes.len(), ALL * WIDTH);
        assert_eq!(bytes[WIDTH], Some(1), "the highest byte comes first");
        assert!(bytes[32 * WIDTH..36 * WIDTH].iter().all(Option::is_none));
        let bytes: Vec<u8> = bytes.into_iter().map(|byte| byte.unwrap_or(0)).collect();
        let mut again = CoreRegisters::default();
        assert_eq!(again.gdb_deserialize(&bytes), Ok(()));
        assert_eq!(again, registers);
        assert!(again.gdb_deserialize(&bytes[..37 * WIDTH]).is_err());
    }

    #[test]
    fn the_description_numbers_registers_as_we_do() {
        let description = include_str!("target.xml");
        let mut next = 0;
        for line in description.lines().filter(|line| line.contains("<reg ")) {
            if let Some((_, number)) = line.split_once("regnum=\"") {
                let number = number.split('"').next().unwrap_or_default();
                next = number.parse().unwrap_or(usize::MAX);
            }
            let named = |name: &str| line.contains(&format!("name=\"{name}\""));
            assert_eq!(named("cause"), next == CAUSE, "{line}");
            assert_eq!(named("pc"), next == PC, "{line}");
            next += 1;
        }
        assert_eq!(next, ALL);
    }
}
