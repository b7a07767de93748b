//! Inspection of the board by tools, and its modification by a debugger.

use std::sync::Arc;

use defs::tigon2::banks::MOST_CPUS;
use defs::tigon2::event::TABLE_ENTRIES;
use defs::tigon2::map::{
    REGISTER_BASE, REGISTER_BYTES, SCRATCHPAD_A_BYTES, SCRATCHPAD_B_BYTES, SCRATCHPAD_BASE,
    SRAM_LIMIT, STACK_MAP_LIMIT,
};

use crate::board::Tigon2;
use crate::cores::CoreUnit;
use crate::cpus::{Viewer, scratchpad_bytes};
use crate::fabric::{BoardContext, Fabric};
use crate::inspect::{names, rings};
use crate::map::{self, CpuTarget};
use crate::races::BoardRaces;
use crate::semaphore::{Semaphore, Side};
use emulator_base::initiator::Initiator;
use emulator_base::time::SimTime;
use emulator_board::races::RacePair;
use emulator_board::{
    Area, BoardFault, BusyUnit, CpuId, CpuInfo, CpuState, CpuView, DescribeFrame, Inspect,
    NoSuchFault, NothingThere, ProbeTable, RegisterRow, StageIndex, StageTotal, Stops, Traffic,
};
use emulator_cpu::architecture::Architecture;
use emulator_cpu::mips::architecture::{MIPS, MIPS_WITH_BITS};
use emulator_cpu::mips::bus::Width;
use emulator_image::{LostReturn, MemoryLimits};
use emulator_observe::names::BoardNames;

/// Symbols of our firmware's dispatch tables.
const DISPATCH_TABLES: [&str; 3] = [
    "__dispatch_table_a",
    "__dispatch_table_b",
    "__dispatch_table_n",
];

// The stack-overflow map ends where the scratchpads begin: an image's parts lie below that address or in a scratchpad.
const _: () = assert!(STACK_MAP_LIMIT == SCRATCHPAD_BASE);

/// All CPUs that a board may have.
pub static CPUS: [CpuInfo; MOST_CPUS] = cpus(&MIPS);
/// All CPUs that a `tigon-n` may have.
pub static CPUS_N: [CpuInfo; MOST_CPUS] = cpus(&MIPS_WITH_BITS);

const fn cpus(architecture: &'static dyn Architecture) -> [CpuInfo; MOST_CPUS] {
    [
        cpu(0, ["CPU A", "a", "cpu_a"], architecture),
        cpu(1, ["CPU B", "b", "cpu_b"], architecture),
        cpu(2, ["CPU C", "c", "cpu_c"], architecture),
        cpu(3, ["CPU D", "d", "cpu_d"], architecture),
        cpu(4, ["CPU E", "e", "cpu_e"], architecture),
        cpu(5, ["CPU F", "f", "cpu_f"], architecture),
        cpu(6, ["CPU G", "g", "cpu_g"], architecture),
        cpu(7, ["CPU H", "h", "cpu_h"], architecture),
    ]
}

const fn cpu(
    index: u8,
    [name, letter, id]: [&'static str; 3],
    architecture: &'static dyn Architecture,
) -> CpuInfo {
    CpuInfo {
        name,
        letter,
        id,
        initiator: Initiator::Cpu(index),
        architecture,
    }
}

impl Tigon2 {
    /// Requirements of a board with the chip's CPUs and this SRAM on images.
    #[must_use]
    pub const fn image_limits(sram_bytes: u32) -> MemoryLimits {
        Self::image_limits_of(&names::NAMES, sram_bytes)
    }

    /// Requirements of a board with these names on images.
    #[must_use]
    pub const fn image_limits_of(names: &BoardNames, sram_bytes: u32) -> MemoryLimits {
        MemoryLimits {
            board: names.board,
            architecture: match names.architecture {
                Some(architecture) => architecture,
                None => &MIPS,
            },
            sram_bytes,
            scratchpad_base: SCRATCHPAD_BASE,
            scratchpad_a_bytes: SCRATCHPAD_A_BYTES,
            scratchpad_b_bytes: SCRATCHPAD_B_BYTES,
            dispatch_tables: (&DISPATCH_TABLES, TABLE_ENTRIES),
        }
    }
}

impl Inspect for Tigon2 {
    fn names(&self) -> &'static BoardNames {
        self.fabric.cpus.names()
    }

    fn probes(&self) -> Option<&ProbeTable> {
        Some(&self.probes)
    }

    fn look_for_races(&mut self) -> bool {
        let sram_bytes = self.fabric.sram.size_bytes() as u32;
        let races = BoardRaces::new(sram_bytes, self.probes.published());
        self.fabric.races = Some(Box::new(races));
        true
    }

    fn races(&self) -> (Vec<RacePair>, u64) {
        let races = self.fabric.races.as_ref();
        races.map_or_else(Default::default, |races| races.found())
    }

    fn cpus(&self) -> &'static [CpuInfo] {
        self.fabric.cpus.infos()
    }

    fn traffic(&self) -> Traffic {
        self.fabric.traffic
    }

    fn queued_units(&self) -> u64 {
        self.fabric.mac.queued_frames()
    }

    fn failed_transfers(&self) -> u64 {
        self.fabric.dma_read.failures() + self.fabric.dma_write.failures()
    }

    fn cpu(&self, cpu: CpuId) -> Option<CpuView> {
        let CoreUnit { core, private } = self.unit(cpu)?;
        let ticks = &self.fabric.ticks;
        let state = match private.stopped.clone() {
            Some(reason) => CpuState::Stopped(reason),
            None if !private.running() => CpuState::Halted,
            None if private.idle.idle().is_some() => CpuState::Idle,
            None => CpuState::Running,
        };
        Some(CpuView {
            state,
            pc: core.pc(),
            next_pc: core.next_pc(),
            blamed: private
                .stopped
                .as_ref()
                .and(private.blamed)
                .unwrap_or(core.pc()),
            instructions: core.instructions(),
            cycles: core.clock.cycles,
            time: ticks.time_of(core.clock.now),
            is_fetched: core.is_fetched(),
            cycle_time: ticks.time_of(core.clock.ticks_per_cycle),
            busy_time: self.busy_time(cpu.index()),
            idle_ticks: private.idle_ticks(),
            stage: self.stages[cpu.index()].current(),
        })
    }

    fn registers(&self, cpu: CpuId) -> &[u32] {
        let unit = self.unit(cpu);
        unit.map_or(&[], |unit| unit.core.registers())
    }

    fn set_register(&mut self, cpu: CpuId, index: usize, value: u32) {
        let core = &mut self.cores[self.place_of(cpu)].core;
        core.set_register(index & 31, value);
        self.wake_cores();
    }

    fn set_pc(&mut self, cpu: CpuId, pc: u32) {
        self.cores[self.place_of(cpu)].core.start_at(pc);
        self.wake_cores();
    }

    fn peek(&self, cpu: CpuId, address: u32, now: SimTime) -> Option<u32> {
        let (cpu, address) = (self.place_of(cpu), address & !3);
        match map::cpu_target(self.viewer(cpu), address) {
            CpuTarget::Sram => Some(self.fabric.sram.word(address)),
            CpuTarget::Scratchpad => {
                let scratchpad = &self.cores[cpu].private.scratchpad;
                scratchpad.get(address, Width::Word)
            }
            CpuTarget::Register(offset) => Some(self.register(offset, now)),
            CpuTarget::StackMap => {
                let private = &self.cores[cpu].private;
                Some(self.fabric.sram.word(private.stack_address(address)))
            }
            CpuTarget::Nothing => None,
        }
    }

    fn area(&self, cpu: CpuId, address: u32) -> Option<Area> {
        let cpu = self.place_of(cpu);
        let own_bytes = scratchpad_bytes(cpu);
        let (name, start, bytes, memory) = match map::cpu_target(self.viewer(cpu), address) {
            CpuTarget::Sram => ("SRAM", 0, SRAM_LIMIT, true),
            CpuTarget::Scratchpad => ("the scratchpad", SCRATCHPAD_BASE, own_bytes, true),
            CpuTarget::Register(_) => ("the register file", REGISTER_BASE, REGISTER_BYTES, false),
            CpuTarget::StackMap | CpuTarget::Nothing => return None,
        };
        let end = start + bytes;
        let installed_end = match start {
            0 => self.fabric.sram.size_bytes() as u32,
            _ => end,
        };
        Some(Area {
            name,
            start,
            end,
            installed_end,
            memory,
            private: start == SCRATCHPAD_BASE,
        })
    }

    fn describe_address(&self, cpu: CpuId, address: u32) -> String {
        map::probe(self.viewer(self.place_of(cpu)), address)
    }

    fn panic_at(&self, cpu: CpuId) -> Option<String> {
        self.panic_text(self.place_of(cpu))
    }

    fn lost_returns(&self, cpu: CpuId) -> &[LostReturn] {
        self.stages[self.place_of(cpu)].lost()
    }

    fn stages(&self) -> &[Arc<str>] {
        self.probes.stages()
    }

    fn stage_total(&self, cpu: CpuId, stage: StageIndex) -> StageTotal {
        let of_cpu = self.stages.get(cpu.index());
        of_cpu.map_or_else(StageTotal::default, |of_cpu| of_cpu.total(stage))
    }

    fn busy_units(&self) -> Vec<BusyUnit> {
        let unit = |name, title, time| BusyUnit { name, title, time };
        let Fabric {
            dma_read,
            dma_write,
            ..
        } = &self.fabric;
        let cpus = self.cpus().iter().enumerate();
        let cpus = cpus.map(|(cpu, info)| unit(info.id, info.name, self.busy_time(cpu)));
        let channels = [
            unit("dma_read", "DMA read", dma_read.busy()),
            unit("dma_write", "DMA write", dma_write.busy()),
        ];
        cpus.chain(channels).collect()
    }

    fn inject(&mut self, fault: &BoardFault) -> Result<(), NoSuchFault> {
        match *fault {
            BoardFault::DmaStall {
                channel,
                from,
                span,
            } => self.fabric.stall_dma(channel, from, span),
        }
        Ok(())
    }

    fn block(&self, name: &str, now: SimTime) -> Vec<RegisterRow> {
        let registers = names::registers(self.fabric.cpus);
        let registers = registers.filter(|(_, address)| names::block_of(*address) == name);
        let row = |(name, address)| {
            let value = self.register(address - REGISTER_BASE, now);
            RegisterRow {
                address,
                name,
                value,
                bits: names::bits(address, value).unwrap_or_default(),
            }
        };
        registers.map(row).collect()
    }

    fn register_names(&self) -> Vec<(String, u32)> {
        names::registers(self.fabric.cpus).collect()
    }

    fn event_cause(&self, cpu: CpuId, bit: u32, now: SimTime) -> String {
        self.cause_of_event(cpu.index(), bit, now)
    }

    fn event_mask(&self, cpu: CpuId, now: SimTime) -> Option<(String, u32)> {
        self.dispatch_mask(cpu, now)
    }

    fn event_notes(&self, cpu: CpuId, now: SimTime) -> Vec<String> {
        vec![self.mailbox_note(cpu.index(), now)]
    }

    fn rings(&self, describe: DescribeFrame<'_>) -> Option<Vec<String>> {
        Some(rings::rings(&self.fabric, describe))
    }

    fn semaphore(&self) -> Option<String> {
        let owner_of = |side: Side| CPUS[usize::from(side.0) % MOST_CPUS].name;
        let line = |(number, one): (usize, &Semaphore)| {
            let name = match number {
                0 => String::from("the semaphore"),
                _ => format!("semaphore {}", number + 1),
            };
            match one.owner() {
                Some(side) => format!("{} has {name}", owner_of(side)),
                None => format!("{name} is free"),
            }
        };
        let lines = self.fabric.semaphore.each().enumerate().map(line);
        Some(lines.collect::<Vec<_>>().join(", "))
    }

    fn stops(&self) -> Stops {
        self.fabric.stops.clone()
    }

    fn set_stops(&mut self, stops: Stops) {
        if self.fabric.stops != stops {
            self.fabric.stops = stops;
            // Decoded code does not contain them.
            self.forget_all_code();
        }
    }

    fn hold_after(&mut self, cpu: CpuId, instructions: u64) {
        self.held_after[self.place_of(cpu)] = instructions;
    }
}

impl Tigon2 {
    /// The unit of a CPU that the board has.
    pub(super) fn unit(&self, cpu: CpuId) -> Option<&CoreUnit> {
        let has = cpu.index() < self.fabric.cpus.count();
        has.then(|| self.cores.get(cpu.index())).flatten()
    }

    /// A CPU as it accesses addresses.
    fn viewer(&self, cpu: usize) -> Viewer {
        self.cores[cpu].private.viewer()
    }

    pub(crate) fn poke_bytes(
        &mut self,
        cpu: usize,
        address: u32,
        bytes: &[u8],
        ctx: &mut BoardContext,
    ) -> Result<(), NothingThere> {
        let mut rest = bytes;
        let mut address = address;
        while let Some(first) = rest.first() {
            let taken = if address & 3 == 0 && rest.len() >= 4 {
                4
            } else {
                1
            };
            let (value, width) = match rest.first_chunk() {
                Some(word) if taken == 4 => (u32::from_be_bytes(*word), Width::Word),
                _ => (u32::from(*first), Width::Byte),
            };
            self.poke_one(cpu, address, value, width, ctx)?;
            rest = &rest[taken..];
            address = address.wrapping_add(taken as u32);
        }
        self.wake_cores();
        Ok(())
    }

    fn poke_one(
        &mut self,
        cpu: usize,
        address: u32,
        value: u32,
        width: Width,
        ctx: &mut BoardContext,
    ) -> Result<(), NothingThere> {
        match map::cpu_target(self.viewer(cpu), address) {
            CpuTarget::Sram if address < SRAM_LIMIT => {
                self.fabric.sram.write(address, width, value)
            }
            CpuTarget::Scratchpad => {
                let scratchpad = &mut self.cores[cpu].private.scratchpad;
                scratchpad.write(address, width, value);
            }
            CpuTarget::Register(offset) => {
                let (shift, mask) = (width.shift(address), width.mask());
                let rest = match width {
                    Width::Word => 0,
                    _ => self.register(offset & !3, ctx.now) & !(mask << shift),
                };
                let word = rest | (value & mask) << shift;
                self.outsider_writes_register(offset & !3, word, Initiator::Debugger, ctx);
            }
            _ => {
                let cpu = CPUS[cpu % MOST_CPUS].name;
                return Err(NothingThere { address, cpu });
            }
        }
        Ok(())
    }
}
