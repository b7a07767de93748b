//! Runs on all cores: one world on one thread, independent of all others.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use emulator::sim::world::RunEnd;
use lanigon_worlds::simulation::document::Document;
use lanigon_worlds::simulation::{RunOptions, Simulation};

use crate::error::SweepError;
use crate::file::Sweep;
use crate::plan::{Job, Plan, scenario};
use crate::store::{self, Outcome, Rows, Shard, Store};
use crate::table;

/// Options of a sweep.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of threads.
    pub threads: NonZeroUsize,
    /// The part of the sweep to run.
    pub shard: Shard,
    /// Whether earlier results of this part are discarded.
    pub fresh: bool,
    /// Interrupts the sweep when set.
    pub interrupt: Arc<AtomicBool>,
}

/// What has been done so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Runs of this part with results.
    pub done: usize,
    /// Of these, runs that failed.
    pub failed: usize,
    /// Runs of this part.
    pub total: usize,
    /// Estimate of the time that is left.
    pub left: Option<Duration>,
}

/// What came of a sweep.
#[derive(Debug)]
pub struct Report {
    /// Runs of this part, and those of them with results.
    pub progress: Progress,
    /// Runs of this part that had results before.
    pub before: usize,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// All results in the folder.
    pub rows: Rows,
    /// Whether all runs of the whole sweep have results.
    pub complete: bool,
}

/// Runs a part of a sweep into a folder; runs with results there are skipped. `watch` is called at the begin and after each run.
///
/// # Errors
/// If another process writes there, a file cannot be written, or a measure exists in no run.
pub fn run(
    sweep: &Sweep,
    (plan, jobs): (&Plan, &[Job]),
    folder: &Path,
    options: &Options,
    mut watch: impl FnMut(Progress),
) -> Result<Report, SweepError> {
    let mut store = Store::open(folder, options.shard)?;
    if options.fresh {
        store.clear()?;
    }
    store::write_plan(folder, plan)?;
    let known = store::read(folder, &plan.measures)?;
    let mut keys = HashSet::new();
    let mut pending: Vec<&Job> = Vec::new();
    for job in jobs.iter().filter(|job| options.shard.has(job.run)) {
        let key = plan.runs[job.run].key.as_str();
        if keys.insert(key) && !known.contains_key(key) {
            pending.push(job);
        }
    }
    // Long runs first: threads end at about the same time.
    pending.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let failed = |key: &&&str| known.get(**key).is_some_and(|row| row.failure.is_some());
    let mut progress = Progress {
        done: keys.len() - pending.len(),
        failed: keys.iter().filter(failed).count(),
        total: keys.len(),
        left: None,
    };
    let before = progress.done;
    watch(progress);
    let mut clock = Estimate::new(&pending);
    let perform = |job: &&Job| one(sweep, job, &options.interrupt);
    each(&pending, options, perform, |job, outcome| {
        store.append(&plan.runs[job.run].key, &outcome)?;
        progress.done += 1;
        progress.failed += usize::from(store::failed(&outcome));
        progress.left = clock.after(job);
        watch(progress);
        Ok::<(), SweepError>(())
    })?;
    let rows = store::read(folder, &plan.measures)?;
    let complete = plan.runs.iter().all(|run| rows.contains_key(&run.key));
    table::check_measures(plan, &rows)?;
    Ok(Report {
        interrupted: progress.done < progress.total,
        progress,
        before,
        rows,
        complete,
    })
}

/// Runs one scenario; `None` if it was interrupted.
fn one(sweep: &Sweep, job: &Job, interrupt: &Arc<AtomicBool>) -> Option<Outcome> {
    let result = scenario(sweep, &job.text).and_then(|scenario| {
        let mut simulation = Simulation::new(&scenario)?;
        let options = RunOptions {
            interrupt: Some(Arc::clone(interrupt)),
            ..RunOptions::default()
        };
        let summary = simulation.run(&options, |_| {});
        if summary.end == RunEnd::Interrupted {
            return Ok(None);
        }
        let document = Document::new(sweep.base.name.clone(), &scenario, &summary);
        let document = serde_json::to_value(&document);
        Ok(Some(match document {
            Ok(document) => Outcome::Document(document),
            Err(error) => Outcome::Error(error.to_string()),
        }))
    });
    result.unwrap_or_else(|error| Some(Outcome::Error(error.to_string())))
}

/// Performs jobs on threads. `done` gets each outcome on the calling thread, in the order in which they end. A job without outcome
/// was interrupted; no further one is begun. A job that panics fails alone.
fn each<J: Sync, E>(
    jobs: &[J],
    options: &Options,
    perform: impl Fn(&J) -> Option<Outcome> + Sync,
    mut done: impl FnMut(&J, Outcome) -> Result<(), E>,
) -> Result<(), E> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let stopped = || stop.load(Ordering::Relaxed) || options.interrupt.load(Ordering::Relaxed);
    let work = |results: &mpsc::Sender<(usize, Outcome)>| {
        while !stopped() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else { return };
            let outcome = catch_unwind(AssertUnwindSafe(|| perform(job)));
            let outcome = outcome.unwrap_or_else(|panic| Some(Outcome::Error(message(&*panic))));
            let Some(outcome) = outcome else { return };
            if results.send((index, outcome)).is_err() {
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let (sender, results) = mpsc::channel();
        for _ in 0..options.threads.get().min(jobs.len()) {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                work(&sender);
            });
        }
        drop(sender);
        for (index, outcome) in results {
            if let Err(error) = done(&jobs[index], outcome) {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    format!("the emulator failed: {}", text.unwrap_or("no message"))
}

/// Estimates the time that is left from the work that is done.
struct Estimate {
    begin: Instant,
    done: f64,
    left: f64,
}

impl Estimate {
    fn new(jobs: &[&Job]) -> Self {
        Self {
            begin: Instant::now(),
            done: 0.0,
            left: jobs.iter().map(|job| job.weight).sum(),
        }
    }

    fn after(&mut self, job: &Job) -> Option<Duration> {
        self.done += job.weight;
        self.left = (self.left - job.weight).max(0.0);
        let seconds = self.begin.elapsed().as_secs_f64() * self.left / self.done;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(threads: usize) -> Options {
        Options {
            threads: NonZeroUsize::new(threads).expect("threads"),
            shard: Shard::ALL,
            fresh: false,
            interrupt: Arc::default(),
        }
    }

    /// Numbers of the jobs that were done, sorted, and the errors.
    fn perform(
        options: &Options,
        perform: impl Fn(&usize) -> Option<Outcome> + Sync,
    ) -> (Vec<usize>, Vec<String>) {
        let (mut done, mut errors) = (Vec::new(), Vec::new());
        let jobs: Vec<usize> = (0..50).collect();
        let ended: Result<(), ()> = each(&jobs, options, perform, |job, outcome| {
            done.push(*job);
            if let Outcome::Error(error) = outcome {
                errors.push(error);
            }
            Ok(())
        });
        ended.expect("no error");
        done.sort_unstable();
        (done, errors)
    }

    #[test]
    fn each_job_is_done_once_and_a_panic_is_its_own() {
        let fine = Some(Outcome::Document(serde_json::Value::Null));
        for threads in [1, 2, 8] {
            let (done, errors) = perform(&options(threads), |&job| {
                assert_ne!(job, 17, "job 17");
                fine.clone()
            });
            assert_eq!(done, (0..50).collect::<Vec<_>>());
            assert_eq!(errors.len(), 1);
            assert!(errors[0].contains("job 17"), "{errors:?}");
        }
    }

    #[test]
    fn an_interruption_leaves_what_is_done() {
        let options = options(2);
        let (done, _) = perform(&options, |&job| {
            if job == 20 {
                options.interrupt.store(true, Ordering::Relaxed);
                return None;
            }
            Some(Outcome::Document(serde_json::Value::Null))
        });
        assert!(
            !done.contains(&20) && done.len() >= 19 && done.len() < 50,
            "{done:?}"
        );
    }
}
