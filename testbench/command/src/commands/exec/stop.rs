//! Runs a board to its end.

use emulator::board::{CpuId, CpuView, Inspect, StopReason};
use emulator::image::{Image, Symbols};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use serde::Serialize;

use crate::progress::Progress;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::stopped::Stopped;

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
    /// The firmware of a CPU has panicked.
    Panic,
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
            Self::Panic => "panic",
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
pub fn run(node: &mut Node, limit: u64, max_time: SimTime, interrupt: &Interrupt) -> Cause {
    let progress = Progress::work("instructions", limit);
    let mut waits = false;
    while views(node.inspect()).any(|(_, view)| may_run(&view, limit)) {
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
        let instructions = views(node.inspect()).map(|(_, view)| view.instructions);
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

/// All CPUs of a board, with their names.
fn views(board: &dyn Inspect) -> impl Iterator<Item = (&'static str, CpuView)> {
    let cpus = board.cpus().iter().enumerate();
    cpus.filter_map(|(index, info)| Some((info.id, board.cpu(CpuId::new(index))?)))
}

const fn may_run(view: &CpuView, limit: u64) -> bool {
    view.state.executes() && view.instructions < limit
}

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Kind of the end.
    pub stop: Stop,
    /// One line: position and state of each CPU that ran.
    pub reason: String,
    /// The CPUs that stopped by themselves.
    pub stopped: Vec<Stopped>,
}

impl Ending {
    /// The end of a run for the reason `cause`.
    pub fn new(node: &Node, cause: Cause, limit: u64, image: Option<&Image>) -> Self {
        let board = node.inspect();
        let stopped = Stopped::all(node, image);
        let symbols = image.map(|image| image.symbols.clone()).unwrap_or_default();
        let faulted = |view: &CpuView| matches!(view.state.stopped(), Some(StopReason::Fault(..)));
        let stop = if cause == Cause::Interrupt {
            Stop::Interrupted
        } else if views(board).any(|(_, view)| faulted(&view)) {
            Stop::Fault
        } else if stopped.iter().any(|cpu| cpu.is_mistake()) {
            Stop::Panic
        } else if views(board).any(|(_, view)| view.state.executes()) {
            Stop::Limit
        } else {
            Stop::Break
        };
        let lines: Vec<_> = views(board)
            .filter(|(_, view)| has_run(view))
            .map(|(who, view)| {
                let found = stopped.iter().find(|cpu| cpu.id == who);
                match found {
                    Some(found) => describe_stop(who, &view, found),
                    None => describe(who, &view, cause, limit, &symbols),
                }
            })
            .collect();
        let reason = lines.join("; ");
        Self {
            stop,
            reason,
            stopped,
        }
    }
}

/// Whether the CPU was ever started.
pub const fn has_run(view: &CpuView) -> bool {
    view.state.executes() || view.instructions > 0 || view.state.stopped().is_some()
}

/// `0x00004010 (main+0x10)`, with the symbol if there is one.
pub fn place(pc: u32, symbols: &Symbols) -> String {
    match symbols.at(pc) {
        Some(_) => format!("{pc:#010x} ({})", symbols.describe(pc)),
        None => format!("{pc:#010x}"),
    }
}

/// The line of a CPU that stopped by itself.
fn describe_stop(who: &str, view: &CpuView, stopped: &Stopped) -> String {
    let Stopped { what, .. } = stopped;
    let place = stopped.place();
    match view.state.stopped() {
        Some(StopReason::Break { .. }) if stopped.is_mistake() => format!("{who}: {what}"),
        Some(StopReason::Break { code: 0 }) => format!("{who}: break at pc {place}"),
        Some(StopReason::Break { .. }) => format!("{who}: {what} at pc {place}"),
        _ => format!("{who}: fault at pc {place}: {what}"),
    }
}

fn describe(who: &str, view: &CpuView, cause: Cause, limit: u64, symbols: &Symbols) -> String {
    let pc = place(view.blamed, symbols);
    let count = view.instructions;
    match cause {
        _ if !view.state.executes() => format!("{who}: halted at pc {pc}"),
        Cause::WaitsForEver => format!(
            "{who}: idle at pc {pc} after {count} instructions, and nothing is pending that could wake it"
        ),
        _ if count >= limit => {
            format!("{who}: limit of {count} instructions reached at pc {pc}")
        }
        Cause::Time => format!("{who}: running at pc {pc} when the time was over"),
        _ => format!("{who}: running at pc {pc}"),
    }
}
