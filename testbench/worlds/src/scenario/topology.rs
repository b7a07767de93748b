//! Shorthands for common network shapes.

use emulator::sim::time::SimTime;

use super::error::ScenarioError;
use super::network::{End, LinkSpec, Network, SwitchSpec};
use super::table::Table;

/// The shape of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nodes 0 and 1, 2 and 3, ... on one cable each.
    Pair,
    /// All nodes on one switch.
    Star,
    /// A tree of switches with `ports` ports each, and nodes on its leaves.
    Tree,
    /// As described by `[[switch]]` and `[[link]]`.
    Custom,
    /// No cables.
    None,
}

pub(super) const SHAPES: [(&str, Shape); 5] = [
    ("pair", Shape::Pair),
    ("star", Shape::Star),
    ("tree", Shape::Tree),
    ("custom", Shape::Custom),
    ("none", Shape::None),
];

/// Common properties of a shorthand's links and switches.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) byte_time: SimTime,
    pub(super) propagation: SimTime,
    /// Byte time and propagation time of links between switches.
    pub(super) uplink: (SimTime, SimTime),
    pub(super) switch: SwitchSpec,
}

impl Parts {
    fn link(&self, a: End, b: End) -> LinkSpec {
        let (byte_time, propagation) = match a {
            End::Node(_) => (self.byte_time, self.propagation),
            End::Port { .. } => self.uplink,
        };
        LinkSpec {
            ends: [a, b],
            byte_time,
            propagation,
        }
    }

    fn switch(&self, index: usize, ports: usize) -> SwitchSpec {
        SwitchSpec {
            name: format!("switch{index}"),
            ports,
            ..self.switch.clone()
        }
    }

    pub(super) fn pairs(&self, nodes: usize) -> Network {
        let first = (0..nodes).step_by(2);
        Network {
            switches: Vec::new(),
            links: first
                .map(|node| self.link(End::Node(node), End::Node(node + 1)))
                .collect(),
        }
    }

    pub(super) fn star(&self, nodes: usize) -> Network {
        let port = |port| End::Port { switch: 0, port };
        Network {
            switches: vec![self.switch(0, nodes)],
            links: (0..nodes)
                .map(|node| self.link(End::Node(node), port(node)))
                .collect(),
        }
    }

    /// A tree: leaf switches with `ports - 1` nodes each, joined by further switches up to one root.
    pub(super) fn tree(&self, nodes: usize, ports: usize) -> Network {
        let mut network = Network::default();
        let mut level: Vec<End> = (0..nodes).map(End::Node).collect();
        while level.len() > 1 {
            let room = if level.len() <= ports {
                ports
            } else {
                ports - 1
            };
            let mut next = Vec::new();
            for below in level.chunks(room) {
                let switch = network.switches.len();
                network.switches.push(self.switch(switch, ports));
                for (port, &end) in below.iter().enumerate() {
                    network
                        .links
                        .push(self.link(end, End::Port { switch, port }));
                }
                let port = ports - 1;
                next.push(End::Port { switch, port });
            }
            level = next;
        }
        network
    }
}

/// Number of ports of each switch of a tree.
pub(super) fn tree_ports(table: &mut Table<'_>) -> Result<usize, ScenarioError> {
    table.need("ports")?.integer(3..=256)
}
