//! The address map as one table: targets and their names.

use defs::tigon2::banks::private_of;
use defs::tigon2::map::{
    REGISTER_BASE, SCRATCHPAD_BASE, SRAM_LIMIT, STACK_MAP_BASE, STACK_MAP_LIMIT,
};
use defs::tigon2::regs as r;

use crate::cores::owner_of;
use crate::cpus::{Viewer, scratchpad_bytes};
use crate::inspect::names;

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

/// Target of an access of `viewer` to `address`.
#[must_use]
pub const fn cpu_target(viewer: Viewer, address: u32) -> CpuTarget {
    let cpu = match viewer.who.cpu() {
        Some(cpu) => cpu,
        None => 0,
    };
    if address < SRAM_LIMIT {
        CpuTarget::Sram
    } else if STACK_MAP_BASE <= address && address < STACK_MAP_LIMIT {
        CpuTarget::StackMap
    } else if address.wrapping_sub(SCRATCHPAD_BASE) < scratchpad_bytes(cpu) {
        CpuTarget::Scratchpad
    } else if viewer
        .cpus
        .has_register(address.wrapping_sub(REGISTER_BASE))
    {
        CpuTarget::Register(address - REGISTER_BASE)
    } else {
        CpuTarget::Nothing
    }
}

/// Name of the target of `viewer` at `address`: `cpu_b > dma_read > state`.
#[must_use]
pub fn probe(viewer: Viewer, address: u32) -> String {
    let name = viewer.cpus.names().initiator(viewer.who);
    match cpu_target(viewer, address) {
        CpuTarget::Sram => format!("{name} > sram > {address:#x}"),
        CpuTarget::StackMap => format!("{name} > stack_map > {address:#x}"),
        CpuTarget::Scratchpad => format!("{name} > scratchpad > {:#x}", address - SCRATCHPAD_BASE),
        CpuTarget::Register(offset) => match names::of_block(offset) {
            None => format!("{name} > storage > {offset:#05x}"),
            Some((block, register)) => format!("{name} > {block} > {register}"),
        },
        CpuTarget::Nothing => format!("{name} > nothing > {address:#010x}"),
    }
}

/// Address of the register at `offset` for CPUs.
#[must_use]
pub const fn register_address(offset: u32) -> u32 {
    REGISTER_BASE + offset
}

/// The CPU (0 = A) and the number of the general register at an offset.
#[must_use]
pub const fn general_register(offset: u32) -> Option<(usize, u32)> {
    let Some(cpu) = owner_of(offset) else {
        return None;
    };
    match offset - private_of(cpu) {
        as_a @ r::CPU_REGISTERS..r::CPU_PRIVATE_END => Some((cpu, (as_a - r::CPU_REGISTERS) / 4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::CpuPlan;
    use emulator_base::initiator::Initiator;

    #[test]
    fn probe_names_every_target() {
        let check_on = |cpus, who, address, expected: &str| {
            assert_eq!(probe(Viewer { who, cpus }, address), expected);
        };
        let check = |who, address, expected: &str| check_on(CpuPlan::CHIP, who, address, expected);
        check(Initiator::Cpu(1), 0xC000_00B0, "cpu_b > dma_read > state");
        check(Initiator::Cpu(0), 0xC000_0048, "cpu_a > semaphore > a");
        check(Initiator::Cpu(0), 0xC0_2000, "cpu_a > scratchpad > 0x2000");
        check(Initiator::Cpu(1), 0xC0_2000, "cpu_b > nothing > 0x00c02000");
        check(Initiator::Cpu(0), 0x1C_0000, "cpu_a > sram > 0x1c0000");
        check(Initiator::Cpu(0), 0xBF_F000, "cpu_a > stack_map > 0xbff000");
        check(Initiator::Cpu(0), 0xC000_03F0, "cpu_a > storage > 0x3f0");
        check(
            Initiator::Cpu(0),
            0xC000_1208,
            "cpu_a > nothing > 0xc0001208",
        );
        let five = CpuPlan::any_number(5).unwrap();
        let check = |who, address, expected: &str| check_on(five, who, address, expected);
        check(Initiator::Cpu(4), 0xC000_1208, "cpu_e > event > c");
        check(Initiator::Cpu(4), 0xC000_1444, "cpu_e > cpu_e > pc");
        check(Initiator::Cpu(2), 0xC0_2000, "cpu_c > nothing > 0x00c02000");
        check(
            Initiator::Cpu(0),
            0xC000_1508,
            "cpu_a > nothing > 0xc0001508",
        );
    }
}
