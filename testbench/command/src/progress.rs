//! Progress of long operations, on a terminal only.

use std::sync::Arc;
use std::time::Duration;

use emulator::sim::world::Clock;
use indicatif::{ProgressBar, ProgressStyle};

/// A line on standard error, removed at the end.
#[derive(Debug)]
pub struct ProgressLine {
    line: ProgressBar,
    /// Unit of the counted work.
    unit: &'static str,
    /// The simulated time, if the work is a run.
    clock: Option<Arc<Clock>>,
}

/// Amount of work below which no bar is shown.
const SHORT: u64 = 100_000_000;
/// Time between two changes of a line whose work tells nothing.
const TICK: Duration = Duration::from_millis(250);

impl ProgressLine {
    fn new(line: ProgressBar, template: &str, unit: &'static str) -> Self {
        let style = ProgressStyle::with_template(template);
        line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        line.set_message(unit);
        if !line.is_hidden() {
            line.enable_steady_tick(TICK);
        }
        let clock = None;
        Self { line, unit, clock }
    }

    /// A bar for `length` units of simulated work; none for little work.
    #[must_use]
    pub fn work(unit: &'static str, length: u64) -> Self {
        if length < SHORT {
            return Self::new(ProgressBar::hidden(), "", unit);
        }
        Self::steps(unit, length)
    }

    /// A bar for `length` long steps, or only a line if there are none; nothing if trace lines are shown.
    #[must_use]
    pub fn steps(unit: &'static str, length: u64) -> Self {
        let line = match log::max_level() >= log::LevelFilter::Info {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(length),
        };
        let template = match length {
            0 => "{spinner} {msg}  {elapsed}",
            _ => "{bar:40} {human_pos} of {human_len} {msg}  {elapsed}, {eta} left",
        };
        Self::new(line, template, unit)
    }

    /// Progress of a run, which shows the simulated time too.
    #[must_use]
    pub fn run(unit: &'static str, length: u64) -> Self {
        let mut progress = Self::steps(unit, length);
        progress.clock = Some(Arc::default());
        progress
    }

    /// The clock that the run is to set.
    #[must_use]
    pub fn clock(&self) -> Option<Arc<Clock>> {
        self.clock.clone()
    }

    /// Sets the finished amount.
    pub fn set(&self, position: u64) {
        if self.line.is_hidden() {
            return;
        }
        if let Some(clock) = &self.clock {
            let time = format!("{:.1} ms simulated", clock.now().us() / 1000.0);
            let message = match self.line.length() {
                None | Some(0) => time,
                Some(_) => format!("{}, {time}", self.unit),
            };
            self.line.set_message(message);
        }
        self.line.set_position(position);
    }

    /// Runs `work`, which writes to the terminal, with the line hidden.
    pub fn around<T>(&self, work: impl FnOnce() -> T) -> T {
        self.line.suspend(work)
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
