//! The publications' figures.

use lanigon_figures::{Curve, Scale};

use super::super::chapter::Chapter;
use super::super::results::Results;
use super::judge::{latency, time};
use super::{ALL, DOUBLES, LATENCY_DOUBLES, LENGTHS, MOST_US, Mean, NODES, Operation, SKEWS_US};
use lanigon_experiments::drawing::{Named, Position, curve, marked, named, panel};

const BY_SKEW: (&str, Scale) = ("longest delay, us", Scale::Linear);
const BY_NODES: (&str, Scale) = ("processes", Scale::Log2);
const TIME: (&str, Scale) = ("time, us", Scale::Linear);
const GAIN: (&str, Scale) = ("usual / bypass", Scale::Linear);
const NAMES: [(bool, &str); 2] = [(false, "usual"), (true, "bypass")];

fn name(operation: Operation) -> String {
    match operation {
        Operation::Broadcast(bytes) => format!("{bytes} B"),
        Operation::Reduce(doubles) => format!("{doubles} doubles"),
    }
}

/// Curves of time and gain along delays or numbers of nodes.
fn both<X: Position>(
    operations: &[Operation],
    along: &[X],
    time: impl Fn(Operation, bool, X) -> Option<f64>,
) -> [Vec<Curve>; 2] {
    let mut times = Vec::new();
    let mut gains = Vec::new();
    for &of in operations {
        let along = || along.iter().copied();
        for (bypass, how) in NAMES {
            let name = format!("{}, {how}", name(of));
            times.push(curve(name, along(), |x| time(of, bypass, x)));
        }
        let gain = |x| Some(time(of, false, x)? / time(of, true, x)?);
        gains.push(curve(name(of), along(), gain));
    }
    [times, gains]
}

fn by_skew(results: &Results, operations: &[Operation], mean: Mean) -> [Vec<Curve>; 2] {
    both(operations, &SKEWS_US, |of, bypass, most_us| {
        time(results, ALL, of, bypass, most_us, mean)
    })
}

fn by_nodes(results: &Results, operations: &[Operation], most_us: u64) -> [Vec<Curve>; 2] {
    both(operations, &NODES, |of, bypass, nodes| {
        time(results, nodes, of, bypass, most_us, Mean::Total)
    })
}

/// A figure of time and gain.
fn figure(
    file: &str,
    title: &str,
    x: (&str, Scale),
    [times, gains]: [Vec<Curve>; 2],
    (table, ids): (Chapter, &[(&str, f64)]),
) -> Named {
    let gains = marked(panel("gain", x, GAIN, gains), table.table(), ids);
    named(file, title, vec![panel("time", x, TIME, times), gains])
}

/// Figures 6.4 to 6.6 of the dissertation.
pub(in super::super) fn broadcasts(results: &Results) -> Vec<Named> {
    let (short, long) = LENGTHS.split_at(4);
    let of = |lengths: &[usize]| -> Vec<Operation> {
        let operations = lengths.iter().copied().map(Operation::Broadcast);
        operations.collect()
    };
    let (short, long) = (of(short), of(long));
    let table = Chapter::AbBroadcast;
    let at = MOST_US as f64;
    let inside_short = [("dissertation-220", at)];
    let total_short = [("dissertation-224", at)];
    let inside_long = ["dissertation-221", "dissertation-222", "dissertation-223"];
    let inside_long = inside_long.map(|id| (id, at));
    let total_long = ["dissertation-225", "dissertation-226", "dissertation-227"];
    let total_long = total_long.map(|id| (id, at));
    let skew = |operations: &[Operation], mean| by_skew(results, operations, mean);
    let nodes = |operations: &[Operation]| by_nodes(results, operations, MOST_US);
    let none: (Chapter, &[(&str, f64)]) = (table, &[]);
    vec![
        figure(
            "ab-broadcast-6.4ab",
            "Time in a broadcast, short messages (figure 6.4)",
            BY_SKEW,
            skew(&short, Mean::Inside),
            (table, &inside_short),
        ),
        figure(
            "ab-broadcast-6.4cd",
            "Time in a broadcast, long messages (figure 6.4)",
            BY_SKEW,
            skew(&long, Mean::Inside),
            (table, &inside_long),
        ),
        figure(
            "ab-broadcast-6.5ab",
            "Time of a broadcast with handlers, short messages (figure 6.5)",
            BY_SKEW,
            skew(&short, Mean::Total),
            (table, &total_short),
        ),
        figure(
            "ab-broadcast-6.5cd",
            "Time of a broadcast with handlers, long messages (figure 6.5)",
            BY_SKEW,
            skew(&long, Mean::Total),
            (table, &total_long),
        ),
        figure(
            "ab-broadcast-6.6ab",
            "Time by number of processes, short messages (figure 6.6)",
            BY_NODES,
            nodes(&short),
            none,
        ),
        figure(
            "ab-broadcast-6.6cd",
            "Time by number of processes, long messages (figure 6.6)",
            BY_NODES,
            nodes(&long),
            none,
        ),
    ]
}

/// Figures 6 to 10 of the paper on reductions.
pub(in super::super) fn reductions(results: &Results) -> Vec<Named> {
    let table = Chapter::AbReduction;
    let all: Vec<Operation> = DOUBLES.into_iter().map(Operation::Reduce).collect();
    let nodes = f64::from(ALL);
    vec![
        figure(
            "ab-reduction-6",
            "Processor time of a reduction by delay (figure 6)",
            BY_SKEW,
            by_skew(results, &all, Mean::Total),
            (table, &[("ab-reduction-015", MOST_US as f64)]),
        ),
        figure(
            "ab-reduction-7",
            "Processor time of a reduction by processes, delays up to 1,000 us (figure 7)",
            BY_NODES,
            by_nodes(results, &all, MOST_US),
            (table, &[("ab-reduction-016", nodes)]),
        ),
        figure(
            "ab-reduction-8",
            "Processor time of a reduction by processes, no delays (figure 8)",
            BY_NODES,
            by_nodes(results, &all, 0),
            (table, &[("ab-reduction-023", nodes)]),
        ),
        latencies(results),
    ]
}

fn latencies(results: &Results) -> Named {
    let of = |mixed: bool| {
        NAMES.map(|(bypass, how)| {
            curve(how, NODES, |nodes| {
                latency(results, nodes, 1, bypass, mixed)
            })
        })
    };
    let lengths = NAMES.map(|(bypass, how)| {
        let at = |doubles| latency(results, ALL, doubles, bypass, true);
        curve(how, LATENCY_DOUBLES, at)
    });
    let by_length = ("doubles", Scale::Log2);
    named(
        "ab-reduction-9",
        "Latency of a reduction (figures 9 and 10)",
        vec![
            panel("a double, mixed hosts", BY_NODES, TIME, of(true).into()),
            panel("a double, equal hosts", BY_NODES, TIME, of(false).into()),
            panel("32 nodes", by_length, TIME, lengths.into()),
        ],
    )
}
