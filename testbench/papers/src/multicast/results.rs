//! All measured points, as rows, claims and figures take them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_lib::fm::predict::{Costs, LinearCost};
use lanigon_experiments::execute::MeasuredPoints;
use lanigon_experiments::grid::{Grid, PointKey, Points};
use lanigon_experiments::paper::ResultRequest;
use lanigon_experiments::verdict::Sample;
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

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The measured points.
    pub points: Points,
    /// Lengths of the figures' messages, in bytes.
    pub sizes: Vec<u32>,
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
    let results = Results::from(grid.points(MeasuredPoints {
        points: points.collect::<Result<_, Error>>()?,
        partial: false,
    }));
    let host = &grid.profiles[0].host;
    // What the receiving library does for a packet is a call and a copy.
    let handle = LinearCost {
        fixed_ps: host.post.ps(),
        per_byte_ps: host.copy.byte.ps(),
    };
    let model = Model::fit(&results, USUAL).ok_or(Error::NoRound)?;
    Ok(model.costs(handle))
}

// Its values are those of single runs, without intervals.
impl Sample for Results {}

impl From<Points> for Results {
    fn from(points: Points) -> Self {
        let sizes = points.list("sizes");
        Self { points, sizes }
    }
}

impl AsRef<Points> for Results {
    fn as_ref(&self) -> &Points {
        &self.points
    }
}

impl Results {
    fn answered_us(&self, key: &PointKey) -> Option<f64> {
        self.points.at(key, "answered_us")
    }

    /// Time of a send to all destinations, in us: in one multi-send or in many sends.
    #[must_use]
    pub fn star_us(&self, nodes: u16, multi_send: bool, bytes: u32) -> Option<f64> {
        self.answered_us(&star(USUAL, nodes, multi_send, bytes))
    }

    /// Ratio of the time of ordinary sends to that of a multi-send.
    #[must_use]
    pub fn star_gain(&self, nodes: u16, bytes: u32) -> Option<f64> {
        Some(self.star_us(nodes, false, bytes)? / self.star_us(nodes, true, bytes)?)
    }

    /// Time of the host-based multicast, in us: ordinary sends along a binomial tree.
    #[must_use]
    pub fn binomial_us(&self, nodes: u16, bytes: u32) -> Option<f64> {
        self.answered_us(&tree(nodes, None, method(false, false), bytes))
    }

    /// Time of a multicast along the best tree of the postal model, in us, and its lambda: the least one of several.
    #[must_use]
    pub fn best(&self, nodes: u16, way: SendMethod, bytes: u32) -> Option<(f64, u32)> {
        let mut best: Option<(f64, u32)> = None;
        for lambda in lambdas(nodes) {
            let us = self.answered_us(&tree(nodes, Some(lambda), way, bytes))?;
            if best.is_none_or(|(least, _)| us < least) {
                best = Some((us, lambda));
            }
        }
        best
    }

    /// Factor by which multi-sends along the best tree are faster than the host-based multicast.
    #[must_use]
    pub fn gain(&self, nodes: u16, pipelined: bool, bytes: u32) -> Option<f64> {
        Some(self.binomial_us(nodes, bytes)? / self.best(nodes, method(true, pipelined), bytes)?.0)
    }

    /// Factor by which multi-sends along the best tree are faster than ordinary sends along their best tree.
    #[must_use]
    pub fn same_gain(&self, nodes: u16, pipelined: bool, bytes: u32) -> Option<f64> {
        let of = |multi_send| self.best(nodes, method(multi_send, pipelined), bytes);
        Some(of(false)?.0 / of(true)?.0)
    }

    /// Time that multi-sends cost an ordinary packet of so many bytes, in ns: the delivery with them minus that without.
    #[must_use]
    pub fn cost_ns(&self, bytes: u32) -> Option<f64> {
        let of = |variant| {
            let key = star(variant, 2, false, bytes);
            self.points.at(&key, "delivered_us")
        };
        Some(1e3 * (of(USUAL)? - of("plain")?))
    }
}
