//! Execution that has left the code of the firmware (`cpu/code_map.rs`).

use super::fabric::Fabric;
use super::sram::SPACE;
use emulator_board::CpuId;
use emulator_cpu::code_map::{CodeMap, EntryPath, UNWRITTEN_BEFORE_BYTES, Wild, is_unwritten};
use emulator_cpu::lanai::Op;
use emulator_cpu::lanai::architecture::Lanai;
use emulator_cpu::lanai::bus::Fault;
use emulator_cpu::lanai::exec::Core;

impl Fabric {
    /// Addresses at which the CPU may find code.
    pub(super) fn code(&self) -> &CodeMap {
        self.probes.code(CpuId::new(0))
    }

    /// Whether the word at `pc` is code. `op`: what is decoded there.
    pub(super) fn is_code(&self, core: &Core, pc: u32, op: Op) -> bool {
        let code = self.code();
        let is_doubted = code.doubts(pc, self.sram.word(pc));
        if op != Op::UNDECODED && !is_doubted {
            return true;
        }
        let from = pc.saturating_sub(UNWRITTEN_BEFORE_BYTES);
        let is_null = || code.is_null(pc) && core.instructions() != self.begun_at;
        let is_unwritten = || !code.is_null(pc) && is_unwritten(self.sram.words_from(from));
        code.allows(pc) && !(is_doubted && (is_null() || is_unwritten()))
    }

    /// The fault of a CPU that comes to `pc`, where no code is.
    #[cold]
    pub(super) fn no_code(&self, core: &Core, pc: u32) -> Fault {
        let code = self.code();
        let word = |at| (at < SPACE).then(|| self.sram.word(at));
        let architecture = Lanai(*core.pipeline());
        Fault::Wild(Wild {
            address: pc,
            path: EntryPath::find(
                pc,
                &architecture,
                core.registers(),
                code,
                core.jumped_from(),
                word,
            ),
            place: code.place(pc, pc < self.sram.size()),
        })
    }
}
