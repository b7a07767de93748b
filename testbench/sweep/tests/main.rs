//! Sweeps end to end: files, points, runs, interruptions, parts.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod errors;
mod merge;
mod plots;
mod points;
mod runs;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use lanigon_sweep::error::SweepError;
use lanigon_sweep::execute::{self, Options, SweepReport};
use lanigon_sweep::file::Sweep;
use lanigon_sweep::plan::{RunJob, SweepPlan};
use lanigon_sweep::store::Shard;

/// A scenario of short runs.
const SCENARIO: &str = r#"
[scenario]
network = { topology = "pair" }
[[scenario.program]]
run = "stream"
from = 0
to = 1
messages = 3
bytes = 1000
"#;

/// Two axes and two seeds: twelve runs.
const AXES: &str = r#"
[[axis]]
name = "size"
unit = "bytes"
key = "program[0].bytes"
values = [10, 1000, 3000]

[[axis]]
name = "loss"
key = "faults.loss"
values = [0, 0.2]

[repeat]
seeds = 2
"#;

fn sweep(head: &str) -> Result<Sweep, SweepError> {
    let text = format!("{head}{SCENARIO}");
    Sweep::parse("s.toml", &text, Path::new(""))
}

fn planned(head: &str) -> (Sweep, SweepPlan, Vec<RunJob>) {
    let sweep = sweep(head).unwrap_or_else(|error| panic!("{error}"));
    let (plan, jobs) = SweepPlan::new(&sweep).unwrap_or_else(|error| panic!("{error}"));
    (sweep, plan, jobs)
}

/// An empty folder of the tests. Names are unique per test, because tests run in parallel.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("sweep")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn options(threads: usize, shard: Shard) -> Options {
    Options {
        threads: NonZeroUsize::new(threads).unwrap(),
        shard,
        fresh: false,
        interrupt: std::sync::Arc::default(),
    }
}

/// Runs a sweep and writes its tables.
fn run(head: &str, folder: &Path, options: &Options) -> SweepReport {
    let (sweep, plan, jobs) = planned(head);
    let report = execute::run(&sweep, (&plan, &jobs), folder, options, |_| {});
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    lanigon_sweep::table::write(folder, &plan, &report.rows).unwrap();
    report
}

fn tables(folder: &Path) -> [String; 2] {
    ["results.csv", "summary.csv"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
}
