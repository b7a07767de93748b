//! Broadcasts and reductions that go on while programs compute, beside usual ones (dissertation, chapter 6; the paper on reductions with
//! application bypass; docs/mpi.md, section 6): programs of message passing on the publications' cluster.

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

/// Numbers of nodes of the curves.
const NODES: [u16; 5] = [2, 4, 8, 16, 32];
/// All of the cluster.
const ALL: u16 = 32;
/// Longest delays, in us.
const DELAYS_US: [u32; 8] = [0, 50, 100, 200, 400, 600, 800, MOST_US];
/// The longest of all: a mean difference of two delays of 333 us (dissertation-235).
const MOST_US: u32 = 1_000;
/// Means: the time in the call, and all but that of the delays.
const INSIDE: &str = "inside_us";
const TOTAL: &str = "total_us";

/// Reason for which late processes are not explained.
const LATE: ExplainEffect = ExplainEffect::Nothing(
    "late processes have no critical path; `mpi time` of `lanigon run scenarios/mpi-bypass.toml` tells where their time goes",
);

static BROADCASTS: PublishedTable = PublishedTable::new(
    "published-ab-broadcast",
    include_str!("../../data/published-ab-broadcast.csv"),
);
static REDUCTIONS: PublishedTable = PublishedTable::new(
    "published-ab-reduction",
    include_str!("../../data/published-ab-reduction.csv"),
);

/// The paper of broadcasts.
pub static BROADCAST: Paper = Paper {
    name: "ab-broadcast",
    about: "Broadcasts of message passing that go on while programs compute",
    subject: "Collective operations, ab-broadcast",
    manual: "mpi",
    accepts: &[],
    explains: LATE,
    table: &BROADCASTS,
    calibrated: &["dissertation-228"],
    start: start::<ScenariosOf<Broadcast>>,
};

/// The paper of reductions.
pub static REDUCTION: Paper = Paper {
    name: "ab-reduction",
    about: "Reductions of message passing that go on while programs compute",
    subject: "Collective operations, ab-reduction",
    manual: "mpi",
    accepts: &[],
    explains: LATE,
    table: &REDUCTIONS,
    calibrated: &["ab-reduction-023"],
    start: start::<ScenariosOf<Reduction>>,
};

/// Means of an operation after delays: with bypass or without, nodes, the longest delay, and which mean.
type Time<'a> = &'a dyn Fn(bool, u16, u32, &str) -> Option<f64>;

/// Factor by which a time is shorter with bypass.
fn gain(time: Time<'_>, nodes: u16, delay_us: u32, mean: &str) -> Option<f64> {
    let of = |bypass| time(bypass, nodes, delay_us, mean);
    Some(of(false)? / of(true)?)
}

/// A time of a broadcast of so many bytes.
fn broadcast(points: &Points, bytes: u32) -> impl Fn(bool, u16, u32, &str) -> Option<f64> {
    move |bypass, nodes, delay_us, mean| points.at(&key![bytes, nodes, delay_us, bypass], mean)
}

/// A time of a reduction of so many doubles.
fn reduction(points: &Points, doubles: u32) -> impl Fn(bool, u16, u32, &str) -> Option<f64> {
    move |bypass, nodes, delay_us, mean| {
        points.at(&key!["mixed", nodes, doubles, delay_us, bypass], mean)
    }
}

/// Latency of a reduction, in us.
fn latency(points: &Points, hosts: &str, nodes: u16, doubles: u32, bypass: bool) -> Option<f64> {
    let key = key![hosts, nodes, doubles, None::<u32>, bypass];
    points.at(&key, INSIDE)
}

/// Experiment on broadcasts.
#[derive(Debug)]
pub struct Broadcast;

impl Scenarios for Broadcast {
    type Results = Points;
    const FILE: &'static str = include_str!("broadcast.toml");
    const CLAIMS: &'static [Claim<Points>] = claims::BROADCAST;
    const TEXTS: &'static str = include_str!("claims.toml");

    fn value(number: &Published, points: &Points) -> Option<f64> {
        rows::value(number, &broadcast(points, number.scheme.parse().ok()?))
    }

    fn figures(points: &Points) -> Vec<NamedFigure> {
        figures::broadcasts(points)
    }
}

/// Experiment on reductions.
#[derive(Debug)]
pub struct Reduction;

impl Scenarios for Reduction {
    type Results = Points;
    const FILE: &'static str = include_str!("reduction.toml");
    const CLAIMS: &'static [Claim<Points>] = claims::REDUCTION;
    const TEXTS: &'static str = include_str!("claims.toml");

    fn value(number: &Published, points: &Points) -> Option<f64> {
        rows::value(number, &reduction(points, number.scheme.parse().ok()?))
    }

    fn figures(points: &Points) -> Vec<NamedFigure> {
        figures::reductions(points)
    }
}
