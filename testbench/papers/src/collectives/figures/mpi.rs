//! Figures of barriers of message passing (dissertation, sections 3.5.2 to 3.5.6).

use super::super::On;
use super::super::chapter::Chapter;
use super::super::key::{EFFICIENCIES, FINE_NS, L4, NODES, STEPS, VARIED_PERCENT, VARIED_US, What};
use super::super::results::Results;
use super::super::rows::mpi_adds;
use super::{BOARDS, BY_NODES, GAIN, LONG_TIME, Named, PLACES, TIME, curve, marks, named, panel};
use lanigon_figures::Scale;

const MPI_BARRIER: Chapter = Chapter::MpiBarrier;

/// All figures.
pub(super) fn figures(results: &Results) -> Vec<Named> {
    vec![
        overhead(results),
        latency(results),
        fine(results),
        efficiency(results),
        varied(results),
        synthetic(results),
    ]
}

fn overhead(results: &Results) -> Named {
    let curves = BOARDS.map(|(board, name, _)| {
        let adds = |nodes| mpi_adds(results, board, nodes);
        let points = NODES
            .into_iter()
            .map(|nodes| (f64::from(nodes), adds(nodes)));
        curve(name.into(), points)
    });
    let mut panel = panel(
        "NIC",
        BY_NODES,
        ("MPI - GM, us", Scale::Linear),
        curves.into(),
    );
    panel.marks = marks(
        MPI_BARRIER.table(),
        &[("dissertation-082", 16.0), ("dissertation-083", 8.0)],
    );
    named(
        "mpi-barrier-3.7",
        "What message passing adds to a barrier (figure 3.7)",
        vec![panel],
    )
}

fn latency(results: &Results) -> Named {
    let nodes = || [2, 4, 7, 8, 16].into_iter();
    let mut times = Vec::new();
    let mut gains = Vec::new();
    for (board, name, _) in BOARDS {
        for (on, place) in PLACES {
            let at = |nodes| (f64::from(nodes), results.at(board, on, nodes, What::Mpi));
            times.push(curve(format!("{name}, {place}"), nodes().map(at)));
        }
        let gain = |nodes| (f64::from(nodes), results.gain(board, nodes, What::Mpi));
        gains.push(curve(name.into(), nodes().map(gain)));
    }
    let mut times = panel("latency", BY_NODES, TIME, times);
    times.marks = marks(
        MPI_BARRIER.table(),
        &[
            ("dissertation-085", 16.0),
            ("dissertation-086", 16.0),
            ("dissertation-087", 8.0),
            ("dissertation-088", 8.0),
        ],
    );
    let mut gains = panel("gain", BY_NODES, GAIN, gains);
    gains.marks = marks(
        MPI_BARRIER.table(),
        &[("dissertation-089", 16.0), ("dissertation-090", 8.0)],
    );
    named(
        "mpi-barrier-3.8",
        "Barriers of message passing (figure 3.8)",
        vec![times, gains],
    )
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
        "mpi-barrier-3.10",
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
        panel.marks = marks(MPI_BARRIER.table(), ids);
        panel
    });
    named(
        "mpi-barrier-3.11",
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
        "mpi-barrier-3.12",
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
        MPI_BARRIER.table(),
        &[
            ("dissertation-123", 360.0),
            ("dissertation-124", 2_100.0),
            ("dissertation-125", 360.0),
            ("dissertation-126", 2_100.0),
        ],
    );
    let panels = vec![panel("time", x, TIME, times), gains];
    named(
        "mpi-barrier-3.14",
        "Synthetic applications (figure 3.14)",
        panels,
    )
}
