//! Translation of the code in the scratchpads.

use defs::tigon2::map::{SCRATCHPAD_BASE, SRAM_LIMIT};
use translator::{Costs, Layout, Program};

use crate::board::{CpuId, ProbeTable, Stops};
use crate::cpu::clock::TICKS_PER_CYCLE;
use crate::cpu::decoded::Decoded;
use crate::cpu::mips::bus::Width;
use crate::cpu::mips::exec::CoreTiming;
use crate::cpu::mips::isa::Op;
use crate::cpu::mips::translation;
use crate::cpu::translation::{Translations, Usage};
use crate::tigon2::board::Tigon2;
use crate::tigon2::cores::CoreUnit;
use crate::tigon2::fabric::BoardContext;
use crate::tigon2::inspect::stops;
use crate::tigon2::scratchpad::Scratchpad;
use crate::tigon2::sram::LINE_BYTES;
use crate::tigon2::timing::Timing;

impl Tigon2 {
    /// Uses these translations from now on, or none.
    pub(in crate::tigon2) fn share_translations(&mut self, translations: Option<&Translations>) {
        for unit in &mut self.cores {
            unit.private.translation.share(translations);
        }
    }

    /// What translated code has executed so far, of each core.
    #[must_use]
    pub fn translated(&self) -> [Usage; 2] {
        [0, 1].map(|cpu| self.cores[cpu].private.translation.usage)
    }

    /// Translates code that is due. Not while instructions are recorded: a translation of another board decodes
    /// instructions before they are executed.
    #[inline(always)]
    pub(in crate::tigon2) fn translate_due(&mut self, ctx: &BoardContext) {
        let due = |unit: &CoreUnit| unit.private.translation.is_due();
        if self.cores.iter().any(due) && !ctx.trace.keeps_instructions() {
            self.translate_code();
        }
    }

    #[cold]
    #[inline(never)]
    fn translate_code(&mut self) {
        for (cpu, unit) in self.cores.iter_mut().enumerate() {
            let CoreUnit { core, private } = unit;
            let Some(translations) = private.translation.due() else {
                continue;
            };
            let surroundings = Surroundings {
                probes: &self.probes,
                stops: &self.fabric.stops,
                cpu,
                marks_dispatch: self.marks_dispatch,
            };
            let scratchpad = &mut private.scratchpad;
            let program = Program {
                instructions: instructions(scratchpad),
                costs: costs(&core.timing, &self.fabric.timing),
                layout: layout(scratchpad, self.fabric.sram.size_bytes()),
            };
            let known = program.instructions.iter().flatten().count();
            let found = translations.find(program, |other| {
                surroundings.serves(other, known, scratchpad)
            });
            if let Some(found) = &found {
                decode(found.program(), scratchpad);
            }
            let (_, changes) = scratchpad.words();
            private.translation.take(found, changes);
        }
    }
}

/// The decoded instructions.
fn instructions(scratchpad: &Scratchpad) -> Vec<Option<translator::Instruction>> {
    let ops = scratchpad.ops().iter();
    ops.map(|op| translation::instruction(op.get())).collect()
}

fn costs(core: &CoreTiming, timing: &Timing) -> Costs {
    let bus_ticks = u64::from(timing.sram_word_cycles) * TICKS_PER_CYCLE;
    Costs {
        instruction: core.instruction_cycles,
        taken_branch: core.taken_branch_cycles,
        annulled_slot: core.annulled_slot_cycles,
        own_load: timing.scratchpad_load_cycles,
        own_store: timing.scratchpad_store_cycles,
        shared_load: timing.sram_load_cycles,
        shared_store: timing.sram_store_cycles,
        bus_ticks: u32::try_from(bus_ticks).unwrap_or(u32::MAX),
        ticks_per_cycle: TICKS_PER_CYCLE as u32,
    }
}

fn layout(scratchpad: &Scratchpad, sram_bytes: usize) -> Layout {
    Layout {
        own_base: SCRATCHPAD_BASE,
        own_words: scratchpad.ops().len() as u32,
        shared_limit: SRAM_LIMIT,
        shared_bytes: sram_bytes as u32,
        line_bytes: LINE_BYTES as u32,
        data: Op::DATA.bits(),
    }
}

/// Decodes the instructions of a translation that serves.
fn decode(program: &Program, scratchpad: &mut Scratchpad) {
    for (pc, instruction) in (SCRATCHPAD_BASE..).step_by(4).zip(&program.instructions) {
        if instruction.is_some() && !scratchpad.op(pc).is_decoded() {
            scratchpad.set_op(pc, Op::decode(scratchpad.read(pc, Width::Word)));
        }
    }
}

/// What decides whether an instruction carries a probe.
struct Surroundings<'a> {
    probes: &'a ProbeTable,
    stops: &'a Stops,
    cpu: usize,
    marks_dispatch: bool,
}

impl Surroundings<'_> {
    /// Whether a translation of another scratchpad serves this one, of which so many instructions are known: it has at least
    /// most of them, and the memory holds all of its instructions.
    fn serves(&self, other: &Program, known: usize, scratchpad: &Scratchpad) -> bool {
        let mut common = 0;
        for (pc, theirs) in (SCRATCHPAD_BASE..).step_by(4).zip(&other.instructions) {
            let Some(theirs) = theirs else {
                continue;
            };
            let op = match scratchpad.op(pc) {
                op if !op.is_decoded() => {
                    let op = Op::decode(scratchpad.read(pc, Width::Word));
                    let marked = op.is_dispatch() && self.marks_dispatch;
                    let breaks = stops::breaks_at(self.stops, self.cpu, pc);
                    let code = self.probes.code(CpuId::new(self.cpu));
                    let doubted = code.doubts(pc, scratchpad.read(pc, Width::Word));
                    if doubted || !code.allows(pc) {
                        return false;
                    }
                    if marked || breaks || self.probes.marks(pc) {
                        return false;
                    }
                    op
                }
                op => {
                    common += 1;
                    op
                }
            };
            if translation::instruction(op).as_ref() != Some(theirs) {
                return false;
            }
        }
        // Without the last tenth the interpreter does little.
        10 * common >= 9 * known
    }
}
