//! Options of commands that draw a timeline.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use anyhow::Context;
use clap::Args;
use emulator::observe::file::Header;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;

use super::{Filter, Options, Timeline};
use lanigon_analysis::output::WriteError;
use lanigon_analysis::trace::args::{FilterArgs, WindowArgs};
use lanigon_analysis::trace::select::{Selection, Terms, expression};
use lanigon_analysis::trace::time::{TimeArg, span, time};

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

/// A filter that draws what `selection` selects.
fn drawn(mut selection: Selection) -> Filter {
    Box::new(move |event| {
        let mut is_drawn = false;
        selection.take(event, |_| is_drawn = true);
        is_drawn
    })
}

/// A timeline being drawn, if requested.
#[derive(Debug, Default)]
pub struct Drawing {
    path: PathBuf,
    outcome: super::Outcome,
}

/// Starts a timeline of the events that `filter` selects, for a run with this header.
///
/// # Errors
/// If the file cannot be written, or the filter contains an unknown name.
pub fn begin(
    path: &Path,
    filter: &FilterArgs,
    limit_megabytes: u64,
    header: Header,
) -> anyhow::Result<(Timeline, Drawing)> {
    let selection = Selection::new(filter, &header)?;
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let options = Options {
        limit_bytes: limit_megabytes * 1_000_000,
        filter: drawn(selection),
        header,
    };
    let timeline = Timeline::new(Box::new(file), options);
    let drawing = Drawing {
        path: path.into(),
        outcome: timeline.outcome(),
    };
    Ok((timeline, drawing))
}

impl TimelineArgs {
    fn filter(&self) -> FilterArgs {
        let window = WindowArgs {
            from: self.timeline_from,
            until: self.timeline_until,
            trigger: self.timeline_trigger.clone(),
            span: self.timeline_for,
            ..WindowArgs::default()
        };
        FilterArgs {
            window,
            ..FilterArgs::default()
        }
    }

    /// Starts the timeline, if requested.
    ///
    /// # Errors
    /// As [`begin`].
    pub fn begin(
        &self,
        world: &mut World,
        header: impl FnOnce() -> Header,
    ) -> anyhow::Result<Drawing> {
        let Some(path) = &self.timeline else {
            return Ok(Drawing::default());
        };
        let (timeline, drawing) = begin(path, &self.filter(), self.timeline_limit, header())?;
        world.observe(Box::new(timeline));
        Ok(drawing)
    }
}

impl Drawing {
    /// Ends the timeline.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(&self) -> Result<(), WriteError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome.take() {
            Some(error) => Err(WriteError::new(self.path.display(), error)),
            None => Ok(()),
        }
    }
}
