//! The best trees and the cost model, for programs.

use serde::Serialize;

use super::model::Model;
use super::points::{self, LONG, NODES, USUAL, WAYS};
use lanigon_experiments::grid::Points;

/// The best tree for a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct BestTree {
    /// Number of nodes.
    pub nodes: u16,
    /// Whether boards copy packets.
    pub multi_send: bool,
    /// Whether packets are sent on one by one.
    pub pipelined: bool,
    /// Bytes of the message.
    pub bytes: u32,
    /// The least lambda of the tree.
    pub lambda: u32,
    /// Time, in us.
    pub us: f64,
}

/// Parts of the document beside rows, claims and points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Extra {
    /// The cost model.
    model: Option<Model>,
    /// The best trees.
    best: Vec<BestTree>,
}

impl Extra {
    pub(super) fn from_points(points: &Points) -> Self {
        Self {
            model: Model::fit(points, USUAL),
            best: best(points),
        }
    }
}

/// The best trees of long messages.
fn best(of: &Points) -> Vec<BestTree> {
    let cases = NODES
        .into_iter()
        .flat_map(|nodes| WAYS.map(|way| (nodes, way)));
    let of = |(nodes, way)| {
        let (us, lambda) = points::best(of, nodes, way, LONG)?;
        Some(BestTree {
            nodes,
            multi_send: way.multi_send,
            pipelined: way.pipelined,
            bytes: LONG,
            lambda,
            us,
        })
    };
    cases.filter_map(of).collect()
}
