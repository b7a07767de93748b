//! Shows on a terminal that a command takes time, and how far it is.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use emulator::debug::Reached;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A command that ends within this time shows nothing.
const SOON: Duration = Duration::from_secs(1);
/// Time between two looks at the reached time.
const EVERY: Duration = Duration::from_millis(200);

/// A line on standard error while this exists, from a second after its begin on; on a terminal only.
#[derive(Debug)]
pub struct BusyLine(Option<(Sender<()>, JoinHandle<()>)>);

impl BusyLine {
    /// Begins to load a world.
    #[must_use]
    pub fn loading() -> Self {
        Self::begin(ProgressDrawTarget::stderr(), SOON, None)
    }

    /// Begins a command that moves a session in time.
    #[must_use]
    pub fn moving(reached: Reached) -> Self {
        Self::begin(ProgressDrawTarget::stderr(), SOON, Some(reached))
    }

    fn begin(target: ProgressDrawTarget, soon: Duration, reached: Option<Reached>) -> Self {
        if target.is_hidden() {
            return Self(None);
        }
        let (end, ended) = channel();
        let shows = move || {
            if ended.recv_timeout(soon) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}");
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::with_draw_target(None, target).with_style(style);
            let bar = bar.with_elapsed(soon);
            loop {
                let message = match &reached {
                    Some(reached) => format!("at {}", reached.time()),
                    None => "loading the world".into(),
                };
                bar.set_message(message);
                bar.tick();
                if ended.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            bar.finish_and_clear();
        };
        Self(Some((end, thread::spawn(shows))))
    }
}

impl Drop for BusyLine {
    fn drop(&mut self) {
        if let Some((end, shows)) = self.0.take() {
            drop(end);
            // The line is gone before the command's output. A thread that panicked shows nothing.
            let _ = shows.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    fn shown(wait: Duration, soon: Duration, reached: Option<Reached>) -> (String, String) {
        let terminal = InMemoryTerm::new(3, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let busy = BusyLine::begin(target, soon, reached);
        thread::sleep(wait);
        let during = terminal.contents();
        drop(busy);
        (during, terminal.contents())
    }

    #[test]
    fn a_long_command_shows_its_time_and_cleans_up() {
        let wait = Duration::from_millis(300);
        let (during, after) = shown(wait, Duration::ZERO, Some(Reached::default()));
        assert!(during.contains(" at 0.000000 us"), "{during}");
        assert_eq!(after, "");
        let (during, after) = shown(wait, Duration::ZERO, None);
        assert!(during.contains("loading the world"), "{during}");
        assert_eq!(after, "");
    }

    #[test]
    fn a_short_command_shows_nothing() {
        let (during, after) = shown(Duration::from_millis(20), SOON, None);
        assert_eq!((&*during, &*after), ("", ""));
    }
}
