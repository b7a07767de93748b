//! Options of `lanigon trace`, and of the commands that record traces.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use emulator::observe::event::Details;
use emulator::sim::time::SimTime;

use emulator::observe::file::Header;
use emulator::sim::world::World;
use lanigon_analysis::trace::filter::FilterKey;
use lanigon_analysis::trace::record::{self, RecordOptions, Recording};
use lanigon_analysis::trace::select::{EventSelection, Terms, Window, expression};
use lanigon_analysis::trace::time::{TimeArg, span, time};

use super::CpuArg;

/// Options of commands that record a trace.
#[derive(Debug, Default, Args)]
pub struct RecordArgs {
    /// Write every event of all nodes into this file, for `lanigon trace`; as text if its name ends in .txt
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Also record these kinds of events: registers, handlers, semaphore, rings, host, frames, events, or
    /// all
    #[arg(long, value_name = "LIST", value_parser = record::details, requires = "trace")]
    pub details: Option<Details>,
    /// Also record every instruction of every CPU, for `lanigon trace instructions`
    #[arg(long, requires = "trace")]
    pub instructions: bool,
    /// Start recording at the first event that matches, such as "probe=retransmit node=1"
    #[arg(long, value_name = "EXPRESSION", value_parser = expression, requires = "trace")]
    pub trace_trigger: Option<Terms>,
    /// ... and include this span before it
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "trace_trigger")]
    pub trace_before: Option<SimTime>,
    /// ... and stop after this span
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "trace_trigger")]
    pub trace_for: Option<SimTime>,
}

impl RecordArgs {
    /// Starts the recording, if requested.
    ///
    /// # Errors
    /// If the file cannot be written, or the trigger contains an unknown name.
    pub fn begin(
        &self,
        world: &mut World,
        header: impl FnOnce() -> Header,
    ) -> anyhow::Result<Recording> {
        let options = RecordOptions {
            trace: self.trace.clone(),
            details: self.details.unwrap_or_default(),
            instructions: self.instructions,
            trigger: self.trace_trigger.clone(),
            before: self.trace_before,
            span: self.trace_for,
        };
        options.begin(world, header)
    }
}

/// Options of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Subcommand.
    #[command(subcommand)]
    pub command: TraceCommand,
}

/// Subcommands of `trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Show events, one per line
    Show(ShowArgs),
    /// Show every recorded instruction (`--instructions`), one per line
    Instructions(InstructionArgs),
    /// Show the events whose line matches a pattern
    Grep(GrepArgs),
    /// Count events, and sum the durations of handlers and stages
    Stats(StatsArgs),
    /// Show the first difference between two runs
    Diff(DiffArgs),
}

/// Options that select a span of time.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which span of time")]
pub struct WindowArgs {
    /// From this time on: 20120us, 20.5ms, or +120us from the start of the host programs
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<TimeArg>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<TimeArg>,
    /// From the first event that matches, such as "probe=retransmit node=1"
    #[arg(long, value_name = "EXPRESSION", value_parser = expression)]
    pub trigger: Option<Terms>,
    /// ... including this span before it
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "trigger")]
    pub before: Option<SimTime>,
    /// ... for this span
    #[arg(long = "for", value_name = "SPAN", value_parser = span, requires = "trigger")]
    pub span: Option<SimTime>,
}

/// Options that select events.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which events (all must hold; LIST: one of them must)")]
pub struct FilterArgs {
    /// On these nodes: numbers or names
    #[arg(long, value_name = "LIST")]
    pub node: Option<String>,
    /// In these switches: numbers
    #[arg(long, value_name = "LIST")]
    pub switch: Option<String>,
    /// In these blocks: cpu_a, dma_read, mac_tx, mailbox, semaphore, wire, ...; dma selects all names that begin with it
    #[arg(long, value_name = "LIST")]
    pub block: Option<String>,
    /// Caused by these: cpu_a, cpu_b, dma_read, dma_write, mac_tx, mac_rx, host, wire
    #[arg(long, value_name = "LIST")]
    pub by: Option<String>,
    /// Kinds of events: probe, dma-start, frame-lost, ...; frame selects all names that begin with it
    #[arg(long, value_name = "LIST")]
    pub kind: Option<String>,
    /// Event probes of the firmware: retransmit, "frame sent", ...
    #[arg(long, value_name = "LIST")]
    pub probe: Option<String>,
    /// Start and end of these stages of the firmware
    #[arg(long, value_name = "LIST")]
    pub stage: Option<String>,
    /// Probes of these messages: SENDER:NUMBER
    #[arg(long, value_name = "LIST")]
    pub message: Option<String>,
    /// Caused by code in these functions
    #[arg(long, value_name = "LIST")]
    pub symbol: Option<String>,
    /// With this text in their line
    #[arg(long, value_name = "TEXT")]
    pub text: Option<String>,
    /// Selected span of time.
    #[command(flatten)]
    pub window: WindowArgs,
}

impl FilterArgs {
    /// The selected events.
    #[must_use]
    pub fn wanted(&self) -> EventSelection {
        let options = [
            (FilterKey::Node, &self.node),
            (FilterKey::Switch, &self.switch),
            (FilterKey::Block, &self.block),
            (FilterKey::By, &self.by),
            (FilterKey::Kind, &self.kind),
            (FilterKey::Probe, &self.probe),
            (FilterKey::Stage, &self.stage),
            (FilterKey::Message, &self.message),
            (FilterKey::Symbol, &self.symbol),
            (FilterKey::Text, &self.text),
        ];
        let given = options.into_iter();
        let terms = given.filter_map(|(key, value)| Some((key, value.clone()?)));
        let WindowArgs {
            from,
            until,
            trigger,
            before,
            span,
        } = self.window.clone();
        EventSelection {
            terms: terms.collect(),
            window: Window {
                from,
                until,
                trigger,
                before,
                span,
            },
        }
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
    /// Print one JSON object per event
    #[arg(long)]
    pub json: bool,
    /// Selected events.
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
    /// A regular expression to match the line as printed by `trace show`
    #[arg(value_name = "PATTERN")]
    pub pattern: String,
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Show this many lines before each match
    #[arg(
        short = 'B',
        long = "lines-before",
        value_name = "N",
        default_value_t = 0
    )]
    pub lines_before: usize,
    /// Show this many lines after each match
    #[arg(
        short = 'A',
        long = "lines-after",
        value_name = "N",
        default_value_t = 0
    )]
    pub lines_after: usize,
    /// Print only the number of matching lines
    #[arg(long)]
    pub count: bool,
    /// Selected events.
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
    /// Selected events.
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
    /// Another trace file
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Number of lines before the first difference
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
    pub cpu: Option<CpuArg>,
    /// From this time on: 20120us, 20.5ms, or +120us from the start of the host programs
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<TimeArg>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<TimeArg>,
}
