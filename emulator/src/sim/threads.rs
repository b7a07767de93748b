//! The threads that carry out a run.

use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// So many small tasks at least are worth being handed to another thread.
const SHARE: usize = 4;

/// Threads that share a list of tasks, again and again. A task has all it needs to itself, so it does
/// not matter which thread does it, or in which order.
pub(super) struct Crew(Option<ThreadPool>);

impl Crew {
    /// A crew of so many; one alone is the caller's own thread.
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

    /// Runs `act` on one of the threads: what it hands out with [`Crew::for_each`] need not first
    /// find its way there.
    pub(super) fn lead<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(act),
            None => act(),
        }
    }

    /// Runs `act` for each of many small tasks, and comes back when all are done.
    pub(super) fn share<T: Send>(&self, tasks: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        match &self.0 {
            Some(_) => tasks.par_iter_mut().with_min_len(SHARE).for_each(act),
            None => tasks.iter_mut().for_each(act),
        }
    }

    /// Runs `act` for each task, and comes back when all are done.
    pub(super) fn for_each<T: Send>(&self, tasks: &mut [T], act: impl Fn(&mut T) + Send + Sync) {
        match &self.0 {
            // One by one: tasks differ in length.
            Some(_) => tasks.par_iter_mut().with_max_len(1).for_each(act),
            None => tasks.iter_mut().for_each(act),
        }
    }
}
