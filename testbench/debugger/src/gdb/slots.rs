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
//!
//! A breakpoint in a slot is reported where it is, because gdb ignores a stop at an address without a breakpoint, and goes on. Until the
//! next motion that slot is not hidden, and a resume there is treated like one in the slot of a `JOFF`.

use emulator::board::{CpuId, Inspect};
use emulator::cpu::architecture::Transfer;
use emulator::sim::time::SimTime;

/// Size of an instruction in bytes.
const INSTRUCTION: u32 = 4;

/// Whether a core stands in the slot of a branch or jump that was taken, and whether that one dispatches to a handler.
fn jumped(board: &dyn Inspect, cpu: CpuId, now: SimTime) -> Option<bool> {
    let view = board.cpu(cpu)?;
    if !view.in_delay_slot() {
        return None;
    }
    let architecture = board.cpus()[cpu.index()].architecture;
    let word = board.peek(cpu, view.pc.wrapping_sub(INSTRUCTION), now)?;
    // If the slot of a jump contains a jump, the next instruction belongs to that jump's slot.
    let has_slot = architecture.delay_slots(word) > 0;
    has_slot.then(|| architecture.transfer(word) == Some(Transfer::Dispatch))
}

fn pc(board: &dyn Inspect, cpu: CpuId) -> u32 {
    board.cpu(cpu).map_or(0, |view| view.pc)
}

/// Whether a core is in the slot of a branch that was taken, and of which gdb knows: no `JOFF`.
#[must_use]
pub fn in_taken_slot(board: &dyn Inspect, cpu: CpuId, now: SimTime) -> bool {
    jumped(board, cpu, now) == Some(false)
}

/// Program counter reported to gdb of a core whose slot is hidden or not.
#[must_use]
pub fn shown_pc(board: &dyn Inspect, cpu: CpuId, hidden: bool) -> u32 {
    match hidden {
        true => pc(board, cpu).wrapping_sub(INSTRUCTION),
        false => pc(board, cpu),
    }
}

/// Whether gdb cannot know the core's next instruction, and so waits at a wrong address, with one of these
/// breakpoints.
#[must_use]
pub fn steps_blindly(
    board: &dyn Inspect,
    cpu: CpuId,
    now: SimTime,
    hidden: bool,
    breakpoints: &[u32],
) -> bool {
    let behind = pc(board, cpu).wrapping_add(INSTRUCTION);
    jumped(board, cpu, now).is_some() && !hidden && breakpoints.contains(&behind)
}
