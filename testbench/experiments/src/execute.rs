//! Measurements on all threads, each a world of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use crate::Error;
use crate::experiment::Experiment;

/// Measured points of an experiment.
#[derive(Debug)]
pub struct MeasuredPoints<K, P> {
    /// The points, in the order of the keys.
    pub points: Vec<(K, P)>,
    /// Whether the user interrupted: points are missing.
    pub partial: bool,
}

impl<K, P> Default for MeasuredPoints<K, P> {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            partial: true,
        }
    }
}

/// A key or a point of one of two kinds.
#[derive(Debug, Clone)]
pub enum OneOf<A, B> {
    /// The first kind.
    First(A),
    /// The second kind.
    Second(B),
}

impl<K, P, L, Q> MeasuredPoints<OneOf<K, L>, OneOf<P, Q>> {
    /// The points of each kind.
    #[must_use]
    pub fn split(self) -> (MeasuredPoints<K, P>, MeasuredPoints<L, Q>) {
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for point in self.points {
            match point {
                (OneOf::First(key), OneOf::First(value)) => first.push((key, value)),
                (OneOf::Second(key), OneOf::Second(value)) => second.push((key, value)),
                _ => {}
            }
        }
        let partial = self.partial;
        let (points, others) = (first, second);
        (
            MeasuredPoints { points, partial },
            MeasuredPoints {
                points: others,
                partial,
            },
        )
    }
}

/// Measures all points; `done` is called with the number of finished ones. The results, and whether the user interrupted.
///
/// # Errors
/// The error of the first point that has one. An interrupt is no error.
pub fn measure<E: Experiment>(
    experiment: &E,
    done: &(impl Fn(usize) + Sync + ?Sized),
) -> Result<(E::Results, bool), Error> {
    let keys = experiment.keys();
    let found = in_parallel(keys.len(), done, |index| experiment.measure(&keys[index]))?;
    let count = keys.len();
    let points: Vec<_> = keys.into_iter().zip(found).collect();
    let points: Vec<_> = points
        .into_iter()
        .filter_map(|(key, point)| Some((key, point?)))
        .collect();
    let partial = points.len() < count;
    Ok((
        experiment.results(MeasuredPoints { points, partial }),
        partial,
    ))
}

/// Performs jobs on threads, each begun in its order. `done` gets each result with the number of its job on the calling thread, in the order
/// in which they end. A job without result was interrupted. No job is begun any more after that, after an error of `done`, or when `stop` is set.
///
/// # Errors
/// That of `done`.
pub fn each<J: Sync, T: Send, E>(
    jobs: &[J],
    threads: usize,
    stop: &AtomicBool,
    perform: impl Fn(&J) -> Option<T> + Sync,
    mut done: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    // Relaxed in all: results pass through the channel, and a job that begins late is only not begun.
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = |results: mpsc::Sender<(usize, T)>| {
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = jobs.get(index).and_then(&perform) else {
                return;
            };
            if results.send((index, result)).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..threads.min(jobs.len()) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        for (index, result) in results {
            let ended = done(index, result);
            failed.store(ended.is_err(), Ordering::Relaxed);
            ended?;
        }
        Ok(())
    })
}

/// Does `work` for every index below `count` on all threads, in that order; results in order, `None` for what was interrupted. Nothing is
/// begun after an error.
fn in_parallel<T: Send>(
    count: usize,
    progress: &(impl Fn(usize) + ?Sized),
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<Option<T>>, Error> {
    let failed = AtomicBool::new(false);
    let perform = |index: &usize| {
        let result = work(*index);
        if result.as_ref().is_err_and(|error| !error.is_interrupt()) {
            failed.store(true, Ordering::Relaxed);
        }
        Some(result)
    };
    let mut results: Vec<Option<Result<T, Error>>> = (0..count).map(|_| None).collect();
    let mut done = 0;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<usize> = (0..count).collect();
    each(&all, threads, &failed, perform, |index, result| {
        results[index] = Some(result);
        done += 1;
        progress(done);
        Ok::<(), Error>(())
    })?;
    // Earlier ones were begun before: the first error is the same on every run.
    let results = results.into_iter().map(|result| match result {
        Some(Err(error)) if error.is_interrupt() => Ok(None),
        result => result.transpose(),
    });
    results.collect()
}

#[cfg(test)]
mod tests {
    use lanigon_worlds::end::RunError;

    use super::*;

    #[test]
    fn results_are_in_order_and_interrupted_ones_missing() -> Result<(), Error> {
        let most = AtomicUsize::new(0);
        let progress = |done| {
            most.fetch_max(done, Ordering::Relaxed);
        };
        let found = in_parallel(100, &progress, |index| match index {
            7 => Err(RunError::Interrupted.into()),
            index => Ok(index),
        })?;
        let expected = |index| (index != 7).then_some(index);
        assert_eq!(found, (0..100).map(expected).collect::<Vec<_>>());
        assert_eq!(most.into_inner(), 100);
        Ok(())
    }

    #[test]
    fn each_job_is_done_once_until_one_is_interrupted() {
        let jobs: Vec<usize> = (0..50).collect();
        let perform = |threads, last| {
            let stop = AtomicBool::new(false);
            let mut done = Vec::new();
            let perform = |job: &usize| {
                stop.fetch_or(*job == last, Ordering::Relaxed);
                (*job != last).then_some(*job)
            };
            let ended: Result<(), ()> = each(&jobs, threads, &stop, perform, |_, job| {
                done.push(job);
                Ok(())
            });
            assert_eq!(ended, Ok(()));
            done.sort_unstable();
            done
        };
        for threads in [1, 2, 8] {
            assert_eq!(perform(threads, 50), jobs);
        }
        let done = perform(2, 20);
        let count = done.len();
        assert!(!done.contains(&20) && (19..50).contains(&count), "{done:?}");
    }

    #[test]
    fn the_first_error_is_told() {
        let found = in_parallel(100, &|_| {}, |index| match index {
            10..50 => Err(Error::Request(index.to_string())),
            index => Ok(index),
        });
        assert_eq!(
            found.err().map(|error| error.to_string()),
            Some("10".into())
        );
    }
}
