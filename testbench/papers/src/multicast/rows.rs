//! The published figures beside the measured ones.

use super::model::Model;
use super::results::{LONG, PACKETS, Results, USUAL, method};
use lanigon_experiments::published::Published;

/// Bytes of the packet of section 2.1.
const PACKET: u32 = 1536;
/// Destinations there.
const SIX: u32 = 6;

/// Difference of the measurement from the publication's.
pub(super) fn note(figure: &Published) -> &'static str {
    match figure.id {
        "dissertation-010" => "an upper bound is published; mean of seven lengths",
        "dissertation-013" => "of a copy, with its header",
        "dissertation-015" => "of short packets the firmware's time, which is not calibrated",
        "dissertation-026" | "dissertation-027" | "dissertation-028" | "dissertation-029" => {
            "computed by its author from an assumed rate"
        }
        "dissertation-047" => "the same factor is published for 16 KB",
        _ => "",
    }
}

/// The own value for a figure.
pub(super) fn value(figure: &Published, results: &Results) -> Option<f64> {
    let nodes = figure.nodes;
    let bytes = match figure.quantity {
        "8 KB" => 8192,
        _ => LONG,
    };
    match (figure.experiment, figure.scheme) {
        ("model", "plain") => mean_cost_ns(results),
        ("model", _) => {
            let line = line(&Model::fit(results, USUAL)?, figure.scheme)?;
            Some(match figure.unit {
                "us/byte" => line.byte_us,
                _ => line.fixed_us,
            })
        }
        ("model 1536", _) => modelled(&Model::fit(results, USUAL)?, figure.scheme),
        ("combining 1536", _) => modelled(&Model::fit(results, "combining")?, figure.scheme),
        ("multi-send", _) => results.star_gain(nodes, bytes),
        ("pipelined", _) => results.gain(nodes, true, bytes),
        ("whole", _) => results.gain(nodes, false, bytes),
        ("lambda", scheme) => {
            let multi_send = scheme == "optimal";
            let way = method(multi_send, multi_send);
            Some(f64::from(results.best(nodes, way, bytes)?.1))
        }
        _ => None,
    }
}

/// Time that multi-sends cost an ordinary packet of each length, in ns. Single values are uncertain by some 300 ns: the loops in which
/// hosts and boards look for work meet a packet at other moments.
pub(super) fn costs_ns(results: &Results) -> Option<Vec<f64>> {
    let costs = PACKETS.map(|bytes| results.cost_ns(bytes));
    costs.into_iter().collect()
}

/// The mean of these.
pub(super) fn mean_cost_ns(results: &Results) -> Option<f64> {
    let costs = costs_ns(results)?;
    Some(costs.iter().sum::<f64>() / costs.len() as f64)
}

fn line(model: &Model, scheme: &str) -> Option<super::model::LinearTime> {
    match scheme {
        "send" => Some(model.send),
        "transmit" => Some(model.transmit),
        "receive" => Some(model.receive),
        _ => None,
    }
}

/// Times by the formulas of section 2.1, from the fitted lines.
fn modelled(model: &Model, scheme: &str) -> Option<f64> {
    let last = |multi_send| model.last_us(multi_send, SIX, PACKET);
    match scheme {
        "multi" => Some(last(true)),
        "unicast" => Some(last(false)),
        "gain" => Some(last(false) / last(true)),
        _ => line(model, scheme).map(|line| line.time_us(PACKET)),
    }
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::experiment::Experiment;
    use lanigon_experiments::grid::{AxisValue, PointKey, PointValues};
    use lanigon_experiments::paper::Amount;
    use lanigon_experiments::scenarios::{check, made_up};
    use lanigon_workloads::multicast::TreeKind;

    use super::super::results::{NODES, lambdas};
    use super::super::{Multicast, PAPER};

    /// Every send to a destination takes 10 us, and a copy by a board `copy_us`.
    fn point(key: &PointKey, copy_us: f64) -> PointValues {
        let count = |value: &AxisValue| match value {
            AxisValue::Count(count) => *count as f64,
            _ => 1.0,
        };
        let each = if key[3] == true.into() { copy_us } else { 10.0 };
        let (nodes, bytes) = (count(&key[1]), count(&key[5]));
        let ranks = 1..nodes as u32;
        let delivered: Vec<_> = ranks
            .map(|rank| 20.0 + each * f64::from(rank) + bytes / 100.0)
            .collect();
        let answered = delivered[delivered.len() - 1] + count(&key[2]);
        vec![vec![answered], vec![3.0 + bytes / 200.0], delivered]
    }

    #[test]
    fn each_lambda_has_another_tree() {
        for nodes in NODES {
            let tree = |lambda| TreeKind::Optimal { lambda }.build(usize::from(nodes));
            let trees = (1..=u32::from(nodes)).map(|lambda| tree(lambda).unwrap());
            let mut trees: Vec<_> = trees.collect();
            trees.dedup();
            assert_eq!(trees.len(), lambdas(nodes).count());
        }
    }

    #[test]
    fn a_gain_is_many_sends_against_one_and_every_figure_has_an_answer() {
        let gain = |copy_us| {
            let values = check::<Multicast>(&PAPER, |key| point(key, copy_us));
            values["dissertation-042"]
        };
        assert!(gain(1.0) > gain(10.0));
        assert!((gain(10.0) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn claims_can_hold_and_fail() {
        let holds = |copy_us, id: &str| {
            let (multicast, results) =
                made_up::<Multicast>(&PAPER, Amount::Quick, |key| point(key, copy_us));
            let judged = multicast.claims(&results);
            judged.into_iter().find(|one| one.id == id).unwrap().holds
        };
        assert_eq!(holds(1.0, "dissertation-041"), Some(true));
        assert_eq!(holds(20.0, "dissertation-041"), Some(false));
        assert_eq!(holds(1.0, "dissertation-040"), Some(false));
        assert_eq!(holds(20.0, "dissertation-040"), Some(true));
    }
}
