//! What is joined to what: the lines and switches of a world, and what follows from their shape.

use host_lib::address::MacAddress;

use super::network::{Event, Place, Places};
use super::time::SimTime;
use super::world::WorldError;
use crate::observe::capture::{Interface, Tap};
use crate::observe::tracer::Tracer;
use crate::state;
use crate::wire::ethernet::line::Line;
use crate::wire::ethernet::link::Link;
use crate::wire::ethernet::switch::{Switch, SwitchConfig};
use crate::wire::port::Port;

/// No cable and no switch takes longer: sums of times stay far from their limit.
const LONGEST: SimTime = SimTime::from_us(1_000_000);
/// The slowest link: 8 kbit a second.
const SLOWEST_BYTE: SimTime = SimTime::from_us(1_000);
/// Switches, and ports of each, are numbered with 16 bits in traces.
const MOST: usize = 1 << 16;

/// Lines and switches.
#[derive(Debug, Default)]
pub(super) struct Topology {
    /// The two directions of a link are neighbours: `index ^ 1` is the other one.
    pub(super) lines: Vec<Line>,
    pub(super) switches: Vec<Switch>,
    /// For each node, the line that leads away from it.
    pub(super) node_lines: Vec<Option<usize>>,
    /// What is under way while nothing runs.
    pub(super) pending: Vec<Event>,
}

state!(Topology { pending } lists { lines, switches } fixed { node_lines });

impl Topology {
    /// So many nodes without cables.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            node_lines: vec![None; nodes],
            ..Self::default()
        }
    }

    /// The line that leads away from a port: none if nothing is plugged in, an error if there is no
    /// such port.
    pub(super) fn line_from(&self, port: Port) -> Result<Option<usize>, WorldError> {
        let line = match port {
            Port::Node(node) => self.node_lines.get(node).copied(),
            Port::Switch { switch, port } => self
                .switches
                .get(switch)
                .and_then(|switch| switch.ports.get(port))
                .map(|port| port.line),
        };
        line.ok_or(WorldError::NoSuchPort(port))
    }

    /// The same of a port that must have a cable.
    pub(super) fn connected(&self, port: Port) -> Result<usize, WorldError> {
        self.line_from(port)?.ok_or(WorldError::NoCable(port))
    }

    fn plug(&mut self, port: Port, line: usize) {
        match port {
            Port::Node(node) => self.node_lines[node] = Some(line),
            Port::Switch { switch, port } => self.switches[switch].ports[port].line = Some(line),
        }
    }

    /// Joins two ports.
    pub(super) fn connect(&mut self, a: Port, b: Port, link: Link) -> Result<(), WorldError> {
        let itself = match (a, b) {
            (Port::Node(a), Port::Node(b)) => a == b,
            (Port::Switch { switch: a, .. }, Port::Switch { switch: b, .. }) => a == b,
            _ => false,
        };
        for end in [a, b] {
            if self.line_from(end)?.is_some() {
                return Err(WorldError::Occupied(end));
            }
        }
        if itself {
            return Err(WorldError::Loop(a));
        }
        if link.byte_time == SimTime::ZERO {
            return Err(WorldError::NoTime(a, b));
        }
        if link.byte_time > SLOWEST_BYTE || link.propagation > LONGEST {
            return Err(WorldError::TooSlow(a, b));
        }
        for (from, to) in [(a, b), (b, a)] {
            self.plug(from, self.lines.len());
            self.lines.push(Line::new(from, to, link));
        }
        Ok(())
    }

    /// Adds a switch; gives its number.
    pub(super) fn add_switch(&mut self, config: &SwitchConfig) -> Result<usize, WorldError> {
        let index = self.switches.len();
        if index >= MOST {
            return Err(WorldError::TooManySwitches);
        }
        if !(1..=MOST).contains(&config.ports) {
            return Err(WorldError::Ports(config.ports));
        }
        if config.latency > LONGEST {
            return Err(WorldError::Latency(config.latency));
        }
        let mut switch = Switch::new(index, config);
        for &(address, port) in &config.routes {
            add_route(&mut switch, address, port)?;
        }
        self.switches.push(switch);
        Ok(index)
    }

    /// Adds a route to a switch.
    pub(super) fn add_route(
        &mut self,
        switch: usize,
        address: MacAddress,
        port: usize,
    ) -> Result<(), WorldError> {
        let port_exists = Port::Switch { switch, port };
        self.line_from(port_exists)?;
        add_route(&mut self.switches[switch], address, port)
    }

    /// Adds the routes to a node to all switches that can reach it and know none.
    pub(super) fn route_to(&mut self, node: usize, address: MacAddress) -> Result<(), WorldError> {
        if address.is_group() {
            return Err(WorldError::RouteToGroup(address));
        }
        let first = self.lines[self.connected(Port::Node(node))?].to;
        for (switch, port) in self.tree(first) {
            let switch = &mut self.switches[switch];
            if switch.route(address).is_none() {
                switch.set_route(address, port);
            }
        }
        Ok(())
    }

    /// Every switch that can be reached from the port `first` of the first one, by the fewest links, and
    /// its port that leads back.
    fn tree(&self, first: Port) -> Vec<(usize, usize)> {
        let mut seen = vec![false; self.switches.len()];
        let mut found = Vec::new();
        let mut reach = |end: Port, found: &mut Vec<(usize, usize)>| {
            if let Port::Switch { switch, port } = end
                && !std::mem::replace(&mut seen[switch], true)
            {
                found.push((switch, port));
            }
        };
        reach(first, &mut found);
        let mut next = 0;
        while let Some(&(switch, _)) = found.get(next) {
            for line in self.switches[switch].ports.iter().filter_map(|p| p.line) {
                reach(self.lines[line].to, &mut found);
            }
            next += 1;
        }
        found
    }

    /// Decides at which ports frames to a group of nodes leave: those that lead to nodes, and those
    /// between switches that make up one tree. Then no such frame goes in circles.
    pub(super) fn span_tree(&mut self) {
        let leads_to_node = |line: &Option<usize>, lines: &[Line]| {
            line.is_some_and(|line| matches!(lines[line].to, Port::Node(_)))
        };
        for port in self
            .switches
            .iter_mut()
            .flat_map(|switch| &mut switch.ports)
        {
            port.floods = leads_to_node(&port.line, &self.lines);
        }
        let mut seen = vec![false; self.switches.len()];
        for root in 0..self.switches.len() {
            if seen[root] {
                continue;
            }
            // The root's own port does not matter: nothing leads back from there.
            let root = Port::Switch {
                switch: root,
                port: 0,
            };
            for (number, (switch, port)) in self.tree(root).into_iter().enumerate() {
                seen[switch] = true;
                if number > 0
                    && let Some(line) = self.switches[switch].ports[port].line
                    && let Port::Switch {
                        switch: to,
                        port: at,
                    } = self.lines[line].to
                {
                    self.switches[switch].ports[port].floods = true;
                    self.switches[to].ports[at].floods = true;
                }
            }
        }
    }

    /// The traces of lines and switches.
    pub(super) fn traces(&self) -> impl Iterator<Item = &Tracer> {
        let lines = self.lines.iter().map(|line| &line.trace);
        lines.chain(self.switches.iter().map(|switch| &switch.trace))
    }

    /// The same to be changed.
    pub(super) fn traces_mut(&mut self) -> impl Iterator<Item = &mut Tracer> {
        let lines = self.lines.iter_mut().map(|line| &mut line.trace);
        lines.chain(self.switches.iter_mut().map(|switch| &mut switch.trace))
    }

    /// Lets every line and switch capture frames, or none; gives what their places are called.
    pub(super) fn tap(&mut self, on: bool) -> Vec<Interface> {
        let lines = self.lines.iter_mut();
        let lines = lines.map(|line| (line.interface(), &mut line.tap));
        let switches = self.switches.iter_mut();
        let switches = switches.map(|switch| (switch.interface(), &mut switch.tap));
        let places = lines.chain(switches).enumerate();
        places
            .map(|(index, (interface, tap))| {
                *tap = on.then(|| Tap::new(index));
                interface
            })
            .collect()
    }

    /// Where frames are captured.
    pub(super) fn taps(&mut self) -> impl Iterator<Item = &mut Tap> {
        let lines = self.lines.iter_mut().map(|line| &mut line.tap);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.tap);
        lines.chain(switches).flatten()
    }

    /// Finds the components: sets of nodes and switches that can reach each other.
    pub(super) fn components(&self) -> Places {
        let nodes = self.node_lines.len();
        let number = |port: Port| match port {
            Port::Node(node) => node,
            Port::Switch { switch, .. } => nodes + switch,
        };
        // Each one knows one that it can reach and that stands before it.
        let mut roots: Vec<usize> = (0..nodes + self.switches.len()).collect();
        for line in &self.lines {
            let ends = [line.from, line.to].map(|port| root(&mut roots, number(port)));
            roots[ends[0].max(ends[1])] = ends[0].min(ends[1]);
        }
        let mut places = Places::default();
        let mut component_of = vec![None; roots.len()];
        let mut sizes = Vec::new();
        for node in 0..nodes {
            let component = *component_of[root(&mut roots, node)].get_or_insert_with(|| {
                sizes.push([0; 3]);
                sizes.len() - 1
            });
            places.nodes.push(component);
            places.members.push(next(&mut sizes, Some(component), 0));
        }
        for line in &self.lines {
            let component = component_of[root(&mut roots, number(line.from))];
            let index = next(&mut sizes, component, 1);
            places.lines.push(Place { component, index });
        }
        for switch in 0..self.switches.len() {
            let component = component_of[root(&mut roots, nodes + switch)];
            let index = next(&mut sizes, component, 2);
            places.switches.push(Place { component, index });
        }
        places
    }

    /// What the cable is like that leads from a node straight to another one, without fault layers.
    pub(super) fn plain_peer(&self, node: usize) -> Option<Link> {
        let line = self.node_lines[node]?;
        let plain = |index: usize| self.lines[index].layers() == 0;
        match self.lines[line].to {
            Port::Node(_) if plain(line) && plain(line ^ 1) => Some(self.lines[line].link),
            _ => None,
        }
    }
}

/// The first one that can be reached from `index`.
fn root(roots: &mut [usize], mut index: usize) -> usize {
    while roots[index] != index {
        roots[index] = roots[roots[index]];
        index = roots[index];
    }
    index
}

/// The next place in a component; without a component places do not matter.
fn next(sizes: &mut [[usize; 3]], component: Option<usize>, kind: usize) -> usize {
    let Some(component) = component else {
        return 0;
    };
    let size = &mut sizes[component][kind];
    *size += 1;
    *size - 1
}

fn add_route(switch: &mut Switch, address: MacAddress, port: usize) -> Result<(), WorldError> {
    if address.is_group() {
        return Err(WorldError::RouteToGroup(address));
    }
    if port >= switch.ports.len() {
        let switch = switch.index();
        return Err(WorldError::NoSuchPort(Port::Switch { switch, port }));
    }
    if switch.route(address).is_some() {
        return Err(WorldError::RouteTwice(switch.index(), address));
    }
    switch.set_route(address, port);
    Ok(())
}
