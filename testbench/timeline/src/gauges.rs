//! Fill levels of a board's rings and buffers, from the indices that hardware and CPUs move.

use std::collections::BTreeMap;

use defs::tigon2::map::{REGISTER_BASE, RX_BUFFER_LIMIT};
use defs::tigon2::regs as r;
use defs::tigon2::rings::{
    DMA_DESCRIPTOR_BYTES, DMA_RING_ENTRIES, MAC_DESCRIPTOR_BYTES, MAC_RX_ENTRIES, MAC_TX_ENTRIES,
};

use super::proto::{UNIT_BYTES, UNIT_COUNT};

/// Relation between producer and consumer.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// Entries of a ring that lies at a multiple of its size.
    Ring { entries: u32, entry_bytes: u32 },
    /// Bytes of the receive buffer. At equal pointers it is full if descriptors are outstanding, otherwise
    /// empty.
    ReceiveBuffer,
    /// Bytes of the transmit buffer.
    TransmitBuffer,
}

/// A fill level counter of a timeline.
#[derive(Debug)]
pub struct Gauge {
    /// Name.
    pub name: &'static str,
    /// Producer register.
    producer: u32,
    /// Consumer register.
    taker: u32,
    shape: Shape,
}

const fn mac_ring(entries: u32) -> Shape {
    Shape::Ring {
        entries,
        entry_bytes: MAC_DESCRIPTOR_BYTES,
    }
}

const DMA_RING: Shape = Shape::Ring {
    entries: DMA_RING_ENTRIES,
    entry_bytes: DMA_DESCRIPTOR_BYTES,
};

/// All counters, along the path of a message.
pub const GAUGES: [Gauge; 6] = [
    Gauge {
        name: "DMA read queue",
        producer: r::READ_RING_PRODUCER,
        taker: r::READ_RING_REFERENCE,
        shape: DMA_RING,
    },
    Gauge {
        name: "transmit buffer",
        producer: r::TX_BUFFER_PRODUCER,
        taker: r::TX_BUFFER_CONSUMER,
        shape: Shape::TransmitBuffer,
    },
    Gauge {
        name: "transmit descriptors",
        producer: r::TX_DESCRIPTOR_PRODUCER,
        taker: r::TX_DESCRIPTOR_REFERENCE,
        shape: mac_ring(MAC_TX_ENTRIES),
    },
    Gauge {
        name: "receive buffer",
        producer: r::RX_BUFFER_PRODUCER,
        taker: r::RX_BUFFER_CONSUMER,
        shape: Shape::ReceiveBuffer,
    },
    Gauge {
        name: "receive descriptors",
        producer: r::RX_DESCRIPTOR_PRODUCER,
        taker: r::RX_DESCRIPTOR_CONSUMER,
        shape: mac_ring(MAC_RX_ENTRIES),
    },
    Gauge {
        name: "DMA write queue",
        producer: r::WRITE_RING_PRODUCER,
        taker: r::WRITE_RING_REFERENCE,
        shape: DMA_RING,
    },
];

impl Gauge {
    /// Unit of the counter.
    pub const fn unit(&self) -> i32 {
        match self.shape {
            Shape::Ring { .. } => UNIT_COUNT,
            Shape::ReceiveBuffer | Shape::TransmitBuffer => UNIT_BYTES,
        }
    }

    /// Current value, if both registers are known.
    pub fn value(&self, registers: &Registers) -> Option<u32> {
        let producer = *registers.0.get(&self.producer)?;
        let taker = registers.of(self.taker);
        let bytes = |base: u32, limit: u32| {
            let place = |at: u32| {
                if (base..limit).contains(&at) {
                    at
                } else {
                    base
                }
            };
            let (producer, taker) = (place(producer), place(taker));
            match producer.checked_sub(taker) {
                Some(bytes) => bytes,
                None => limit.saturating_sub(taker) + producer.saturating_sub(base),
            }
        };
        let rx_base = registers.of(r::RX_BUFFER_BASE);
        Some(match self.shape {
            Shape::Ring {
                entries,
                entry_bytes,
            } => (producer.wrapping_sub(taker) / entry_bytes) % entries,
            Shape::TransmitBuffer => bytes(registers.of(r::TX_BUFFER_BASE), rx_base),
            Shape::ReceiveBuffer => match bytes(rx_base, RX_BUFFER_LIMIT) {
                0 if registers.of(r::RX_DESCRIPTOR_PRODUCER)
                    != registers.of(r::RX_DESCRIPTOR_CONSUMER) =>
                {
                    RX_BUFFER_LIMIT.saturating_sub(rx_base)
                }
                bytes => bytes,
            },
        })
    }
}

/// Last known values of registers.
#[derive(Debug, Default)]
pub struct Registers(BTreeMap<u32, u32>);

impl Registers {
    /// Sets a register's value; returns whether a counter may have changed.
    pub fn set(&mut self, address: u32, value: u32) -> bool {
        let offset = address.wrapping_sub(REGISTER_BASE);
        let bases = [r::RX_BUFFER_BASE, r::TX_BUFFER_BASE];
        let moves = |gauge: &Gauge| gauge.producer == offset || gauge.taker == offset;
        let counts = bases.contains(&offset) || GAUGES.iter().any(moves);
        if counts {
            self.0.insert(offset, value);
        }
        counts
    }

    /// Clears all values after a reset of the chip.
    pub fn clear(&mut self) {
        self.0.values_mut().for_each(|value| *value = 0);
    }

    /// Distance from `address` to `local` in the transmit buffer, which wraps.
    pub fn offset_in_transmit_buffer(&self, address: u32, local: u32) -> u32 {
        let [base, limit] = [r::TX_BUFFER_BASE, r::RX_BUFFER_BASE].map(|base| self.of(base));
        behind(address, local, limit.wrapping_sub(base))
    }

    /// Distance from `address` to `local` in the receive buffer, which wraps.
    pub fn offset_in_receive_buffer(&self, address: u32, local: u32) -> u32 {
        let base = self.of(r::RX_BUFFER_BASE);
        behind(address, local, RX_BUFFER_LIMIT.wrapping_sub(base))
    }

    fn of(&self, offset: u32) -> u32 {
        self.0.get(&offset).copied().unwrap_or_default()
    }
}

const fn behind(address: u32, local: u32, circle_bytes: u32) -> u32 {
    match local.checked_sub(address) {
        Some(offset) => offset,
        None => local.wrapping_sub(address).wrapping_add(circle_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_rings_and_buffers() {
        let check = |name: &str, writes: &[(u32, u32)], expected: Option<u32>| {
            let mut registers = Registers::default();
            for &(offset, value) in writes {
                assert!(registers.set(REGISTER_BASE + offset, value), "{offset:#x}");
            }
            let gauge = GAUGES.iter().find(|gauge| gauge.name == name).unwrap();
            assert_eq!(gauge.value(&registers), expected, "{name} {writes:x?}");
        };
        let (producer, reference) = (r::READ_RING_PRODUCER, r::READ_RING_REFERENCE);
        check("DMA read queue", &[], None);
        check("DMA read queue", &[(producer, 96)], Some(3));
        // Software writes plain addresses, hardware shows full ones; the ring wraps.
        check(
            "DMA read queue",
            &[(producer, 32), (reference, 0x17E0)],
            Some(2),
        );
        let bases = [(r::TX_BUFFER_BASE, 0x1000), (r::RX_BUFFER_BASE, 0x1F_0000)];
        let with = |more: &[(u32, u32)]| [&bases, more].concat();
        let (tx, rx) = ("transmit buffer", "receive buffer");
        let (producer, consumer) = (r::TX_BUFFER_PRODUCER, r::TX_BUFFER_CONSUMER);
        check(tx, &with(&[(producer, 0x1000)]), Some(0));
        check(
            tx,
            &with(&[(producer, 0x1010), (consumer, 0x1E_FFF0)]),
            Some(0x20),
        );
        let (producer, consumer) = (r::RX_BUFFER_PRODUCER, r::RX_BUFFER_CONSUMER);
        let descriptor = r::RX_DESCRIPTOR_PRODUCER;
        check(
            rx,
            &with(&[(producer, 0x1F_0040), (consumer, 0x1F_0000)]),
            Some(0x40),
        );
        check(
            rx,
            &with(&[(producer, 0x1F_0000), (descriptor, 8)]),
            Some(0x1_0000),
        );
    }

    #[test]
    fn other_registers_move_nothing() {
        assert!(!Registers::default().set(REGISTER_BASE + r::EVENT_A, 1));
        assert!(!Registers::default().set(0, 1));
    }
}
