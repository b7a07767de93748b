//! Memory as a CPU sees it: loading before a run, reading afterwards.

use defs::tigon2::map::{
    REGISTER_BASE, REGISTER_BYTES, SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, SCRATCHPAD_BASE,
    SRAM_LIMIT,
};
use emulator::board::Board;
use emulator::cpu::mips::bus::Width;
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::map::{self, Place};

use crate::cli::Cpu;

/// An address range is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The address is unmapped.
    #[error("no memory there ({place})")]
    Nothing {
        /// Description by the address map.
        place: String,
    },
    /// The range exceeds its memory.
    #[error("too long: {name} ends at {end:#x}")]
    TooLong {
        /// Name of the memory.
        name: &'static str,
        /// End of the memory.
        end: u32,
    },
    /// The length is 0.
    #[error("the length is 0")]
    Empty,
}

/// Checks that a range does not exceed its memory.
const fn check_end(
    address: u32,
    length_bytes: usize,
    name: &'static str,
    end: u32,
) -> Result<(), MemoryError> {
    if length_bytes > end.saturating_sub(address) as usize {
        return Err(MemoryError::TooLong { name, end });
    }
    Ok(())
}

fn nothing(who: Initiator, address: u32) -> MemoryError {
    let place = map::probe(who, address);
    MemoryError::Nothing { place }
}

const fn scratchpad_end(cpu: Cpu) -> u32 {
    SCRATCHPAD_BASE
        + match cpu {
            Cpu::A => SCRATCHPAD_A_BYTES,
            Cpu::B => SCRATCHPAD_B_BYTES,
        }
}

/// Loads bytes into installed SRAM or into the CPU's scratchpad.
///
/// # Errors
/// If the range is invalid.
pub fn write(board: &mut Tigon2, cpu: Cpu, address: u32, bytes: &[u8]) -> Result<(), MemoryError> {
    let sram = &mut board.fabric.sram;
    let private = &mut board.cores[cpu.index()].private;
    match map::place(private.who, address) {
        Place::Sram => {
            check_end(address, bytes.len(), "SRAM", sram.size_bytes() as u32)?;
            sram.copy_in(address, bytes);
        }
        Place::Scratchpad => {
            check_end(address, bytes.len(), "the scratchpad", scratchpad_end(cpu))?;
            for (address, &byte) in (address..).zip(bytes) {
                private.scratchpad.write(address, Width::Byte, byte.into());
            }
        }
        _ => return Err(nothing(private.who, address)),
    }
    Ok(())
}

/// Reads memory as the CPU sees it, without side effects: SRAM (which repeats), its own scratchpad, or
/// registers.
///
/// # Errors
/// If the range is invalid.
pub fn read(
    node: &Node,
    cpu: Cpu,
    address: u32,
    length_bytes: u32,
) -> Result<Vec<u8>, MemoryError> {
    if length_bytes == 0 {
        return Err(MemoryError::Empty);
    }
    let board = node.board::<Tigon2>();
    let private = &board.cores[cpu.index()].private;
    let length = length_bytes as usize;
    let addresses = || address..address.saturating_add(length_bytes);
    Ok(match map::place(private.who, address) {
        Place::Sram => {
            check_end(address, length, "SRAM", SRAM_LIMIT)?;
            let mut bytes = vec![0; length];
            board.fabric.sram.copy_out(address, &mut bytes);
            bytes
        }
        Place::Scratchpad => {
            check_end(address, length, "the scratchpad", scratchpad_end(cpu))?;
            let byte = |address| private.scratchpad.read(address, Width::Byte) as u8;
            addresses().map(byte).collect()
        }
        Place::Register(_) => {
            let end = REGISTER_BASE + REGISTER_BYTES;
            check_end(address, length, "the register file", end)?;
            let byte = |address: u32| {
                let word = board.window_peek((address - REGISTER_BASE) & !3, node.now());
                word.to_be_bytes()[address as usize % 4]
            };
            addresses().map(byte).collect()
        }
        _ => return Err(nothing(private.who, address)),
    })
}

/// The instruction word at a CPU's `pc`, if mapped.
pub fn instruction(board: &Tigon2, index: usize, pc: u32) -> Option<u32> {
    let private = &board.cores[index].private;
    match map::place(private.who, pc) {
        Place::Sram => Some(board.fabric.sram.word(pc)),
        Place::Scratchpad => Some(private.scratchpad.read(pc & !3, Width::Word)),
        _ => None,
    }
}
