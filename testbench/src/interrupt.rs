//! Ctrl-C: long work looks at a flag, ends early and shows what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

/// Exit code of a process that the user interrupted.
pub const EXIT_CODE: u8 = 130;

/// Signals that come so close are one wish: `timeout` tells a process, and then its whole group.
const SAME_WISH: Duration = Duration::from_millis(200);

/// Whether the user wants the work to end. Clones share the wish.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Ctrl-C (and a polite kill) requests an end; the second time, the process ends at once.
    ///
    /// # Errors
    /// If the system refuses the handler.
    pub fn on_ctrl_c(&self) -> anyhow::Result<()> {
        let interrupt = self.clone();
        let mut first: Option<Instant> = None;
        let handler = move || {
            interrupt.request();
            let since = first.get_or_insert_with(Instant::now).elapsed();
            if since > SAME_WISH {
                std::process::exit(EXIT_CODE.into());
            }
        };
        ctrlc::set_handler(handler).context("Ctrl-C cannot be handled")
    }

    /// Requests an end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for work that takes one.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether an end was requested.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
