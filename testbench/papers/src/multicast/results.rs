//! All measured points, as rows, claims and figures take them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use host_lib::fm::predict::{Costs, Line};
use lanigon_experiments::Error;
use lanigon_experiments::error::profile;
use lanigon_experiments::verdict::Sample;
use lanigon_workloads::multicast::Way;
use rayon::prelude::*;

use super::key::{Key, PACKETS, Point, Variant, lambdas};
use super::model::Model;

/// Rounds of the runs for the cost model.
const MODEL_ROUNDS: u64 = 3;
/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The measured points.
    pub points: BTreeMap<Key, Point>,
    /// Fewer points were asked for.
    pub quick: bool,
}

/// The cost model of the publication's nodes, measured by short runs.
///
/// # Errors
/// [`Error`].
pub fn measured_costs(interrupt: &Arc<AtomicBool>) -> Result<Costs, Error> {
    let keys = PACKETS.into_iter().flat_map(|bytes| {
        [
            Key::star(Variant::Usual, 2, false, bytes),
            Key::star(Variant::Usual, 16, true, bytes),
        ]
    });
    let keys: Vec<_> = keys.collect();
    let measure = |key: Key| Ok((key, key.measure(MODEL_ROUNDS, interrupt)?));
    let points = keys.into_par_iter().map(measure);
    let results = Results {
        points: points.collect::<Result<_, Error>>()?,
        ..Results::default()
    };
    let profile = profile(super::PROFILE)?;
    // What the receiving library does for a packet is a call and a copy.
    let handle = Line {
        fixed_ps: profile.host.post.ps(),
        per_byte_ps: profile.host.copy.byte.ps(),
    };
    let model = Model::of(&results, Variant::Usual).ok_or(Error::NoRound)?;
    Ok(model.costs(handle))
}

// Its values are those of single runs, without intervals.
impl Sample for Results {}

impl Results {
    /// A point.
    #[must_use]
    pub fn point(&self, key: Key) -> Option<&Point> {
        self.points.get(&key)
    }

    fn answered_us(&self, key: Key) -> Option<f64> {
        self.point(key).map(|point| point.answered_us)
    }

    /// Time of a send to all destinations, in us: in one multi-send or in many sends.
    #[must_use]
    pub fn star_us(&self, nodes: u16, multi_send: bool, bytes: u32) -> Option<f64> {
        self.answered_us(Key::star(Variant::Usual, nodes, multi_send, bytes))
    }

    /// Ratio of the time of ordinary sends to that of a multi-send.
    #[must_use]
    pub fn star_gain(&self, nodes: u16, bytes: u32) -> Option<f64> {
        Some(self.star_us(nodes, false, bytes)? / self.star_us(nodes, true, bytes)?)
    }

    /// Time of the host-based multicast, in us.
    #[must_use]
    pub fn binomial_us(&self, nodes: u16, bytes: u32) -> Option<f64> {
        self.answered_us(Key::binomial(nodes, bytes))
    }

    /// Time of a multicast along the best tree of the postal model, in us, and its lambda: the least one of several.
    #[must_use]
    pub fn best(&self, nodes: u16, way: Way, bytes: u32) -> Option<(f64, u32)> {
        let mut best: Option<(f64, u32)> = None;
        for lambda in lambdas(nodes) {
            let us = self.answered_us(Key::optimal(nodes, lambda, way, bytes))?;
            if best.is_none_or(|(least, _)| us < least) {
                best = Some((us, lambda));
            }
        }
        best
    }

    /// How many times multi-sends along the best tree are faster than the host-based multicast.
    #[must_use]
    pub fn gain(&self, nodes: u16, pipelined: bool, bytes: u32) -> Option<f64> {
        let way = super::key::way(true, pipelined);
        Some(self.binomial_us(nodes, bytes)? / self.best(nodes, way, bytes)?.0)
    }

    /// How many times multi-sends along the best tree are faster than ordinary sends along their best tree.
    #[must_use]
    pub fn same_gain(&self, nodes: u16, pipelined: bool, bytes: u32) -> Option<f64> {
        let of = |multi_send| self.best(nodes, super::key::way(multi_send, pipelined), bytes);
        Some(of(false)?.0 / of(true)?.0)
    }

    /// What multi-sends cost an ordinary packet of so many bytes, in ns: the delivery with them and without.
    #[must_use]
    pub fn cost_ns(&self, bytes: u32) -> Option<f64> {
        let of = |variant| {
            let point = self.point(Key::star(variant, 2, false, bytes))?;
            point.delivered_us.first().copied()
        };
        Some(1e3 * (of(Variant::Usual)? - of(Variant::Plain)?))
    }
}
