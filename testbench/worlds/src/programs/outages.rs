//! Resets of nodes, as programs without a reliable protocol know them. Nothing on an Ethernet says that a node is gone or back, so a
//! receiver is told how often a sender begins anew.

use std::collections::BTreeMap;

use emulator::sim::time::SimTime;

/// The resets of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// ProgramLife of the node's program after all resets.
    pub last_life: u16,
    /// Time at which that life begins; 0 if it is the first.
    pub begins_ps: u64,
}

/// The resets of all nodes that have any, and the ends of cuts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outages {
    of_nodes: BTreeMap<u16, Outage>,
    /// Cables that are cut for a time: from when until when.
    cuts: Vec<(SimTime, SimTime)>,
}

impl Outages {
    /// Outages that follow from resets in any order: node, time, pause until the program begins anew (`None`: never).
    #[must_use]
    pub fn new(resets: impl IntoIterator<Item = (u16, SimTime, Option<SimTime>)>) -> Self {
        let mut of_nodes: BTreeMap<u16, Vec<(SimTime, Option<SimTime>)>> = BTreeMap::new();
        for (node, at, pause) in resets {
            of_nodes.entry(node).or_default().push((at, pause));
        }
        let outage = |mut resets: Vec<(SimTime, Option<SimTime>)>| {
            resets.sort_unstable();
            let nexts = resets.iter().skip(1).map(|(at, _)| *at);
            let nexts = nexts.chain([SimTime::MAX]);
            let starts = resets.iter().zip(nexts).filter_map(|(&(at, pause), next)| {
                // Another reset within the pause counts instead.
                let start = at.saturating_add(pause?);
                (start < next).then_some(start)
            });
            let starts: Vec<_> = starts.collect();
            Outage {
                last_life: u16::try_from(starts.len()).unwrap_or(u16::MAX),
                begins_ps: starts.last().map_or(0, |start| start.ps()),
            }
        };
        let outages = of_nodes.into_iter();
        Self {
            of_nodes: outages
                .map(|(node, resets)| (node, outage(resets)))
                .collect(),
            cuts: Vec::new(),
        }
    }

    /// Cables are cut from these times to these, too.
    #[must_use]
    pub fn with_cuts(self, cuts: impl IntoIterator<Item = (SimTime, SimTime)>) -> Self {
        let cuts = cuts.into_iter().collect();
        Self { cuts, ..self }
    }

    /// When all cables are plugged in again that were cut up to now and not for good; 0 if there are none. A receiver waits for what
    /// comes behind that.
    #[must_use]
    pub fn links_back_ps(&self, now_ps: u64) -> u64 {
        let begun = self.cuts.iter().filter(|(from, _)| from.ps() <= now_ps);
        begun.map(|(_, until)| until.ps()).max().unwrap_or_default()
    }

    /// Whether any node is reset.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.of_nodes.is_empty()
    }

    /// Number of nodes that are reset.
    #[must_use]
    pub fn nodes(&self) -> u64 {
        self.of_nodes.len() as u64
    }

    /// The resets of this node, if there are any.
    #[must_use]
    pub fn outage_of(&self, node: u16) -> Option<Outage> {
        self.of_nodes.get(&node).copied()
    }

    /// The life of this node's program after all resets.
    #[must_use]
    pub fn last_life(&self, node: u16) -> u16 {
        self.outage_of(node).map_or(0, |outage| outage.last_life)
    }

    /// Time at which this node's last life begins; 0 if it is the first.
    #[must_use]
    pub fn begins_ps(&self, node: u16) -> u64 {
        self.outage_of(node).map_or(0, |outage| outage.begins_ps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_are_counted_by_restarts() {
        let us = SimTime::from_us;
        let check = |resets: &[(u64, Option<u64>)], last_life, begins_us| {
            let resets = resets.iter().map(|&(at, pause)| (7, us(at), pause.map(us)));
            let expected = Outage {
                last_life,
                begins_ps: us(begins_us).ps(),
            };
            assert_eq!(Outages::new(resets).outage_of(7), Some(expected));
        };
        check(&[(10, Some(5))], 1, 15);
        check(&[(10, None)], 0, 0);
        check(&[(20, Some(1)), (10, Some(5))], 2, 21);
        check(&[(10, Some(15)), (20, Some(1))], 1, 21);
        check(&[(10, Some(5)), (20, None)], 1, 15);
        assert_eq!(Outages::default().outage_of(7), None);
        assert_eq!(Outages::default().last_life(7), 0);
    }
}
