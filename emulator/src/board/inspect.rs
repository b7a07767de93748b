//! Inspection of any board by tools, and its modification by a debugger.

use std::sync::Arc;

use super::{CpuId, CpuInfo, CpuView, Stops};
use crate::sim::time::SimTime;

/// An address or register that cannot be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("nothing answers at {address:#x} for {cpu}")]
pub struct NothingThere {
    /// The address.
    pub address: u32,
    /// The name of the CPU.
    pub cpu: &'static str,
}

/// A range of a CPU's address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Area {
    /// Name of the target: `SRAM`.
    pub name: &'static str,
    /// Address of the first byte.
    pub start: u32,
    /// Address behind the last byte.
    pub end: u32,
    /// Address behind the last byte of installed memory, which repeats beyond it.
    pub installed_end: u32,
    /// Whether it is memory: it may hold instructions, and writes have no side effects.
    pub memory: bool,
}

/// A register of a hardware block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterRow {
    /// Address as seen by CPUs.
    pub address: u32,
    /// Name: `dma_read_state`.
    pub name: String,
    /// Value.
    pub value: u32,
    /// Names of the set bits, if the register holds bits.
    pub bits: String,
}

/// Inspection of a board by tools. Addresses are those of a CPU. Reads have no side effects, even where a CPU's or a
/// host's read would have them. Only the name has no default: a board without CPUs needs nothing else.
pub trait Inspect {
    /// Name of this type of board in scenarios: `tigon2`.
    fn name(&self) -> &'static str;

    /// Its CPUs.
    fn cpus(&self) -> &'static [CpuInfo] {
        &[]
    }

    /// Current state of a CPU; `None` if there is no such CPU.
    fn cpu(&self, _cpu: CpuId) -> Option<CpuView> {
        None
    }

    /// The general registers of a CPU, by number.
    fn registers(&self, _cpu: CpuId) -> &[u32] {
        &[]
    }

    /// Changes a general register.
    fn set_register(&mut self, _cpu: CpuId, _index: usize, _value: u32) {}

    /// Changes the program counter of a CPU. A pending jump is cancelled.
    fn set_pc(&mut self, _cpu: CpuId, _pc: u32) {}

    /// The word at an address as seen by a CPU. The two lowest bits of the address are ignored. `None` at an
    /// unmapped address.
    fn peek(&self, _cpu: CpuId, _address: u32, _now: SimTime) -> Option<u32> {
        None
    }

    /// Bytes from an address on, each as by [`peek`](Self::peek), up to the first unmapped address.
    fn peek_bytes(&self, cpu: CpuId, address: u32, length: usize, now: SimTime) -> Vec<u8> {
        let byte = |address: u32| {
            let word = self.peek(cpu, address, now)?;
            Some(word.to_be_bytes()[address as usize & 3])
        };
        let addresses = (0..length).map(|offset| address.wrapping_add(offset as u32));
        addresses.map_while(byte).collect()
    }

    /// The range of a CPU's address space that contains an address; `None` if it is unmapped.
    fn area(&self, _cpu: CpuId, _address: u32) -> Option<Area> {
        None
    }

    /// The target of a CPU's access to an address: `cpu_b > dma_read > state`.
    fn describe_address(&self, cpu: CpuId, address: u32) -> String {
        let cpu = self.cpus().get(cpu.index());
        let who = cpu.map_or("", |cpu| cpu.initiator.name());
        format!("{who} > {address:#x}")
    }

    /// Location of the firmware's panic at which a CPU stopped, if it did: `panic at src/main.rs:12`.
    fn panic_at(&self, _cpu: CpuId) -> Option<String> {
        None
    }

    /// Number of transfers to or from host memory that failed so far.
    fn failed_transfers(&self) -> u64 {
        0
    }

    /// The protocol stages that the firmware's probes mark, by index.
    fn stages(&self) -> &[Arc<str>] {
        &[]
    }

    /// The registers of a hardware block, by address; none if there is no such block.
    fn block(&self, _name: &str, _now: SimTime) -> Vec<RegisterRow> {
        Vec::new()
    }

    /// The name and the address of each register, by address.
    fn register_names(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// The breakpoints and watchpoints.
    fn stops(&self) -> Stops {
        Stops::default()
    }

    /// Replaces the breakpoints and watchpoints. For a board at rest.
    fn set_stops(&mut self, _stops: Stops) {}

    /// Stops a CPU once it has executed this many instructions.
    fn hold_after(&mut self, _cpu: CpuId, _instructions: u64) {}

    /// One line for each CPU, for reports: `cpu_a running at pc 0x4000`.
    fn describe_cpus(&self) -> Vec<String> {
        let cpus = self.cpus().iter().enumerate();
        let line = |(index, info): (usize, &CpuInfo)| {
            let CpuView { state, pc, .. } = self.cpu(CpuId::new(index))?;
            Some(format!("{} {state} at pc {pc:#x}", info.initiator))
        };
        cpus.filter_map(line).collect()
    }
}
