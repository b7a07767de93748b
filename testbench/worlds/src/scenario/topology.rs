//! Shorthands for common network shapes.

use emulator::sim::time::SimTime;

use super::cables::Cables;
use super::error::ScenarioError;
use super::network::{CROSSBAR_PORTS, LinkEnd, LinkSpec, Network, SwitchSpec, crossbar_ports};
use super::table::Table;
use crate::boards::Medium;

/// The shape of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Nodes 0 and 1, 2 and 3, ... on one cable each.
    Pair,
    /// Each node on a cable that leads back to it.
    Loop,
    /// All nodes on one switch.
    Star,
    /// A tree of switches with `ports` ports each, and nodes on its leaves.
    Tree,
    /// A Clos network of two stages of crossbars with `ports` ports each.
    Clos,
    /// As described by `[[switch]]` and `[[link]]`.
    Custom,
    /// No cables.
    None,
}

pub(super) const SHAPES: [(&str, Shape); 7] = [
    ("pair", Shape::Pair),
    ("loop", Shape::Loop),
    ("star", Shape::Star),
    ("tree", Shape::Tree),
    ("clos", Shape::Clos),
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
    pub(super) cables: Cables,
}

impl Parts {
    fn link(&self, a: LinkEnd, b: LinkEnd) -> LinkSpec {
        let (byte_time, propagation) = match a {
            LinkEnd::Node(_) => (self.byte_time, self.propagation),
            LinkEnd::Port { .. } => self.uplink,
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
            links: first
                .map(|node| self.link(LinkEnd::Node(node), LinkEnd::Node(node + 1)))
                .collect(),
            ..Network::default()
        }
    }

    pub(super) fn loops(&self, nodes: usize) -> Network {
        Network {
            links: (0..nodes)
                .map(|node| self.link(LinkEnd::Node(node), LinkEnd::Node(node)))
                .collect(),
            ..Network::default()
        }
    }

    /// Ports of the one switch that joins so many nodes. `None` if there is no such crossbar.
    pub(super) fn star_ports(&self, nodes: usize) -> Option<usize> {
        match self.cables.medium {
            Medium::Ethernet => Some(nodes),
            Medium::Myrinet => CROSSBAR_PORTS.into_iter().find(|&ports| ports >= nodes),
        }
    }

    pub(super) fn star(&self, nodes: usize, ports: usize) -> Network {
        let port = |port| LinkEnd::Port { switch: 0, port };
        Network {
            medium: self.cables.medium,
            switches: vec![self.switch(0, ports)],
            links: (0..nodes)
                .map(|node| self.link(LinkEnd::Node(node), port(node)))
                .collect(),
        }
    }

    /// A tree: leaf switches with `ports - 1` nodes each, joined by further switches up to one root.
    pub(super) fn tree(&self, nodes: usize, ports: usize) -> Network {
        let mut network = Network::default();
        let mut level: Vec<LinkEnd> = (0..nodes).map(LinkEnd::Node).collect();
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
                        .push(self.link(end, LinkEnd::Port { switch, port }));
                }
                let port = ports - 1;
                next.push(LinkEnd::Port { switch, port });
            }
            level = next;
        }
        network
    }

    /// A Clos network: crossbars with nodes at their lower half, and one cable from each to each crossbar of the spine. One
    /// crossbar, if that has ports enough; three stages, if two have not.
    pub(super) fn clos(&self, nodes: usize, ports: usize) -> Network {
        let half = ports / 2;
        let leaves = nodes.div_ceil(half);
        if leaves == 1 {
            return self.star(nodes, ports);
        }
        if leaves > ports {
            return self.clos_of_three(nodes, ports);
        }
        let mut network = Network {
            switches: (0..leaves + half)
                .map(|index| self.switch(index, ports))
                .collect(),
            ..Network::default()
        };
        for node in 0..nodes {
            let (switch, port) = (node / half, node % half);
            let end = LinkEnd::Port { switch, port };
            network.links.push(self.link(LinkEnd::Node(node), end));
        }
        for switch in 0..leaves {
            for spine in 0..half {
                let port = half + spine;
                let up = LinkEnd::Port { switch, port };
                let (switch, port) = (leaves + spine, switch);
                let below = LinkEnd::Port { switch, port };
                network.links.push(self.link(up, below));
            }
        }
        network
    }
}

impl Parts {
    /// A Clos network of three stages. A pod has as many leaves as middle crossbars, half of the ports each, and a cable
    /// between any two of them. Each upper port of a middle crossbar leads to a spine crossbar of its own, which has a port for
    /// each pod.
    fn clos_of_three(&self, nodes: usize, ports: usize) -> Network {
        let half = ports / 2;
        let pods = nodes.div_ceil(half * half);
        let spine = pods * ports;
        let mut network = Network {
            switches: (0..spine + half * half)
                .map(|index| self.switch(index, ports))
                .collect(),
            ..Network::default()
        };
        let mut join = |a: LinkEnd, b: LinkEnd| network.links.push(self.link(a, b));
        let at = |switch, port| LinkEnd::Port { switch, port };
        // The crossbars of a pod: first its leaves, then the middle ones.
        let leaf = |number: usize| number / half * ports + number % half;
        for node in 0..nodes {
            join(LinkEnd::Node(node), at(leaf(node / half), node % half));
        }
        for pod in 0..pods {
            for middle in 0..half {
                let switch = pod * ports + half + middle;
                for below in 0..half {
                    join(at(pod * ports + below, half + middle), at(switch, below));
                }
                for up in 0..half {
                    join(at(switch, half + up), at(spine + middle * half + up, pod));
                }
            }
        }
        network
    }
}

/// Most nodes of a Clos network of crossbars with this many ports.
pub(super) const fn most_clos(ports: usize) -> usize {
    ports * (ports / 2) * (ports / 2)
}

/// Number of ports of each switch of a tree, or of a Clos network.
pub(super) fn tree_ports(table: &mut Table<'_>, medium: Medium) -> Result<usize, ScenarioError> {
    let item = table.need("ports")?;
    match medium {
        Medium::Ethernet => item.integer(3..=256),
        Medium::Myrinet => crossbar_ports(&item),
    }
}
