//! Delay slots for gdb.
//!
//! gdb steps MIPS processors in software: it computes the next instruction's address, sets a breakpoint
//! there and resumes. A branch and its delay slot are then one step, and gdb cannot handle a core in a
//! slot: it assumes that the next instruction follows the slot. Processors with exceptions avoid this by
//! their `cause` register, and so does this server: a core in the slot of a taken branch is reported at the
//! branch, with a bit in `cause`. Executing the branch again has the same target, because it changes none
//! of its operands. So steps go from branch to target, and any stop in a slot (a watchpoint, the other CPU,
//! Ctrl-C) is reported at the branch.
//!
//! gdb does not know the chip's `JOFF`: its step goes into the delay slot, where the core is reported as it
//! is. The next step sets a breakpoint behind the slot, which the core does not reach; so a resume in the
//! slot of a `JOFF` with a breakpoint behind it is treated as a step ([`steps_blindly`]). `PRI` does not
//! jump, so gdb needs no knowledge of it.

use emulator::cpu::mips::isa::{Kind, Op};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;

/// Size of an instruction in bytes.
const INSTRUCTION: u32 = 4;

/// The taken branch or jump whose slot a core is in.
fn jumped(board: &Tigon2, cpu: usize, now: SimTime) -> Option<Kind> {
    let core = &board.cores[cpu].core;
    if !core.in_taken_slot() {
        return None;
    }
    let word = board.peek(cpu, core.pc().wrapping_sub(INSTRUCTION), now)?;
    let kind = Op::decode(word).kind();
    // If the slot of a jump contains a jump, the next instruction belongs to that jump's slot.
    kind.flow().has_delay_slot().then_some(kind)
}

/// Whether a core is in a slot that is hidden from gdb.
#[must_use]
pub fn in_hidden_slot(board: &Tigon2, cpu: usize, now: SimTime) -> bool {
    jumped(board, cpu, now).is_some_and(|kind| kind != Kind::Joff)
}

/// Program counter reported to gdb.
#[must_use]
pub fn shown_pc(board: &Tigon2, cpu: usize, now: SimTime) -> u32 {
    let pc = board.cores[cpu].core.pc();
    match in_hidden_slot(board, cpu, now) {
        true => pc.wrapping_sub(INSTRUCTION),
        false => pc,
    }
}

/// Whether gdb cannot know the core's next instruction, and so waits at a wrong address, with one of these
/// breakpoints.
#[must_use]
pub fn steps_blindly(board: &Tigon2, cpu: usize, now: SimTime, breakpoints: &[u32]) -> bool {
    let behind = board.cores[cpu].core.pc().wrapping_add(INSTRUCTION);
    jumped(board, cpu, now) == Some(Kind::Joff) && breakpoints.contains(&behind)
}
