//! Benchmark kernel with typical work of NIC firmware: matches a tag in a list and sums a payload. And idle loops.

use defs::tigon2::map::SCRATCHPAD_BASE;
use defs::tigon2::regs;
use emulator::board::Board;
use emulator::cpu::mips::asm::{self, AsmError};
use emulator::cpu::mips::bus::Width;
use emulator::sim::node::Node;
use emulator::tigon2::board::Tigon2;

use crate::boards::BoardError;
use crate::busy_nodes::{CodeMemory, Load};

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

/// Waits for events at CPU A.
const WAITS: &str = "
        lui   $gp, 0xC000
again:  lw    $t0, 0x060($gp)
        b     again
        nop
";

/// Dispatches at CPU B; its alarm comes once in 5 us, and looks at two indices of a ring, which is empty.
const POLLS: &str = "
        lui   $gp, 0xC000
        lui   $k0, 0x00C0
        lui   $s4, 0x1000       # the timer's event
again:  lw    $t0, 0x070($gp)
        pri   $t1, $t0, $s4
        beq   $t1, $zero, again
        nop
        jal   alarm
        nop
        b     again
        nop
alarm:  lw    $t2, 0x054($gp)   # the timer
        addiu $t2, $t2, 5
        sw    $t2, 0x078($gp)   # the alarm
        lw    $t3, 0x100($gp)
        lw    $t4, 0x104($gp)
        bne   $t3, $t4, found
        lw    $t5, 0x300($k0)
        addiu $t5, $t5, 1
        jr    $ra
        sw    $t5, 0x300($k0)
found:  sw    $t3, 0x104($gp)
        jr    $ra
        addiu $s0, $s0, 1
";

fn assemble(origin: u32, text: &str) -> Result<asm::Program, BoardError> {
    let program = asm::assemble(&format!(".org {origin:#x}\n{text}"));
    program.map_err(|error: AsmError| BoardError::Kernel(error.to_string()))
}

/// Loads a program and starts it.
pub(super) fn load(node: &mut Node, load: Load) -> Result<(), BoardError> {
    match load {
        Load::Busy(code) => busy(node, code, 2),
        Load::OneBusy(code) => busy(node, code, 1),
        Load::Polling => polling(node),
    }
}

/// Loads the idle loops for both CPUs into SRAM and starts them.
fn polling(node: &mut Node) -> Result<(), BoardError> {
    for (cpu, text) in [WAITS, POLLS].into_iter().enumerate() {
        let origin = 0x4000 + 0x200 * cpu as u32;
        for (address, word) in assemble(origin, text)?.words() {
            let board = node.board_mut::<Tigon2>();
            board.fabric.sram.set_word(address, word);
        }
        node.with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, origin, ctx));
    }
    // The alarm of CPU A comes late.
    node.with_board::<Tigon2, _>(|board, ctx| {
        board.window_write(regs::TIMER_REFERENCE_A, 1 << 30, ctx);
    });
    Ok(())
}

/// Loads the kernel for both CPUs and starts the first `cpus` of them.
fn busy(node: &mut Node, code: CodeMemory, cpus: usize) -> Result<(), BoardError> {
    let code_in_sram = code == CodeMemory::Shared;
    let Tigon2 { cores, fabric, .. } = node.board_mut();
    for (index, unit) in cores.iter_mut().enumerate() {
        let place = index as u32 * 0x1_0000;
        let origin = if code_in_sram {
            0x4000 + place
        } else {
            SCRATCHPAD_BASE + 0x400
        };
        for (address, word) in assemble(origin, KERNEL)?.words() {
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
    for cpu in 0..cpus {
        let pc = node.board::<Tigon2>().cores[cpu].core.pc();
        node.with_board::<Tigon2, _>(|board, ctx| board.start_core(cpu, pc, ctx));
    }
    Ok(())
}
