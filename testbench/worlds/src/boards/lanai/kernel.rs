//! Benchmark kernel with typical work of NIC firmware: matches a tag in a list, copies a payload and sums it.

use emulator::board::CpuId;
use emulator::cpu::lanai::asm::{self, AsmError};
use emulator::lanai::board::Lanai;
use emulator::sim::node::Node;

use crate::boards::BoardError;
use crate::busy_nodes::Load;

/// Scans 16 descriptors of 20 bytes for a tag, then copies 64 words and sums them with end-around carry; endlessly. For LLVM's pipeline.
const KERNEL: &str = "
    li 0x20000, %r20
    li 0x28000, %r21
    li 0x10007, %r22
    li 0x2F000, %r23
    li 0x29000, %r26
again:
    mov %r20, %r6
    mov 16, %r7
scan:
    ld 8[%r6], %r8
    sub %r7, 1, %r7
    sub.f %r8, %r22, %r0
    beq found
    add %r6, 20, %r6
    sub.f %r7, 0, %r0
    bne scan
    nop
found:
    mov %r21, %r6
    mov %r26, %r25
    mov 64, %r7
    mov 0, %r9
copy:
    ld 4[%r6*], %r8
    sub %r7, 1, %r7
    add.f %r9, %r8, %r9
    addc %r9, 0, %r9
    st %r8, 4[%r25*]
    sub.f %r7, 0, %r0
    bne copy
    nop
    st %r9, 0[%r23]
    bt again
    add %r24, 1, %r24
";

/// Loads the kernel and starts the CPU. There is one memory, so the code is in it in either case.
pub(super) fn load(node: &mut Node, load: Load) -> Result<(), BoardError> {
    if load == Load::Polling {
        return Err(BoardError::NoProgram);
    }
    let program = asm::assemble(KERNEL);
    let program = program.map_err(|error: AsmError| BoardError::Kernel(error.to_string()))?;
    let sram = &mut node.board_mut::<Lanai>().fabric.sram;
    for (address, word) in program.words() {
        sram.set_word(address, word);
    }
    for index in 0..64_u32 {
        sram.set_word(0x2_8000 + 4 * index, index.wrapping_mul(0x9E37_79B9));
    }
    // The tag matches the last descriptor.
    sram.set_word(0x2_0000 + 15 * 20 + 8, 0x1_0007);
    node.start_cpu(CpuId::new(0), 0);
    Ok(())
}
