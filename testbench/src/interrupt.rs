//! Ctrl-C: long work looks at a flag, ends early and shows what it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;

/// Exit code of a process that the user interrupted.
pub const EXIT_CODE: u8 = 130;

/// Signals that come so close are one wish: `timeout` tells a process, and then its whole group.
const SAME_WISH: Duration = Duration::from_millis(200);

/// Whether the user wants the work to end. Clones share the wish.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    wish: Arc<AtomicBool>,
    /// When the wish came, if a signal brought it.
    since: Arc<Mutex<Option<Instant>>>,
}

impl Interrupt {
    /// Ctrl-C (and a polite kill) requests an end; the second time, the process ends at once.
    ///
    /// # Errors
    /// If the system refuses the handler.
    pub fn on_ctrl_c(&self) -> anyhow::Result<()> {
        let interrupt = self.clone();
        let handler = move || {
            interrupt.request();
            let mut since = interrupt
                .since
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            if since.get_or_insert_with(Instant::now).elapsed() > SAME_WISH {
                std::process::exit(EXIT_CODE.into());
            }
        };
        ctrlc::set_handler(handler).context("Ctrl-C cannot be handled")
    }

    /// Requests an end.
    pub fn request(&self) {
        self.wish.store(true, Ordering::Relaxed);
    }

    /// The wish was met: what comes now is other work.
    pub fn clear(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.wish.store(false, Ordering::Relaxed);
    }

    /// The flag itself, for work that takes one.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wish)
    }

    /// Whether an end was requested.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.wish.load(Ordering::Relaxed)
    }
}
