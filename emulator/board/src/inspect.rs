//! Inspection of any board by tools, and its modification by a debugger.

use std::sync::Arc;

use super::probes::ProbeTable;
use super::races::RacePair;
use super::traffic::Traffic;
use super::{BoardFault, CpuId, CpuInfo, CpuView, NoSuchFault, StageIndex, StageTotal, Stops};
use emulator_base::time::SimTime;
use emulator_image::LostReturn;
use emulator_observe::names::{BoardNames, NO_BOARD};

/// Describes a frame whose words are read by index.
pub type DescribeFrame<'a> = &'a dyn Fn(&dyn Fn(usize) -> u32) -> String;

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
    /// Whether the area is memory: it may hold instructions, and writes have no side effects.
    pub memory: bool,
    /// Whether each CPU has its own memory at these addresses.
    pub private: bool,
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

/// Total time in which a unit of a board was busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BusyUnit {
    /// Name in files: `cpu_a`.
    pub name: &'static str,
    /// Name in tables: `CPU A`.
    pub title: &'static str,
    /// The time; of a CPU, that outside of its idle loop.
    pub time: SimTime,
}

/// Inspection of a board by tools. Addresses are those of a CPU. Reads have no side effects, even where a CPU's or a
/// host's read would have them. A board without CPUs needs nothing.
pub trait Inspect {
    /// Names of this type of board in events.
    fn names(&self) -> &'static BoardNames {
        &NO_BOARD
    }

    /// Name of this type of board in scenarios: `tigon2`.
    fn name(&self) -> &'static str {
        self.names().board
    }

    /// The CPUs of the board, by number.
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
        let who = cpu.map_or("", |cpu| self.names().initiator(cpu.initiator));
        format!("{who} > {address:#x}")
    }

    /// Location of the firmware's panic at which a CPU stopped, if it did: `panic at src/main.rs:12`.
    fn panic_at(&self, _cpu: CpuId) -> Option<String> {
        None
    }

    /// Return addresses of a CPU's active functions that its stack does not hold.
    fn lost_returns(&self, _cpu: CpuId) -> &[LostReturn] {
        &[]
    }

    /// Counts of the units that the board's port has sent and received so far. By default nothing is counted.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// Number of units in the rings of its port: to be sent, or received and not released by the firmware. By default there are none.
    fn queued_units(&self) -> u64 {
        0
    }

    /// Number of transfers to or from host memory that failed so far.
    fn failed_transfers(&self) -> u64 {
        0
    }

    /// The protocol stages that the firmware's probes mark, by index.
    fn stages(&self) -> &[Arc<str>] {
        &[]
    }

    /// Own cycles and visits of a stage on a CPU so far.
    fn stage_total(&self, _cpu: CpuId, _stage: StageIndex) -> StageTotal {
        StageTotal::default()
    }

    /// The units whose utilisation is of interest, always in the same order: by default the CPUs.
    fn busy_units(&self) -> Vec<BusyUnit> {
        let cpus = self.cpus().iter().enumerate();
        let unit = |(index, info): (usize, &CpuInfo)| BusyUnit {
            name: info.id,
            title: info.name,
            time: self
                .cpu(CpuId::new(index))
                .map_or(SimTime::ZERO, |cpu| cpu.busy_time),
        };
        cpus.map(unit).collect()
    }

    /// Injects a fault of the hardware. By default no fault is modelled.
    ///
    /// # Errors
    /// If the board does not model the fault.
    fn inject(&mut self, fault: &BoardFault) -> Result<(), NoSuchFault> {
        Err(NoSuchFault {
            board: self.name(),
            fault: fault.name(),
        })
    }

    /// The registers of a hardware block, by address; none if there is no such block.
    fn block(&self, _name: &str, _now: SimTime) -> Vec<RegisterRow> {
        Vec::new()
    }

    /// The name and the address of each register, by address.
    fn register_names(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// Cause of a set bit in a CPU's event register.
    fn event_cause(&self, _cpu: CpuId, _bit: u32, _now: SimTime) -> String {
        String::new()
    }

    /// Name and value of the register with the mask by which the firmware of a CPU dispatches its events: that of the instruction
    /// that does so in the CPU's memory; `None` without one.
    fn event_mask(&self, _cpu: CpuId, _now: SimTime) -> Option<(String, u32)> {
        None
    }

    /// Lines about other registers with a CPU's events.
    fn event_notes(&self, _cpu: CpuId, _now: SimTime) -> Vec<String> {
        Vec::new()
    }

    /// Rings and buffers with every descriptor in progress, as lines; `None` if the board has no rings.
    fn rings(&self, _describe: DescribeFrame<'_>) -> Option<Vec<String>> {
        None
    }

    /// Owner of the semaphore, as a line; `None` if the board has no semaphore.
    fn semaphore(&self) -> Option<String> {
        None
    }

    /// The breakpoints and watchpoints.
    fn stops(&self) -> Stops {
        Stops::default()
    }

    /// Replaces the breakpoints and watchpoints. For a board at rest.
    fn set_stops(&mut self, _stops: Stops) {}

    /// Stops a CPU once it has executed this many instructions.
    fn hold_after(&mut self, _cpu: CpuId, _instructions: u64) {}

    /// The probes and symbols of the firmware.
    fn probes(&self) -> Option<&ProbeTable> {
        None
    }

    /// Begins to look for races. No result changes, but the run takes longer. Returns whether the board can do that; by default it cannot.
    fn look_for_races(&mut self) -> bool {
        false
    }

    /// The races found since [`look_for_races`](Self::look_for_races), and the number of pairs at further places.
    fn races(&self) -> (Vec<RacePair>, u64) {
        (Vec::new(), 0)
    }

    /// A line for each CPU, for reports: `cpu_a running at pc 0x4000, in main+0x10`.
    fn describe_cpus(&self) -> Vec<String> {
        let cpus = self.cpus().iter().enumerate();
        let line = |(index, info): (usize, &CpuInfo)| {
            let CpuView { state, pc, .. } = self.cpu(CpuId::new(index))?;
            let name = self.names().initiator(info.initiator);
            let probes = self.probes();
            let function = probes.and_then(|probes| probes.function(info.initiator, pc));
            let function = function.map_or_else(String::new, |name| format!(", in {name}"));
            Some(format!("{name} {state} at pc {pc:#x}{function}"))
        };
        cpus.filter_map(line).collect()
    }
}
