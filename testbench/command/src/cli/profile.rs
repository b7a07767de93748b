//! Options of `lanigon profile`.

use std::path::PathBuf;

use clap::Args;

use lanigon_analysis::trace::time::{TimeArg, time};

/// Options of `profile`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns: cycles of a function itself, and with all that it calls; calls; and how its own cycles divide: wrk
instructions, fch the instruction cache waits for a line, bus somebody else has the SRAM bus, mem SRAM answers,
reg registers answer, sem the wait for the semaphore. In a stage that a profile stretches, a cycle of work takes
longer than one of the clock; here it is the clock's cycles that count, and they add up to the time.

Examples:
  lanigon profile scenarios/pair.toml
  lanigon profile scenarios/pair.toml --node 1 --from +500us --until +1ms
  lanigon profile scenarios/pair.toml --flame pair.svg --json")]
pub struct ProfileArgs {
    /// The scenario's file (TOML)
    #[arg(value_name = "SCENARIO")]
    pub scenario: PathBuf,
    /// Only this node, by name or number
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// From this time on: 20120us, 20.5ms, or +120us from the start of the host programs (default: that
    /// start)
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<TimeArg>,
    /// Before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<TimeArg>,
    /// Show all functions, not only the 20 most expensive ones of each CPU
    #[arg(long)]
    pub all: bool,
    /// Look for races, as `lanigon run --races` does; they follow the profile, or stand on the standard error output with --json
    #[arg(long)]
    pub races: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
    /// Write a flame graph (SVG; interactive in a browser) into this file
    #[arg(long, value_name = "FILE")]
    pub flame: Option<PathBuf>,
    /// Write folded stacks into this file, one per line: names separated by ; and cycles
    #[arg(long, value_name = "FILE")]
    pub folded: Option<PathBuf>,
}
