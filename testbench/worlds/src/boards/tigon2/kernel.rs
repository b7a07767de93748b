//! Benchmark kernel with typical work of NIC firmware: matches a tag in a list and sums a payload.

use defs::tigon2::map::SCRATCHPAD_BASE;
use emulator::cpu::mips::asm::{self, AsmError};
use emulator::cpu::mips::bus::Width;
use emulator::sim::node::Node;
use emulator::tigon2::board::Tigon2;

use crate::boards::BoardError;
use crate::kernel::Code;

/// Scans 16 descriptors of 20 bytes for a tag, then sums 64 words; endlessly.
const KERNEL: &str = "
again:  move  $t0, $s0          # descriptor
        li    $t1, 16
scan:   lw    $t2, 8($t0)       # node and tag
        addiu $t1, $t1, -1
        beq   $t2, $s2, found
        addiu $t3, $t0, 20
        bgtz  $t1, scan
        move  $t0, $t3
found:  move  $t4, $s1          # payload
        li    $t5, 64
        li    $v0, 0
sum:    lw    $t6, 0($t4)
        addiu $t5, $t5, -1
        addu  $v0, $v0, $t6
        sltu  $t7, $v0, $t6     # end-around carry
        addiu $t4, $t4, 4
        bgtz  $t5, sum
        addu  $v0, $v0, $t7
        sw    $v0, 0($s3)
        b     again
        addiu $s4, $s4, 1
";

/// Loads the kernel for both CPUs and starts them.
pub(super) fn load(node: &mut Node, code: Code) -> Result<(), BoardError> {
    let code_in_sram = code == Code::Shared;
    let Tigon2 { cores, fabric, .. } = node.board_mut();
    for (index, unit) in cores.iter_mut().enumerate() {
        let place = index as u32 * 0x1_0000;
        let origin = if code_in_sram {
            0x4000 + place
        } else {
            SCRATCHPAD_BASE + 0x400
        };
        let program = asm::assemble(&format!(".org {origin:#x}\n{KERNEL}"));
        let program = program.map_err(|error: AsmError| BoardError::Kernel(error.to_string()))?;
        for (address, word) in program.words() {
            if code_in_sram {
                fabric.sram.set_word(address, word);
            } else {
                unit.private.scratchpad.write(address, Width::Word, word);
            }
        }
        let (descriptors, payload, result) = (0x2_0000 + place, 0x2_8000 + place, 0x2_F000 + place);
        for word in 0..64 {
            let at = payload + 4 * word;
            let value = word.wrapping_mul(0x9E37_79B9);
            fabric.sram.set_word(at, value);
        }
        // The tag matches the last descriptor.
        let wanted = 0x0001_0007;
        fabric.sram.set_word(descriptors + 15 * 20 + 8, wanted);
        for (register, value) in [(16, descriptors), (17, payload), (18, wanted), (19, result)] {
            unit.core.set_register(register, value);
        }
        unit.core.start_at(origin);
    }
    for cpu in 0..2 {
        let pc = node.board::<Tigon2>().cores[cpu].core.pc();
        node.with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, pc, ctx));
    }
    Ok(())
}
