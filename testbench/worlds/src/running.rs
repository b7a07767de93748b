//! CPUs that still run at the end: where they stand.

use std::fmt;

use emulator::board::{CpuId, CpuState, CpuView};
use emulator::image::Image;
use emulator::sim::node::Node;

use crate::nodes::START;
use crate::stopped::{CpuCode, plain_name};

/// Active functions that are named in a line.
const MOST_CALLS: usize = 5;

/// Activity of a CPU that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunningActivity {
    /// The CPU executes instructions.
    Works,
    /// The CPU jumps to the address of the jump itself, as programs do that have nothing left to do.
    Rests,
    /// The CPU repeats an idle loop.
    Idles,
}

impl RunningActivity {
    fn observe(code: &CpuCode, view: &CpuView) -> Self {
        let jumps_to_itself = |at: u32| {
            let architecture = code.board.cpus()[code.cpu.index()].architecture;
            let word = code.board.peek(code.cpu, at, code.now);
            word.and_then(|word| architecture.target(word, at)) == Some(at)
        };
        let before = view.pc.wrapping_sub(4);
        let in_slot = view.next_pc == before && jumps_to_itself(before);
        match view.state {
            CpuState::Idle => Self::Idles,
            _ if in_slot || jumps_to_itself(view.pc) => Self::Rests,
            _ => Self::Works,
        }
    }
}

impl fmt::Display for RunningActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Works => "still runs",
            Self::Rests => "rests at a jump to itself",
            Self::Idles => "idles",
        })
    }
}

/// A CPU that executes instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Display name of the CPU: `CPU A`.
    pub cpu: &'static str,
    /// Name of the CPU in files: `cpu_a`.
    pub id: &'static str,
    /// Activity of the CPU.
    pub doing: RunningActivity,
    /// `in main at src/main.rs:14, called by start at src/main.rs:10`.
    pub place: String,
    /// The active functions as lines, innermost first.
    pub backtrace: Vec<String>,
}

impl Running {
    /// The CPU of `code`; `None` if it does not run.
    #[must_use]
    pub fn observe(code: &CpuCode) -> Option<Self> {
        let view = code.board.cpu(code.cpu)?;
        let info = code.board.cpus().get(code.cpu.index())?;
        view.state.executes().then(|| Self {
            cpu: info.name,
            id: info.id,
            doing: RunningActivity::observe(code, &view),
            place: place(code, view.pc),
            backtrace: code.backtrace(),
        })
    }

    /// The CPUs of a node that run.
    #[must_use]
    pub fn all(node: &Node, image: Option<&Image>) -> Vec<Self> {
        let cpus = (0..node.inspect().cpus().len()).map(CpuId::new);
        let lines = image.and_then(|image| image.lines().ok());
        let code = |cpu| CpuCode::new(node, cpu, image, lines.as_ref());
        cpus.filter_map(|cpu| Self::observe(&code(cpu))).collect()
    }

    /// One line per CPU of a node that runs and does not idle.
    #[must_use]
    pub fn lines(node: &Node, image: Option<&Image>, name: &str) -> Vec<String> {
        let us = node.now().saturating_sub(START).us();
        let running = Self::all(node, image).into_iter();
        let running = running.filter(|cpu| cpu.doing != RunningActivity::Idles);
        running
            .map(
                |Self {
                     cpu, place, doing, ..
                 }| {
                    format!("node {name}: {cpu} {doing} after {us:.1} us: {place}")
                },
            )
            .collect()
    }
}

/// Place of the CPU of `code`, with the functions that called this one.
fn place(code: &CpuCode, pc: u32) -> String {
    let (frames, _) = code.frames();
    let calls: Vec<String> = frames
        .iter()
        .flat_map(|frame| functions(code, frame.address))
        .collect();
    match calls.len() {
        0 => format!("at pc {pc:#010x}"),
        1..=MOST_CALLS => format!("in {}", calls.join(", called by ")),
        count => {
            let shown = calls[..MOST_CALLS].join(", called by ");
            format!("in {shown}, called by {} more", count - MOST_CALLS)
        }
    }
}

/// The functions at an instruction with their lines, innermost inlined one first.
fn functions(code: &CpuCode, address: u32) -> Vec<String> {
    let own = code.function(address);
    let own = own.map_or_else(|| format!("{address:#010x}"), |own| plain_name(&own.name));
    let source = code.source(address);
    let last = source.len().saturating_sub(1);
    let mut out: Vec<String> = source[..last].iter().map(ToString::to_string).collect();
    out.push(match source.last() {
        Some(place) => format!("{own} at {}:{}", place.file, place.line),
        None => own,
    });
    out
}
