//! The time of the program's own computation, if the user wants it to take any: processor time of its threads, times a factor.
//!
//! Computation is everything that a thread does between two calls of this library.

use std::cell::Cell;
use std::env;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use lanigon_requests::COMPUTE_VARIABLE;

use crate::real::real_ns;

/// Whether computation counts now. Relaxed: the flag is all that threads learn from each other.
static COUNTS: AtomicBool = AtomicBool::new(true);

thread_local! {
    /// Processor time of this thread up to which its computation was counted, in ns.
    static COUNTED_NS: Cell<u64> = const { Cell::new(0) };
}

/// Simulated time of one nanosecond of processor time; `None`: computation takes no time.
fn factor() -> Option<f64> {
    static FACTOR: OnceLock<Option<f64>> = OnceLock::new();
    *FACTOR.get_or_init(|| env::var(COMPUTE_VARIABLE).ok()?.parse().ok())
}

/// Simulated time in ns that this thread has computed since the last call of this function or of [`resume`].
#[must_use]
pub fn computed_ns() -> u64 {
    let Some(factor) = factor() else { return 0 };
    let now_ns = real_ns(libc::CLOCK_THREAD_CPUTIME_ID);
    let processor_ns = now_ns.saturating_sub(COUNTED_NS.replace(now_ns));
    match COUNTS.load(Ordering::Relaxed) {
        true => (processor_ns as f64 * factor) as u64,
        false => 0,
    }
}

/// The program goes on: what this thread does from now on is its computation.
pub fn resume() {
    if factor().is_some() {
        COUNTED_NS.set(real_ns(libc::CLOCK_THREAD_CPUTIME_ID));
    }
}

/// Lets computation count, or not, from now on.
pub fn count(wanted: bool) {
    COUNTS.store(wanted, Ordering::Relaxed);
    resume();
}
