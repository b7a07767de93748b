//! Names of registers and of their bits, and look-up by name.

use bitflags::Flags;
use defs::tigon2::banks::{self, MOST_CPUS};
use defs::tigon2::event;
use defs::tigon2::map::{REGISTER_BASE, REGISTER_BYTES};
use defs::tigon2::registers::find;
use defs::tigon2::regs as r;

use super::debugger::CPUS;
use super::gauges::{FRAME_BUFFERS, GAUGES};
use crate::cores::owner_of;
use crate::cpus::CpuPlan;
use crate::map::{general_register, register_address};
use emulator_base::initiator::Initiator;
use emulator_board::CpuInfo;
use emulator_cpu::mips::architecture::{MIPS, MIPS_WITH_BITS};
use emulator_observe::names::{
    BoardNames, DEBUGGER, HOST, POWER, STORAGE, SWITCH, WIRE, initiator, name,
};

/// The blocks before the CPUs in the order of the data path, and those behind them.
macro_rules! blocks {
    ($($cpu:expr),* $(,)?) => {
        &[
            HOST,
            name("window", "the host's movable view of SRAM"),
            name("pci", "the board's PCI side: control, interrupt"),
            name("mailbox", "mailboxes and their events"),
            name("event", "event registers"),
            name("timer", "timer"),
            name("semaphore", "semaphore"),
            $($cpu,)*
            name("dma_read", "DMA channel from the host to the NIC"),
            name("dma_write", "DMA channel from the NIC to the host"),
            name("assist", "DMA rings and their hardware assist"),
            name("mac", "registers shared by both sides of the MAC"),
            name("mac_tx", "transmit side of the MAC"),
            name("mac_rx", "receive side of the MAC"),
            name("serdes", "serializer, link partner and fibre"),
            name("serial", "serial port"),
            STORAGE,
            WIRE,
            SWITCH,
            POWER,
            DEBUGGER,
        ]
    };
}

/// The initiators by rank, with these CPUs.
macro_rules! initiators {
    ($($cpu:expr),* $(,)?) => {
        &[
            initiator(Initiator::Receiver, "mac_rx", "MAC rx"),
            initiator(Initiator::Transmitter, "mac_tx", "MAC tx"),
            initiator(Initiator::DmaRead, "dma_read", "DMA read"),
            initiator(Initiator::DmaWrite, "dma_write", "DMA write"),
            initiator(Initiator::Host, "host", "host"),
            $($cpu,)*
            initiator(Initiator::Debugger, "debugger", "debugger"),
            initiator(Initiator::Power, "power", "power"),
            initiator(Initiator::Wire, "wire", "wire"),
        ]
    };
}

/// Names in events.
pub static NAMES: BoardNames = BoardNames {
    board: "tigon2",
    initiators: initiators![
        initiator(Initiator::Cpu(0), "cpu_a", "CPU A"),
        initiator(Initiator::Cpu(1), "cpu_b", "CPU B"),
    ],
    blocks: blocks![name("cpu_a", "CPU A"), name("cpu_b", "CPU B")],
    block_of,
    register,
    registers: || registers(CpuPlan::CHIP).collect(),
    bits,
    architecture: Some(&MIPS),
    cpus: &["a", "b"],
    event_registers: &[register_address(r::EVENT_A), register_address(r::EVENT_B)],
    event: event::name,
    gauges: &GAUGES,
    frame_buffers: FRAME_BUFFERS,
};

/// Names in events of a board with any number of CPUs: those of all that it may have.
pub static NAMES_N: BoardNames = BoardNames {
    board: "tigon-n",
    initiators: initiators![
        initiator(Initiator::Cpu(0), "cpu_a", "CPU A"),
        initiator(Initiator::Cpu(1), "cpu_b", "CPU B"),
        initiator(Initiator::Cpu(2), "cpu_c", "CPU C"),
        initiator(Initiator::Cpu(3), "cpu_d", "CPU D"),
        initiator(Initiator::Cpu(4), "cpu_e", "CPU E"),
        initiator(Initiator::Cpu(5), "cpu_f", "CPU F"),
        initiator(Initiator::Cpu(6), "cpu_g", "CPU G"),
        initiator(Initiator::Cpu(7), "cpu_h", "CPU H"),
    ],
    blocks: blocks![
        name("cpus", "number of CPUs"),
        name("cpu_a", "CPU A"),
        name("cpu_b", "CPU B"),
        name("cpu_c", "CPU C"),
        name("cpu_d", "CPU D"),
        name("cpu_e", "CPU E"),
        name("cpu_f", "CPU F"),
        name("cpu_g", "CPU G"),
        name("cpu_h", "CPU H"),
    ],
    registers: || match CpuPlan::any_number(MOST_CPUS as u32) {
        Some(cpus) => registers(cpus).collect(),
        None => Vec::new(),
    },
    cpus: &["a", "b", "c", "d", "e", "f", "g", "h"],
    event_registers: &[
        register_address(r::EVENT_A),
        register_address(r::EVENT_B),
        register_address(banks::event_register(2)),
        register_address(banks::event_register(3)),
        register_address(banks::event_register(4)),
        register_address(banks::event_register(5)),
        register_address(banks::event_register(6)),
        register_address(banks::event_register(7)),
    ],
    block_of,
    register,
    bits,
    architecture: Some(&MIPS_WITH_BITS),
    event: event::name,
    gauges: &GAUGES,
    frame_buffers: FRAME_BUFFERS,
};

/// Block and name of the register at an offset: `dma_read`, `state`. `None` for general registers and for storage.
#[must_use]
pub fn of_block(offset: u32) -> Option<(&'static str, String)> {
    let offset = offset & !3;
    if let Some(register) = find(offset) {
        return Some((register.block, register.name.into()));
    }
    let (cpu, at) = match offset {
        banks::CPU_COUNT => return Some(("cpus", "count".into())),
        banks::CPU_NUMBER => return Some(("cpus", "own_number".into())),
        banks::SEMAPHORE_COUNT => return Some(("cpus", "semaphores".into())),
        _ if let Some((number, cpu)) = banks::side_at(offset) => {
            let letter = CPUS[cpu % MOST_CPUS].letter;
            return Some(match number {
                0 => ("semaphore", letter.into()),
                _ => ("semaphore", format!("{letter}_{}", number + 1)),
            });
        }
        _ => banks::in_bank(offset)?,
    };
    let CpuInfo { letter, id, .. } = CPUS[cpu % MOST_CPUS];
    Some(match at {
        banks::TIMER_REFERENCE => ("timer", format!("reference_{letter}")),
        banks::EVENT => ("event", letter.into()),
        banks::MAILBOX_EVENT => ("mailbox", format!("event_{letter}")),
        at if at >= banks::PRIVATE => {
            let as_a = find(offset - banks::private_of(cpu))?;
            (id, as_a.name.into())
        }
        _ => return None,
    })
}

/// The block of the register at a CPU's address.
#[must_use]
pub fn block_of(address: u32) -> &'static str {
    let offset = address.wrapping_sub(REGISTER_BASE);
    match (of_block(offset), general_register(offset)) {
        (Some((block, _)), _) => block,
        (None, Some((cpu, _))) => CPUS[cpu % MOST_CPUS].id,
        (None, None) => "storage",
    }
}

/// Name of the register at a CPU's address: `dma_read_state`, `cpu_b_r29`. Storage without a
/// meaning is named after its offset: `storage_3f0`. `None` without a register.
#[must_use]
pub fn register(address: u32) -> Option<String> {
    let offset = address.wrapping_sub(REGISTER_BASE) & !3;
    if let Some((block, name)) = of_block(offset) {
        return Some(format!("{block}_{name}"));
    }
    match general_register(offset) {
        Some((cpu, index)) => Some(format!("{}_r{index}", CPUS[cpu % MOST_CPUS].id)),
        None => (offset < REGISTER_BYTES).then(|| format!("storage_{offset:03x}")),
    }
}

/// All registers of a board with these CPUs, by address: name and address.
pub fn registers(cpus: CpuPlan) -> impl Iterator<Item = (String, u32)> {
    let offsets = (0..banks::BANKS_END).step_by(4);
    let own = offsets.filter(move |offset| cpus.has_register(*offset));
    let addresses = own.map(register_address);
    addresses.filter_map(|address| Some((register(address)?, address)))
}

/// The set bits of a register's value by name, `mailbox|timer`, unnamed bits by number; `None` if the register
/// holds no bits, or all are 0.
#[must_use]
pub fn bits(address: u32, value: u32) -> Option<String> {
    let offset = address.wrapping_sub(REGISTER_BASE) & !3;
    let offset = match (owner_of(offset), banks::in_bank(offset)) {
        (Some(cpu), _) => offset - banks::private_of(cpu),
        (None, Some((_, banks::EVENT))) => r::EVENT_A,
        (None, Some((_, banks::MAILBOX_EVENT))) => r::MAILBOX_EVENT_A,
        _ => offset,
    };
    let names = match offset {
        r::EVENT_A | r::EVENT_B => each_bit(value, event::name),
        r::MAILBOX_EVENT_A | r::MAILBOX_EVENT_B => each_bit(value, |_| None),
        r::HOST_CONTROL => flags::<r::HostControl>(value),
        r::LOCAL_CONTROL => flags::<r::LocalControl>(value),
        r::MISC_CONFIG => flags::<r::MiscConfig>(value),
        r::PCI_STATE => flags::<r::PciState>(value),
        r::READ_STATE | r::WRITE_STATE => flags::<r::DmaState>(value),
        r::ASSIST_STATE => flags::<r::AssistState>(value),
        r::CPU_STATE => flags::<r::CpuState>(value),
        r::MAC_TX_STATE => flags::<r::MacTxState>(value),
        r::MAC_RX_STATE => flags::<r::MacRxState>(value),
        _ => return None,
    };
    (!names.is_empty()).then(|| names.join("|"))
}

fn each_bit(value: u32, name: impl Fn(u32) -> Option<&'static str>) -> Vec<String> {
    let set = (0..u32::BITS).filter(|bit| value >> bit & 1 != 0);
    set.map(|bit| name(bit).map_or_else(|| bit.to_string(), str::to_owned))
        .collect()
}

fn flags<F: Flags<Bits = u32>>(value: u32) -> Vec<String> {
    let mut named = F::from_bits_retain(value).iter_names();
    let mut names: Vec<String> = named
        .by_ref()
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    names.extend(each_bit(named.remaining().bits(), |_| None));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_has_a_name_of_its_own() {
        let check = |cpus: CpuPlan, count| {
            let mut names: Vec<_> = registers(cpus).map(|(name, _)| name).collect();
            assert_eq!(names.len(), count);
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count);
        };
        check(CpuPlan::CHIP, 256);
        check(
            CpuPlan::any_number(8).unwrap(),
            256 + 3 + 6 * (4 + 5 + 32) + 7 * 8,
        );
    }

    #[test]
    fn names() {
        let check = |address, name: &str| assert_eq!(register(address).as_deref(), Some(name));
        check(0xC000_0040, "pci_host_control");
        check(0xC000_00B0, "dma_read_state");
        check(0xC000_00C4, "mac_rx_buffer_producer");
        check(0xC000_0060, "event_a");
        check(0xC000_0104, "assist_read_ring_reference");
        check(0xC000_0244, "cpu_b_pc");
        check(0xC000_02F4, "cpu_b_r29");
        check(0xC000_03F0, "storage_3f0");
        check(0xC000_1004, "cpus_own_number");
        check(0xC000_1008, "cpus_semaphores");
        check(0xC000_1110, "semaphore_b_2");
        check(0xC000_1728, "semaphore_h_8");
        check(0xC000_1208, "event_c");
        check(0xC000_1744, "cpu_h_pc");
        check(0xC000_13FC, "cpu_d_r31");
        assert_eq!(register(0xC000_122C), None);
        assert_eq!(register(0xC000_0400), None);
        assert_eq!(register(0x4000), None);
    }

    #[test]
    fn values() {
        let check = |address, value, expected: Option<&str>| {
            assert_eq!(bits(address, value).as_deref(), expected);
        };
        check(
            0xC000_0060,
            1 << 22 | 1 << 28 | 1 << 8 | 1 << 1,
            Some("soft_cut|8|mailbox|timer"),
        );
        check(0xC000_0070, 0, None);
        check(0xC000_0064, 1 << 31, Some("31"));
        check(
            0xC000_00B0,
            0x0002_0006,
            Some("no_byte_swap|start|release_tx"),
        );
        check(0xC000_0240, 0x0001_0100, Some("halt|8"));
        check(0xC000_0054, 7, None);
    }
}
