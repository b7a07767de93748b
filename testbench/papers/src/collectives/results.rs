//! All measured points, as rows, claims and figures take them.

use std::collections::BTreeMap;

use lanigon_experiments::interval::Estimate;
use lanigon_experiments::verdict::Sample;
use lanigon_workloads::collective::Broadcast;

use super::ExecutedOn;
use super::beyond::MeasuredCase;
use super::key::{Key, Metric};

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The measured points.
    pub points: BTreeMap<Key, Estimate>,
    /// Values of points that no publication has.
    pub beyond: Vec<MeasuredCase>,
}

impl Sample for Results {
    fn means(&mut self) -> Vec<&mut Estimate> {
        self.points.values_mut().collect()
    }

    fn name(&self, place: usize) -> String {
        let key = self.points.keys().nth(place);
        key.map(Key::to_string).unwrap_or_default()
    }
}

impl Results {
    /// A measured value.
    #[must_use]
    pub fn at(&self, board: &'static str, on: ExecutedOn, nodes: u16, what: Metric) -> Option<f64> {
        self.mean_of(Key::new(board, on, nodes, what))
    }

    /// The value of a point.
    #[must_use]
    pub fn mean_of(&self, key: Key) -> Option<f64> {
        self.points.get(&key).map(|point| point.value)
    }

    /// Ratio of the hosts' time to the board's.
    #[must_use]
    pub fn gain(&self, board: &'static str, nodes: u16, what: Metric) -> Option<f64> {
        let on = |on| self.at(board, on, nodes, what);
        on(ExecutedOn::Host)
            .zip(on(ExecutedOn::Nic))
            .map(|(host, nic)| host / nic)
    }

    /// The barrier of a node count, on a tree of the best degree or by exchange.
    #[must_use]
    pub fn barrier(
        &self,
        board: &'static str,
        on: ExecutedOn,
        nodes: u16,
        tree: bool,
    ) -> Option<f64> {
        if !tree {
            return self.at(board, on, nodes, Metric::Exchange);
        }
        let degrees = 1..usize::from(nodes).max(2);
        let times = degrees.filter_map(|degree| self.at(board, on, nodes, Metric::Tree { degree }));
        times.reduce(f64::min)
    }

    /// Time of an all-to-all broadcast.
    #[must_use]
    pub fn all_to_all(
        &self,
        on: ExecutedOn,
        nodes: u16,
        algorithm: Broadcast,
        bytes: usize,
    ) -> Option<f64> {
        self.at(
            super::key::L9_GOSSIP,
            on,
            nodes,
            Metric::AllToAll { algorithm, bytes },
        )
    }

    /// Ratio of the time of recursive doubling on hosts to that of an algorithm on boards.
    #[must_use]
    pub fn gossip_gain(&self, nodes: u16, algorithm: Broadcast, bytes: usize) -> Option<f64> {
        let host = self.all_to_all(ExecutedOn::Host, nodes, Broadcast::RecursiveDoubling, bytes)?;
        Some(host / self.all_to_all(ExecutedOn::Nic, nodes, algorithm, bytes)?)
    }
}
