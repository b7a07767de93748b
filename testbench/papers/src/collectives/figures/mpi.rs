//! Figures of barriers of message passing (dissertation, sections 3.5.2 to 3.5.6).

use super::super::ExecutedOn;
use super::super::chapter::Chapter;
use super::super::key::{
    EFFICIENCIES, FINE_NS, L4, Metric, NODES, STEPS, VARIED_PERCENT, VARIED_US,
};
use super::super::results::Results;
use super::super::rows::mpi_adds;
use super::{
    BOARDS, BY_NODES, GAIN, LONG_TIME, MORE_NODES, NamedFigure, PLACES, Position, TIME, curve,
    marked, named, panel,
};
use lanigon_figures::Scale;

const MPI_BARRIER: Chapter = Chapter::MpiBarrier;

/// All figures.
pub(super) fn figures(results: &Results) -> Vec<NamedFigure> {
    vec![
        overhead(results),
        latency(results),
        fine(results),
        efficiency(results),
        varied(results),
        synthetic(results),
    ]
}

fn overhead(results: &Results) -> NamedFigure {
    let curves =
        BOARDS.map(|(board, name, _)| curve(name, NODES, |nodes| mpi_adds(results, board, nodes)));
    let y = ("MPI - GM, us", Scale::Linear);
    let panel = marked(
        panel("NIC", BY_NODES, y, curves.into()),
        MPI_BARRIER.table(),
        &[("dissertation-082", 16.0), ("dissertation-083", 8.0)],
    );
    named(
        "mpi-barrier-3.7",
        "What message passing adds to a barrier (figure 3.7)",
        vec![panel],
    )
}

fn latency(results: &Results) -> NamedFigure {
    let mut times = Vec::new();
    let mut gains = Vec::new();
    for (board, name, _) in BOARDS {
        for (on, place) in PLACES {
            let at = |nodes| results.at(board, on, nodes, Metric::Mpi);
            times.push(curve(format!("{name}, {place}"), MORE_NODES, at));
        }
        let gain = |nodes| results.gain(board, nodes, Metric::Mpi);
        gains.push(curve(name, MORE_NODES, gain));
    }
    let times = marked(
        panel("latency", BY_NODES, TIME, times),
        MPI_BARRIER.table(),
        &[
            ("dissertation-085", 16.0),
            ("dissertation-086", 16.0),
            ("dissertation-087", 8.0),
            ("dissertation-088", 8.0),
        ],
    );
    let gains = marked(
        panel("gain", BY_NODES, GAIN, gains),
        MPI_BARRIER.table(),
        &[("dissertation-089", 16.0), ("dissertation-090", 8.0)],
    );
    named(
        "mpi-barrier-3.8",
        "Barriers of message passing (figure 3.8)",
        vec![times, gains],
    )
}

/// A computation, at the place of its microseconds.
#[derive(Debug, Clone, Copy)]
struct Ns(u64);

impl Position for Ns {
    fn number(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

fn fine(results: &Results) -> NamedFigure {
    let curves = BOARDS.into_iter().flat_map(|(board, name, _)| {
        PLACES.map(|(on, place)| {
            let time = |ns: Ns| results.at(board, on, 8, Metric::looped(ns.0, 0));
            curve(format!("{name}, {place}"), FINE_NS.map(Ns), time)
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

fn efficiency(results: &Results) -> NamedFigure {
    let panels = EFFICIENCIES.map(|percent| {
        let curves = BOARDS.into_iter().flat_map(|(board, name, _)| {
            PLACES.map(|(on, place)| {
                let least = |nodes| results.at(board, on, nodes, Metric::Least { percent });
                curve(format!("{name}, {place}"), NODES, least)
            })
        });
        let title = format!("efficiency 0.{percent}");
        let y = ("computation, us", Scale::Linear);
        let panel = panel(&title, BY_NODES, y, curves.collect());
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
        marked(panel, MPI_BARRIER.table(), ids)
    });
    named(
        "mpi-barrier-3.11",
        "Least computation for an efficiency (figure 3.11)",
        panels.into(),
    )
}

fn varied(results: &Results) -> NamedFigure {
    let at = |on, us: u64, percent| results.at(L4, on, 16, Metric::looped(us * 1_000, percent));
    let loops = PLACES.map(|(on, place)| curve(place, VARIED_US, |us| at(on, us, 20)));
    let gaps = VARIED_PERCENT.map(|percent| {
        let gap = |us| Some(at(ExecutedOn::Host, us, percent)? - at(ExecutedOn::Nic, us, percent)?);
        curve(format!("{percent} %"), VARIED_US, gap)
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

/// The steps of a synthetic application, at the place of their sum.
#[derive(Debug, Clone, Copy)]
struct Computation(u64);

impl Computation {
    const fn what(self) -> Metric {
        Metric::Synthetic { steps: self.0 }
    }
}

impl Position for Computation {
    fn number(self) -> f64 {
        (5 * self.0 * (self.0 + 1)) as f64
    }
}

fn synthetic(results: &Results) -> NamedFigure {
    let all = STEPS.map(Computation);
    let x = ("computation, us", Scale::Linear);
    let mut times = Vec::new();
    let mut gains = Vec::new();
    for (board, name, most) in BOARDS {
        for (on, place) in PLACES {
            let time = |of: Computation| results.at(board, on, most, of.what());
            times.push(curve(format!("{name}, {place}"), all, time));
        }
        let gain = |of: Computation| results.gain(board, most, of.what());
        gains.push(curve(name, all, gain));
    }
    let gains = marked(
        panel("gain", x, GAIN, gains),
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
