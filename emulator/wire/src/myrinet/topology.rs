//! Topologies: crossbars and cables, as a host knows them once it has mapped a network.

use crate::port::Port;

/// Crossbars and cables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// The number of ports of each crossbar.
    pub crossbars: Vec<usize>,
    /// The cables.
    pub cables: Vec<(Port, Port)>,
}

impl Topology {
    /// Two nodes on a cable.
    #[must_use]
    pub fn pair() -> Self {
        Self {
            crossbars: Vec::new(),
            cables: vec![(0.into(), 1.into())],
        }
    }

    /// Nodes at one crossbar: as many as it has ports, at most.
    #[must_use]
    pub fn one_crossbar(ports: usize, nodes: usize) -> Self {
        let nodes = 0..nodes.min(ports);
        Self {
            crossbars: vec![ports],
            cables: nodes.map(|node| (node.into(), (0, node).into())).collect(),
        }
    }

    /// A tree of crossbars, `levels` deep. Each crossbar has `width` crossbars below it; each one at the bottom has `width` nodes.
    /// The highest port leads up. `width` is at most `ports - 1`.
    #[must_use]
    pub fn tree(ports: usize, levels: u32, width: usize) -> Self {
        let width = width.min(ports.saturating_sub(1));
        let mut topology = Self::default();
        let (mut above, mut level) = (0..1, 0);
        topology.crossbars.push(ports);
        while level + 1 < levels {
            let begin = topology.crossbars.len();
            for up in above {
                for port in 0..width {
                    let below = topology.crossbars.len();
                    topology.crossbars.push(ports);
                    topology.cable((up, port), (below, ports - 1));
                }
            }
            above = begin..topology.crossbars.len();
            level += 1;
        }
        let places = above.flat_map(|crossbar| (0..width).map(move |port| (crossbar, port)));
        for (node, place) in places.enumerate() {
            topology.cable(node, place);
        }
        topology
    }

    /// A Clos network of two stages: crossbars with nodes at their lower half and one cable to each crossbar of the spine.
    /// `leaves` is at most `ports`.
    #[must_use]
    pub fn clos(ports: usize, leaves: usize) -> Self {
        let (half, leaves) = (ports / 2, leaves.min(ports));
        let mut topology = Self {
            crossbars: vec![ports; leaves + half],
            cables: Vec::new(),
        };
        for leaf in 0..leaves {
            for port in 0..half {
                topology.cable(leaf * half + port, (leaf, port));
                topology.cable((leaf, half + port), (leaves + port, leaf));
            }
        }
        topology
    }

    /// Adds a cable.
    pub fn cable(&mut self, a: impl Into<Port>, b: impl Into<Port>) {
        self.cables.push((a.into(), b.into()));
    }

    /// The nodes, in order.
    #[must_use]
    pub fn nodes(&self) -> Vec<usize> {
        let ends = self.cables.iter().flat_map(|&(a, b)| [a, b]);
        let mut nodes: Vec<usize> = ends
            .filter_map(|end| match end {
                Port::Node(node) => Some(node),
                Port::Switch { .. } => None,
            })
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }
}
