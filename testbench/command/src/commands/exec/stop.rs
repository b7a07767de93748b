//! Runs a board to its end.

use emulator::board::StopReason;
use emulator::image::Symbols;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::tigon2::board::Tigon2;
use serde::Serialize;

use crate::progress::Progress;
use lanigon_worlds::interrupt::Interrupt;

/// Slice of simulated time between checks of the end.
const SLICE: SimTime = SimTime::from_us(10);

/// End of a run, for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// All running CPUs have stopped by themselves.
    Break,
    /// A CPU was still running at a limit.
    Limit,
    /// A CPU could not execute an instruction.
    Fault,
    /// The user interrupted the run.
    Interrupted,
}

impl Stop {
    /// Name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Break => "break",
            Self::Limit => "limit",
            Self::Fault => "fault",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Reason for the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// No CPU is running.
    NothingRuns,
    /// All running CPUs wait for events that can never come.
    WaitsForEver,
    /// The limit of simulated time is reached.
    Time,
    /// The user interrupted the run.
    Interrupt,
}

/// Runs the board until every CPU has stopped or reached its instruction limit.
pub fn run(node: &mut Node, max_time: SimTime, interrupt: &Interrupt) -> Cause {
    let limit = node.board::<Tigon2>().instruction_limit;
    let progress = Progress::new("instructions", limit);
    let mut waits = false;
    while (0..2).any(|cpu| may_run(node.board::<Tigon2>(), cpu)) {
        if interrupt.requested() {
            return Cause::Interrupt;
        }
        if node.now() >= max_time {
            return if waits {
                Cause::WaitsForEver
            } else {
                Cause::Time
            };
        }
        // Where nothing can happen for a while, the slice is that long. If nothing can ever happen,
        // the idle CPUs go through their instructions in one step.
        let activity = node.next_activity();
        waits = activity == SimTime::MAX;
        if node.now() >= max_time {
            break;
        }
        let slice_end = node.now().saturating_add(SLICE);
        node.run_until(slice_end.max(activity).min(max_time));
        let instructions = node
            .board::<Tigon2>()
            .cores
            .iter()
            .map(|unit| unit.core.instructions());
        progress.set(instructions.max().unwrap_or_default());
    }
    if waits {
        Cause::WaitsForEver
    } else if node.now() >= max_time {
        Cause::Time
    } else {
        Cause::NothingRuns
    }
}

fn may_run(board: &Tigon2, index: usize) -> bool {
    let unit = &board.cores[index];
    unit.private.running() && unit.core.instructions() < board.instruction_limit
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Kind of the end.
    pub stop: Stop,
    /// One line: position and state of each CPU that ran.
    pub reason: String,
}

impl Ending {
    /// The end of a run for the reason `cause`.
    pub fn new(board: &Tigon2, cause: Cause, symbols: &Symbols) -> Self {
        let faulted = |cpu| matches!(board.stop_reason(cpu), Some(StopReason::Fault(_)));
        let running = |cpu: usize| board.cores[cpu].private.running();
        let stop = if cause == Cause::Interrupt {
            Stop::Interrupted
        } else if (0..2).any(faulted) {
            Stop::Fault
        } else if (0..2).any(running) {
            Stop::Limit
        } else {
            Stop::Break
        };
        let lines: Vec<_> = (0..2)
            .filter(|&cpu| has_run(board, cpu))
            .map(|cpu| describe(board, cpu, cause, symbols))
            .collect();
        let reason = lines.join("; ");
        Self { stop, reason }
    }
}

/// Whether the CPU was ever started.
pub fn has_run(board: &Tigon2, index: usize) -> bool {
    let unit = &board.cores[index];
    unit.private.running() || unit.core.instructions() > 0 || board.stop_reason(index).is_some()
}

/// `0x00004010 (main+0x10)`, with the symbol if there is one.
pub fn place(pc: u32, symbols: &Symbols) -> String {
    match symbols.at(pc) {
        Some(_) => format!("{pc:#010x} ({})", symbols.describe(pc)),
        None => format!("{pc:#010x}"),
    }
}

fn describe(board: &Tigon2, index: usize, cause: Cause, symbols: &Symbols) -> String {
    let unit = &board.cores[index];
    let who = unit.private.who;
    let pc = place(unit.core.pc(), symbols);
    let count = unit.core.instructions();
    match board.stop_reason(index) {
        Some(StopReason::Break { code: 0 }) => format!("{who}: break at pc {pc}"),
        Some(StopReason::Break { code }) => format!("{who}: break {code:#x} at pc {pc}"),
        Some(StopReason::Fault(fault)) => format!("{who}: fault at pc {pc}: {fault}"),
        None if !unit.private.running() => format!("{who}: halted at pc {pc}"),
        None if cause == Cause::WaitsForEver => format!(
            "{who}: idle at pc {pc} after {count} instructions, and nothing is pending that could wake it"
        ),
        None if count >= board.instruction_limit => {
            format!("{who}: limit of {count} instructions reached at pc {pc}")
        }
        None if cause == Cause::Time => format!("{who}: running at pc {pc} when the time was over"),
        None => format!("{who}: running at pc {pc}"),
    }
}
