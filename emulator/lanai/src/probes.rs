//! The firmware's probes: what the CPU passes.

use defs::probe::Kind;

use super::board::Lanai;
use super::run::{CPU, CpuBus};
use super::sram::{SPACE, Sram};
use emulator_base::time::SimTime;
use emulator_board::{CpuId, ProbeTable};
use emulator_cpu::lanai::bus::{Passed, Width};
use emulator_cpu::lanai::exec::Core;
use emulator_image::Probe;
use emulator_observe::event::TraceKind;
use emulator_observe::file::ProbeKind;
use emulator_observe::instructions::Record;
use emulator_observe::tracer::Tracer;

/// The text of a probe with values of the CPU's registers; a text argument is an address and a length in memory.
fn filled_in(probe: &Probe, core: &Core, sram: &Sram) -> String {
    let registers = probe.registers.iter();
    let values: Vec<u32> = registers.map(|&r| core.register(usize::from(r))).collect();
    emulator_image::probes::format(&probe.text, &values, |address| match address < SPACE {
        true => sram.read(address, Width::Byte) as u8,
        false => 0,
    })
}

impl<const LOGGED: bool> CpuBus<'_, '_, LOGGED> {
    /// The CPU passes the firmware's probes at `pc`. A panic ends the firmware: the chip has no instruction for that.
    pub(super) fn pass_probes(&mut self, core: &mut Core, pc: u32) -> Passed {
        if LOGGED && !self.fabric.probes.at(pc).is_empty() {
            self.log(|log| log.note(Record::Probe { pc }));
        }
        let places = self.fabric.probes.at(pc);
        let now = self.fabric.ticks.time_of(core.clock.now);
        // An image keeps notes on its boards apart.
        for place in places
            .iter()
            .filter(|place| place.probe.kind != Kind::Boards)
        {
            record(&place.probe, now, core, &self.fabric.sram, self.ctx.trace);
            let stage = self.stage.pass(place, core.clock.cycles);
            core.clock.ticks_per_cycle = self.fabric.probes.ticks_per_cycle(stage);
        }
        let mut kinds = places.iter().map(|place| place.probe.kind);
        match places {
            [] => Passed::Instruction,
            _ if kinds.any(|kind| kind == Kind::Panic) => Passed::End,
            _ => Passed::Probe,
        }
    }
}

/// Records that the CPU passes a probe.
fn record(probe: &Probe, now: SimTime, core: &Core, sram: &Sram, trace: &mut Tracer) {
    let pc = Some(core.pc());
    let Some(kind) = ProbeKind::made_by(probe.kind) else {
        let text = filled_in(probe, core, sram).into();
        return trace.record_at(now, CPU, pc, TraceKind::Log { text });
    };
    let registers = probe.registers.iter();
    let arguments = registers.map(|&r| core.register(usize::from(r)));
    trace.record_probe((now, CPU, pc), kind, (&probe.text, arguments));
}

impl Lanai {
    /// Gives the board the probes of its firmware.
    pub fn set_probes(&mut self, probes: ProbeTable) {
        self.fabric.sram.guard(probes.stack_guard());
        self.fabric.code_space = self.fabric.sram.code_space(probes.code(CpuId::new(0)));
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
