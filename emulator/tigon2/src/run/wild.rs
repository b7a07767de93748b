//! Execution that has left the code of the firmware (`cpu/code_map.rs`).

use defs::tigon2::map::{SCRATCHPAD_BASE, SRAM_LIMIT};

use crate::cores::CorePrivate;
use crate::sram::Sram;
use emulator_cpu::bus::{Fault, Width};
use emulator_cpu::code_map::{CodeMap, EntryPath, UNWRITTEN_BEFORE_BYTES, Wild, is_unwritten};
use emulator_cpu::mips::architecture::MIPS;
use emulator_cpu::mips::exec::Core;

/// Whether the word at `pc` is code.
#[cold]
pub(crate) fn is_code(private: &CorePrivate, sram: &Sram, code: &CodeMap, pc: u32) -> bool {
    let doubted = |word| code.doubts(pc, word) && seems_unwritten(private, sram, pc);
    code.allows(pc) && word(private, sram, pc).is_some_and(|word| !doubted(word))
}

/// The fault of a core that comes to `pc`, where no code is.
#[cold]
pub(crate) fn no_code(
    core: &Core,
    private: &CorePrivate,
    sram: &Sram,
    code: &CodeMap,
    pc: u32,
) -> Fault {
    let word = |at| word(private, sram, at);
    Fault::Wild(Wild {
        address: pc,
        path: EntryPath::find(pc, &MIPS, core.registers(), code, core.jumped_from(), word),
        place: code.place(pc, is_memory(private, sram, pc)),
    })
}

/// The word that a core sees at an address of memory.
fn word(private: &CorePrivate, sram: &Sram, address: u32) -> Option<u32> {
    match address {
        ..SRAM_LIMIT => Some(sram.word(address)),
        _ => private.scratchpad.get(address & !3, Width::Word),
    }
}

/// Whether there is memory, not repeated.
fn is_memory(private: &CorePrivate, sram: &Sram, address: u32) -> bool {
    (address as usize) < sram.size_bytes() || private.scratchpad.range().contains(&address)
}

/// Whether nothing was ever written to memory from an address on.
fn seems_unwritten(private: &CorePrivate, sram: &Sram, address: u32) -> bool {
    let from = address.saturating_sub(UNWRITTEN_BEFORE_BYTES);
    match address {
        ..SRAM_LIMIT => is_unwritten(sram.words_from(from)),
        _ => is_unwritten(private.scratchpad.words_from(from.max(SCRATCHPAD_BASE))),
    }
}
