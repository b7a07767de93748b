//! The publications' figures, with the published points.

mod mpi;

use lanigon_experiments::drawing::{NamedFigure, Position, curve, marked, named, panel};
use lanigon_figures::{Curve, Panel, Scale};
use lanigon_workloads::collective::{Broadcast, Type};

use super::ExecutedOn;
use super::chapter::Chapter;
use super::key::{BLOCKS, Form, L4, L7, L9, Metric, NODES, SKEWS_US, TREES, TYPES};
use super::results::Results;

/// The figures of a table.
#[must_use]
pub fn figures(table: Chapter, results: &Results) -> Vec<NamedFigure> {
    if results.points.is_empty() {
        return Vec::new();
    }
    let mut all = match table {
        Chapter::Barrier => barrier(results),
        Chapter::Reduction => reduction(results),
        Chapter::Gossip => gossip(results),
        Chapter::MpiBarrier => mpi::figures(results),
    };
    all.extend(super::beyond::figures(&results.beyond));
    all
}

/// Nodes of barriers.
const MORE_NODES: [u16; 5] = [2, 4, 7, 8, 16];
const PLACES: [(ExecutedOn, &str); 2] = [(ExecutedOn::Host, "host"), (ExecutedOn::Nic, "NIC")];
const BOARDS: [(&str, &str, u16); 2] = [(L4, "LANai 4", 16), (L7, "LANai 7", 8)];

const BY_NODES: (&str, Scale) = ("nodes", Scale::Log2);
const TIME: (&str, Scale) = ("time, us", Scale::Linear);
const LONG_TIME: (&str, Scale) = ("time, us", Scale::Log10);
const GAIN: (&str, Scale) = ("host / NIC", Scale::Linear);
const HOST_TIME: (&str, Scale) = ("time of the host, us", Scale::Linear);
const BARRIER: Chapter = Chapter::Barrier;

fn barrier(results: &Results) -> Vec<NamedFigure> {
    let latency = |board, ids: &[(&str, f64)], title: &str| {
        let mut curves = Vec::new();
        for (tree, algorithm) in [(false, "exchange"), (true, "tree")] {
            for (on, place) in PLACES {
                let time = |nodes| results.barrier(board, on, nodes, tree);
                curves.push(curve(format!("{algorithm}, {place}"), MORE_NODES, time));
            }
        }
        marked(panel(title, BY_NODES, TIME, curves), BARRIER.table(), ids)
    };
    let old = [("dissertation-069", 16.0), ("dissertation-070", 16.0)];
    let new = [("dissertation-074", 8.0), ("dissertation-075", 8.0)];
    let gains = BOARDS.into_iter().flat_map(|(board, name, _)| {
        [(false, "exchange"), (true, "tree")].map(|(tree, algorithm)| {
            let gain = |nodes| {
                let on = |on| results.barrier(board, on, nodes, tree);
                Some(on(ExecutedOn::Host)? / on(ExecutedOn::Nic)?)
            };
            curve(format!("{name}, {algorithm}"), NODES, gain)
        })
    });
    let gains = marked(
        panel("gain", BY_NODES, GAIN, gains.collect()),
        BARRIER.table(),
        &[
            ("dissertation-071", 16.0),
            ("dissertation-072", 16.0),
            ("dissertation-073", 8.0),
            ("dissertation-076", 8.0),
        ],
    );
    let panels = vec![
        latency(L4, &old, "LANai 4"),
        latency(L7, &new, "LANai 7"),
        gains,
    ];
    vec![named("barrier-3.6", "Barriers (figure 3.6)", panels)]
}

/// Curves on both places for both types.
fn typed<X: Position>(
    results: &Results,
    xs: &[X],
    nodes: impl Fn(X) -> u16,
    what: impl Fn(Type, X) -> Metric,
) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (of, name) in TYPES {
        for (on, place) in PLACES {
            let time = |x| results.at(L9, on, nodes(x), what(of, x));
            curves.push(curve(format!("{name}, {place}"), xs.iter().copied(), time));
        }
    }
    curves
}

fn reduction(results: &Results) -> Vec<NamedFigure> {
    let mut all = trees(results);
    all.extend(processor(results));
    all
}

/// A figure with one panel.
fn single(number: &str, title: &str, panel: Panel) -> NamedFigure {
    let title = format!("{title} (figure {number})");
    named(&format!("reduction-{number}"), &title, vec![panel])
}

/// Latencies along trees.
fn trees(results: &Results) -> Vec<NamedFigure> {
    let depths = TREES.map(|nodes| nodes - 1);
    let curves = |xs: &[u16], more, form| {
        let what = |of, _| Metric::Reduction { form, of };
        typed(results, xs, |x| x + more, what)
    };
    let panels = [
        (
            "binomial trees",
            BY_NODES,
            curves(&NODES, 0, Form::Binomial),
        ),
        (
            "chains",
            ("depth", Scale::Linear),
            curves(&depths, 1, Form::Chain),
        ),
        (
            "stars",
            ("degree", Scale::Linear),
            curves(&depths, 1, Form::Star),
        ),
    ];
    let numbers = ["4.3", "4.4", "4.5"].into_iter();
    let figures = numbers.zip(panels).map(|(number, (title, x, curves))| {
        single(number, "Reductions", panel(title, x, TIME, curves))
    });
    figures.collect()
}

/// The hosts' times.
fn processor(results: &Results) -> Vec<NamedFigure> {
    let what = |of, skew_us| Metric::Processor { of, skew_us };
    let fixed = |skew_us| typed(results, &NODES, |nodes| nodes, |of, _| what(of, skew_us));
    let varied = typed(results, &SKEWS_US, |_| 16, what);
    let delay = ("largest delay, us", Scale::Linear);
    let panels = [
        ("no delays", BY_NODES, fixed(0)),
        ("16 nodes", delay, varied),
        ("delays up to 1000 us", BY_NODES, fixed(1_000)),
    ];
    let numbers = ["4.6", "4.7", "4.8"].into_iter();
    let figures = numbers.zip(panels).map(|(number, (title, x, curves))| {
        single(
            number,
            "The host's time",
            panel(title, x, HOST_TIME, curves),
        )
    });
    figures.collect()
}

const ALGORITHMS: [(ExecutedOn, Broadcast, &str); 4] = [
    (
        ExecutedOn::Host,
        Broadcast::RecursiveDoubling,
        "recursive doubling, host",
    ),
    (ExecutedOn::Host, Broadcast::Ring, "ring, host"),
    (
        ExecutedOn::Nic,
        Broadcast::RecursiveDoubling,
        "recursive doubling, NIC",
    ),
    (
        ExecutedOn::Nic,
        Broadcast::ConcurrentBroadcasting,
        "concurrent, NIC",
    ),
];

fn gossip(results: &Results) -> Vec<NamedFigure> {
    let by_bytes = |value: &dyn Fn(f64, f64) -> f64, range: std::ops::RangeInclusive<usize>| {
        let curves = ALGORITHMS.map(|(on, algorithm, name)| {
            let bytes = BLOCKS.into_iter().filter(|bytes| range.contains(bytes));
            curve(name, bytes, |bytes| {
                let us = results.all_to_all(on, 16, algorithm, bytes)?;
                Some(value(bytes as f64, us))
            })
        });
        Vec::from(curves)
    };
    let bytes = ("bytes of a block", Scale::Log2);
    let time = |_, us| us;
    let latency = vec![
        panel("short blocks", bytes, TIME, by_bytes(&time, 1..=1_024)),
        panel("all blocks", bytes, LONG_TIME, by_bytes(&time, 1..=16_384)),
    ];
    let rate = panel(
        "16 nodes",
        bytes,
        ("MB/s", Scale::Linear),
        by_bytes(&|bytes, us| bytes / us, 1..=16_384),
    );
    let gains = [
        Broadcast::RecursiveDoubling,
        Broadcast::ConcurrentBroadcasting,
    ]
    .map(|algorithm| {
        let gain = |bytes| results.gossip_gain(16, algorithm, bytes);
        curve(format!("{algorithm:?}"), BLOCKS, gain)
    });
    let gains = marked(
        panel("16 nodes", bytes, GAIN, gains.into()),
        Chapter::Gossip.table(),
        &[("gossip-016", 4_096.0), ("gossip-017", 64.0)],
    );
    let scaling = [4_usize, 4_096].map(|bytes| {
        let curves = ALGORITHMS.map(|(on, algorithm, name)| {
            let time = |nodes| results.all_to_all(on, nodes, algorithm, bytes);
            curve(name, NODES, time)
        });
        panel(&format!("{bytes} bytes"), BY_NODES, TIME, curves.into())
    });
    vec![
        named("gossip-4", "All-to-all broadcasts (figure 4)", latency),
        named("gossip-5", "Bandwidth (figure 5)", vec![rate]),
        named(
            "gossip-6",
            "Gain over recursive doubling on hosts (figure 6)",
            vec![gains],
        ),
        named("gossip-7", "Scaling (figure 7)", scaling.into()),
    ]
}
