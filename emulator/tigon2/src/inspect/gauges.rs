//! Fill levels of rings and buffers (docs/tigon2-io.md, sections 5 and 6).

use defs::tigon2::map::RX_BUFFER_LIMIT;
use defs::tigon2::regs as r;
use defs::tigon2::rings::{
    DMA_DESCRIPTOR_BYTES, DMA_RING_ENTRIES, MAC_DESCRIPTOR_BYTES, MAC_RX_ENTRIES, MAC_TX_ENTRIES,
};

use crate::map::register_address as at;
use emulator_observe::gauges::{FrameBuffers, Gauge, GaugeUnit, KnownRegisters};

/// All fill levels, along the path of a message.
pub const GAUGES: [Gauge; 6] = [
    Gauge {
        name: "DMA read queue",
        unit: GaugeUnit::Entries,
        registers: &[at(r::READ_RING_PRODUCER), at(r::READ_RING_REFERENCE)],
        level: |known| dma_ring(known, r::READ_RING_PRODUCER, r::READ_RING_REFERENCE),
    },
    Gauge {
        name: "transmit buffer",
        unit: GaugeUnit::Bytes,
        registers: &[
            at(r::TX_BUFFER_PRODUCER),
            at(r::TX_BUFFER_CONSUMER),
            at(r::TX_BUFFER_BASE),
            at(r::RX_BUFFER_BASE),
        ],
        level: |known| {
            let limits = [r::TX_BUFFER_BASE, r::RX_BUFFER_BASE].map(|base| value(known, base));
            buffer(known, r::TX_BUFFER_PRODUCER, r::TX_BUFFER_CONSUMER, limits)
        },
    },
    Gauge {
        name: "transmit descriptors",
        unit: GaugeUnit::Entries,
        registers: &[
            at(r::TX_DESCRIPTOR_PRODUCER),
            at(r::TX_DESCRIPTOR_REFERENCE),
        ],
        level: |known| {
            let indices = [r::TX_DESCRIPTOR_PRODUCER, r::TX_DESCRIPTOR_REFERENCE];
            ring(known, indices, MAC_TX_ENTRIES, MAC_DESCRIPTOR_BYTES)
        },
    },
    Gauge {
        name: "receive buffer",
        unit: GaugeUnit::Bytes,
        registers: &[
            at(r::RX_BUFFER_PRODUCER),
            at(r::RX_BUFFER_CONSUMER),
            at(r::RX_BUFFER_BASE),
        ],
        level: receive_buffer,
    },
    Gauge {
        name: "receive descriptors",
        unit: GaugeUnit::Entries,
        registers: &[at(r::RX_DESCRIPTOR_PRODUCER), at(r::RX_DESCRIPTOR_CONSUMER)],
        level: |known| {
            let indices = [r::RX_DESCRIPTOR_PRODUCER, r::RX_DESCRIPTOR_CONSUMER];
            ring(known, indices, MAC_RX_ENTRIES, MAC_DESCRIPTOR_BYTES)
        },
    },
    Gauge {
        name: "DMA write queue",
        unit: GaugeUnit::Entries,
        registers: &[at(r::WRITE_RING_PRODUCER), at(r::WRITE_RING_REFERENCE)],
        level: |known| dma_ring(known, r::WRITE_RING_PRODUCER, r::WRITE_RING_REFERENCE),
    },
];

/// Both buffers wrap.
pub const FRAME_BUFFERS: FrameBuffers = FrameBuffers {
    transmit_offset: |known, frame, address| {
        let [base, limit] = [r::TX_BUFFER_BASE, r::RX_BUFFER_BASE].map(|base| value(known, base));
        offset(frame, address, limit.wrapping_sub(base))
    },
    receive_offset: |known, frame, address| {
        let base = value(known, r::RX_BUFFER_BASE);
        offset(frame, address, RX_BUFFER_LIMIT.wrapping_sub(base))
    },
    frame_left: Some(at(r::TX_DESCRIPTOR_REFERENCE)),
};

fn value(known: &KnownRegisters, register: u32) -> u32 {
    known.get(at(register)).unwrap_or_default()
}

fn dma_ring(known: &KnownRegisters, producer: u32, reference: u32) -> Option<u32> {
    let indices = [producer, reference];
    ring(known, indices, DMA_RING_ENTRIES, DMA_DESCRIPTOR_BYTES)
}

/// Entries between the indices of a ring that lies at a multiple of its size.
fn ring(
    known: &KnownRegisters,
    [producer, taker]: [u32; 2],
    entries: u32,
    entry_bytes: u32,
) -> Option<u32> {
    let producer = known.get(at(producer))?;
    Some((producer.wrapping_sub(value(known, taker)) / entry_bytes) % entries)
}

/// Number of bytes between the pointers of a buffer.
fn buffer(
    known: &KnownRegisters,
    producer: u32,
    consumer: u32,
    [base, limit]: [u32; 2],
) -> Option<u32> {
    let inside = |at: u32| match (base..limit).contains(&at) {
        true => at,
        false => base,
    };
    let producer = inside(known.get(at(producer))?);
    let consumer = inside(value(known, consumer));
    Some(match producer.checked_sub(consumer) {
        Some(bytes) => bytes,
        None => limit.saturating_sub(consumer) + producer.saturating_sub(base),
    })
}

/// At equal pointers the receive buffer is full if descriptors are outstanding, otherwise empty.
fn receive_buffer(known: &KnownRegisters) -> Option<u32> {
    let base = value(known, r::RX_BUFFER_BASE);
    let limits = [base, RX_BUFFER_LIMIT];
    let bytes = buffer(known, r::RX_BUFFER_PRODUCER, r::RX_BUFFER_CONSUMER, limits)?;
    let indices = [r::RX_DESCRIPTOR_PRODUCER, r::RX_DESCRIPTOR_CONSUMER];
    let [producer, consumer] = indices.map(|index| value(known, index));
    Some(match bytes {
        0 if producer != consumer => RX_BUFFER_LIMIT.saturating_sub(base),
        bytes => bytes,
    })
}

/// Distance between two addresses of a buffer that wraps.
const fn offset(frame: u32, address: u32, buffer_bytes: u32) -> u32 {
    match address.checked_sub(frame) {
        Some(offset) => offset,
        None => address.wrapping_sub(frame).wrapping_add(buffer_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_rings_and_buffers() {
        let check = |name: &str, writes: &[(u32, u32)], expected: Option<u32>| {
            let mut known = KnownRegisters::default();
            for &(offset, value) in writes {
                known.set(at(offset), value);
            }
            let gauge = GAUGES.iter().find(|gauge| gauge.name == name).unwrap();
            assert_eq!((gauge.level)(&known), expected, "{name} {writes:x?}");
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
    fn each_level_names_the_registers_that_it_needs() {
        for gauge in &GAUGES {
            let mut known = KnownRegisters::default();
            for &register in gauge.registers {
                known.set(register, 0);
            }
            assert_eq!((gauge.level)(&known), Some(0), "{}", gauge.name);
        }
    }
}
