//! Routes without deadlocks, as a host computes them: up*/down*.
//!
//! Every crossbar has a level. The way to the lower level is up; at equal levels, that to the lower number. A route goes up any
//! number of cables, then down any number, and never up again. So no packets can wait for each other in a circle: each waits only
//! for channels that come later in one order, all ways up before all ways down.

use std::collections::{BTreeMap, VecDeque};

use super::packet::RouteByte;
use super::topology::Topology;
use crate::port::Port;

/// Reason why a topology or a route is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A cable ends at a port that no crossbar has.
    #[error("a cable ends at {0}, which does not exist")]
    NoSuchPort(Port),
    /// Two cables end at one port.
    #[error("two cables end at {0}")]
    Occupied(Port),
    /// A node has no cable.
    #[error("node {0} has no cable")]
    NoCable(usize),
    /// No way joins two nodes.
    #[error("no way leads from node {from} to node {to}")]
    Unreachable {
        /// The one node.
        from: usize,
        /// The other node.
        to: usize,
    },
    /// The ports are too far apart for a route byte.
    #[error("crossbar {crossbar}: no route byte leads from port {ingress} to port {egress}")]
    TooFar {
        /// The crossbar.
        crossbar: usize,
        /// The port at which the packet comes in.
        ingress: usize,
        /// The port at which it would leave.
        egress: usize,
    },
    /// A route that is at an end in a crossbar.
    #[error("the route from node {from} ends in crossbar {crossbar}")]
    EndsInside {
        /// The sender.
        from: usize,
        /// The crossbar in which the route ends.
        crossbar: usize,
    },
    /// A byte of a route that leads to no cable.
    #[error(
        "byte {at} of the route from node {from} leads nowhere: crossbar {crossbar} has no cable there"
    )]
    Nowhere {
        /// The sender.
        from: usize,
        /// The number of the byte.
        at: usize,
        /// The crossbar.
        crossbar: usize,
    },
    /// A route that is longer than the way to a node.
    #[error("the route from node {from} has bytes left at node {to}")]
    TooLong {
        /// The sender.
        from: usize,
        /// The node that it comes to.
        to: usize,
    },
    /// A route that uses a channel twice: a long packet would wait for itself.
    #[error("the route from node {from} is a loop: it leaves {port} twice")]
    Loop {
        /// The sender.
        from: usize,
        /// The port.
        port: Port,
    },
    /// Packets on these routes can wait for each other in a circle.
    #[error("packets can wait for each other in a circle, at {}", list(.0))]
    Deadlock(Vec<Port>),
}

fn list(ports: &[Port]) -> String {
    let ports: Vec<String> = ports.iter().map(Port::to_string).collect();
    ports.join(", ")
}

/// A route: its bytes, one for each crossbar.
pub type Route = Vec<u8>;

/// Routes by the node where they begin and the node to which they lead.
pub type Routes = BTreeMap<(usize, usize), Route>;

/// The cables of a topology, by their ends.
#[derive(Debug)]
struct Map {
    ports: Vec<usize>,
    /// For each port with a cable, the port at its other end.
    ends: BTreeMap<Port, Port>,
}

impl Map {
    fn new(topology: &Topology) -> Result<Self, RouteError> {
        let mut map = Self {
            ports: topology.crossbars.clone(),
            ends: BTreeMap::new(),
        };
        for &(a, b) in &topology.cables {
            for (from, to) in [(a, b), (b, a)] {
                if let Port::Switch { switch, port } = from
                    && map.ports.get(switch).is_none_or(|&ports| port >= ports)
                {
                    return Err(RouteError::NoSuchPort(from));
                }
                if map.ends.insert(from, to).is_some() {
                    return Err(RouteError::Occupied(from));
                }
            }
        }
        Ok(map)
    }

    /// The cables of a crossbar: its port, and where each leads.
    fn cables(&self, crossbar: usize) -> impl Iterator<Item = (usize, Port)> {
        let at = |port| Port::Switch {
            switch: crossbar,
            port,
        };
        let cables = self.ends.range(at(0)..=at(usize::MAX));
        cables.filter_map(|(from, &to)| Some((from.number()?, to)))
    }

    /// Crossbars at the other ends of a crossbar's cables.
    fn neighbours(&self, crossbar: usize) -> impl Iterator<Item = usize> {
        self.cables(crossbar).filter_map(|(_, to)| match to {
            Port::Switch { switch, .. } => Some(switch),
            Port::Node(_) => None,
        })
    }

    /// The distance of each crossbar from the nearest of some of them; `usize::MAX` if there is no way.
    fn distances(&self, from: &[usize]) -> Vec<usize> {
        let mut distances = vec![usize::MAX; self.ports.len()];
        let mut queue = VecDeque::new();
        for &crossbar in from {
            distances[crossbar] = 0;
            queue.push_back(crossbar);
        }
        while let Some(crossbar) = queue.pop_front() {
            for next in self.neighbours(crossbar) {
                if distances[next] == usize::MAX {
                    distances[next] = distances[crossbar] + 1;
                    queue.push_back(next);
                }
            }
        }
        distances
    }

    /// Levels by the distance from the nodes: crossbars far from nodes are up. In a tree or a Clos network all shortest ways
    /// are allowed; elsewhere there may be no way between two nodes.
    fn levels_above_nodes(&self) -> Vec<usize> {
        let with_nodes = |&crossbar: &usize| {
            let mut cables = self.cables(crossbar);
            cables.any(|(_, to)| matches!(to, Port::Node(_)))
        };
        let with_nodes: Vec<usize> = (0..self.ports.len()).filter(with_nodes).collect();
        let distances = self.distances(&with_nodes);
        distances.iter().map(|far| usize::MAX - far).collect()
    }

    /// Levels by the distance from a root, one for each part of the network. There is always a way between nodes of one part.
    fn levels_below_roots(&self) -> Vec<usize> {
        let mut levels = vec![usize::MAX; self.ports.len()];
        for root in 0..self.ports.len() {
            if levels[root] == usize::MAX {
                let of_part = self.distances(&[root]);
                for (level, far) in levels.iter_mut().zip(of_part) {
                    *level = (*level).min(far);
                }
            }
        }
        levels
    }
}

/// The shortest up*/down* way from each crossbar to one of them: when a packet may still go up, and when it goes down.
#[derive(Debug, Default)]
struct Distances {
    any: Vec<usize>,
    down: Vec<usize>,
}

impl Distances {
    fn to(map: &Map, levels: &[usize], to: usize) -> Self {
        let mut any = vec![usize::MAX; levels.len()];
        let mut down = any.clone();
        (any[to], down[to]) = (0, 0);
        let mut queue = VecDeque::from([(to, true), (to, false)]);
        while let Some((crossbar, going_down)) = queue.pop_front() {
            let far = match going_down {
                true => down[crossbar],
                false => any[crossbar],
            };
            for next in map.neighbours(crossbar) {
                let from_above = is_up(levels, crossbar, next);
                // A way that goes down from here may have come from above; one that still goes up only from below.
                if going_down && from_above {
                    for (distance, down) in [(&mut down[next], true), (&mut any[next], false)] {
                        if *distance == usize::MAX {
                            *distance = far + 1;
                            queue.push_back((next, down));
                        }
                    }
                } else if !going_down && !from_above && any[next] == usize::MAX {
                    any[next] = far + 1;
                    queue.push_back((next, false));
                }
            }
        }
        Self { any, down }
    }
}

/// Whether the way from one crossbar to another is up.
fn is_up(levels: &[usize], from: usize, to: usize) -> bool {
    (levels[to], to) < (levels[from], from)
}

/// The routes between all nodes of a topology, without deadlocks. Equally short ways share the pairs of nodes.
///
/// # Errors
/// If the topology is impossible, or no way joins two nodes.
pub fn routes(topology: &Topology) -> Result<Routes, RouteError> {
    let map = Map::new(topology)?;
    let nodes = topology.nodes();
    all_ways(&map, &nodes, &map.levels_above_nodes())
        .or_else(|_| all_ways(&map, &nodes, &map.levels_below_roots()))
}

/// The routes between nodes, with these levels.
fn all_ways(map: &Map, nodes: &[usize], levels: &[usize]) -> Result<Routes, RouteError> {
    let mut known: BTreeMap<usize, Choices> = BTreeMap::new();
    let mut found = Routes::new();
    for &to in nodes {
        let last = map.ends.get(&Port::Node(to)).copied();
        let mut to_cable = Choices::default();
        let choices = match last {
            Some(Port::Switch { switch, .. }) => known
                .entry(switch)
                .or_insert_with(|| Choices::to(map, levels, switch)),
            _ => &mut to_cable,
        };
        for &from in nodes.iter().filter(|&&from| from != to) {
            found.insert((from, to), way(map, levels, choices, from, to)?);
        }
    }
    Ok(found)
}

/// Cables of a crossbar: the port of each, and where it leads.
type Cables = Vec<(usize, Port)>;

/// The cables on which the shortest ways to one crossbar go on.
#[derive(Debug, Default)]
struct Choices {
    distances: Distances,
    /// For each crossbar those on which a packet goes on that comes from below, and from above: many nodes have the same.
    found: Vec<[Option<Cables>; 2]>,
}

impl Choices {
    fn to(map: &Map, levels: &[usize], to: usize) -> Self {
        Self {
            distances: Distances::to(map, levels, to),
            found: vec![[None, None]; levels.len()],
        }
    }

    /// The cables at a crossbar.
    fn at(
        &mut self,
        map: &Map,
        levels: &[usize],
        crossbar: usize,
        going_down: bool,
    ) -> &[(usize, Port)] {
        let place = &mut self.found[crossbar][usize::from(going_down)];
        place.get_or_insert_with(|| choices(map, levels, &self.distances, crossbar, going_down))
    }
}

/// The route between two nodes.
fn way(
    map: &Map,
    levels: &[usize],
    choices: &mut Choices,
    from: usize,
    to: usize,
) -> Result<Route, RouteError> {
    let end = |node| {
        let end = map.ends.get(&Port::Node(node)).copied();
        end.ok_or(RouteError::NoCable(node))
    };
    let unreachable = RouteError::Unreachable { from, to };
    let (mut here, last) = (end(from)?, end(to)?);
    let (mut route, mut going_down) = (Vec::new(), false);
    while let Port::Switch { switch, port } = here {
        let (egress, next) = match last {
            Port::Switch { switch: at, port } if at == switch => (port, Port::Node(to)),
            Port::Switch { .. } => {
                let choices = choices.at(map, levels, switch, going_down);
                let chosen = choices.get((from + to) % choices.len().max(1));
                *chosen.ok_or_else(|| unreachable.clone())?
            }
            Port::Node(_) => return Err(unreachable),
        };
        let byte = RouteByte::between(port, egress).ok_or(RouteError::TooFar {
            crossbar: switch,
            ingress: port,
            egress,
        })?;
        route.push(byte.byte());
        if let Port::Switch { switch: next, .. } = next {
            going_down |= !is_up(levels, switch, next);
        }
        here = next;
    }
    match here == Port::Node(to) {
        true => Ok(route),
        false => Err(unreachable),
    }
}

/// The cables of a crossbar on which the shortest ways go on.
fn choices(
    map: &Map,
    levels: &[usize],
    distances: &Distances,
    crossbar: usize,
    going_down: bool,
) -> Vec<(usize, Port)> {
    let of = |crossbar: usize, down: bool| match down {
        true => distances.down[crossbar],
        false => distances.any[crossbar],
    };
    let far = of(crossbar, going_down);
    let cables = map.cables(crossbar);
    let shorter = cables.filter(|&(_, to)| {
        let Port::Switch { switch: next, .. } = to else {
            return false;
        };
        let up = is_up(levels, crossbar, next);
        let left = of(next, !up);
        !(going_down && up) && left != usize::MAX && left + 1 == far
    });
    shorter.collect()
}

/// Checks routes against a topology: each must lead from its first node to its second one, and packets on them must not be able to wait
/// for each other in a circle.
///
/// # Errors
/// If a route is wrong, or a circle is possible.
pub fn check<'a>(
    topology: &Topology,
    routes: impl IntoIterator<Item = (&'a (usize, usize), &'a Route)>,
) -> Result<(), RouteError> {
    let map = Map::new(topology)?;
    let mut follows: BTreeMap<Port, Vec<Port>> = BTreeMap::new();
    for (&(from, to), route) in routes {
        let way = walk(&map, from, route)?;
        let end = way.last().and_then(|last| map.ends.get(last));
        if end != Some(&Port::Node(to)) {
            return Err(RouteError::Unreachable { from, to });
        }
        for pair in way.windows(2) {
            let next = follows.entry(pair[0]).or_default();
            if !next.contains(&pair[1]) {
                next.push(pair[1]);
            }
        }
    }
    circle(&follows).map_or(Ok(()), |ports| Err(RouteError::Deadlock(ports)))
}

/// The ports that a packet leaves on its route from a node.
fn walk(map: &Map, from: usize, route: &[u8]) -> Result<Vec<Port>, RouteError> {
    let mut leaves = Port::Node(from);
    let mut way = Vec::new();
    let mut bytes = route.iter().enumerate();
    loop {
        if way.contains(&leaves) {
            return Err(RouteError::Loop { from, port: leaves });
        }
        way.push(leaves);
        let end = map.ends.get(&leaves).copied();
        let (crossbar, ingress) = match end.ok_or(RouteError::NoCable(from))? {
            Port::Node(_) if bytes.len() == 0 => return Ok(way),
            Port::Node(to) => return Err(RouteError::TooLong { from, to }),
            Port::Switch { switch, port } => (switch, port),
        };
        let (at, &byte) = bytes
            .next()
            .ok_or(RouteError::EndsInside { from, crossbar })?;
        let egress = RouteByte::read(byte);
        let egress = egress.and_then(|byte| byte.egress(ingress, map.ports[crossbar]));
        let port = egress.map(|port| Port::Switch {
            switch: crossbar,
            port,
        });
        leaves = port
            .filter(|port| map.ends.contains_key(port))
            .ok_or(RouteError::Nowhere { from, at, crossbar })?;
    }
}

/// Ports that follow each other in a circle, if there are any.
fn circle(follows: &BTreeMap<Port, Vec<Port>>) -> Option<Vec<Port>> {
    // Takes ports away that nothing leads to, until none is left or all are on a circle or behind one.
    let mut counts: BTreeMap<Port, usize> = follows.keys().map(|&port| (port, 0)).collect();
    for &next in follows.values().flatten() {
        *counts.entry(next).or_default() += 1;
    }
    let free = counts.iter().filter(|(_, count)| **count == 0);
    let mut free: Vec<Port> = free.map(|(&port, _)| port).collect();
    while let Some(port) = free.pop() {
        counts.remove(&port);
        for next in follows.get(&port).into_iter().flatten() {
            if let Some(count) = counts.get_mut(next) {
                *count -= 1;
                if *count == 0 {
                    free.push(*next);
                }
            }
        }
    }
    // A walk back always finds a port before: it comes to a circle.
    let before = |port: Port| {
        let mut left = counts.keys();
        left.find(|from| follows.get(from).is_some_and(|next| next.contains(&port)))
    };
    let mut way = vec![*counts.keys().next()?];
    loop {
        let port = *before(*way.last()?)?;
        if let Some(at) = way.iter().position(|&seen| seen == port) {
            way.drain(..at);
            way.reverse();
            return Some(way);
        }
        way.push(port);
    }
}
