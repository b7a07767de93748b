//! Delay slots and gdb.
//!
//! gdb steps MIPS processors by itself: it works out where the next instruction leads, puts a breakpoint there and lets
//! the core run. A branch and its delay slot are one step then, and gdb can do nothing with a core that stands in a slot:
//! it takes the slot for an instruction that is followed by the next one. Processors with exceptions avoid that, and so
//! do we: of a core in the slot of a taken branch it is said that it stands at the branch, with a bit in `cause`. The
//! branch still leads where it led, since it changed nothing that it looks at. So gdb's steps, and ours, go from branch to
//! target, and what stops in a slot (a watchpoint, the other CPU, Ctrl-C) stops at the branch.
//!
//! `JOFF` is the chip's own: gdb knows neither that it jumps nor that it has a slot, and its next step goes into the slot.
//! There the core is shown where it is. The step after that puts a breakpoint behind the slot, where the core does not
//! come; whoever goes on from the slot of a `JOFF` with a breakpoint behind it is taken to step ([`steps_blindly`]).
//! `PRI` leads nowhere, so gdb need not know it.

use emulator::cpu::mips::isa::{Kind, Op};
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;

/// Bytes of an instruction.
const INSTRUCTION: u32 = 4;

/// The branch or jump in whose slot a core stands, if it was taken.
fn jumped(board: &Tigon2, cpu: usize, now: SimTime) -> Option<Kind> {
    let core = &board.cores[cpu].core;
    if !core.in_taken_slot() {
        return None;
    }
    let word = board.peek(cpu, core.pc().wrapping_sub(INSTRUCTION), now)?;
    let kind = Op::decode(word).kind();
    // Where the slot of a jump holds a jump, what comes then has another one's slot before it.
    kind.flow().has_delay_slot().then_some(kind)
}

/// Whether a core stands in a slot that gdb does not see.
#[must_use]
pub fn in_hidden_slot(board: &Tigon2, cpu: usize, now: SimTime) -> bool {
    jumped(board, cpu, now).is_some_and(|kind| kind != Kind::Joff)
}

/// Where gdb sees a core.
#[must_use]
pub fn shown_pc(board: &Tigon2, cpu: usize, now: SimTime) -> u32 {
    let pc = board.cores[cpu].core.pc();
    match in_hidden_slot(board, cpu, now) {
        true => pc.wrapping_sub(INSTRUCTION),
        false => pc,
    }
}

/// Whether gdb cannot know where a core goes next, and so waits for it at the wrong place, with one of these breakpoints.
#[must_use]
pub fn steps_blindly(board: &Tigon2, cpu: usize, now: SimTime, breakpoints: &[u32]) -> bool {
    let behind = board.cores[cpu].core.pc().wrapping_add(INSTRUCTION);
    jumped(board, cpu, now) == Some(Kind::Joff) && breakpoints.contains(&behind)
}
