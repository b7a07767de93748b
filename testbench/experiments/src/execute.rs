//! Measurements on all threads, each a world of its own.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::experiment::Experiment;

/// What was measured.
#[derive(Debug)]
pub struct Found<K, P> {
    /// The points, in the order of the keys.
    pub points: Vec<(K, P)>,
    /// Whether the user interrupted: points are missing.
    pub partial: bool,
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
    Ok((experiment.results(Found { points, partial }), partial))
}

/// Does `work` for every index below `count` on all threads, in that order; results in order, `None` for what was interrupted. Nothing is
/// begun after an error.
fn in_parallel<T: Send>(
    count: usize,
    progress: &(impl Fn(usize) + Sync + ?Sized),
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<Option<T>>, Error> {
    let (next, done, failed) = (
        AtomicUsize::new(0),
        AtomicUsize::new(0),
        AtomicBool::new(false),
    );
    let slots: Vec<Mutex<Option<Result<T, Error>>>> =
        (0..count).map(|_| Mutex::new(None)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let one_by_one = || {
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(index) else {
                return;
            };
            let result = work(index);
            if result.as_ref().is_err_and(|error| !error.is_interrupt()) {
                failed.store(true, Ordering::Relaxed);
            }
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.min(count) {
            scope.spawn(one_by_one);
        }
    });
    let results = slots
        .into_iter()
        .map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
    // Earlier ones were begun before: the first error is the same on every run.
    let results = results.map(|result| match result {
        Some(Err(error)) if error.is_interrupt() => Ok(None),
        result => result.transpose(),
    });
    results.collect()
}

#[cfg(test)]
mod tests {
    use lanigon_worlds::outcome::RunError;

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
