//! Ctrl-C: long operations check a flag, end early and show partial results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Signals within this time count as one: `timeout` signals a process, and then its whole group.
const SAME_WISH: Duration = Duration::from_millis(200);

/// Interrupt flag, shared by clones. All accesses are relaxed: the flag says nothing about other data, and an operation looks again soon.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    wish: Arc<AtomicBool>,
    /// Whether an operation looks at the flag. Before that nothing is under way that could end early.
    watched: Arc<AtomicBool>,
    /// Time of the signal, if a signal set the flag.
    since: Arc<Mutex<Option<Instant>>>,
}

impl Interrupt {
    /// Requests an end as a signal does; `true` if the process is to end at once: no operation looks at the flag yet (it waits for
    /// its input, for example for the writer of a named pipe), or an earlier signal has requested an end already.
    #[must_use]
    pub fn signal(&self) -> bool {
        self.request();
        if !self.watched.load(Ordering::Relaxed) {
            return true;
        }
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.get_or_insert_with(Instant::now).elapsed() > SAME_WISH
    }

    /// Sets the flag.
    pub fn request(&self) {
        self.wish.store(true, Ordering::Relaxed);
    }

    /// Clears the flag after an interrupted operation.
    pub fn clear(&self) {
        *self.since.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.wish.store(false, Ordering::Relaxed);
    }

    /// Says that an operation is about to begin which looks at the flag: from now on a signal lets it end with partial results.
    pub fn watch(&self) {
        self.watched.store(true, Ordering::Relaxed);
    }

    /// The flag itself.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.watch();
        Arc::clone(&self.wish)
    }

    /// Whether the flag is set.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.watch();
        self.wish.load(Ordering::Relaxed)
    }
}
