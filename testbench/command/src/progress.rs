//! Progress bar of long operations, on a terminal only.

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar on standard error, removed at the end.
#[derive(Debug)]
pub struct Progress(ProgressBar);

/// Amount of work below which no bar is shown.
const SHORT: u64 = 100_000_000;

impl Progress {
    /// A bar for `length` units of simulated work; none for little work.
    #[must_use]
    pub fn new(unit: &'static str, length: u64) -> Self {
        if length < SHORT {
            return Self(ProgressBar::hidden());
        }
        Self::steps(unit, length)
    }

    /// A bar for `length` long steps; none if trace lines are shown.
    #[must_use]
    pub fn steps(unit: &'static str, length: u64) -> Self {
        if log::max_level() >= log::LevelFilter::Info {
            return Self(ProgressBar::hidden());
        }
        let template = "{bar:40} {human_pos} of {human_len} {msg}  {elapsed}, {eta} left";
        let style =
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
        Self(
            ProgressBar::new(length)
                .with_style(style)
                .with_message(unit),
        )
    }

    /// Sets the finished amount.
    pub fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Runs `work`, which writes to the terminal, with the bar hidden.
    pub fn around<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.suspend(work)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
