//! Owners: the process of a run that simulates each switch of an Ethernet.

use super::event::Step;
use super::line::Line;
use crate::port::Port;

/// The process that executes each node and carries out each switch, by their numbers. A line belongs to the process of the port where
/// frames enter it; what happens to a frame at its end, to that of the port there.
#[derive(Debug)]
pub(super) struct Owners {
    pub(super) me: usize,
    nodes: Vec<usize>,
    switches: Vec<usize>,
}

impl Owners {
    /// Each switch belongs to the process that has most of the nodes at its ports; one without nodes, to that of most of the switches
    /// around it. `owners`: of the nodes.
    pub(super) fn new(me: usize, owners: &[usize], lines: &[Line], switches: usize) -> Self {
        let mut all = Self {
            me,
            nodes: owners.to_vec(),
            switches: vec![0; switches],
        };
        let mut known = vec![false; switches];
        loop {
            let mut votes: Vec<Vec<usize>> = vec![Vec::new(); switches];
            for line in lines {
                let (from, to) = (line.lane.from(), line.lane.to());
                let is_known = match from {
                    Port::Node(_) => true,
                    Port::Switch { switch, .. } => known[switch],
                };
                if let Port::Switch { switch, .. } = to
                    && is_known
                    && !known[switch]
                {
                    votes[switch].push(all.owner(from));
                }
            }
            if votes.iter().all(Vec::is_empty) {
                return all;
            }
            for (switch, votes) in votes.iter().enumerate() {
                if let Some(owner) = most_frequent(votes) {
                    all.switches[switch] = owner;
                    known[switch] = true;
                }
            }
        }
    }

    /// The process of a port.
    pub(super) fn owner(&self, port: Port) -> usize {
        let owner = match port {
            Port::Node(node) => self.nodes.get(node),
            Port::Switch { switch, .. } => self.switches.get(switch),
        };
        // What was added later belongs to the first process.
        owner.copied().unwrap_or(0)
    }

    /// The process at which a step of a frame on a line happens.
    pub(super) fn of_step(&self, step: Step, line: &Line) -> usize {
        match step {
            Step::Header | Step::Whole(_) => self.owner(line.lane.to()),
            Step::Announce | Step::Layer(_) => self.owner(line.lane.from()),
        }
    }

    /// The process of a port, if it is another one.
    pub(super) fn elsewhere(&self, port: Port) -> Option<usize> {
        Some(self.owner(port)).filter(|&owner| owner != self.me)
    }
}

/// The lowest one of the numbers that occur most often.
fn most_frequent(numbers: &[usize]) -> Option<usize> {
    let count = |number: usize| numbers.iter().filter(|&&other| other == number).count();
    let distinct = numbers.iter().copied();
    distinct.max_by_key(|&number| (count(number), std::cmp::Reverse(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::link::Link;
    use emulator_base::time::SimTime;

    /// `cables`: each between two ports; returns the owners of the switches.
    fn check(nodes: &[usize], cables: &[(Port, Port)], expected: &[usize]) {
        let link = Link {
            byte_time: SimTime::from_ns(8),
            propagation: SimTime::ZERO,
        };
        let lines = cables
            .iter()
            .flat_map(|&(a, b)| [(a, b), (b, a)])
            .map(|(from, to)| Line::new(from, to, link));
        let lines: Vec<_> = lines.collect();
        let owners = Owners::new(0, nodes, &lines, expected.len());
        assert_eq!(owners.switches, expected);
    }

    #[test]
    fn switches_belong_to_their_nodes_or_their_neighbours() {
        let node = Port::Node;
        let port = |switch, port| Port::Switch { switch, port };
        let star = [0, 1, 2].map(|index| (node(index), port(0, index)));
        check(&[0, 1, 1], &star, &[1]);
        check(&[1, 0, 2], &star, &[0]);
        check(&[], &[], &[0]);
        // Switch 0 is the root of three switches with nodes; switch 4 hangs at switch 3.
        let tree = [
            (port(0, 0), port(1, 0)),
            (port(0, 1), port(2, 0)),
            (port(0, 2), port(3, 0)),
            (node(0), port(1, 1)),
            (node(1), port(2, 1)),
            (node(2), port(3, 1)),
            (port(3, 2), port(4, 0)),
        ];
        check(&[0, 1, 1], &tree, &[1, 0, 1, 1, 1]);
        check(&[0, 1, 2], &tree, &[0, 0, 1, 2, 2]);
    }
}
