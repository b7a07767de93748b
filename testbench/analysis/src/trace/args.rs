//! Options of `lanigon trace`, and of the commands that record traces.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use emulator::observe::event::Details;
use emulator::sim::time::SimTime;

use super::filter::{Key, Term};
use super::record;
use super::select::{Terms, expression};
use super::time::{TimeArg, span, time};

/// A CPU of the board.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cpu {
    /// CPU A
    A,
    /// CPU B
    B,
}

impl Cpu {
    /// Index in tables with an entry for each core: 0 = A, 1 = B.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Options of commands that record a trace.
#[derive(Debug, Default, Args)]
pub struct RecordArgs {
    /// Write every event of all nodes into this file, for `lanigon trace`; as text if its name ends in .txt
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Record these kinds of events too: registers, handlers, semaphore, rings, host, frames, events, or all
    #[arg(long, value_name = "LIST", value_parser = record::details, requires = "trace")]
    pub details: Option<Details>,
    /// Record every instruction of every CPU too, for `lanigon trace instructions`
    #[arg(long, requires = "trace")]
    pub instructions: bool,
    /// Record from the first event that this describes, as "probe=retransmit node=1"
    #[arg(long, value_name = "EXPRESSION", value_parser = expression, requires = "trace")]
    pub trace_trigger: Option<Terms>,
    /// ... and what lies so much before it
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "trace_trigger")]
    pub trace_before: Option<SimTime>,
    /// ... for so long
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "trace_trigger")]
    pub trace_for: Option<SimTime>,
}

impl RecordArgs {
    /// The part of the run that is recorded.
    #[must_use]
    pub fn window(&self) -> WindowArgs {
        WindowArgs {
            trigger: self.trace_trigger.clone(),
            before: self.trace_before,
            span: self.trace_for,
            ..WindowArgs::default()
        }
    }
}

/// Options of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// What to do with a trace.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show events, a line each
    Show(ShowArgs),
    /// Show every instruction, if they were recorded (`--instructions`), a line each
    Instructions(InstructionArgs),
    /// Show the events whose line holds a pattern
    Grep(GrepArgs),
    /// Count events, and add up what handlers and stages take
    Stats(StatsArgs),
    /// Say what first differs between two runs
    Diff(DiffArgs),
}

/// Which span of a trace.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which span of time")]
pub struct WindowArgs {
    /// From this time on: 20120us, 20.5ms, or +120us from the start of the host programs
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<TimeArg>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<TimeArg>,
    /// From the first event that this describes, as "probe=retransmit node=1"
    #[arg(long, value_name = "EXPRESSION", value_parser = expression)]
    pub trigger: Option<Terms>,
    /// ... and what lies so much before it
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "trigger")]
    pub before: Option<SimTime>,
    /// ... for so long
    #[arg(long = "for", value_name = "SPAN", value_parser = span, requires = "trigger")]
    pub span: Option<SimTime>,
}

/// Which events of a trace.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which events (all must hold; LIST: one of them must)")]
pub struct FilterArgs {
    /// On these nodes: numbers or names
    #[arg(long, value_name = "LIST")]
    pub node: Option<String>,
    /// In these switches: numbers
    #[arg(long, value_name = "LIST")]
    pub switch: Option<String>,
    /// Concerning these blocks: cpu_a, dma_read, mac_tx, mailbox, semaphore, wire, ...; dma means all whose names begin so
    #[arg(long, value_name = "LIST")]
    pub block: Option<String>,
    /// Caused by these: cpu_a, cpu_b, dma_read, dma_write, mac_tx, mac_rx, host, wire
    #[arg(long, value_name = "LIST")]
    pub by: Option<String>,
    /// Of these kinds: probe, dma-start, frame-lost, ...; frame means all whose names begin so
    #[arg(long, value_name = "LIST")]
    pub kind: Option<String>,
    /// Event probes of the firmware: retransmit, "frame sent", ...
    #[arg(long, value_name = "LIST")]
    pub probe: Option<String>,
    /// Begin and end of these stages of the firmware
    #[arg(long, value_name = "LIST")]
    pub stage: Option<String>,
    /// Probes of these messages: SENDER:NUMBER
    #[arg(long, value_name = "LIST")]
    pub message: Option<String>,
    /// Caused by code in these functions
    #[arg(long, value_name = "LIST")]
    pub symbol: Option<String>,
    /// Whose line holds this text
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// The span.
    #[command(flatten)]
    pub window: WindowArgs,
}

impl FilterArgs {
    /// The options as terms.
    #[must_use]
    pub fn terms(&self) -> Vec<Term> {
        let options = [
            (Key::Node, &self.node),
            (Key::Switch, &self.switch),
            (Key::Block, &self.block),
            (Key::By, &self.by),
            (Key::Kind, &self.kind),
            (Key::Probe, &self.probe),
            (Key::Stage, &self.stage),
            (Key::Message, &self.message),
            (Key::Symbol, &self.symbol),
            (Key::Text, &self.text),
        ];
        let given = options.into_iter();
        given
            .filter_map(|(key, value)| Some((key, value.clone()?)))
            .collect()
    }
}

/// Options of `trace show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns: time in microseconds since power-on, place (n0: node 0, s0: switch 0), block, what happened, and the function
whose instruction caused it.

Examples:
  lanigon trace show pair.trace --node 0 --by cpu --from +100us --until +150us
  lanigon trace show pair.trace --trigger probe=retransmit --before 50us --for 200us
  lanigon trace show pair.trace --message 0:17 --json | head")]
pub struct ShowArgs {
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print one JSON object for each event
    #[arg(long)]
    pub json: bool,
    /// Which events.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Options of `trace grep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 if there is such an event, 1 if not, 2 for a wrong request.

Examples:
  lanigon trace grep 'fault|frame lost' loss.trace -B 3 -A 10
  lanigon trace grep 'log: .*full' pair.trace --node 1 --count")]
pub struct GrepArgs {
    /// A regular expression, which the line as `trace show` prints it must match
    #[arg(value_name = "PATTERN")]
    pub pattern: String,
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show so many lines before
    #[arg(
        short = 'B',
        long = "lines-before",
        value_name = "N",
        default_value_t = 0
    )]
    pub lines_before: usize,
    /// Show so many lines after
    #[arg(
        short = 'A',
        long = "lines-after",
        value_name = "N",
        default_value_t = 0
    )]
    pub lines_after: usize,
    /// Print only how many lines match
    #[arg(long)]
    pub count: bool,
    /// Which events.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Options of `trace stats`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lanigon trace stats pair.trace
  lanigon trace stats pair.trace --node 1 --from +1ms --json")]
pub struct StatsArgs {
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Which events.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Options of `trace diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 if the traces are equal, 1 if they differ, 2 for a wrong request.

Example:
  lanigon trace diff yesterday.trace today.trace")]
pub struct DiffArgs {
    /// A trace file
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Another one
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Lines that are shown before the first difference
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub context: usize,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// Options of `trace instructions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns: time in microseconds since power-on at which the instruction began, node, CPU, address, instruction, function.

Examples:
  lanigon run scenarios/pair.toml --trace pair.trace --instructions
  lanigon trace instructions pair.trace --node 0 --cpu a --from +100us --until +101us")]
pub struct InstructionArgs {
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only of this node, by its number or name
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// Only of this CPU, a or b
    #[arg(long, value_enum, hide_possible_values = true)]
    pub cpu: Option<Cpu>,
    /// From this time on: 20120us, 20.5ms, or +120us from the start of the host programs
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<TimeArg>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<TimeArg>,
}
