//! The address map as one table: targets and their names.

use defs::tigon2::map::{
    REGISTER_BASE, REGISTER_BYTES, SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, SCRATCHPAD_BASE,
    SRAM_LIMIT, STACK_MAP_BASE, STACK_MAP_LIMIT,
};
use defs::tigon2::{registers, regs as r};

use crate::inspect::names::NAMES;
use emulator_base::initiator::Initiator;

/// Target of an access by a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuTarget {
    /// SRAM.
    Sram,
    /// The stack-overflow map.
    StackMap,
    /// The CPU's own scratchpad.
    Scratchpad,
    /// A register, by offset.
    Register(u32),
    /// Unmapped.
    Nothing,
}

/// Target of an access of `initiator` to `address`.
#[must_use]
pub const fn cpu_target(initiator: Initiator, address: u32) -> CpuTarget {
    let scratchpad_bytes = match initiator {
        Initiator::Cpu(1) => SCRATCHPAD_B_BYTES,
        _ => SCRATCHPAD_A_BYTES,
    };
    if address < SRAM_LIMIT {
        CpuTarget::Sram
    } else if STACK_MAP_BASE <= address && address < STACK_MAP_LIMIT {
        CpuTarget::StackMap
    } else if address.wrapping_sub(SCRATCHPAD_BASE) < scratchpad_bytes {
        CpuTarget::Scratchpad
    } else if address.wrapping_sub(REGISTER_BASE) < REGISTER_BYTES {
        CpuTarget::Register(address - REGISTER_BASE)
    } else {
        CpuTarget::Nothing
    }
}

/// Name of the target of `initiator` at `address`: `cpu_b > dma_read > state`.
#[must_use]
pub fn probe(initiator: Initiator, address: u32) -> String {
    let name = NAMES.initiator(initiator);
    match cpu_target(initiator, address) {
        CpuTarget::Sram => format!("{name} > sram > {address:#x}"),
        CpuTarget::StackMap => format!("{name} > stack_map > {address:#x}"),
        CpuTarget::Scratchpad => format!("{name} > scratchpad > {:#x}", address - SCRATCHPAD_BASE),
        CpuTarget::Register(offset) => registers::find(offset).map_or_else(
            || format!("{name} > storage > {offset:#05x}"),
            |register| format!("{name} > {} > {}", register.block, register.name),
        ),
        CpuTarget::Nothing => format!("{name} > nothing > {address:#010x}"),
    }
}

/// Address of the register at `offset` for CPUs.
#[must_use]
pub const fn register_address(offset: u32) -> u32 {
    REGISTER_BASE + offset
}

/// The block of the register at a CPU's address.
#[must_use]
pub fn block_of(address: u32) -> &'static str {
    let offset = address.wrapping_sub(REGISTER_BASE);
    match registers::find(offset) {
        Some(register) => register.block,
        None => match general_register(offset) {
            Some((0, _)) => "cpu_a",
            Some(_) => "cpu_b",
            None => "storage",
        },
    }
}

/// The CPU (0 = A, 1 = B) and the number of the general register at an offset.
#[must_use]
pub const fn general_register(offset: u32) -> Option<(usize, u32)> {
    let (cpu, as_a) = match offset.checked_sub(r::CPU_B) {
        Some(as_a) if offset >= r::CPU_B + r::CPU_PRIVATE => (1, as_a),
        _ => (0, offset),
    };
    match as_a {
        r::CPU_REGISTERS..r::CPU_PRIVATE_END => Some((cpu, (as_a - r::CPU_REGISTERS) / 4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_names_every_target() {
        let check = |initiator, address, expected: &str| {
            assert_eq!(probe(initiator, address), expected);
        };
        check(Initiator::Cpu(1), 0xC000_00B0, "cpu_b > dma_read > state");
        check(Initiator::Cpu(0), 0xC000_0048, "cpu_a > semaphore > a");
        check(Initiator::Cpu(0), 0xC0_2000, "cpu_a > scratchpad > 0x2000");
        check(Initiator::Cpu(1), 0xC0_2000, "cpu_b > nothing > 0x00c02000");
        check(Initiator::Cpu(0), 0x1C_0000, "cpu_a > sram > 0x1c0000");
        check(Initiator::Cpu(0), 0xBF_F000, "cpu_a > stack_map > 0xbff000");
        check(Initiator::Cpu(0), 0xC000_03F0, "cpu_a > storage > 0x3f0");
    }
}
