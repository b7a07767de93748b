//! Progress of long work: a bar on a terminal, nothing in a pipe.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error that disappears at the end.
#[derive(Debug)]
pub struct Progress(ProgressBar);

/// Work below this is over before a bar can be read.
const SHORT: u64 = 100_000_000;

impl Progress {
    /// A bar of `length` units of simulated work; none if that is little.
    #[must_use]
    pub fn new(unit: &'static str, length: u64) -> Self {
        if length < SHORT {
            return Self(ProgressBar::hidden());
        }
        Self::steps(unit, length)
    }

    /// A bar of `length` steps that take a while each; none where trace lines would write over it.
    #[must_use]
    pub fn steps(unit: &'static str, length: u64) -> Self {
        if log::max_level() >= log::LevelFilter::Info {
            return Self(ProgressBar::hidden());
        }
        let template = "{bar:40} {human_pos} of {human_len} {msg}  {elapsed}";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(
            ProgressBar::new(length)
                .with_style(style)
                .with_message(unit),
        )
    }

    /// So far `position` is done.
    pub fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Does what writes to the terminal, with the bar out of the way.
    pub fn around<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.suspend(work)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
