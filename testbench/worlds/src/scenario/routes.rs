//! Routes of switches: given or shortest; each must reach its node.

use std::collections::{BTreeMap, VecDeque};

use super::error::{Position, ScenarioError};
use super::network::{LinkEnd, Network};
use super::nodes::Nodes;

/// The opposite end of each port of each switch.
type Peers = Vec<Vec<Option<LinkEnd>>>;

/// Routes given in the scenario: port and position, by switch and node.
pub(super) type GivenRoutes = BTreeMap<(usize, usize), (usize, Position)>;

/// Adds shortest routes from every switch to every node that it can reach, and checks the given routes.
pub(super) fn fill(
    network: &mut Network,
    nodes: &Nodes,
    given: &GivenRoutes,
) -> Result<(), ScenarioError> {
    let peers = peers(network);
    for node in 0..nodes.all.len() {
        let shortest = shortest(network, &peers, node);
        for (index, switch) in network.switches.iter_mut().enumerate() {
            let given = given.get(&(index, node)).map(|(port, _)| *port);
            switch.routes.push(given.or(shortest[index]));
        }
    }
    // Only given routes can be wrong.
    for (&(switch, node), (_, place)) in given {
        follow(network, nodes, &peers, switch, node).map_err(|reason| place.refuse(reason))?;
    }
    Ok(())
}

fn peers(network: &Network) -> Peers {
    let ports = network
        .switches
        .iter()
        .map(|switch| vec![None; switch.ports]);
    let mut peers: Peers = ports.collect();
    for link in &network.links {
        let [a, b] = link.ends;
        for (end, other) in [(a, b), (b, a)] {
            if let LinkEnd::Port { switch, port } = end {
                peers[switch][port] = Some(other);
            }
        }
    }
    peers
}

/// The port of the shortest path to `node`, for each switch; of equal paths that through the lowest switch.
fn shortest(network: &Network, peers: &Peers, node: usize) -> Vec<Option<usize>> {
    let mut ports = vec![None; network.switches.len()];
    let Some(link) = network.link_of(node) else {
        return ports;
    };
    let mut queue = VecDeque::new();
    for end in network.links[link].ends {
        if let LinkEnd::Port { switch, port } = end {
            ports[switch] = Some(port);
            queue.push_back(switch);
        }
    }
    while let Some(near) = queue.pop_front() {
        for end in peers[near].iter().flatten() {
            if let &LinkEnd::Port { switch, port } = end
                && ports[switch].is_none()
            {
                ports[switch] = Some(port);
                queue.push_back(switch);
            }
        }
    }
    ports
}

/// Follows the routes from a switch to a node; fails if they do not reach it.
fn follow(
    network: &Network,
    nodes: &Nodes,
    peers: &Peers,
    start: usize,
    node: usize,
) -> Result<(), String> {
    let mut at = start;
    for _ in 0..=network.switches.len() {
        let Some(port) = network.switches[at].routes[node] else {
            return Ok(());
        };
        let name = &network.switches[at].name;
        match peers[at][port] {
            Some(LinkEnd::Node(end)) if end == node => return Ok(()),
            Some(LinkEnd::Port { switch, .. }) => at = switch,
            Some(LinkEnd::Node(other)) => {
                let other = &nodes.all[other].name;
                return Err(format!(
                    "port {port} of {name} leads to node {other} and ends there"
                ));
            }
            None => return Err(format!("port {port} of {name} leads nowhere")),
        }
    }
    let name = &network.switches[start].name;
    Err(format!("from {name} the routes lead in a circle"))
}

/// Number of an end among nodes and switches.
const fn vertex(end: LinkEnd, nodes: usize) -> usize {
    match end {
        LinkEnd::Node(node) => node,
        LinkEnd::Port { switch, .. } => nodes + switch,
    }
}

/// A tree of the nodes and switches that can reach each other, for each of these groups.
fn joined(network: &Network, nodes: usize) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..nodes + network.switches.len()).collect();
    for link in &network.links {
        let [a, b] = link.ends.map(|end| root(&parents, vertex(end, nodes)));
        parents[a.max(b)] = a.min(b);
    }
    parents
}

/// A number for each node, equal for nodes that can reach each other.
pub(super) fn islands(network: &Network, nodes: usize) -> Vec<Option<usize>> {
    let parents = joined(network, nodes);
    let island = |node| network.link_of(node).map(|_| root(&parents, node));
    (0..nodes).map(island).collect()
}

impl Network {
    /// A number for each link, equal for links over which the same ones of the network's `nodes` nodes can reach each other.
    pub(crate) fn islands(&self, nodes: usize) -> Vec<usize> {
        let parents = joined(self, nodes);
        let links = self.links.iter();
        let island = links.map(|link| root(&parents, vertex(link.ends[0], nodes)));
        island.collect()
    }
}

fn root(parents: &[usize], mut vertex: usize) -> usize {
    while parents[vertex] != vertex {
        vertex = parents[vertex];
    }
    vertex
}
