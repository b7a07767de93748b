//! Keys of points, and what Rust computes of points.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_lib::fm::predict::{Costs, LinearCost};
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::grid::{Grid, PointKey, Points};
use lanigon_experiments::paper::ResultRequest;
use lanigon_experiments::{Error, key};
use lanigon_workloads::multicast::SendMethod;
use rayon::prelude::*;

use super::model::Model;

/// Numbers of nodes of the figures.
pub const NODES: [u16; 3] = [4, 8, 16];
/// Lengths of packets from which the cost model is fitted, in bytes.
pub const PACKETS: [u32; 7] = [0, 16, 64, 256, 512, 1024, 1536];
/// The length to which most published factors belong, in bytes.
pub const LONG: u32 = 16_384;
/// The ways of the figures: multi-sends and ordinary sends, pipelined and not.
pub const WAYS: [SendMethod; 4] = [
    method(true, true),
    method(true, false),
    method(false, true),
    method(false, false),
];
/// Rounds of the runs for the cost model.
const MODEL_ROUNDS: i64 = 3;
/// The publication's nodes.
pub const USUAL: &str = "usual";

/// A way.
#[must_use]
pub const fn method(multi_send: bool, pipelined: bool) -> SendMethod {
    SendMethod {
        multi_send,
        pipelined,
    }
}

/// All to all destinations at once: a tree of one level.
#[must_use]
pub fn star(variant: &str, nodes: u16, multi_send: bool, bytes: u32) -> PointKey {
    key![variant, nodes, nodes, multi_send, false, bytes]
}

/// A tree of the postal model; without lambda a binomial one.
#[must_use]
pub fn tree(nodes: u16, lambda: Option<u32>, way: SendMethod, bytes: u32) -> PointKey {
    key![USUAL, nodes, lambda, way.multi_send, way.pipelined, bytes]
}

/// The whole lambdas with different trees: the least one of each.
#[must_use]
pub const fn lambdas(nodes: u16) -> std::ops::RangeInclusive<u32> {
    1..=nodes as u32 - 2
}

/// The cost model of the publication's nodes, measured by short runs.
///
/// # Errors
/// [`Error`].
pub fn measured_costs(interrupt: &Arc<AtomicBool>) -> Result<Costs, Error> {
    let request = ResultRequest {
        interrupt: Arc::clone(interrupt),
        ..ResultRequest::default()
    };
    let grid = Grid::new(super::FILE, &request)?.with("rounds", MODEL_ROUNDS);
    let keys = PACKETS.into_iter().flat_map(|bytes| {
        [(2, false), (16, true)].map(|(nodes, multi)| star(USUAL, nodes, multi, bytes))
    });
    let keys: Vec<_> = keys.collect();
    let measure = |key: PointKey| grid.measure(&key).map(|point| (key, point));
    let points = keys.into_par_iter().map(measure);
    let points = grid.points(MeasuredPoints {
        points: points.collect::<Result<_, Error>>()?,
        partial: false,
    });
    let host = &grid.profiles[0].host;
    // What the receiving library does for a packet is a call and a copy.
    let handle = LinearCost {
        fixed_ps: host.post.ps(),
        per_byte_ps: host.copy.byte.ps(),
    };
    let model = Model::fit(&points, USUAL).ok_or(Error::NoRound)?;
    Ok(model.costs(handle))
}

/// Time of a multicast along the best tree of the postal model, in us, and its lambda: the least one of several.
#[must_use]
pub fn best(points: &Points, nodes: u16, way: SendMethod, bytes: u32) -> Option<(f64, u32)> {
    let mut best: Option<(f64, u32)> = None;
    for lambda in lambdas(nodes) {
        let us = points.at(&tree(nodes, Some(lambda), way, bytes), "answered_us")?;
        if best.is_none_or(|(least, _)| us < least) {
            best = Some((us, lambda));
        }
    }
    best
}
