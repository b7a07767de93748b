//! Worker threads of a run.

use rayon::ThreadPoolBuilder;
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};

use super::team::WorkerTeam;

/// Thread pool for lists of independent tasks. Results do not depend on the thread or the order of tasks.
pub(super) struct ThreadPool(Option<rayon::ThreadPool>);

impl ThreadPool {
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
    pub(super) const fn is_single_threaded(&self) -> bool {
        self.0.is_none()
    }

    /// Runs `act` on a thread of the pool, so that its tasks start without a transfer to the pool.
    pub(super) fn install<R: Send>(&self, act: impl FnOnce() -> R + Send) -> R {
        match &self.0 {
            Some(pool) => pool.install(act),
            None => act(),
        }
    }

    /// Runs `act` as the leader of a team of all idle threads of the pool.
    pub(super) fn with_team<T, J, G, F, R>(
        &self,
        items: impl Iterator<Item = T>,
        execute: F,
        act: impl FnOnce(&WorkerTeam<T, J, G, F>) -> R,
    ) -> R
    where
        T: Send,
        J: Copy + Send + Sync,
        G: Send,
        F: Fn(&mut T, J) -> G + Send + Sync,
    {
        let threads = self
            .0
            .as_ref()
            .map_or(1, rayon::ThreadPool::current_num_threads);
        let team = WorkerTeam::new(items, threads, execute);
        let Some(pool) = &self.0 else {
            return act(&team);
        };
        pool.in_place_scope(|scope| {
            for _ in 1..threads {
                // The leader waits for its team only, so that a thread that comes late, or never, holds up nothing.
                scope.spawn(|_| team.help());
            }
            let _leading = team.lead();
            act(&team)
        })
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
