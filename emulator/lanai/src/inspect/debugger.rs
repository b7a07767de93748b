//! Inspection of the board by tools, and its modification by a debugger.

use std::sync::Arc;

use super::names;
use crate::board::Lanai;
use crate::chip::Generation;
use crate::run::row_at;
use crate::sram::SPACE;
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::{
    Area, BusyUnit, CpuId, CpuInfo, CpuState, CpuView, Inspect, ProbeTable, RegisterRow,
    StageIndex, StageTotal, Stops, Traffic,
};
use emulator_cpu::lanai::architecture::{LANAI, LANAI_4, LANAI_7, LANAI_9, Lanai as Architecture};
use emulator_image::MemoryLimits;
use emulator_observe::names::BoardNames;

const fn cpu(architecture: &'static Architecture) -> [CpuInfo; 1] {
    [CpuInfo {
        name: "CPU",
        letter: "a",
        id: "cpu",
        initiator: Initiator::Cpu(0),
        architecture,
    }]
}

/// The CPU, for each pipeline.
static CPUS: [[CpuInfo; 1]; 4] = [cpu(&LANAI), cpu(&LANAI_4), cpu(&LANAI_7), cpu(&LANAI_9)];

impl Lanai {
    /// Requirements of a board with this memory on images that are compiled for it, which have LLVM's pipeline.
    #[must_use]
    pub const fn image_limits(generation: Generation, sram_bytes: u32) -> MemoryLimits {
        MemoryLimits {
            board: generation.board(),
            architecture: &LANAI,
            sram_bytes,
            scratchpad_base: u32::MAX,
            scratchpad_a_bytes: 0,
            scratchpad_b_bytes: 0,
            dispatch_tables: (&[], 0),
        }
    }

    /// Time in which the CPU was neither halted nor in skipped rounds of an idle loop.
    fn busy_time(&self) -> SimTime {
        let clock = &self.core.clock;
        let rest = clock.halted + self.idle.skipped();
        self.fabric.ticks.time_of(clock.now.saturating_sub(rest))
    }
}

impl Inspect for Lanai {
    fn names(&self) -> &'static BoardNames {
        names::names_of(self.generation())
    }

    fn probes(&self) -> Option<&ProbeTable> {
        Some(&self.fabric.probes)
    }

    fn cpus(&self) -> &'static [CpuInfo] {
        let known = [&LANAI, &LANAI_4, &LANAI_7, &LANAI_9];
        let own = known
            .iter()
            .position(|known| known.0 == *self.core.pipeline());
        &CPUS[own.unwrap_or(0)]
    }

    fn cpu(&self, cpu: CpuId) -> Option<CpuView> {
        if cpu.index() != 0 {
            return None;
        }
        let ticks = &self.fabric.ticks;
        let state = match self.stopped.clone() {
            Some(reason) => CpuState::Stopped(reason),
            None if !self.running => CpuState::Halted,
            None if self.idle.is_idle() => CpuState::Idle,
            None => CpuState::Running,
        };
        let clock = &self.core.clock;
        Some(CpuView {
            state,
            pc: self.core.pc(),
            next_pc: self.core.next_pc(),
            blamed: self
                .stopped
                .as_ref()
                .and(self.blamed)
                .unwrap_or(self.core.pc()),
            instructions: self.core.instructions(),
            cycles: clock.cycles,
            time: ticks.time_of(clock.now),
            is_fetched: self.core.is_fetched(),
            cycle_time: ticks.time_of(clock.ticks_per_cycle),
            busy_time: self.busy_time(),
            idle_ticks: self.idle.skipped(),
            stage: self.stage.current(),
        })
    }

    fn registers(&self, _: CpuId) -> &[u32] {
        self.core.registers()
    }

    fn set_register(&mut self, _: CpuId, index: usize, value: u32) {
        self.core.set_register(index, value);
        self.idle.wake(&self.core);
    }

    fn set_pc(&mut self, _: CpuId, pc: u32) {
        self.core.start_at(pc);
        self.idle.wake(&self.core);
    }

    fn peek(&self, _: CpuId, address: u32, now: SimTime) -> Option<u32> {
        let address = address & !3;
        if address < SPACE {
            return Some(self.fabric.sram.word(address));
        }
        let row = row_at(&self.fabric, address)?;
        Some(self.fabric.read_special(row, now))
    }

    fn area(&self, _: CpuId, address: u32) -> Option<Area> {
        let base = self.generation().register_base();
        let (name, start, end, installed_end, memory) = match address {
            0..SPACE => ("SRAM", 0, SPACE, self.fabric.sram.size(), true),
            _ if address >= base => ("special registers", base, u32::MAX, u32::MAX, false),
            _ => return None,
        };
        Some(Area {
            name,
            start,
            end,
            installed_end,
            memory,
            private: false,
        })
    }

    fn describe_address(&self, _: CpuId, address: u32) -> String {
        let names = self.names();
        let base = self.generation().register_base();
        match (names.register)(address) {
            _ if address < SPACE => format!("cpu > sram {address:#x}"),
            Some(name) => format!("cpu > {} > {name}", (names.block_of)(address)),
            None if address >= base => format!("cpu > no register {address:#x}"),
            None => format!("cpu > nothing {address:#x}"),
        }
    }

    fn panic_at(&self, _: CpuId) -> Option<String> {
        self.panic_text()
    }

    fn stages(&self) -> &[Arc<str>] {
        self.fabric.probes.stages()
    }

    fn stage_total(&self, _: CpuId, stage: StageIndex) -> StageTotal {
        self.stage.total(stage)
    }

    fn traffic(&self) -> Traffic {
        self.fabric.traffic
    }

    fn failed_transfers(&self) -> u64 {
        self.fabric.dma.failures
    }

    fn busy_units(&self) -> Vec<BusyUnit> {
        let now = self.fabric.ticks.time_of(self.core.clock.now);
        let unit = |name, title, time| BusyUnit { name, title, time };
        vec![
            unit("cpu", "CPU", self.busy_time()),
            unit("host_dma", "host DMA", self.fabric.dma.busy(now)),
        ]
    }

    fn block(&self, name: &str, now: SimTime) -> Vec<RegisterRow> {
        let names = self.names();
        let registers = (names.registers)().into_iter();
        let own = registers.filter(|(_, address)| (names.block_of)(*address) == name);
        let row = |(name, address)| {
            let value = self.peek(CpuId::new(0), address, now).unwrap_or(0);
            RegisterRow {
                address,
                name,
                value,
                bits: (names.bits)(address, value).unwrap_or_default(),
            }
        };
        own.map(row).collect()
    }

    fn register_names(&self) -> Vec<(String, u32)> {
        (self.names().registers)()
    }

    fn stops(&self) -> Stops {
        self.fabric.stops.clone()
    }

    fn set_stops(&mut self, stops: Stops) {
        self.fabric.stops = stops;
        self.fabric.sram.forget_code();
        self.idle.wake(&self.core);
    }

    fn hold_after(&mut self, _: CpuId, instructions: u64) {
        self.held_after = instructions;
    }
}
