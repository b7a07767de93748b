//! The publications' figures, with the published points.

use lanigon_figures::{Axis, Curve, Figure, Mark, Panel, Point, Scale};
use lanigon_worlds::programs::collective::Broadcast;

use super::On;
use super::key::{
    BLOCKS, EFFICIENCIES, FINE_NS, Form, L4, L7, L9, NODES, SKEWS_US, STEPS, TREES, TYPES,
    VARIED_PERCENT, VARIED_US, What,
};
use super::plan::Results;
use super::published::Table;

/// A figure and the name of its files.
pub type Named = (String, Figure);

/// The figures of a table.
#[must_use]
pub fn figures(table: Table, results: &Results) -> Vec<Named> {
    if results.points.is_empty() {
        return Vec::new();
    }
    let mut all = match table {
        Table::Barrier => barrier(results),
        Table::Reduction => reduction(results),
        Table::Gossip => gossip(results),
    };
    all.extend(super::beyond::figures(&results.beyond));
    all
}

const PLACES: [(On, &str); 2] = [(On::Host, "host"), (On::Nic, "NIC")];
const BOARDS: [(&str, &str, u16); 2] = [(L4, "LANai 4", 16), (L7, "LANai 7", 8)];

/// A curve through the points that were measured.
pub(crate) fn curve(name: String, points: impl Iterator<Item = (f64, Option<f64>)>) -> Curve {
    let points = points.filter_map(|(x, y)| {
        Some(Point {
            x,
            y: y?,
            error: None,
        })
    });
    Curve {
        name,
        points: points.collect(),
    }
}

/// A panel without marks, of the curves that have points.
pub(crate) fn panel(title: &str, x: (&str, Scale), y: (&str, Scale), curves: Vec<Curve>) -> Panel {
    let axis = |(label, scale): (&str, Scale)| Axis {
        label: label.into(),
        scale,
    };
    Panel {
        title: title.into(),
        x: axis(x),
        y: axis(y),
        curves: curves
            .into_iter()
            .filter(|one| !one.points.is_empty())
            .collect(),
        marks: Vec::new(),
    }
}

/// Published points of a table, at a horizontal position each.
fn marks(table: Table, places: &[(&str, f64)]) -> Vec<Mark> {
    let found = places.iter().filter_map(|&(id, x)| {
        let figure = table.figures().iter().find(|figure| figure.id == id)?;
        Some(Mark {
            x,
            y: figure.value,
            id: id.into(),
            what: format!("{} {}", figure.scheme, figure.quantity),
        })
    });
    found.collect()
}

/// A figure with the name of its files.
pub(crate) fn named(file: &str, title: &str, panels: Vec<Panel>) -> Named {
    let figure = Figure {
        title: title.into(),
        panels,
    };
    (file.into(), figure)
}

const BY_NODES: (&str, Scale) = ("nodes", Scale::Log2);
const TIME: (&str, Scale) = ("time, us", Scale::Linear);
const LONG_TIME: (&str, Scale) = ("time, us", Scale::Log10);
const GAIN: (&str, Scale) = ("host / NIC", Scale::Linear);
const HOST_TIME: (&str, Scale) = ("time of the host, us", Scale::Linear);
const BARRIER: Table = Table::Barrier;

fn barrier(results: &Results) -> Vec<Named> {
    let latency = |board, marked: &[(&str, f64)], title: &str| {
        let mut curves = Vec::new();
        for (tree, algorithm) in [(false, "exchange"), (true, "tree")] {
            for (on, place) in PLACES {
                let nodes = [2, 4, 7, 8, 16].into_iter();
                let points =
                    nodes.map(|nodes| (f64::from(nodes), results.barrier(board, on, nodes, tree)));
                curves.push(curve(format!("{algorithm}, {place}"), points));
            }
        }
        let mut panel = panel(title, BY_NODES, TIME, curves);
        panel.marks = marks(BARRIER, marked);
        panel
    };
    let old = [("dissertation-069", 16.0), ("dissertation-070", 16.0)];
    let new = [("dissertation-074", 8.0), ("dissertation-075", 8.0)];
    let gains = BOARDS.into_iter().flat_map(|(board, name, _)| {
        [(false, "exchange"), (true, "tree")].map(|(tree, algorithm)| {
            let gain = |nodes| {
                let on = |on| results.barrier(board, on, nodes, tree);
                Some(on(On::Host)? / on(On::Nic)?)
            };
            let points = NODES
                .into_iter()
                .map(|nodes| (f64::from(nodes), gain(nodes)));
            curve(format!("{name}, {algorithm}"), points)
        })
    });
    let mut gains = panel("gain", BY_NODES, GAIN, gains.collect());
    gains.marks = marks(
        BARRIER,
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
    vec![
        named("barrier-3.6", "Barriers (figure 3.6)", panels),
        fine(results),
        efficiency(results),
        varied(results),
        synthetic(results),
    ]
}

fn fine(results: &Results) -> Named {
    let curves = BOARDS.into_iter().flat_map(|(board, name, _)| {
        PLACES.map(|(on, place)| {
            let points = FINE_NS.into_iter().map(|compute_ns| {
                let what = What::Loop {
                    compute_ns,
                    percent: 0,
                };
                (compute_ns as f64 / 1e3, results.at(board, on, 8, what))
            });
            curve(format!("{name}, {place}"), points)
        })
    });
    let x = ("computation, us", Scale::Linear);
    let panel = panel("8 nodes", x, TIME, curves.collect());
    named(
        "barrier-3.10",
        "A loop of computation and barrier (figure 3.10)",
        vec![panel],
    )
}

fn efficiency(results: &Results) -> Named {
    let panels = EFFICIENCIES.map(|percent| {
        let curves = BOARDS.into_iter().flat_map(|(board, name, _)| {
            PLACES.map(|(on, place)| {
                let points = NODES.into_iter().map(|nodes| {
                    (
                        f64::from(nodes),
                        results.at(board, on, nodes, What::Least { percent }),
                    )
                });
                curve(format!("{name}, {place}"), points)
            })
        });
        let title = format!("efficiency 0.{percent}");
        let mut panel = panel(
            &title,
            BY_NODES,
            ("computation, us", Scale::Linear),
            curves.collect(),
        );
        let ids: &[(&str, f64)] = match percent {
            50 => &[
                ("dissertation-103", 16.0),
                ("dissertation-104", 16.0),
                ("dissertation-105", 8.0),
                ("dissertation-106", 8.0),
            ],
            90 => &[
                ("dissertation-107", 16.0),
                ("dissertation-108", 16.0),
                ("dissertation-109", 8.0),
                ("dissertation-110", 8.0),
            ],
            _ => &[],
        };
        panel.marks = marks(BARRIER, ids);
        panel
    });
    named(
        "barrier-3.11",
        "Least computation for an efficiency (figure 3.11)",
        panels.into(),
    )
}

fn varied(results: &Results) -> Named {
    let at = |on, us: u64, percent| {
        let what = What::Loop {
            compute_ns: us * 1_000,
            percent,
        };
        results.at(L4, on, 16, what)
    };
    let points = |value: &dyn Fn(u64) -> Option<f64>| {
        let points = VARIED_US.map(|us| (us as f64, value(us)));
        points.into_iter()
    };
    let loops = PLACES.map(|(on, place)| curve(place.into(), points(&|us| at(on, us, 20))));
    let gaps = VARIED_PERCENT.map(|percent| {
        let gap = |us| Some(at(On::Host, us, percent)? - at(On::Nic, us, percent)?);
        curve(format!("{percent} %"), points(&gap))
    });
    let x = ("mean computation, us", Scale::Log2);
    let panels = vec![
        panel("20 % (figure 3.12)", x, LONG_TIME, loops.into()),
        panel(
            "difference (figure 3.13)",
            x,
            ("host - NIC, us", Scale::Linear),
            gaps.into(),
        ),
    ];
    named(
        "barrier-3.12",
        "Computation that varies, LANai 4, 16 nodes",
        panels,
    )
}

fn synthetic(results: &Results) -> Named {
    let total = |steps: u64| (5 * steps * (steps + 1)) as f64;
    let x = ("computation, us", Scale::Linear);
    let mut times = Vec::new();
    let mut gains = Vec::new();
    for (board, name, most) in BOARDS {
        for (on, place) in PLACES {
            let points = STEPS.map(|steps| {
                (
                    total(steps),
                    results.at(board, on, most, What::Synthetic { steps }),
                )
            });
            times.push(curve(format!("{name}, {place}"), points.into_iter()));
        }
        let points = STEPS.map(|steps| {
            (
                total(steps),
                results.gain(board, most, What::Synthetic { steps }),
            )
        });
        gains.push(curve(name.into(), points.into_iter()));
    }
    let mut gains = panel("gain", x, GAIN, gains);
    gains.marks = marks(
        BARRIER,
        &[
            ("dissertation-123", 360.0),
            ("dissertation-124", 2_100.0),
            ("dissertation-125", 360.0),
            ("dissertation-126", 2_100.0),
        ],
    );
    let panels = vec![panel("time", x, TIME, times), gains];
    named(
        "barrier-3.14",
        "Synthetic applications (figure 3.14)",
        panels,
    )
}

/// Curves on both places for both types.
fn typed(
    results: &Results,
    xs: &[(f64, u16)],
    what: impl Fn(lanigon_worlds::programs::collective::Type, f64) -> What,
) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (of, name) in TYPES {
        for (on, place) in PLACES {
            let points = xs
                .iter()
                .map(|&(x, nodes)| (x, results.at(L9, on, nodes, what(of, x))));
            curves.push(curve(format!("{name}, {place}"), points));
        }
    }
    curves
}

fn reduction(results: &Results) -> Vec<Named> {
    let mut all = trees(results);
    all.extend(processor(results));
    all
}

/// A figure with one panel.
fn single(number: &str, title: &str, panel: Panel) -> Named {
    let title = format!("{title} (figure {number})");
    named(&format!("reduction-{number}"), &title, vec![panel])
}

/// Latencies along trees.
fn trees(results: &Results) -> Vec<Named> {
    let by_nodes = NODES.map(|nodes| (f64::from(nodes), nodes));
    let by_depth = TREES.map(|nodes| (f64::from(nodes - 1), nodes));
    let curves =
        |xs: &[(f64, u16)], form| typed(results, xs, move |of, _| What::Reduction { form, of });
    let panels = [
        (
            "binomial trees",
            BY_NODES,
            curves(&by_nodes, Form::Binomial),
        ),
        (
            "chains",
            ("depth", Scale::Linear),
            curves(&by_depth, Form::Chain),
        ),
        (
            "stars",
            ("degree", Scale::Linear),
            curves(&by_depth, Form::Star),
        ),
    ];
    let numbers = ["4.3", "4.4", "4.5"].into_iter();
    let figures = numbers.zip(panels).map(|(number, (title, x, curves))| {
        single(number, "Reductions", panel(title, x, TIME, curves))
    });
    figures.collect()
}

/// The hosts' times.
fn processor(results: &Results) -> Vec<Named> {
    let by_nodes = NODES.map(|nodes| (f64::from(nodes), nodes));
    let by_skew = SKEWS_US.map(|us| (us as f64, 16));
    let fixed = |skew_us| {
        typed(results, &by_nodes, move |of, _| What::Processor {
            of,
            skew_us,
        })
    };
    let varied = typed(results, &by_skew, |of, x| What::Processor {
        of,
        skew_us: x as u64,
    });
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

const ALGORITHMS: [(On, Broadcast, &str); 4] = [
    (
        On::Host,
        Broadcast::RecursiveDoubling,
        "recursive doubling, host",
    ),
    (On::Host, Broadcast::Ring, "ring, host"),
    (
        On::Nic,
        Broadcast::RecursiveDoubling,
        "recursive doubling, NIC",
    ),
    (
        On::Nic,
        Broadcast::ConcurrentBroadcasting,
        "concurrent, NIC",
    ),
];

fn gossip(results: &Results) -> Vec<Named> {
    let by_bytes = |value: &dyn Fn(f64, f64) -> f64, range: std::ops::RangeInclusive<usize>| {
        let curves = ALGORITHMS.map(|(on, algorithm, name)| {
            let bytes = BLOCKS.into_iter().filter(|bytes| range.contains(bytes));
            let points = bytes.map(|bytes| {
                let us = results.all_to_all(on, 16, algorithm, bytes);
                (bytes as f64, us.map(|us| value(bytes as f64, us)))
            });
            curve(name.into(), points)
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
        let points = BLOCKS.map(|bytes| (bytes as f64, results.gossip_gain(16, algorithm, bytes)));
        curve(format!("{algorithm:?}"), points.into_iter())
    });
    let mut gains = panel("16 nodes", bytes, GAIN, gains.into());
    gains.marks = marks(
        Table::Gossip,
        &[("gossip-016", 4_096.0), ("gossip-017", 64.0)],
    );
    let scaling = [4_usize, 4_096].map(|bytes| {
        let curves = ALGORITHMS.map(|(on, algorithm, name)| {
            let points = NODES.map(|nodes| {
                (
                    f64::from(nodes),
                    results.all_to_all(on, nodes, algorithm, bytes),
                )
            });
            curve(name.into(), points.into_iter())
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
