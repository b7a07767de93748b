//! Runs of instructions that control enters at the first one only, as far as can be told from the code. In a short loop each access to
//! memory begins a run, since control comes back there after it had to wait. Elsewhere that would only make the code larger.

use crate::program::Program;

/// A longer run is divided: it would be left to careful code too often.
const MOST_INSTRUCTIONS: usize = 32;

/// Instructions of a short loop at most.
const MOST_OF_LOOP: usize = 48;

/// A run of instructions without a branch, or with one at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Index of the first one.
    pub(crate) start: usize,
    /// Index behind the last one, which may be a branch; its slot is not counted.
    pub(crate) end: usize,
    /// Whether the last one is a branch.
    pub(crate) branches: bool,
    /// The largest number of cycles before the last instruction begins.
    pub(crate) cycles_before_last: u32,
}

/// The runs of a program with these [`loops`], in order.
pub(crate) fn runs(program: &Program, loops: &[bool]) -> Vec<Run> {
    let leads = leaders(program, loops);
    let starts = (0..leads.len()).filter(|&index| leads[index]);
    starts.map(|start| run(program, &leads, start)).collect()
}

/// For each word whether it is in a short loop: a branch goes back over it.
pub(crate) fn loops(program: &Program) -> Vec<bool> {
    let mut loops = vec![false; program.instructions.len()];
    for index in 0..loops.len() {
        let target = program.target(index);
        let target = target.and_then(|address| program.index(address));
        if let Some(start) = target.filter(|&start| start <= index)
            && index - start < MOST_OF_LOOP
        {
            // The slot belongs to it.
            let end = loops.len().min(index + 2);
            loops[start..end].fill(true);
        }
    }
    loops
}

/// For each word whether a run begins there.
fn leaders(program: &Program, loops: &[bool]) -> Vec<bool> {
    let mut leads = vec![false; program.instructions.len()];
    for index in 0..leads.len() {
        let Some(instruction) = program.at(index) else {
            continue;
        };
        let accesses = loops[index] && instruction.operation.access_bytes() > 0;
        if index == 0 || program.at(index - 1).is_none() || accesses {
            leads[index] = true;
        }
        if !instruction.operation.has_delay_slot() {
            continue;
        }
        let after = [index + 2];
        let target = program.target(index);
        let target = target.and_then(|address| program.index(address));
        for next in after.into_iter().chain(target) {
            if program.at(next).is_some() {
                leads[next] = true;
            }
        }
    }
    let mut length = 0;
    for (index, lead) in leads.iter_mut().enumerate() {
        length = if *lead { 1 } else { length + 1 };
        if length > MOST_INSTRUCTIONS && program.at(index).is_some() {
            *lead = true;
            length = 1;
        }
    }
    leads
}

fn run(program: &Program, leads: &[bool], start: usize) -> Run {
    let mut before_last = 0_u32;
    let mut index = start;
    while let Some(instruction) = program.at(index) {
        if index > start && leads[index] {
            break;
        }
        if instruction.operation.has_delay_slot() {
            let costs = &program.costs;
            let branch = costs.instruction.saturating_add(costs.taken_branch);
            return Run {
                start,
                end: index + 1,
                branches: true,
                // The last one is the slot.
                cycles_before_last: before_last.saturating_add(branch),
            };
        }
        index += 1;
        before_last = before_last.saturating_add(program.most_cycles(instruction));
    }
    // The cycles of the last one were added too: a bound that is a little too high leads to careful code.
    Run {
        start,
        end: index,
        branches: false,
        cycles_before_last: before_last,
    }
}
