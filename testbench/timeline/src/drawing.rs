//! Timelines in files: of a world while it runs, or of a trace.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use anyhow::Context;
use emulator::observe::event::{Details, TraceEvent};
use emulator::observe::file::Header;
use emulator::observe::stream::Observer;
use emulator::sim::world::World;
use lanigon_analysis::output::WriteError;
use lanigon_analysis::trace::select::{EventSelection, Selection};
use lanigon_worlds::files::output::{self, Destination};

use super::{Filter, Options, Timeline};

/// A filter that draws what `selection` selects.
fn drawn(mut selection: Selection) -> Filter {
    Box::new(move |event| {
        let mut is_drawn = false;
        selection.filter_event(event, |_| is_drawn = true);
        is_drawn
    })
}

/// A timeline being drawn, if requested.
#[derive(Debug, Default)]
pub struct Drawing {
    path: PathBuf,
    outcome: super::WriteResult,
    destination: Option<Destination>,
}

/// Starts a timeline of the events that `wanted` selects, for a run with this header.
///
/// # Errors
/// If the file cannot be written, or the filter contains an unknown name.
pub fn begin(
    path: &Path,
    wanted: &EventSelection,
    limit_megabytes: u64,
    header: Header,
) -> anyhow::Result<(Timeline, Drawing)> {
    let selection = Selection::new(wanted, &header)?;
    let shown = || path.display().to_string();
    let (file, destination) = output::create(path).with_context(shown)?;
    let options = Options {
        limit_bytes: limit_megabytes * 1_000_000,
        filter: drawn(selection),
        header,
    };
    let timeline = Timeline::new(Box::new(file), options);
    let drawing = Drawing {
        path: path.into(),
        outcome: timeline.outcome(),
        destination: Some(destination),
    };
    Ok((timeline, drawing))
}

/// Starts a timeline of the events that `wanted` selects, while a world runs.
///
/// # Errors
/// As [`begin`].
pub fn observe(
    world: &mut World,
    path: &Path,
    wanted: &EventSelection,
    limit_megabytes: u64,
    header: Header,
) -> anyhow::Result<Drawing> {
    let (timeline, drawing) = begin(path, wanted, limit_megabytes, header)?;
    world.observe(Box::new(timeline));
    Ok(drawing)
}

/// A timeline that reports its own errors.
struct ReportingTimeline(Timeline, Option<Destination>);

impl Observer for ReportingTimeline {
    fn details(&self) -> Details {
        self.0.details()
    }

    fn event(&mut self, event: &TraceEvent) {
        self.0.event(event);
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()?;
        let outcome = self.0.outcome();
        let error = outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match (error, self.1.take()) {
            (Some(error), _) => Err(error),
            (None, destination) => destination.map_or(Ok(()), Destination::finish),
        }
    }
}

/// Starts an observer of a world whose trace has this header.
pub type Begin = Box<dyn FnOnce(&Header) -> io::Result<Box<dyn Observer>>>;

/// A timeline of a whole run in a file: an argument of `lanigon_kit::KitBuilder::observe`.
#[must_use]
pub fn to_file(path: impl Into<PathBuf>) -> Begin {
    let path = path.into();
    Box::new(move |header| {
        let options = Options {
            header: header.clone(),
            ..Options::default()
        };
        let (file, destination) = output::create(&path)?;
        let timeline = Timeline::new(Box::new(file), options);
        Ok(Box::new(ReportingTimeline(timeline, Some(destination))))
    })
}

impl Drawing {
    /// Ends the timeline.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(self) -> Result<(), WriteError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match (outcome.take(), self.destination) {
            (Some(error), _) => Err(error),
            (None, destination) => destination.map_or(Ok(()), Destination::finish),
        };
        written.map_err(|error| WriteError::new(self.path.display(), error))
    }
}
