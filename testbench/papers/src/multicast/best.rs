//! The best trees and the cost model: for programs and as text.

use serde::Serialize;

use super::model::Model;
use super::results::{LONG, NODES, Results, USUAL, WAYS};

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
    pub(super) fn from_results(results: &Results) -> Self {
        Self {
            model: Model::fit(results, USUAL),
            best: best(results),
        }
    }
}

/// The best trees of long messages.
fn best(results: &Results) -> Vec<BestTree> {
    let cases = NODES
        .into_iter()
        .flat_map(|nodes| WAYS.map(|way| (nodes, way)));
    let of = |(nodes, way)| {
        let (us, lambda) = results.best(nodes, way, LONG)?;
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

/// The best trees as text.
pub(super) fn text(results: &Results) -> String {
    let line = |best: BestTree| {
        let kind = match best.multi_send {
            true => "multi-sends",
            false => "ordinary sends",
        };
        let way = if best.pipelined {
            "pipelined"
        } else {
            "whole messages"
        };
        format!(
            "{} nodes, {} bytes, {kind}, {way}: lambda {}, {:.2} us\n",
            best.nodes, best.bytes, best.lambda, best.us
        )
    };
    let lines: String = best(results).into_iter().map(line).collect();
    format!("\n{lines}")
}
