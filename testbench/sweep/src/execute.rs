//! Runs on all cores: one world on one thread, independent of all others.

use std::collections::HashSet;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lanigon_experiments::Error;
use lanigon_experiments::execute::each;
use lanigon_experiments::scenario::document;
use lanigon_processes::Output;
use serde_json::Value;

use crate::error::SweepError;
use crate::file::Sweep;
use crate::plan::{RunJob, SweepPlan, scenario};
use crate::store::{self, Rows, RunOutcome, RunRow, Shard, Store};
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

/// Progress of a sweep's part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepProgress {
    /// Runs of this part with results.
    pub done: usize,
    /// Runs among them that failed.
    pub failed: usize,
    /// Runs of this part.
    pub total: usize,
    /// Estimate of the time that is left.
    pub left: Option<Duration>,
}

/// Result of a sweep.
#[derive(Debug)]
pub struct SweepReport {
    /// Runs of this part, and those of them with results.
    pub progress: SweepProgress,
    /// Runs of this part that had results before.
    pub before: usize,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// All results in the folder.
    pub rows: Rows,
    /// Whether all runs of the whole sweep have results.
    pub complete: bool,
}

/// Opens the folder for results, with those that it has.
fn open(plan: &SweepPlan, folder: &Path, options: &Options) -> Result<(Store, Rows), SweepError> {
    let mut store = Store::open(folder, options.shard)?;
    if options.fresh {
        store.clear()?;
    }
    store::write_plan(folder, plan)?;
    let known = store::read(folder, &plan.measures)?;
    Ok((store, known))
}

/// Runs a part of a sweep into a folder; runs with results there are skipped. `watch` is called at the begin and after each run.
///
/// # Errors
/// If another process writes there, a file cannot be written, or a measure exists in no run.
pub fn run(
    sweep: &Sweep,
    (plan, jobs): (&SweepPlan, &[RunJob]),
    folder: &Path,
    options: &Options,
    mut watch: impl FnMut(SweepProgress),
) -> Result<SweepReport, SweepError> {
    let opened = open(plan, folder, options);
    let (mut store, known) = opened.map_err(SweepError::before_runs)?;
    let mut keys = HashSet::new();
    let mut pending: Vec<&RunJob> = Vec::new();
    for job in jobs.iter().filter(|job| options.shard.has(job.run)) {
        let key = plan.runs[job.run].key.as_str();
        if keys.insert(key) && !known.contains_key(key) {
            pending.push(job);
        }
    }
    let (pending, kinds) = in_order(plan, pending);
    let failed = |key: &&&str| known.get(**key).is_some_and(|row| row.failure.is_some());
    let mut progress = SweepProgress {
        done: keys.len() - pending.len(),
        failed: keys.iter().filter(failed).count(),
        total: keys.len(),
        left: None,
    };
    let before = progress.done;
    watch(progress);
    let mut clock = Estimate::new(&pending);
    let (mut samples, mut seen) = (kinds, known.clone());
    let perform = |job: &&RunJob| {
        outcome(|| {
            let mut scenario = scenario(sweep, &job.text)?;
            lanigon_processes::prepare(
                &mut scenario,
                || Arc::clone(&options.interrupt),
                Output::Aside,
            )?;
            document(&sweep.base.name, &scenario, &options.interrupt)
        })
    };
    let (threads, stop) = (options.threads.get(), &options.interrupt);
    each(&pending, threads, stop, perform, |index, outcome| {
        let job = pending[index];
        store.append(&plan.runs[job.run].key, &outcome)?;
        progress.done += 1;
        progress.failed += usize::from(store::failed(&outcome));
        progress.left = clock.after(job);
        watch(progress);
        if index < kinds {
            let row = RunRow::new(&outcome, &plan.measures);
            seen.insert(plan.runs[job.run].key.clone(), row);
            samples -= 1;
            if samples == 0 {
                // An item of a list may be in other runs.
                table::check_measures(plan, &seen, |reason| !reason.starts_with("there are "))?;
            }
        }
        Ok::<(), SweepError>(())
    })?;
    let rows = store::read(folder, &plan.measures)?;
    let complete = plan.runs.iter().all(|run| rows.contains_key(&run.key));
    table::check_measures(plan, &rows, |_| true)?;
    Ok(SweepReport {
        interrupted: progress.done < progress.total,
        progress,
        before,
        rows,
        complete,
    })
}

/// Jobs in the order in which they begin, and the number of the first ones whose results have the keys of all: one of each kind. Then long
/// runs come first: threads end at about the same time.
fn in_order<'j>(plan: &SweepPlan, mut jobs: Vec<&'j RunJob>) -> (Vec<&'j RunJob>, usize) {
    jobs.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    let mut kinds = HashSet::new();
    let (mut ordered, others): (Vec<_>, Vec<_>) = jobs
        .into_iter()
        .partition(|job| kinds.insert(plan.kind(job.run)));
    ordered.extend(others);
    (ordered, kinds.len())
}

/// The outcome of a run; `None` if it was interrupted. A panic is an error of this run alone.
fn outcome(run: impl FnOnce() -> Result<Option<Value>, Error>) -> Option<RunOutcome> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(document)) => document.map(RunOutcome::Document),
        Ok(Err(error)) => Some(RunOutcome::Error(error.to_string())),
        Err(panic) => Some(RunOutcome::Error(message(&*panic))),
    }
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
    fn new(jobs: &[&RunJob]) -> Self {
        Self {
            begin: Instant::now(),
            done: 0.0,
            left: jobs.iter().map(|job| job.weight).sum(),
        }
    }

    fn after(&mut self, job: &RunJob) -> Option<Duration> {
        self.done += job.weight;
        self.left = (self.left - job.weight).max(0.0);
        let seconds = self.begin.elapsed().as_secs_f64() * self.left / self.done;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_outcome() {
        let outcome = outcome(|| panic!("job 17"));
        let expected = "the emulator failed: job 17".to_owned();
        assert_eq!(outcome, Some(RunOutcome::Error(expected)));
    }
}
