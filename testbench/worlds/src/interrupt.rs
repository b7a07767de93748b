//! Ctrl-C: long work looks at a flag, ends early and shows what it has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

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
    /// Requests an end as a signal does; `true` if an earlier signal has requested it already.
    #[must_use]
    pub fn signal(&self) -> bool {
        self.request();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.get_or_insert_with(Instant::now).elapsed() > SAME_WISH
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
