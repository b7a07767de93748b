//! The publications' figures.

use lanigon_experiments::drawing::{NamedFigure, Position, curve, marked, named, panel};
use lanigon_experiments::grid::Points;
use lanigon_experiments::published::PublishedTable;
use lanigon_figures::{Curve, Scale};

use super::{
    ALL, BROADCASTS, DELAYS_US, INSIDE, MOST_US, NODES, REDUCTIONS, TOTAL, Time, broadcast,
    latency, reduction,
};

type Axis = (&'static str, Scale);

const BY_NODES: Axis = ("processes", Scale::Log2);
const TIME: Axis = ("time, us", Scale::Linear);
const NAMES: [(bool, &str); 2] = [(false, "usual"), (true, "bypass")];

/// Curves of times and gains, and where published points are.
struct Curves {
    x: Axis,
    at: f64,
    times: Vec<Curve>,
    gains: Vec<Curve>,
}

impl Curves {
    /// With all nodes.
    fn by_delay(operations: &[(String, Time<'_>)], mean: &str) -> Self {
        let x = ("longest delay, us", Scale::Linear);
        Self::along(operations, &DELAYS_US, x, |time, bypass, delay_us| {
            time(bypass, ALL, delay_us, mean)
        })
    }

    fn by_nodes(operations: &[(String, Time<'_>)], delay_us: u32) -> Self {
        Self::along(operations, &NODES, BY_NODES, |time, bypass, nodes| {
            time(bypass, nodes, delay_us, TOTAL)
        })
    }

    fn along<X: Position>(
        operations: &[(String, Time<'_>)],
        along: &[X],
        x: Axis,
        time: impl Fn(Time<'_>, bool, X) -> Option<f64>,
    ) -> Self {
        let (mut times, mut gains) = (Vec::new(), Vec::new());
        for (name, of) in operations {
            let along = || along.iter().copied();
            for (bypass, how) in NAMES {
                let name = format!("{name}, {how}");
                times.push(curve(name, along(), |x| time(*of, bypass, x)));
            }
            let gain = |x| Some(time(*of, false, x)? / time(*of, true, x)?);
            gains.push(curve(name, along(), gain));
        }
        let at = along.last().map_or(0.0, |last| last.number());
        Self {
            x,
            at,
            times,
            gains,
        }
    }

    fn drawn(self, file: &str, title: &str, table: &PublishedTable, ids: &[&str]) -> NamedFigure {
        let places: Vec<_> = ids.iter().map(|id| (*id, self.at)).collect();
        let gains = panel(
            "gain",
            self.x,
            ("usual / bypass", Scale::Linear),
            self.gains,
        );
        let times = panel("time", self.x, TIME, self.times);
        named(file, title, vec![times, marked(gains, table, &places)])
    }
}

/// Figures 6.4 to 6.6 of the dissertation.
pub(super) fn broadcasts(points: &Points) -> Vec<NamedFigure> {
    let lengths = [1, 2, 4, 8, 2_048, 4_096, 8_192];
    let times = lengths.map(|bytes| broadcast(points, bytes));
    let named = lengths.iter().zip(&times);
    let named: Vec<(_, Time<'_>)> = named
        .map(|(bytes, time)| (format!("{bytes} B"), time as Time<'_>))
        .collect();
    let (short, long) = named.split_at(4);
    let mut all = Vec::new();
    for (number, title, mean, [marks, long_marks]) in [
        (
            "6.4",
            "Time in a broadcast",
            Some(INSIDE),
            [
                &["dissertation-220"][..],
                &["dissertation-221", "dissertation-222", "dissertation-223"],
            ],
        ),
        (
            "6.5",
            "Time of a broadcast with handlers",
            Some(TOTAL),
            [
                &["dissertation-224"],
                &["dissertation-225", "dissertation-226", "dissertation-227"],
            ],
        ),
        ("6.6", "Time by number of processes", None, [&[], &[]]),
    ] {
        for (part, length, operations, ids) in [
            ("ab", "short", short, marks),
            ("cd", "long", long, long_marks),
        ] {
            let curves = match mean {
                Some(mean) => Curves::by_delay(operations, mean),
                None => Curves::by_nodes(operations, MOST_US),
            };
            let file = format!("ab-broadcast-{number}{part}");
            let title = format!("{title}, {length} messages (figure {number})");
            all.push(curves.drawn(&file, &title, &BROADCASTS, ids));
        }
    }
    all
}

/// Figures 6 to 10 of the paper on reductions.
pub(super) fn reductions(points: &Points) -> Vec<NamedFigure> {
    let lengths = [4, 32, 128];
    let times = lengths.map(|doubles| reduction(points, doubles));
    let named = lengths.iter().zip(&times);
    let all: Vec<(_, Time<'_>)> = named
        .map(|(doubles, time)| (format!("{doubles} doubles"), time as Time<'_>))
        .collect();
    vec![
        Curves::by_delay(&all, TOTAL).drawn(
            "ab-reduction-6",
            "Processor time of a reduction by delay (figure 6)",
            &REDUCTIONS,
            &["ab-reduction-015"],
        ),
        Curves::by_nodes(&all, MOST_US).drawn(
            "ab-reduction-7",
            "Processor time of a reduction by processes, delays up to 1,000 us (figure 7)",
            &REDUCTIONS,
            &["ab-reduction-016"],
        ),
        Curves::by_nodes(&all, 0).drawn(
            "ab-reduction-8",
            "Processor time of a reduction by processes, no delays (figure 8)",
            &REDUCTIONS,
            &["ab-reduction-023"],
        ),
        latencies(points),
    ]
}

fn latencies(points: &Points) -> NamedFigure {
    let of = |hosts| {
        NAMES.map(|(bypass, how)| {
            curve(how, NODES, |nodes| latency(points, hosts, nodes, 1, bypass))
        })
    };
    let lengths = NAMES.map(|(bypass, how)| {
        let at = |doubles| latency(points, "mixed", ALL, doubles, bypass);
        curve(how, [1_u32, 4, 16, 64, 128], at)
    });
    let by_length = ("doubles", Scale::Log2);
    named(
        "ab-reduction-9",
        "Latency of a reduction (figures 9 and 10)",
        vec![
            panel("a double, mixed hosts", BY_NODES, TIME, of("mixed").into()),
            panel("a double, equal hosts", BY_NODES, TIME, of("equal").into()),
            panel("32 nodes", by_length, TIME, lengths.into()),
        ],
    )
}
