//! Worker threads of a run.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Smallest number of small tasks that one thread takes at once.
const SHARE: usize = 4;

/// Thread pool for lists of independent tasks. Results do not depend on the thread or the order of tasks.
pub(super) struct Crew(Option<ThreadPool>);

impl Crew {
    /// A pool of `threads`; a single thread is the caller's own.
    pub(super) fn new(threads: usize) -> Self {
        if threads <= 1 {
            return Self(None);
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        if let Err(error) = &pool {
            log::warn!("working on one thread: {error}");
        }
        Self(pool.ok())
    }

    /// Whether the caller's thread is the only one.
    pub(super) const fn is_alone(&self) -> bool {
        self.0.is_none()
    }

    /// Runs `act` on a pool thread: its tasks then start without a transfer to the pool.
    pub(super) fn lead<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(act),
            None => act(),
        }
    }

    /// Runs `act` for each of many small tasks; returns when all are done.
    pub(super) fn share<T: Send>(&self, tasks: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        match &self.0 {
            Some(_) => tasks.par_iter_mut().with_min_len(SHARE).for_each(act),
            None => tasks.iter_mut().for_each(act),
        }
    }

    /// Runs `act` for each task; returns when all are done.
    pub(super) fn for_each<T: Send>(&self, tasks: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        match &self.0 {
            // One task at a time: tasks differ in length.
            Some(_) => tasks.par_iter_mut().with_max_len(1).for_each(act),
            None => tasks.iter_mut().for_each(act),
        }
    }
}
