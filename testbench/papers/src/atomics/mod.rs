//! Atomic operations and locks: the measurements of Buntinas 2003, section 5.4, beside the published figures (docs/gm-atomics.md).
//!
//! The file `experiment.toml` holds the measured points.

mod claims;
mod figures;
mod rows;

use lanigon_experiments::drawing::NamedFigure;
use lanigon_experiments::grid::Points;
use lanigon_experiments::key;
use lanigon_experiments::paper::{ExplainEffect, Paper, start};
use lanigon_experiments::published::{Published, PublishedTable};
use lanigon_experiments::scenarios::{Scenarios, ScenariosOf};
use lanigon_experiments::verdict::Claim;

/// The published figures.
static TABLE: PublishedTable = PublishedTable::new(
    "published-atomics",
    include_str!("../../data/published-atomics.csv"),
);

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "atomics",
    about: "Atomic operations and locks over GM, on hosts and on boards",
    subject: "Operations on words, atomics",
    manual: "gm-atomics",
    accepts: &[],
    explains: ExplainEffect::Nothing(
        "there is no critical path of atomic operations; `lanigon ledger` splits the messages to servers",
    ),
    table: &TABLE,
    calibrated: &["dissertation-189"],
    start: start::<ScenariosOf<Atomics>>,
};

/// The experiment.
#[derive(Debug)]
pub struct Atomics;

impl Scenarios for Atomics {
    type Results = Points;
    const FILE: &'static str = include_str!("experiment.toml");
    const CLAIMS: &'static [Claim<Points>] = claims::CLAIMS;
    const TEXTS: &'static str = include_str!("claims.toml");

    fn value(number: &Published, points: &Points) -> Option<f64> {
        rows::value(number, points)
    }

    fn note(number: &Published) -> &'static str {
        match number.id {
            "dissertation-191" => "the host's part is calibrated",
            _ => "",
        }
    }

    fn figures(points: &Points) -> Vec<NamedFigure> {
        figures::figures(points)
    }
}

/// Who executes the operations: boards with and without a mutex, or servers on hosts by their waits.
const HOWS: [&str; 6] = ["no-mutex", "direct", "mutex", "poll", "spin-block", "block"];
/// The operation that boards and servers are compared by.
const HIT: &str = "compare-swap";
/// Nodes that use the lock; another one is its home.
const LOCKERS: [u16; 10] = [1, 2, 3, 4, 5, 6, 7, 9, 12, 15];
/// Pauses after acquiring and after releasing, in us.
const PAUSES_US: [u32; 6] = [1_000, 400, 200, 100, 50, 20];

/// Executor of operations.
#[derive(Debug, Clone, Copy)]
enum ExecutedOn {
    Boards,
    Hosts,
}

/// CPUs of a host for the programs of a node: one each, where servers poll, or one for both, where servers sleep.
const SMP: u32 = 2;
const UP: u32 = 1;

/// Name of the way in which operations are executed, by the dissertation's choice.
const fn how(on: ExecutedOn, cpus: u32) -> &'static str {
    match (on, cpus) {
        (ExecutedOn::Boards, _) => "no-mutex",
        (ExecutedOn::Hosts, UP) => "block",
        (ExecutedOn::Hosts, _) => "poll",
    }
}

/// Mean latency of an operation, in us.
fn latency(points: &Points, how: &str, operation: &str) -> Option<f64> {
    let key = key!["latency", how, operation, None::<u32>, 2_u16, None::<u32>];
    points.at(&key, "mean_us")
}

/// Mean time of acquiring and releasing a lock at one of the nodes that do so, in us.
fn lock(points: &Points, on: ExecutedOn, cpus: u32, lockers: u16) -> Option<f64> {
    let key = key![
        "lock",
        how(on, cpus),
        None::<u32>,
        cpus,
        lockers + 1,
        None::<u32>
    ];
    points.at(&key, "first_mean_us")
}

/// Ratio of the lock's time on hosts to its time on boards.
fn gain(points: &Points, cpus: u32, lockers: u16) -> Option<f64> {
    Some(
        lock(points, ExecutedOn::Hosts, cpus, lockers)?
            / lock(points, ExecutedOn::Boards, cpus, lockers)?,
    )
}

/// Measured value of a run in which one node uses the lock of another one, which counts, with pauses; 0: the lock is not used.
fn load(points: &Points, on: ExecutedOn, measure: &str, pause_us: u32) -> Option<f64> {
    let key = key!["load", how(on, UP), None::<u32>, UP, 2_u16, pause_us];
    points.at(&key, measure)
}

/// Uses of the lock in a second of that run.
fn rate(points: &Points, on: ExecutedOn, pause_us: u32) -> Option<f64> {
    let of = |measure| load(points, on, measure, pause_us);
    Some(of("uses")? * 1e6 / of("simulated_us")?)
}
