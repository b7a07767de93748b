//! Runs: equal to runs made one by one, whatever interrupts them.

use std::fs;
use std::sync::atomic::Ordering;

use cases::cases;
use lanigon_sweep::error::SweepError;
use lanigon_sweep::execute;
use lanigon_sweep::plan::scenario;
use lanigon_sweep::store::{Shard, Store};
use lanigon_worlds::simulation::{RunOptions, Simulation};
use proptest::prelude::*;

use super::{AXES, folder, options, planned, run, tables};

const MEASURES: &str = "[measure]\nlatency = { path = \"latency_us.p50\", unit = \"us\" }\n\
    bandwidth = \"bandwidth_mbit\"\nbusy = { path = \"boards[*].cpu_a\", of = \"max\" }\n";

#[test]
fn two_hundred_runs_equal_runs_made_one_by_one() {
    let head = format!(
        "{}{MEASURES}",
        AXES.replace(
            "values = [10, 1000, 3000]",
            "from = 100\nto = 5000\nstep = 100"
        )
    );
    let (sweep, plan, jobs) = planned(&head);
    assert_eq!(plan.runs.len(), 200);
    let folder = folder("equal");
    let report = run(&head, &folder, &options(4, Shard::ALL));
    assert!(report.complete && report.progress.failed == 0);
    for job in &jobs {
        let scenario = scenario(&sweep, &job.text).unwrap();
        let mut simulation = Simulation::new(&scenario).unwrap();
        let alone = simulation.run(&RunOptions::default(), |_| {});
        let row = &report.rows[&plan.runs[job.run].key];
        assert_eq!(row.trace_hash, format!("{:016x}", alone.trace_hash));
        let verdict = &alone.verdict;
        let expected = [verdict.latency_us(50), verdict.megabits_per_s()];
        assert_eq!(
            row.values[..2],
            expected,
            "bit by bit: {}",
            plan.describe(job.run)
        );
    }
    let again = self::folder("equal-again");
    run(&head, &again, &options(1, Shard::ALL));
    assert_eq!(tables(&folder), tables(&again), "threads change nothing");
}

proptest! {
    #![proptest_config(cases(12))]

    /// A results file that is cut anywhere, as by a crash, leads to the same tables.
    #[test]
    fn a_sweep_goes_on_after_any_interruption(part in 0.0f64..1.0, garbage in "[\\PC]{0,20}") {
        let whole = folder("whole");
        let head = format!("{AXES}{MEASURES}");
        run(&head, &whole, &options(2, Shard::ALL));
        let cut = folder("cut");
        let bytes = fs::read(whole.join("results.jsonl")).unwrap();
        let mut left = bytes[..(bytes.len() as f64 * part) as usize].to_vec();
        let lines = left.iter().filter(|&&byte| byte == b'\n').count();
        left.extend(garbage.as_bytes());
        fs::write(cut.join("results.jsonl"), left).unwrap();
        let report = run(&head, &cut, &options(2, Shard::ALL));
        prop_assert_eq!(report.before, lines, "complete lines are kept, and only these");
        prop_assert_eq!(tables(&whole), tables(&cut));
    }
}

#[test]
fn an_interrupted_sweep_keeps_what_is_done() {
    let folder = folder("interrupted");
    let (sweep, plan, jobs) = planned(AXES);
    let options = options(2, Shard::ALL);
    let report = execute::run(&sweep, (&plan, &jobs), &folder, &options, |progress| {
        if progress.done == 4 {
            options.interrupt.store(true, Ordering::Relaxed);
        }
    });
    let report = report.unwrap();
    assert!(report.interrupted && !report.complete);
    let done = report.progress.done;
    assert!(
        (4..12).contains(&done) && report.rows.len() == done,
        "{done}"
    );
    let rest = run(AXES, &folder, &super::options(2, Shard::ALL));
    assert_eq!((rest.before, rest.complete), (done, true));
    let whole = self::folder("not-interrupted");
    run(AXES, &whole, &super::options(1, Shard::ALL));
    assert_eq!(tables(&folder), tables(&whole));
}

#[test]
fn a_second_sweep_in_a_folder_is_refused() {
    let folder = folder("locked");
    let (sweep, plan, jobs) = planned(AXES);
    let first = Store::open(&folder, Shard::ALL).unwrap();
    let options = options(1, Shard::ALL);
    let second = execute::run(&sweep, (&plan, &jobs), &folder, &options, |_| {});
    assert!(matches!(second, Err(SweepError::Locked(_))), "{second:?}");
    drop(first);
    assert!(run(AXES, &folder, &options).complete);
}

#[test]
fn failed_runs_are_rows_and_the_sweep_goes_on() {
    // With one retry and every frame lost, messages fail: that is no failure of the run. A message that arrives damaged is.
    let head = "[[axis]]\nname = \"fault\"\nkey = \"fault\"\nlabels = [\"none\", \"forged\"]\n\
        values = [[], [{ do = \"corrupt\", byte = 60, valid_fcs = true, frame = \"header\", from = 0 }]]\n";
    let folder = folder("failed");
    let report = run(head, &folder, &options(2, Shard::ALL));
    assert_eq!((report.progress.failed, report.complete), (1, true));
    let [results, summary] = tables(&folder);
    let lines: Vec<&str> = results.lines().collect();
    assert!(lines[1].contains(",done,,"), "{results}");
    assert!(
        lines[2].contains(",failed,messages: 1 corrupted,"),
        "{results}"
    );
    let lines: Vec<&str> = summary.lines().collect();
    assert!(lines[1].starts_with("none,1,0,1,"), "{summary}");
    assert!(
        lines[2].starts_with("forged,1,1,0,,,,"),
        "values of failed runs do not count: {summary}"
    );
}

#[test]
fn a_measure_of_no_run_is_named_and_costs_no_run() {
    let folder = folder("measures");
    let head = |path: &str| format!("[measure]\nm = \"{path}\"\n{AXES}");
    let (sweep, plan, jobs) = planned(&head("latency_us.p55"));
    let found = execute::run(
        &sweep,
        (&plan, &jobs),
        &folder,
        &options(1, Shard::ALL),
        |_| {},
    );
    assert_eq!(
        found.unwrap_err().to_string(),
        "s.toml:2: measure.m: latency_us.p55: no key \"p55\"; did you mean \"p50\"? \
         (the results are kept: correct the path and run the sweep again)"
    );
    let report = run(&head("latency_us.p50"), &folder, &options(1, Shard::ALL));
    // It was told after the first one.
    assert_eq!((report.before, report.complete), (1, true));
}
