//! Multicasts over FM's multi-send: the measurements of Buntinas 2003, chapter 2, beside the published figures (docs/fm.md).
//!
//! The file `experiment.toml` holds the measured points, `statements.toml` what is stated of them.

mod best;
pub mod model;
pub mod points;

use lanigon_experiments::grid::Points;
use lanigon_experiments::paper::{ExplainEffect, Paper, start};
use lanigon_experiments::published::PublishedTable;
use lanigon_experiments::scenarios::{Scenarios, ScenariosOf};
use lanigon_experiments::statements::PaperFile;
use serde::Serialize;

/// The points.
pub const FILE: PaperFile = file!("multicast/experiment.toml");

/// The published figures.
pub static TABLE: PublishedTable = table!("multicast");

/// Entry in the list of papers.
pub static PAPER: Paper = Paper {
    name: "multicast",
    about: "Multicasts over FM's multi-send",
    subject: "Multicasts over FM",
    manual: "fm",
    accepts: &[],
    explains: ExplainEffect::Nothing(
        "a multicast has no critical path here; `lanigon plan multicast` tells when each node has the message",
    ),
    table: &TABLE,
    calibrated: &["dissertation-011", "dissertation-012", "dissertation-016"],
    start: start::<ScenariosOf<Multicast>>,
};

/// The experiment.
#[derive(Debug, Clone)]
pub struct Multicast;

impl Scenarios for Multicast {
    const FILE: PaperFile = FILE;
    const STATEMENTS: PaperFile = file!("multicast/statements.toml");

    fn extra(points: &Points) -> impl Serialize {
        best::Extra::from_points(points)
    }
}

#[cfg(test)]
mod tests {
    use lanigon_experiments::experiment::Experiment;
    use lanigon_experiments::grid::{AxisValue, PointKey, PointValues};
    use lanigon_experiments::paper::Amount;
    use lanigon_experiments::scenarios::{check, made_up};
    use lanigon_workloads::multicast::TreeKind;

    use super::*;
    use points::{NODES, lambdas};

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
