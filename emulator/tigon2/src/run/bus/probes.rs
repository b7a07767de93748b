//! Marked instructions: the firmware's probes, and dispatches.

use defs::probe::Kind;

use super::CpuBus;
use crate::board::Tigon2;
use crate::cores::{CorePrivate, CoreUnit};
use crate::inspect::handlers::{self, Jump};
use crate::map::{self, CpuTarget};
use crate::sram::Sram;
use emulator_base::initiator::Actor;
use emulator_board::BoardProbe;
use emulator_cpu::architecture::Architecture;
use emulator_cpu::mips::architecture::MIPS;
use emulator_cpu::mips::bus::Width;
use emulator_cpu::mips::exec::Core;
use emulator_image::{LostReturn, Probe};
use emulator_observe::event::TraceKind;
use emulator_observe::file::ProbeKind;

impl<const ALONE: bool, const LOGGED: bool> CpuBus<'_, '_, ALONE, LOGGED> {
    pub(super) fn pass_probe(&mut self, core: &mut Core, place: &BoardProbe) {
        let probe = &place.probe;
        let now = self.fabric.ticks.time_of(core.clock.now);
        let Actor { initiator, pc } = self.who(core);
        if probe.kind.is_note() {
            // An image keeps these notes apart.
            return;
        }
        if let Some(kind) = ProbeKind::made_by(probe.kind) {
            let registers = probe.registers.iter();
            let arguments = registers.map(|&r| core.register(usize::from(r)));
            let probed = (&probe.text, arguments);
            self.ctx
                .trace
                .record_probe((now, initiator, pc), kind, probed);
        } else {
            let text = fill_in(probe, core, self.private, &self.fabric.sram);
            let kind = TraceKind::Log { text: text.into() };
            self.ctx.trace.record_at(now, initiator, pc, kind);
        }
        let stage = self.stages[self.private.index()].pass(place, core.clock.cycles);
        core.clock.ticks_per_cycle = self.probes.ticks_per_cycle(stage);
    }

    /// Notes the return address that the call at the core's `pc` overwrites: its function does not keep it.
    #[cold]
    pub(super) fn lose_return(&mut self, core: &Core) {
        let [sp, to] = [MIPS.stack_pointer(), MIPS.return_address()].map(|at| core.register(at));
        let call = core.pc();
        self.stages[self.private.index()].lose(LostReturn { call, sp, to });
    }

    /// Records the handlers that begin and end, if the core's current instruction dispatches. Does not affect its
    /// execution.
    #[cold]
    pub(super) fn dispatch(&mut self, core: &Core) {
        let Some(jump) = handlers::jump(core, self.private, &self.fabric.sram) else {
            return;
        };
        self.ctx.now = self.fabric.ticks.time_of(core.clock.now);
        if self.private.dispatch.dispatch(jump.is_some()) {
            self.record_detail(core, TraceKind::HandlerExit);
        }
        if let Some(Jump { event, handler }) = jump {
            let address = handler;
            self.record_detail(core, TraceKind::HandlerEnter { address, event });
        }
    }
}

/// The text of a probe with values of the core's registers; a text argument is an address and a length in the core's memory.
fn fill_in(probe: &Probe, core: &Core, private: &CorePrivate, sram: &Sram) -> String {
    let registers = probe.registers.iter();
    let values: Vec<u32> = registers.map(|&r| core.register(usize::from(r))).collect();
    emulator_image::probes::format(&probe.text, &values, |address| {
        match map::cpu_target(private.viewer(), address) {
            CpuTarget::Scratchpad => private.scratchpad.read(address, Width::Byte) as u8,
            CpuTarget::StackMap => sram.read(private.stack_address(address), Width::Byte) as u8,
            _ => sram.read(address, Width::Byte) as u8,
        }
    })
}

impl Tigon2 {
    /// The firmware's panic at the core's current instruction, before or after its execution.
    pub(crate) fn panic_text(&self, cpu: usize) -> Option<String> {
        let CoreUnit { core, private } = &self.cores[cpu];
        let mut probes = self.probes.at(core.pc()).iter().map(|place| &place.probe);
        let panic = probes.find(|probe| probe.kind == Kind::Panic)?;
        Some(fill_in(panic, core, private, &self.fabric.sram))
    }
}
