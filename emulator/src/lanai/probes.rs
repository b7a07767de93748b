//! The firmware's probes: what the CPU passes.

use std::sync::Arc;

use defs::probe::Kind;

use super::board::Lanai;
use super::run::{CPU, CpuBus};
use super::sram::{SPACE, Sram};
use crate::board::{BoardProbe, ProbeTable};
use crate::cpu::lanai::bus::{Passed, Width};
use crate::cpu::lanai::exec::Core;
use crate::image::Probe;
use crate::observe::event::TraceKind;
use crate::observe::instructions::Record;

/// The text of a probe with values of the CPU's registers; a text argument is an address and a length in memory.
fn filled_in(probe: &Probe, core: &Core, sram: &Sram) -> String {
    let registers = probe.registers.iter();
    let values: Vec<u32> = registers.map(|&r| core.register(usize::from(r))).collect();
    crate::image::probes::format(&probe.text, &values, |address| match address < SPACE {
        true => sram.read(address, Width::Byte) as u8,
        false => 0,
    })
}

impl<const LOGGED: bool> CpuBus<'_, '_, LOGGED> {
    /// The CPU passes the firmware's probes at `pc`. A panic ends the firmware: the chip has no instruction for that.
    pub(super) fn pass_probes(&mut self, core: &mut Core, pc: u32) -> Passed {
        let table = self.fabric.probes.clone();
        let places = table.at(pc);
        if !places.is_empty() {
            self.log(|log| log.note(Record::Probe { pc }));
        }
        for place in places {
            self.pass_probe(core, place, &table);
        }
        let mut kinds = places.iter().map(|place| place.probe.kind);
        match places {
            [] => Passed::Instruction,
            _ if kinds.any(|kind| kind == Kind::Panic) => Passed::End,
            _ => Passed::Probe,
        }
    }

    fn pass_probe(&mut self, core: &mut Core, place: &BoardProbe, table: &ProbeTable) {
        let probe = &place.probe;
        let text = || Arc::clone(&probe.text);
        let kind = match probe.kind {
            Kind::Event => {
                let registers = probe.registers.iter();
                let arguments = registers.map(|&r| core.register(usize::from(r)));
                TraceKind::Probe {
                    name: text(),
                    arguments: arguments.collect(),
                }
            }
            Kind::StageEnter => TraceKind::StageEnter { stage: text() },
            Kind::StageExit => TraceKind::StageExit { stage: text() },
            Kind::WaitEnter => TraceKind::WaitEnter { what: text() },
            Kind::WaitExit => TraceKind::WaitExit { what: text() },
            // An image keeps these notes apart.
            Kind::Boards => return,
            Kind::Log | Kind::Panic => {
                let text = filled_in(probe, core, &self.fabric.sram);
                TraceKind::Log { text: text.into() }
            }
        };
        let now = self.fabric.ticks.time_of(core.clock.now);
        self.ctx.trace.record_at(now, CPU, Some(core.pc()), kind);
        let stage = self.stage.pass(place, core.clock.cycles);
        core.clock.ticks_per_cycle = table.ticks_per_cycle(stage);
    }
}

impl Lanai {
    /// Gives the board the probes of its firmware.
    pub fn set_probes(&mut self, probes: ProbeTable) {
        self.fabric.probes = probes;
        self.fabric.sram.forget_code();
        self.idle.wake(&self.core);
    }

    /// The firmware's panic at the CPU's current instruction, before or after its execution.
    pub(super) fn panic_text(&self) -> Option<String> {
        let places = self.fabric.probes.at(self.core.pc()).iter();
        let mut probes = places.map(|place| &place.probe);
        let panic = probes.find(|probe| probe.kind == Kind::Panic)?;
        Some(filled_in(panic, &self.core, &self.fabric.sram))
    }
}
