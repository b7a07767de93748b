//! The Ethernet of a world: lines, switches, routes, the spanning tree, and the division into segments.

use std::collections::{BTreeMap, BinaryHeap};

use lanigon_window::address::MacAddress;

use super::Ethernet;
use super::cable::Direct;
use super::error::EthernetError;
use super::event::Event;
use super::frame::Frame;
use super::line::Line;
use super::link::Link;
use super::owners::Owners;
use super::places::{Places, SegmentPlace};
use super::segment::Switched;
use super::switch::{Switch, SwitchConfig};
use crate::lane::Lane;
use crate::medium::MediumId;
use crate::network::{Network, Segment};
use crate::port::Port;
use emulator_base::time::SimTime;
use emulator_observe::capture::{Interface, LinkType, Tap};
use emulator_observe::event;
use emulator_observe::tracer::Tracer;
use emulator_state::state;
use emulator_state::{Reader, State, StateError, Value, Writer};

/// The longest cable and the slowest switch: sums of times stay far from their limit.
const LONGEST: SimTime = SimTime::from_us(1_000_000);
/// The slowest link: 8 kbit a second.
const SLOWEST_BYTE: SimTime = SimTime::from_us(1_000);
/// Traces number switches, and the ports of each, with 16 bits.
const MOST: usize = 1 << 16;

/// Frames under way while nothing runs, for each segment of the last run.
#[derive(Debug, Default)]
struct Pending(Vec<BinaryHeap<Event>>);

impl State for Pending {
    /// In their order, with the numbers from 1 on for each line: those that they have also depend on the rounds of the run.
    fn save(&self, out: &mut Writer) {
        let mut events: Vec<&Event> = self.0.iter().flatten().collect();
        events.sort_unstable();
        events.len().write(out);
        let mut numbers = BTreeMap::new();
        for event in events.into_iter().rev() {
            let number = numbers.entry(event.line).or_insert(0);
            *number += 1;
            event.write_as(*number, out);
        }
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.0 = vec![Vec::<Event>::read(from)?.into()];
        Ok(())
    }
}

/// Lines and switches of a world.
#[derive(Debug, Default)]
pub struct EthernetNetwork {
    /// The two directions of a link are neighbours: `index ^ 1` is the other one.
    pub(super) lines: Vec<Line>,
    pub(super) switches: Vec<Switch>,
    /// For each node, the line that leads away from it.
    pub(super) node_lines: Vec<Option<usize>>,
    pending: Pending,
    /// Places in the segments of the last run.
    places: Places,
    /// The processes of the run, if there are several.
    owners: Option<Owners>,
}

state!(EthernetNetwork { pending } lists { lines, switches } fixed { node_lines, places, owners });

impl EthernetNetwork {
    /// The world has this number of nodes.
    pub fn set_nodes(&mut self, count: usize) {
        self.node_lines.resize(count, None);
    }

    /// A direction of a link. That of the same link in reverse is `line ^ 1`.
    #[must_use]
    pub fn lane(&self, line: usize) -> &Lane<Frame> {
        &self.lines[line].lane
    }

    /// A direction of a link, to be changed.
    pub fn lane_mut(&mut self, line: usize) -> &mut Lane<Frame> {
        &mut self.lines[line].lane
    }

    /// The switches.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        &self.switches
    }

    /// Number of frames under way between ports, while nothing runs.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.pending.0.iter().map(BinaryHeap::len).sum()
    }

    /// The line that leads away from a port: none if no cable is plugged in, an error if there is no
    /// such port.
    pub(super) fn line_from(&self, port: Port) -> Result<Option<usize>, EthernetError> {
        let line = match port {
            Port::Node(node) => self.node_lines.get(node).copied(),
            Port::Switch { switch, port } => self
                .switches
                .get(switch)
                .and_then(|switch| switch.ports.get(port))
                .map(|port| port.line),
        };
        line.ok_or(EthernetError::NoSuchPort(port))
    }

    /// The line that leads away from a port with a cable.
    pub fn connected(&self, port: Port) -> Result<usize, EthernetError> {
        self.line_from(port)?.ok_or(EthernetError::NoCable(port))
    }

    fn plug(&mut self, port: Port, line: usize) {
        match port {
            Port::Node(node) => self.node_lines[node] = Some(line),
            Port::Switch { switch, port } => self.switches[switch].ports[port].line = Some(line),
        }
    }

    /// Joins two ports.
    pub fn connect(&mut self, a: Port, b: Port, link: Link) -> Result<(), EthernetError> {
        let itself = match (a, b) {
            (Port::Node(a), Port::Node(b)) => a == b,
            (Port::Switch { switch: a, .. }, Port::Switch { switch: b, .. }) => a == b,
            _ => false,
        };
        for end in [a, b] {
            if self.line_from(end)?.is_some() {
                return Err(EthernetError::Occupied(end));
            }
        }
        if itself {
            return Err(EthernetError::Loop(a));
        }
        if link.byte_time == SimTime::ZERO {
            return Err(EthernetError::NoTime(a, b));
        }
        if link.byte_time > SLOWEST_BYTE || link.propagation > LONGEST {
            return Err(EthernetError::TooSlow(a, b));
        }
        for (from, to) in [(a, b), (b, a)] {
            self.plug(from, self.lines.len());
            self.lines.push(Line::new(from, to, link));
        }
        Ok(())
    }

    /// Adds a switch; returns its number.
    pub fn add_switch(&mut self, config: &SwitchConfig) -> Result<usize, EthernetError> {
        let index = self.switches.len();
        if index >= MOST {
            return Err(EthernetError::TooManySwitches);
        }
        if !(1..=MOST).contains(&config.ports) {
            return Err(EthernetError::Ports(config.ports));
        }
        if config.latency > LONGEST {
            return Err(EthernetError::Latency(config.latency));
        }
        let mut switch = Switch::new(index, config);
        for &(address, port) in &config.routes {
            add_route(&mut switch, address, port)?;
        }
        self.switches.push(switch);
        Ok(index)
    }

    /// Adds a route to a switch.
    pub fn add_route(
        &mut self,
        switch: usize,
        address: MacAddress,
        port: usize,
    ) -> Result<(), EthernetError> {
        let port_exists = Port::Switch { switch, port };
        self.line_from(port_exists)?;
        add_route(&mut self.switches[switch], address, port)
    }

    /// Adds the routes to a node to all switches that can reach it and know none.
    pub fn route_to(&mut self, node: usize, address: MacAddress) -> Result<(), EthernetError> {
        if address.is_group() {
            return Err(EthernetError::RouteToGroup(address));
        }
        let first = self.lines[self.connected(Port::Node(node))?].lane.to();
        for (switch, port) in self.tree(first) {
            let switch = &mut self.switches[switch];
            if switch.route(address).is_none() {
                switch.set_route(address, port);
            }
        }
        Ok(())
    }

    /// Every switch that can be reached from port `first` of the first one, in the order of the number of links to it, and
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
                reach(self.lines[line].lane.to(), &mut found);
            }
            next += 1;
        }
        found
    }

    /// Chooses the ports at which frames to a group of nodes leave: those that lead to nodes, and those of
    /// a spanning tree between switches, so that no such frame meets a loop.
    fn span_tree(&mut self) {
        let leads_to_node = |line: &Option<usize>, lines: &[Line]| {
            line.is_some_and(|line| matches!(lines[line].lane.to(), Port::Node(_)))
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
            // The port of the root is not used: no port of the root leads back.
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
                    } = self.lines[line].lane.to()
                {
                    self.switches[switch].ports[port].floods = true;
                    self.switches[to].ports[at].floods = true;
                }
            }
        }
    }

    /// Finds the segments: sets of nodes and switches that can reach each other.
    fn find_places(&self) -> Places {
        let nodes = self.node_lines.len();
        let number = |port: Port| match port {
            Port::Node(node) => node,
            Port::Switch { switch, .. } => nodes + switch,
        };
        // Each one knows one that it can reach and that stands before it.
        let mut roots: Vec<usize> = (0..nodes + self.switches.len()).collect();
        for line in &self.lines {
            let ends = [line.lane.from(), line.lane.to()];
            let ends = ends.map(|port| root(&mut roots, number(port)));
            roots[ends[0].max(ends[1])] = ends[0].min(ends[1]);
        }
        let mut places = Places::default();
        let mut segment_of = vec![None; roots.len()];
        for (node, line) in self.node_lines.iter().enumerate() {
            if line.is_none() {
                places.members.push(0);
                continue;
            }
            let segment = *segment_of[root(&mut roots, node)].get_or_insert_with(|| {
                places.nodes.push(Vec::new());
                places.nodes.len() - 1
            });
            places.members.push(places.nodes[segment].len());
            places.nodes[segment].push(node);
        }
        let mut counts = vec![[0; 2]; places.nodes.len()];
        let mut place = |segment: Option<usize>, kind: usize| {
            let count = segment.map(|segment| &mut counts[segment][kind]);
            let index = count.map_or(0, |count| std::mem::replace(count, *count + 1));
            SegmentPlace { segment, index }
        };
        for line in &self.lines {
            let segment = segment_of[root(&mut roots, number(line.lane.from()))];
            places.lines.push(place(segment, 0));
        }
        for switch in 0..self.switches.len() {
            let segment = segment_of[root(&mut roots, nodes + switch)];
            places.switches.push(place(segment, 1));
        }
        places
    }

    /// Gives the frames under way to their segments, as far as this process carries them out: others may be there from a saved state.
    fn distribute_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending.0);
        self.pending
            .0
            .resize_with(self.places.nodes.len(), BinaryHeap::new);
        for event in pending.into_iter().flatten() {
            let line = &self.lines[event.line];
            let owners = self.owners.as_ref();
            let is_mine = owners.is_none_or(|owners| owners.of_step(event.step, line) == owners.me);
            if let Some(segment) = self.places.lines[event.line].segment
                && is_mine
            {
                self.pending.0[segment].push(event);
            }
        }
    }
}

impl Network for EthernetNetwork {
    fn medium(&self) -> MediumId {
        MediumId::of::<Ethernet>()
    }

    fn segments(&mut self) -> Vec<(Vec<usize>, Box<dyn Segment + '_>)> {
        self.span_tree();
        self.places = self.find_places();
        self.distribute_pending();
        let (places, node_lines, owners) = (&self.places, &self.node_lines, self.owners.as_ref());
        let mut parts: Vec<(Vec<&mut Line>, Vec<&mut Switch>)> = Vec::new();
        parts.resize_with(places.nodes.len(), Default::default);
        for (line, place) in self.lines.iter_mut().zip(&places.lines) {
            if let Some(segment) = place.segment {
                parts[segment].0.push(line);
            }
        }
        for (switch, place) in self.switches.iter_mut().zip(&places.switches) {
            if let Some(segment) = place.segment {
                parts[segment].1.push(switch);
            }
        }
        let queues = self.pending.0.iter_mut();
        let segments = places.nodes.iter().zip(parts).zip(queues);
        segments
            .map(|((nodes, (lines, switches)), queue)| {
                let leads_away = nodes.iter().filter_map(|&node| node_lines[node]);
                let segment: Box<dyn Segment + '_> = match Direct::new(lines, places) {
                    Ok(direct) => Box::new(direct),
                    Err(lines) => Box::new(Switched::new(
                        leads_away.collect(),
                        lines,
                        switches,
                        places,
                        owners,
                        queue,
                    )),
                };
                (nodes.clone(), segment)
            })
            .collect()
    }

    fn divide(&mut self, me: usize, owners: &[usize]) {
        let owners = Owners::new(me, owners, &self.lines, self.switches.len());
        self.owners = Some(owners);
    }

    fn traces(&self) -> Box<dyn Iterator<Item = &Tracer> + '_> {
        let lines = self.lines.iter().map(|line| &line.lane.trace);
        Box::new(lines.chain(self.switches.iter().map(|switch| &switch.trace)))
    }

    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_> {
        let lines = self.lines.iter_mut().map(|line| &mut line.lane.trace);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.trace);
        Box::new(lines.chain(switches))
    }

    fn begin_capture(&mut self, first: usize) -> Vec<Interface> {
        let mut interfaces: Vec<_> = self.lines.iter().map(Line::interface).collect();
        let of_switches = first + interfaces.len();
        for (number, switch) in self.switches.iter_mut().enumerate() {
            let drops = of_switches + number;
            switch.tap = Some(Tap::new(drops, drops));
            interfaces.push(switch.interface());
        }
        for (number, line) in self.lines.iter_mut().enumerate() {
            let drops = match line.lane.from() {
                Port::Switch { switch, .. } => of_switches + switch,
                Port::Node(node) => {
                    let place = event::Place::Node(node as u16);
                    interfaces.push(Interface::of_drops::<Frame>(place, LinkType::ETHERNET));
                    first + interfaces.len() - 1
                }
            };
            line.lane.tap = Some(Tap::new(first + number, drops));
        }
        interfaces
    }

    fn end_capture(&mut self) {
        for line in &mut self.lines {
            line.lane.tap = None;
        }
        for switch in &mut self.switches {
            switch.tap = None;
        }
    }

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        let lines = self.lines.iter_mut().map(|line| &mut line.lane.tap);
        let switches = self.switches.iter_mut().map(|switch| &mut switch.tap);
        Box::new(lines.chain(switches).flatten())
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

fn add_route(switch: &mut Switch, address: MacAddress, port: usize) -> Result<(), EthernetError> {
    if address.is_group() {
        return Err(EthernetError::RouteToGroup(address));
    }
    if port >= switch.ports.len() {
        let switch = switch.index();
        return Err(EthernetError::NoSuchPort(Port::Switch { switch, port }));
    }
    if switch.route(address).is_some() {
        return Err(EthernetError::RouteTwice(switch.index(), address));
    }
    switch.set_route(address, port);
    Ok(())
}
