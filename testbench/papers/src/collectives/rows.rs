//! The published figures beside the measured ones.

use lanigon_workloads::collective::{Broadcast, Type};

use super::ExecutedOn;
use super::key::{BLOCKS, FINE_NS, Form, L9, LONG_BLOCK, Metric, NODES, SKEWS_US, TREES};
use super::results::Results;
use lanigon_experiments::published::Published;

use super::chapter::Chapter;

/// The figures on which these chapters are calibrated and which are rows themselves: a board's clock, and the time of a call of
/// message passing. The other testbed's host barrier is the product of dissertation-069 and 071.
pub(super) const CALIBRATED_ON: [&str; 2] = ["dissertation-075", "dissertation-086"];

/// The own value for a figure.
pub(super) fn value(chapter: Chapter, figure: &Published, results: &Results) -> Option<f64> {
    match chapter {
        Chapter::Barrier => barrier(figure, results),
        Chapter::Reduction => reduction(figure, results),
        Chapter::Gossip => gossip(figure, results),
        Chapter::MpiBarrier => mpi_barrier(figure, results),
    }
}

/// Difference of the measurement from the publication's.
pub(super) fn note(figure: &Published) -> &'static str {
    match figure.id {
        "dissertation-071" | "dissertation-089" => "the host's part is calibrated",
        _ => "",
    }
}

/// The place that a scheme names; `None`: it compares both.
fn place(scheme: &str) -> Option<ExecutedOn> {
    match scheme.rsplit(' ').next() {
        Some("host") => Some(ExecutedOn::Host),
        Some("nic") => Some(ExecutedOn::Nic),
        _ => None,
    }
}

fn largest(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.reduce(f64::max)
}

fn barrier(figure: &Published, results: &Results) -> Option<f64> {
    let (board, nodes) = (figure.profile, figure.nodes);
    let tree = figure.scheme.starts_with("gb");
    let both = |value: &dyn Fn(ExecutedOn) -> Option<f64>| match place(figure.scheme) {
        Some(on) => value(on),
        None => Some(value(ExecutedOn::Host)? / value(ExecutedOn::Nic)?),
    };
    match figure.experiment {
        "latency" => both(&|on| results.barrier(board, on, nodes, tree)),
        _ => None,
    }
}

fn mpi_barrier(figure: &Published, results: &Results) -> Option<f64> {
    let (board, nodes) = (figure.profile, figure.nodes);
    let at = |what| move |on| results.at(board, on, nodes, what);
    let both = |what| match place(figure.scheme) {
        Some(on) => at(what)(on),
        None => Some(at(what)(ExecutedOn::Host)? / at(what)(ExecutedOn::Nic)?),
    };
    match figure.experiment {
        "latency" => both(Metric::Mpi),
        "overhead" => mpi_adds(results, board, nodes),
        "granularity" => flat_us(results, board, ExecutedOn::Host),
        "efficiency 0.50" => both(Metric::Least { percent: 50 }),
        "efficiency 0.90" => both(Metric::Least { percent: 90 }),
        "saved 0.90" => {
            let least = at(Metric::Least { percent: 90 });
            Some(100.0 * (1.0 - least(ExecutedOn::Nic)? / least(ExecutedOn::Host)?))
        }
        "synthetic 360" => both(Metric::Synthetic { steps: 8 }),
        "synthetic 2100" => both(Metric::Synthetic { steps: 20 }),
        _ => None,
    }
}

/// Time that message passing adds to a barrier on boards, in us.
pub(super) fn mpi_adds(results: &Results, board: &'static str, nodes: u16) -> Option<f64> {
    let at = |what| results.at(board, ExecutedOn::Nic, nodes, what);
    Some(at(Metric::Mpi)? - at(Metric::Exchange)?)
}

/// A loop is flat as long as it takes at most 5 % longer than with the shortest computation.
const FLAT: f64 = 1.05;

/// The longest computation with which a loop of 8 nodes is flat, in us, between the measured ones.
pub(super) fn flat_us(results: &Results, board: &'static str, on: ExecutedOn) -> Option<f64> {
    let time = |compute_ns| results.at(board, on, 8, Metric::looped(compute_ns, 0));
    let limit = FLAT * time(FINE_NS[0])?;
    let (mut x, mut y) = (FINE_NS[0] as f64 / 1e3, time(FINE_NS[0])?);
    for compute_ns in FINE_NS {
        let (next_x, next_y) = (compute_ns as f64 / 1e3, time(compute_ns)?);
        if next_y > limit {
            return Some(x + (next_x - x) * (limit - y) / (next_y - y));
        }
        (x, y) = (next_x, next_y);
    }
    Some(x)
}

fn reduction(figure: &Published, results: &Results) -> Option<f64> {
    let of = match figure.scheme {
        "float" => Type::Float,
        _ => Type::Integer,
    };
    let gain = |nodes, what| results.gain(L9, nodes, what);
    let last = TREES[TREES.len() - 1];
    match figure.experiment {
        "latency" => {
            let form = Form::Binomial;
            largest(
                NODES
                    .iter()
                    .filter_map(|nodes| gain(*nodes, Metric::Reduction { form, of })),
            )
        }
        "depth" => {
            let more = |nodes| Some(-nic_minus_host(results, nodes, Form::Chain, of)?);
            Some((more(last)? - more(2)?) / f64::from(last - 2))
        }
        "degree" => {
            let more = |nodes| nic_minus_host(results, nodes, Form::Star, of);
            match figure.unit {
                "us" => more(2),
                _ => Some((more(last)? - more(2)?) / f64::from(last - 2)),
            }
        }
        "cpu" => gain(16, Metric::Processor { of, skew_us: 0 }),
        "cpu skew" => {
            let gains = SKEWS_US.iter();
            let gains = gains.filter_map(|&skew_us| gain(16, Metric::Processor { of, skew_us }));
            largest(gains)
        }
        "cpu skew 200" => gain(16, Metric::Processor { of, skew_us: 200 }),
        "cpu skew 1000" => {
            let skew_us = 1_000;
            let types = [Type::Integer, Type::Float].into_iter();
            largest(types.filter_map(|of| gain(16, Metric::Processor { of, skew_us })))
        }
        _ => None,
    }
}

/// Time by which a reduction takes longer on boards, in us.
pub(super) fn nic_minus_host(results: &Results, nodes: u16, form: Form, of: Type) -> Option<f64> {
    let on = |on| results.at(L9, on, nodes, Metric::Reduction { form, of });
    Some(on(ExecutedOn::Nic)? - on(ExecutedOn::Host)?)
}

fn gossip(figure: &Published, results: &Results) -> Option<f64> {
    let gain = |algorithm: Broadcast, bytes| results.gossip_gain(16, algorithm, bytes);
    let long = || BLOCKS.into_iter().filter(|bytes| *bytes >= LONG_BLOCK);
    let concurrent = Broadcast::ConcurrentBroadcasting;
    let doubling = Broadcast::RecursiveDoubling;
    match figure.scheme {
        "cb" => largest(long().filter_map(|bytes| gain(concurrent, bytes))),
        "rd" => {
            let short = BLOCKS.into_iter().filter(|bytes| *bytes < LONG_BLOCK);
            largest(short.filter_map(|bytes| gain(doubling, bytes)))
        }
        "best" => {
            let gains = long().flat_map(|bytes| [gain(concurrent, bytes), gain(doubling, bytes)]);
            largest(gains.flatten())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::{Key, keys};
    use std::collections::BTreeMap;

    use lanigon_experiments::experiment::Experiment;
    use lanigon_experiments::paper::Amount;
    use lanigon_experiments::row::Row;
    use lanigon_experiments::verdict::JudgedClaim;

    use super::super::Collectives;
    use super::super::chapter::PAPERS;
    use super::*;

    fn of(chapter: Chapter) -> Collectives {
        Collectives {
            chapter,
            amount: Amount::Usual,
            boards: BTreeMap::new(),
            rounds: 200,
            interrupt: std::sync::Arc::default(),
        }
    }

    fn rows(chapter: Chapter, results: &Results) -> Vec<Row> {
        of(chapter).rows(&PAPERS[chapter as usize], results)
    }

    fn judge(chapter: Chapter, results: &Results) -> Vec<JudgedClaim> {
        of(chapter).claims(results)
    }
    use lanigon_experiments::interval::Estimate;

    /// Results in which the NIC is twice as fast as the host everywhere, or `nic` times as slow.
    fn results(table: Chapter, nic: f64) -> Results {
        let value = |key: Key| match key.on {
            ExecutedOn::Host => 100.0 * f64::from(key.nodes),
            ExecutedOn::Nic => nic * 100.0 * f64::from(key.nodes),
        };
        let points = keys(table, false);
        Results {
            points: points
                .into_iter()
                .map(|key| (key, Estimate::single(value(key))))
                .collect(),
            ..Results::default()
        }
    }

    #[test]
    fn every_figure_has_an_answer_in_a_whole_and_a_quick_run() {
        for table in Chapter::ALL {
            let whole = results(table, 0.5);
            let quick = keys(table, true);
            let quick = Results {
                points: whole
                    .points
                    .clone()
                    .into_iter()
                    .filter(|(key, _)| quick.contains(key))
                    .collect(),
                ..Results::default()
            };
            for results in [&whole, &quick] {
                for row in rows(table, results) {
                    assert!(row.measured.is_some(), "{row:?}");
                }
                let open = judge(table, results);
                let missing = open.iter().filter(|one| one.evidence.contains("missing"));
                assert_eq!(missing.count(), 0, "{open:?}");
            }
            for row in rows(table, &Results::default()) {
                assert_eq!((row.measured, row.role), (None, "not measured"));
            }
        }
    }

    #[test]
    fn a_gain_is_the_host_against_the_nic() {
        let results = results(Chapter::Barrier, 0.5);
        let row = |id: &str| {
            let mut all = rows(Chapter::Barrier, &results).into_iter();
            all.find(|row| row.id == Some(id)).unwrap()
        };
        assert_eq!(row("dissertation-071").measured, Some(2.0));
        assert_eq!(row("dissertation-074").measured, Some(400.0));
        assert_eq!(row("dissertation-075").measured, Some(800.0));
        assert_eq!(row("dissertation-075").role, "calibrated");
    }

    #[test]
    fn claims_can_hold_and_fail() {
        let holds = |nic, id: &str| {
            let judged = judge(Chapter::Reduction, &results(Chapter::Reduction, nic));
            judged.into_iter().find(|one| one.id == id).unwrap().holds
        };
        assert_eq!(holds(2.0, "dissertation-153"), Some(true));
        assert_eq!(holds(0.5, "dissertation-153"), Some(false));
    }
}
