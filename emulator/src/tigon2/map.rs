//! The address map as one table: what lies where, for the log and for `probe`.

use defs::tigon2::map::{
    REGISTER_BASE, REGISTER_BYTES, SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, SCRATCHPAD_BASE,
    SRAM_LIMIT, STACK_MAP_BASE, STACK_MAP_LIMIT,
};
use defs::tigon2::regs as r;

use crate::sim::initiator::Initiator;

/// A named register: offset, block, name. Registers that are not named here are storage.
pub const REGISTERS: &[(u32, &str, &str)] = &[
    (r::HOST_CONTROL, "pci", "host_control"),
    (r::LOCAL_CONTROL, "pci", "local_control"),
    (r::SEMAPHORE_A, "semaphore", "a"),
    (r::SEMAPHORE_B, "semaphore", "b"),
    (r::MISC_CONFIG, "pci", "misc_config"),
    (r::TIMER, "timer", "count"),
    (r::TIMER_REFERENCE_A, "timer", "reference_a"),
    (r::PCI_STATE, "pci", "state"),
    (r::EVENT_A, "event", "a"),
    (r::MAILBOX_EVENT_A, "mailbox", "event_a"),
    (r::WINDOW_BASE, "window", "base"),
    (r::WINDOW_DATA, "window", "data"),
    (r::EVENT_B, "event", "b"),
    (r::MAILBOX_EVENT_B, "mailbox", "event_b"),
    (r::TIMER_REFERENCE_B, "timer", "reference_b"),
    (r::SERIAL, "serial", "data"),
    (r::WRITE_HOST_HIGH, "dma_write", "host_high"),
    (r::WRITE_HOST_LOW, "dma_write", "host_low"),
    (r::READ_HOST_HIGH, "dma_read", "host_high"),
    (r::READ_HOST_LOW, "dma_read", "host_low"),
    (r::READ_LENGTH, "dma_read", "length"),
    (r::WRITE_STATE, "dma_write", "state"),
    (r::WRITE_LOCAL, "dma_write", "local"),
    (r::WRITE_CHECKSUM, "dma_write", "checksum"),
    (r::WRITE_LENGTH, "dma_write", "length"),
    (r::READ_STATE, "dma_read", "state"),
    (r::READ_LOCAL, "dma_read", "local"),
    (r::READ_CHECKSUM, "dma_read", "checksum"),
    (r::RX_BUFFER_BASE, "mac_rx", "buffer_base"),
    (r::RX_BUFFER_PRODUCER, "mac_rx", "buffer_producer"),
    (r::RX_BUFFER_CONSUMER, "mac_rx", "buffer_consumer"),
    (r::TX_BUFFER_BASE, "mac_tx", "buffer_base"),
    (r::TX_BUFFER_PRODUCER, "mac_tx", "buffer_producer"),
    (r::TX_BUFFER_CONSUMER, "mac_tx", "buffer_consumer"),
    (r::RX_DESCRIPTOR_PRODUCER, "mac_rx", "descriptor_producer"),
    (r::RX_DESCRIPTOR_REFERENCE, "mac_rx", "descriptor_reference"),
    (r::RX_DESCRIPTOR_CONSUMER, "mac_rx", "descriptor_consumer"),
    (r::RX_RING_CONFIG, "mac_rx", "ring_config"),
    (r::TX_DESCRIPTOR_PRODUCER, "mac_tx", "descriptor_producer"),
    (r::TX_DESCRIPTOR_REFERENCE, "mac_tx", "descriptor_reference"),
    (r::TX_DESCRIPTOR_CONSUMER, "mac_tx", "descriptor_consumer"),
    (r::TX_DESCRIPTOR_FREE, "mac_tx", "descriptor_free"),
    (r::READ_RING_PRODUCER, "assist", "read_ring_producer"),
    (r::READ_RING_REFERENCE, "assist", "read_ring_reference"),
    (r::READ_RING_CONSUMER, "assist", "read_ring_consumer"),
    (r::READ_RING_FREE, "assist", "read_ring_free"),
    (r::ASSIST_STATE, "assist", "state"),
    (r::WRITE_RING_PRODUCER, "assist", "write_ring_producer"),
    (r::WRITE_RING_REFERENCE, "assist", "write_ring_reference"),
    (r::WRITE_RING_CONSUMER, "assist", "write_ring_consumer"),
    (r::WRITE_RING_FREE, "assist", "write_ring_free"),
    (r::CPU_STATE, "cpu_a", "state"),
    (r::CPU_PC, "cpu_a", "pc"),
    (r::STACK_MAP, "cpu_a", "stack_map"),
    (r::SCRATCH_ADDRESS, "cpu_a", "scratch_address"),
    (r::SCRATCH_DATA, "cpu_a", "scratch_data"),
    (r::CPU_B + r::CPU_STATE, "cpu_b", "state"),
    (r::CPU_B + r::CPU_PC, "cpu_b", "pc"),
    (r::CPU_B + r::STACK_MAP, "cpu_b", "stack_map"),
    (r::CPU_B + r::SCRATCH_ADDRESS, "cpu_b", "scratch_address"),
    (r::CPU_B + r::SCRATCH_DATA, "cpu_b", "scratch_data"),
    (r::MAC_TX_STATE, "mac_tx", "state"),
    (r::TX_CONFIG_WORD, "serdes", "tx_config_word"),
    (r::MAC_ADDRESS_HIGH, "mac", "address_high"),
    (r::MAC_ADDRESS_LOW, "mac", "address_low"),
    (r::VLAN_TAG_TYPE, "mac", "vlan_tag_type"),
    (r::MAC_THRESHOLDS, "mac", "thresholds"),
    (r::MAC_RX_STATE, "mac_rx", "state"),
    (r::RX_CONFIG_WORD, "serdes", "rx_config_word"),
    (r::MULTICAST_HASH, "mac", "multicast_hash_3"),
    (r::MULTICAST_HASH + 4, "mac", "multicast_hash_2"),
    (r::MULTICAST_HASH + 8, "mac", "multicast_hash_1"),
    (r::MULTICAST_HASH + 12, "mac", "multicast_hash_0"),
];

/// What answers at an address of a CPU's space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// SRAM.
    Sram,
    /// The stack-overflow map.
    StackMap,
    /// The CPU's own scratchpad.
    Scratchpad,
    /// A register, by offset.
    Register(u32),
    /// Nothing.
    Nothing,
}

/// What answers when `initiator` uses `address`.
#[must_use]
pub const fn place(initiator: Initiator, address: u32) -> Place {
    let scratchpad_bytes = match initiator {
        Initiator::CpuB => SCRATCHPAD_B_BYTES,
        _ => SCRATCHPAD_A_BYTES,
    };
    if address < SRAM_LIMIT {
        Place::Sram
    } else if STACK_MAP_BASE <= address && address < STACK_MAP_LIMIT {
        Place::StackMap
    } else if address.wrapping_sub(SCRATCHPAD_BASE) < scratchpad_bytes {
        Place::Scratchpad
    } else if address.wrapping_sub(REGISTER_BASE) < REGISTER_BYTES {
        Place::Register(address - REGISTER_BASE)
    } else {
        Place::Nothing
    }
}

/// Names what `initiator` meets at `address`: `cpu_b > dma_read > state`.
#[must_use]
pub fn probe(initiator: Initiator, address: u32) -> String {
    match place(initiator, address) {
        Place::Sram => format!("{initiator} > sram > {address:#x}"),
        Place::StackMap => format!("{initiator} > stack_map > {address:#x}"),
        Place::Scratchpad => format!(
            "{initiator} > scratchpad > {:#x}",
            address - SCRATCHPAD_BASE
        ),
        Place::Register(offset) => register_name(offset).map_or_else(
            || format!("{initiator} > storage > {offset:#05x}"),
            |(block, name)| format!("{initiator} > {block} > {name}"),
        ),
        Place::Nothing => format!("{initiator} > nothing > {address:#010x}"),
    }
}

/// The address of the register at `offset`, as CPUs have it.
#[must_use]
pub const fn register_address(offset: u32) -> u32 {
    REGISTER_BASE + offset
}

/// The block of the register at an address as CPUs have it.
#[must_use]
pub fn block_of(address: u32) -> &'static str {
    let offset = address.wrapping_sub(REGISTER_BASE);
    match register_name(offset) {
        Some((block, _)) => block,
        None => match offset & 0x380 {
            r::CPU_REGISTERS => Initiator::CpuA.name(),
            B_REGISTERS => Initiator::CpuB.name(),
            _ => "storage",
        },
    }
}

/// Where CPU B's general registers are shown.
const B_REGISTERS: u32 = r::CPU_B + r::CPU_REGISTERS;

/// Block and name of a register.
#[must_use]
pub fn register_name(offset: u32) -> Option<(&'static str, &'static str)> {
    REGISTERS
        .iter()
        .find(|(at, _, _)| *at == offset & !3)
        .map(|(_, block, name)| (*block, *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probe_names_every_place() {
        let check = |initiator, address, expected: &str| {
            assert_eq!(probe(initiator, address), expected);
        };
        check(Initiator::CpuB, 0xC000_00B0, "cpu_b > dma_read > state");
        check(Initiator::CpuA, 0xC000_0048, "cpu_a > semaphore > a");
        check(Initiator::CpuA, 0xC0_2000, "cpu_a > scratchpad > 0x2000");
        check(Initiator::CpuB, 0xC0_2000, "cpu_b > nothing > 0x00c02000");
        check(Initiator::CpuA, 0x1C_0000, "cpu_a > sram > 0x1c0000");
        check(Initiator::CpuA, 0xBF_F000, "cpu_a > stack_map > 0xbff000");
        check(Initiator::CpuA, 0xC000_03F0, "cpu_a > storage > 0x3f0");
    }

    #[test]
    fn each_register_stands_once() {
        for (i, (offset, _, _)) in REGISTERS.iter().enumerate() {
            assert!(offset % 4 == 0 && *offset < REGISTER_BYTES);
            assert!(REGISTERS[..i].iter().all(|(other, _, _)| other != offset));
        }
    }
}
