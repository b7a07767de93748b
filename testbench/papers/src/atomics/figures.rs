//! The figures of section 5.4.

use lanigon_experiments::drawing::{NamedFigure, curve, marked, named, panel};
use lanigon_experiments::grid::Points;
use lanigon_figures::{Curve, Point, Scale};

use super::{
    ExecutedOn, HOWS, LOCKERS, PAUSES_US, SMP, TABLE, UP, gain, latency, load, lock, rate,
};

const TIME: (&str, Scale) = ("time, us", Scale::Linear);
const RATE: (&str, Scale) = ("uses of the lock in a second", Scale::Linear);
const KERNELS: [(u32, &str); 2] = [(SMP, "SMP"), (UP, "UP")];
const PLACES: [(ExecutedOn, &str); 2] = [(ExecutedOn::Hosts, "host"), (ExecutedOn::Boards, "NIC")];
/// The operations of figure 5.6.
const OPERATIONS: [&str; 4] = [
    "fetch-add",
    "fetch-write",
    "compare-swap",
    "compare-swap-miss",
];
/// Names in figures, in the order of [`HOWS`].
const NAMES: [&str; 6] = [
    "NIC, no mutex",
    "NIC, direct",
    "NIC, mutex",
    "host, poll",
    "host, spin-block",
    "host, block no-spin",
];

/// All figures.
pub(super) fn figures(points: &Points) -> Vec<NamedFigure> {
    let over_rate = |file, title, y, measure| {
        let panel = panel("UP", RATE, (y, Scale::Linear), over_rate(points, measure));
        named(file, title, vec![panel])
    };
    vec![
        latencies(points),
        locks(points),
        over_rate(
            "atomics-5.8",
            "A process that counts at the home of a lock (figure 5.8)",
            "iterations in 1,000 us",
            "iterations",
        ),
        over_rate(
            "atomics-5.9",
            "Load of the home's board (figure 5.9)",
            "busy share of the home's board",
            "busy",
        ),
    ]
}

fn latencies(points: &Points) -> NamedFigure {
    let curves = HOWS.into_iter().zip(NAMES).map(|(how, name)| {
        curve(name, 1..=OPERATIONS.len(), |number| {
            latency(points, how, OPERATIONS[number - 1])
        })
    });
    let x = ("operation", Scale::Linear);
    let panel = panel(&OPERATIONS.join(", "), x, TIME, curves.collect());
    let hit = 3.0;
    let marks = [
        ("dissertation-186", hit),
        ("dissertation-187", hit),
        ("dissertation-188", hit),
        ("dissertation-189", hit),
    ];
    named(
        "atomics-5.6",
        "Latencies of atomic operations (figure 5.6)",
        vec![marked(panel, &TABLE, &marks)],
    )
}

fn locks(points: &Points) -> NamedFigure {
    let x = ("nodes that use the lock", Scale::Linear);
    let times = PLACES.into_iter().flat_map(|(on, place)| {
        KERNELS.map(|(cpus, name)| {
            let time = |lockers| lock(points, on, cpus, lockers);
            curve(format!("{place}, {name}"), LOCKERS, time)
        })
    });
    let gains = KERNELS.map(|(cpus, name)| curve(name, LOCKERS, |of| gain(points, cpus, of)));
    let gains = marked(
        panel("gain", x, ("host / NIC", Scale::Linear), gains.into()),
        &TABLE,
        &[("dissertation-194", 4.0), ("dissertation-195", 4.0)],
    );
    named(
        "atomics-5.7",
        "Acquiring and releasing a lock (figure 5.7)",
        vec![panel("latency", x, TIME, times.collect()), gains],
    )
}

/// A quantity over the rate at which the lock is used.
fn over_rate(points: &Points, measure: &str) -> Vec<Curve> {
    let of = |(on, name): (ExecutedOn, &str)| {
        let points = PAUSES_US.into_iter().filter_map(|pause_us| {
            Some(Point {
                x: rate(points, on, pause_us)?,
                y: load(points, on, measure, pause_us)?,
                error: None,
            })
        });
        Curve {
            name: name.into(),
            points: points.collect(),
        }
    };
    PLACES.map(of).into()
}
