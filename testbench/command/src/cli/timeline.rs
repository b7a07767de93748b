//! Options of commands that draw a timeline.

use std::path::PathBuf;

use clap::Args;
use emulator::observe::file::Header;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use lanigon_analysis::trace::select::{Terms, Window, expression};
use lanigon_analysis::trace::time::{TimeArg, span, time};
use lanigon_timeline::drawing::{self, Drawing};

use super::trace::FilterArgs;

/// Options of commands that draw a timeline.
#[derive(Debug, Default, Args)]
pub struct TimelineArgs {
    /// Draw a timeline of all nodes into this file, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// Draw from this time on: 20120us, 20.5ms, or +120us from the start of the host programs
    #[arg(long, value_name = "TIME", value_parser = time, requires = "timeline")]
    pub timeline_from: Option<TimeArg>,
    /// ... before this time
    #[arg(long, value_name = "TIME", value_parser = time, requires = "timeline")]
    pub timeline_until: Option<TimeArg>,
    /// Draw from the first event that matches, such as "probe=retransmit node=1"
    #[arg(long, value_name = "EXPRESSION", value_parser = expression, requires = "timeline")]
    pub timeline_trigger: Option<Terms>,
    /// ... for this span
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "timeline_trigger")]
    pub timeline_for: Option<SimTime>,
    /// Limit the timeline to this many megabytes
    #[arg(long, value_name = "MB", default_value = "50", value_parser = megabytes(), requires = "timeline")]
    pub timeline_limit: u64,
}

/// Options of `timeline`.
#[derive(Debug, Args)]
#[command(after_help = "\
The trace should have all details: registers, handlers, semaphore, rings, host, frames. What it lacks is not drawn.

Examples:
  lanigon run scenarios/pair.toml --trace pair.trace --details all
  lanigon timeline pair.trace --out pair.pftrace
  lanigon timeline pair.trace --out first.pftrace --trigger probe=retransmit --for 200us")]
pub struct ConvertArgs {
    /// The trace file (-: standard input)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File of the timeline
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Limit the timeline to this many megabytes
    #[arg(long, value_name = "MB", default_value = "50", value_parser = megabytes())]
    pub limit: u64,
    /// Selected events.
    #[command(flatten)]
    pub filter: FilterArgs,
}

/// Largest value of `--timeline-limit`.
const MOST_MEGABYTES: u64 = 100_000;

fn megabytes() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=MOST_MEGABYTES)
}

impl TimelineArgs {
    /// Starts the timeline, if requested.
    ///
    /// # Errors
    /// If the file cannot be written, or the trigger contains an unknown name.
    pub fn begin(
        &self,
        world: &mut World,
        header: impl FnOnce() -> Header,
    ) -> anyhow::Result<Drawing> {
        let Some(path) = &self.timeline else {
            return Ok(Drawing::default());
        };
        let window = Window {
            from: self.timeline_from,
            until: self.timeline_until,
            trigger: self.timeline_trigger.clone(),
            before: None,
            span: self.timeline_for,
        };
        drawing::observe(world, path, &window.into(), self.timeline_limit, header())
    }
}
