//! Runs a board to its end.

use std::time::{Duration, Instant};

use emulator::board::{CpuId, CpuView, Inspect};
use emulator::image::{Image, Symbols};
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use serde::Serialize;

use crate::commands::Status;
use crate::progress::ProgressLine;
use lanigon_worlds::interrupt::Interrupt;
use lanigon_worlds::running::{Running, RunningActivity};
use lanigon_worlds::stopped::{Cause as CpuCause, Stopped};

/// First slice of simulated time between checks of the end.
const SLICE: SimTime = SimTime::from_us(10);
/// A slice that takes less time of the wall clock is short.
const SHORT: Duration = Duration::from_millis(20);

/// End of a run, for JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// All running CPUs have stopped by themselves.
    Break,
    /// A CPU was still running at a limit.
    Limit,
    /// A CPU executed a `break` that is no regular end.
    Abort,
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
            Self::Abort => "abort",
            Self::Fault => "fault",
            Self::Panic => "panic",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Reason for the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
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
pub fn run(node: &mut Node, limit: u64, max_time: SimTime, interrupt: &Interrupt) -> StopCause {
    let progress = ProgressLine::work("instructions", limit);
    let mut waits = false;
    let mut slice = SLICE;
    while views(node.inspect()).any(|(_, view)| may_run(&view, limit)) {
        if interrupt.requested() {
            return StopCause::Interrupt;
        }
        if node.now() >= max_time {
            return if waits {
                StopCause::WaitsForEver
            } else {
                StopCause::Time
            };
        }
        waits = node.next_activity() == SimTime::MAX;
        // Idle CPUs go through long slices in one step. Slices grow while they take no time of the wall clock, so that an interrupt is seen.
        let begin = Instant::now();
        node.run_until(node.now().saturating_add(slice).min(max_time));
        slice = match begin.elapsed() < SHORT {
            true => slice.saturating_add(slice),
            false => SLICE,
        };
        let instructions = views(node.inspect()).map(|(_, view)| view.instructions);
        progress.set(instructions.max().unwrap_or_default());
    }
    if waits {
        StopCause::WaitsForEver
    } else if node.now() >= max_time {
        StopCause::Time
    } else {
        StopCause::NothingRuns
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
    /// The CPUs that run.
    pub running: Vec<Running>,
}

impl Ending {
    /// The end of a run for the reason `cause`.
    pub fn new(node: &Node, cause: StopCause, limit: u64, image: Option<&Image>) -> Self {
        let board = node.inspect();
        let (stopped, running) = (Stopped::all(node, image), Running::all(node, image));
        let symbols = image.map(|image| image.symbols.clone()).unwrap_or_default();
        let any = |is: fn(CpuCause) -> bool| stopped.iter().any(|cpu| is(cpu.cause));
        let stop = if cause == StopCause::Interrupt {
            Stop::Interrupted
        } else if any(|cause| matches!(cause, CpuCause::Fault(_))) {
            Stop::Fault
        } else if any(|cause| cause == CpuCause::Panic) {
            Stop::Panic
        } else if any(|cause| cause == CpuCause::Abort) {
            Stop::Abort
        } else if views(board).any(|(_, view)| view.state.executes()) {
            Stop::Limit
        } else {
            Stop::Break
        };
        let lines: Vec<_> = views(board)
            .filter(|(_, view)| has_run(view))
            .map(|(who, view)| {
                let stopped = stopped.iter().find(|cpu| cpu.id == who);
                let running = running.iter().find(|cpu| cpu.id == who);
                match (stopped, running) {
                    (Some(stopped), _) => describe_stop(who, stopped),
                    (_, Some(running)) => describe(running, &view, cause, limit),
                    _ => format!("{who}: halted at pc {}", place(view.blamed, &symbols)),
                }
            })
            .collect();
        let reason = lines.join("; ");
        Self {
            stop,
            reason,
            stopped,
            running,
        }
    }
}

impl Ending {
    /// The exit code; `has_limit` tells whether a limit was asked for. Without one, programs should end, or wait.
    pub fn status(&self, has_limit: bool) -> Status {
        let is_busy = || {
            self.running
                .iter()
                .any(|cpu| cpu.doing == RunningActivity::Works)
        };
        match self.stop {
            Stop::Limit if !has_limit && is_busy() => Status::Failed,
            Stop::Break | Stop::Limit => Status::Done,
            Stop::Fault | Stop::Panic | Stop::Abort => Status::Failed,
            Stop::Interrupted => Status::Interrupted,
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
fn describe_stop(who: &str, stopped: &Stopped) -> String {
    let Stopped { what, cause, .. } = stopped;
    let place = stopped.place();
    match cause {
        CpuCause::Panic => format!("{who}: {what}"),
        CpuCause::Fault(_) => format!("{who}: fault at pc {place}: {what}"),
        CpuCause::Break if what == "break 0" => format!("{who}: break at pc {place}"),
        CpuCause::Break | CpuCause::Abort => format!("{who}: {what} at pc {place}"),
    }
}

/// The line of a CPU that runs.
fn describe(running: &Running, view: &CpuView, cause: StopCause, limit: u64) -> String {
    let Running {
        id, doing, place, ..
    } = running;
    let count = view.instructions;
    match cause {
        StopCause::WaitsForEver => format!(
            "{id}: idle after {count} instructions, and nothing is pending that could wake it: {place}"
        ),
        _ if count >= limit => {
            format!("{id}: {doing} after {count} instructions, the limit: {place}")
        }
        StopCause::Time => format!("{id}: {doing} when the time is over: {place}"),
        _ => format!("{id}: {doing}: {place}"),
    }
}
