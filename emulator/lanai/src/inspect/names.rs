//! Names of registers and of their bits.

use crate::chip::Generation;
use crate::isr;
use crate::special::{Row, Special, find, offset_of, rows};
use emulator_base::initiator::Initiator;
use emulator_cpu::lanai::architecture::LANAI;
use emulator_observe::gauges::FrameBuffers;
use emulator_observe::names::{
    BoardNames, DEBUGGER, HOST, InitiatorName, Name, POWER, STORAGE, SWITCH, WIRE, initiator, name,
};

const fn generation(number: u8) -> Generation {
    match number {
        4 => Generation::L4,
        7 => Generation::L7,
        _ => Generation::L9,
    }
}

/// Names of the initiators, by rank.
const INITIATORS: &[InitiatorName] = &[
    initiator(Initiator::Receiver, "receiver", "receiver"),
    initiator(Initiator::Transmitter, "transmitter", "transmitter"),
    initiator(Initiator::DmaRead, "dma_read", "DMA read"),
    initiator(Initiator::DmaWrite, "dma_write", "DMA write"),
    initiator(Initiator::Block(0), "isr", "interrupt status"),
    initiator(Initiator::Host, "host", "host"),
    initiator(Initiator::Cpu(0), "cpu", "CPU"),
    initiator(Initiator::Debugger, "debugger", "debugger"),
    initiator(Initiator::Power, "power", "power"),
    initiator(Initiator::Wire, "wire", "wire"),
];

/// All blocks.
const BLOCKS: &[Name] = &[
    HOST,
    name("pci", "the board's PCI side: interrupt"),
    name("isr", "interrupt status, its mask and its causes"),
    name("timers", "real-time clock, interval timers, cycle counter"),
    name("cpu", "CPU"),
    name("host_dma", "registers of DMA between host and local memory"),
    name("dma_read", "DMA from the host"),
    name("dma_write", "DMA to the host"),
    name("transmitter", "sender of packets"),
    name("receiver", "receiver of packets"),
    name("port", "options of the network port"),
    name("control", "LED, clock, version, debug"),
    STORAGE,
    WIRE,
    SWITCH,
    POWER,
    DEBUGGER,
];

/// A received packet is known by the address behind it.
const BUFFERS: FrameBuffers = FrameBuffers {
    receive_offset: |_, end, address| end.wrapping_sub(address),
    ..FrameBuffers::UNKNOWN
};

const fn names<const G: u8>() -> BoardNames {
    BoardNames {
        board: generation(G).board(),
        initiators: INITIATORS,
        blocks: BLOCKS,
        block_of: block_of::<G>,
        register: register::<G>,
        registers: registers::<G>,
        bits: bits::<G>,
        architecture: Some(&LANAI),
        cpus: &["cpu"],
        event_registers: &[],
        event: |_| None,
        gauges: &[],
        frame_buffers: BUFFERS,
    }
}

/// Names in events, for each generation.
pub static LANAI_NAMES: [BoardNames; 3] = [names::<4>(), names::<7>(), names::<9>()];

/// The names of a generation.
#[must_use]
pub fn names_of(generation: Generation) -> &'static BoardNames {
    match generation {
        Generation::L4 => &LANAI_NAMES[0],
        Generation::L7 => &LANAI_NAMES[1],
        Generation::L9 => &LANAI_NAMES[2],
    }
}

fn row<const G: u8>(address: u32) -> Option<&'static Row> {
    let generation = generation(G);
    find(generation, offset_of(generation, address)?)
}

fn block_of<const G: u8>(address: u32) -> &'static str {
    row::<G>(address).map_or(STORAGE.name, |row| row.block)
}

fn full_name(row: &Row) -> String {
    match row.block == row.name {
        true => row.name.into(),
        false => format!("{}_{}", row.block, row.name),
    }
}

fn register<const G: u8>(address: u32) -> Option<String> {
    row::<G>(address).map(full_name)
}

fn registers<const G: u8>() -> Vec<(String, u32)> {
    let generation = generation(G);
    let base = generation.register_base();
    let rows = rows(generation).iter();
    let mut registers: Vec<_> = rows
        .map(|row| (full_name(row), base + row.offset))
        .collect();
    registers.sort_by_key(|&(_, address)| address);
    registers
}

fn bits<const G: u8>(address: u32, value: u32) -> Option<String> {
    let row = row::<G>(address)?;
    if value == 0 || !matches!(row.special, Special::Isr | Special::Eimr) {
        return None;
    }
    let set = (0..u32::BITS).filter(|bit| value >> bit & 1 != 0);
    let name =
        |bit: u32| isr::name(generation(G), bit).map_or_else(|| bit.to_string(), str::to_owned);
    Some(set.map(name).collect::<Vec<_>>().join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_registers_and_bits() {
        let check = |index: usize, address, name: &str, value, text: Option<&str>| {
            let names = &LANAI_NAMES[index];
            assert_eq!(names.register(address).as_deref(), Some(name));
            assert_eq!((names.bits)(address, value).as_deref(), text);
        };
        check(
            0,
            0xFFFF_FF28,
            "isr",
            0x4000_0402,
            Some("recv|wake|host_sig"),
        );
        check(0, 0xFFFF_FF44, "host_dma_dma_ctr", 1, None);
        check(1, 0xFFFF_FE58, "isr_eimr", 1 << 29, Some("29"));
        check(2, 0xFFFF_FE50, "isr", 1 << 29, Some("lanai_sig"));
        check(2, 0xFFFF_FF40, "control_led", 1, None);
        assert_eq!(LANAI_NAMES[2].register(0x100), None);
    }

    #[test]
    fn each_register_has_a_name_of_its_own() {
        for names in &LANAI_NAMES {
            let mut registers = (names.registers)();
            let count = registers.len();
            registers.sort();
            registers.dedup_by(|a, b| a.0 == b.0);
            assert_eq!(registers.len(), count);
        }
    }
}
