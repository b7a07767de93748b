//! Options of commands that draw a timeline.

use std::fs::File;
use std::path::PathBuf;
use std::sync::PoisonError;

use anyhow::Context;
use clap::Args;
use emulator::sim::board::Board;
use emulator::sim::world::World;

use super::{Options, Timeline};
use crate::output::WriteError;

/// Options of commands that draw a timeline.
#[derive(Debug, Args)]
pub struct TimelineArgs {
    /// Draw a timeline of all nodes into this file, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,
    /// The timeline ends when it has so many megabytes
    #[arg(long, value_name = "MB", default_value = "50", requires = "timeline")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=MOST_MEGABYTES))]
    pub timeline_limit: u64,
}

/// Limit of `--timeline-limit`.
const MOST_MEGABYTES: u64 = 100_000;

/// A timeline that is being drawn.
#[derive(Debug, Default)]
pub struct Drawing {
    path: Option<PathBuf>,
    outcome: super::Outcome,
}

impl TimelineArgs {
    /// Begins to draw, if that is asked for.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn begin<B: Board>(
        &self,
        world: &mut World<B>,
        options: Options,
    ) -> anyhow::Result<Drawing> {
        let Some(path) = &self.timeline else {
            return Ok(Drawing::default());
        };
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let options = Options {
            limit_bytes: self.timeline_limit * 1_000_000,
            ..options
        };
        let timeline = Timeline::new(Box::new(file), options);
        let outcome = timeline.outcome();
        world.observe(Box::new(timeline));
        Ok(Drawing {
            path: Some(path.clone()),
            outcome,
        })
    }
}

impl Drawing {
    /// The end, when the world's observers have finished.
    ///
    /// # Errors
    /// If the file could not be written.
    pub fn finish(&self) -> Result<(), WriteError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        match (&self.path, outcome.take()) {
            (Some(path), Some(error)) => Err(WriteError::new(path.display(), error)),
            _ => Ok(()),
        }
    }
}
