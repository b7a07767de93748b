//! The names of the registers: one table for firmware authors, device model and tools (docs/tigon2-registers.md, section 2).

use super::regs as r;

/// A named register. Registers without a name are storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// Offset in the register file.
    pub offset: u32,
    /// Hardware block.
    pub block: &'static str,
    /// Name within the block.
    pub name: &'static str,
}

const fn row(offset: u32, block: &'static str, name: &'static str) -> Register {
    Register {
        offset,
        block,
        name,
    }
}

/// All named registers.
pub const REGISTERS: &[Register] = &[
    row(r::HOST_CONTROL, "pci", "host_control"),
    row(r::LOCAL_CONTROL, "pci", "local_control"),
    row(r::SEMAPHORE_A, "semaphore", "a"),
    row(r::SEMAPHORE_B, "semaphore", "b"),
    row(r::MISC_CONFIG, "pci", "misc_config"),
    row(r::TIMER, "timer", "count"),
    row(r::TIMER_REFERENCE_A, "timer", "reference_a"),
    row(r::PCI_STATE, "pci", "state"),
    row(r::EVENT_A, "event", "a"),
    row(r::MAILBOX_EVENT_A, "mailbox", "event_a"),
    row(r::WINDOW_BASE, "window", "base"),
    row(r::WINDOW_DATA, "window", "data"),
    row(r::EVENT_B, "event", "b"),
    row(r::MAILBOX_EVENT_B, "mailbox", "event_b"),
    row(r::TIMER_REFERENCE_B, "timer", "reference_b"),
    row(r::SERIAL, "serial", "data"),
    row(r::WRITE_HOST_HIGH, "dma_write", "host_high"),
    row(r::WRITE_HOST_LOW, "dma_write", "host_low"),
    row(r::READ_HOST_HIGH, "dma_read", "host_high"),
    row(r::READ_HOST_LOW, "dma_read", "host_low"),
    row(r::READ_LENGTH, "dma_read", "length"),
    row(r::WRITE_STATE, "dma_write", "state"),
    row(r::WRITE_LOCAL, "dma_write", "local"),
    row(r::WRITE_CHECKSUM, "dma_write", "checksum"),
    row(r::WRITE_LENGTH, "dma_write", "length"),
    row(r::READ_STATE, "dma_read", "state"),
    row(r::READ_LOCAL, "dma_read", "local"),
    row(r::READ_CHECKSUM, "dma_read", "checksum"),
    row(r::RX_BUFFER_BASE, "mac_rx", "buffer_base"),
    row(r::RX_BUFFER_PRODUCER, "mac_rx", "buffer_producer"),
    row(r::RX_BUFFER_CONSUMER, "mac_rx", "buffer_consumer"),
    row(r::TX_BUFFER_BASE, "mac_tx", "buffer_base"),
    row(r::TX_BUFFER_PRODUCER, "mac_tx", "buffer_producer"),
    row(r::TX_BUFFER_CONSUMER, "mac_tx", "buffer_consumer"),
    row(r::RX_DESCRIPTOR_PRODUCER, "mac_rx", "descriptor_producer"),
    row(r::RX_DESCRIPTOR_REFERENCE, "mac_rx", "descriptor_reference"),
    row(r::RX_DESCRIPTOR_CONSUMER, "mac_rx", "descriptor_consumer"),
    row(r::RX_RING_CONFIG, "mac_rx", "ring_config"),
    row(r::TX_DESCRIPTOR_PRODUCER, "mac_tx", "descriptor_producer"),
    row(r::TX_DESCRIPTOR_REFERENCE, "mac_tx", "descriptor_reference"),
    row(r::TX_DESCRIPTOR_CONSUMER, "mac_tx", "descriptor_consumer"),
    row(r::TX_DESCRIPTOR_FREE, "mac_tx", "descriptor_free"),
    row(r::READ_RING_PRODUCER, "assist", "read_ring_producer"),
    row(r::READ_RING_REFERENCE, "assist", "read_ring_reference"),
    row(r::READ_RING_CONSUMER, "assist", "read_ring_consumer"),
    row(r::READ_RING_FREE, "assist", "read_ring_free"),
    row(r::ASSIST_STATE, "assist", "state"),
    row(r::WRITE_RING_PRODUCER, "assist", "write_ring_producer"),
    row(r::WRITE_RING_REFERENCE, "assist", "write_ring_reference"),
    row(r::WRITE_RING_CONSUMER, "assist", "write_ring_consumer"),
    row(r::WRITE_RING_FREE, "assist", "write_ring_free"),
    row(r::CPU_STATE, "cpu_a", "state"),
    row(r::CPU_PC, "cpu_a", "pc"),
    row(r::STACK_MAP, "cpu_a", "stack_map"),
    row(r::SCRATCH_ADDRESS, "cpu_a", "scratch_address"),
    row(r::SCRATCH_DATA, "cpu_a", "scratch_data"),
    row(r::CPU_B + r::CPU_STATE, "cpu_b", "state"),
    row(r::CPU_B + r::CPU_PC, "cpu_b", "pc"),
    row(r::CPU_B + r::STACK_MAP, "cpu_b", "stack_map"),
    row(r::CPU_B + r::SCRATCH_ADDRESS, "cpu_b", "scratch_address"),
    row(r::CPU_B + r::SCRATCH_DATA, "cpu_b", "scratch_data"),
    row(r::MAC_TX_STATE, "mac_tx", "state"),
    row(r::TX_CONFIG_WORD, "serdes", "tx_config_word"),
    row(r::MAC_ADDRESS_HIGH, "mac", "address_high"),
    row(r::MAC_ADDRESS_LOW, "mac", "address_low"),
    row(r::VLAN_TAG_TYPE, "mac", "vlan_tag_type"),
    row(r::MAC_THRESHOLDS, "mac", "thresholds"),
    row(r::MAC_RX_STATE, "mac_rx", "state"),
    row(r::RX_CONFIG_WORD, "serdes", "rx_config_word"),
    row(r::MULTICAST_HASH, "mac", "multicast_hash_3"),
    row(r::MULTICAST_HASH + 4, "mac", "multicast_hash_2"),
    row(r::MULTICAST_HASH + 8, "mac", "multicast_hash_1"),
    row(r::MULTICAST_HASH + 12, "mac", "multicast_hash_0"),
];

/// The register at an offset, if it has a name; the two low bits of the offset do not count.
#[must_use]
pub fn find(offset: u32) -> Option<&'static Register> {
    REGISTERS
        .iter()
        .find(|register| register.offset == offset & !3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tigon2::map::REGISTER_BYTES;

    #[test]
    fn each_register_stands_once() {
        for (i, register) in REGISTERS.iter().enumerate() {
            assert!(register.offset % 4 == 0 && register.offset < REGISTER_BYTES);
            let others = &REGISTERS[..i];
            assert!(others.iter().all(|other| other.offset != register.offset));
        }
    }
}
