//! The network of a scenario: switches, links and routes.

use emulator::sim::time::SimTime;

use super::error::{Position, ScenarioError, unknown};
use super::nodes::{Defaults, MOST_NODES, Nodes, checked_name};
use super::routes::{self, GivenRoutes};
use super::table::{Item, Table};
use super::topology::{Parts, SHAPES, Shape, tree_ports};

/// Largest number of switches.
const MOST_SWITCHES: usize = 256;
/// Default number of ports of a switch.
const DEFAULT_PORTS: usize = 8;
/// Propagation time per metre of fibre or copper, in ps.
const PS_PER_METRE: f64 = 5000.0;
/// Default speed of a link, in Mbit/s.
const DEFAULT_SPEED_MBIT: f64 = 1000.0;
/// Default length of a link.
const DEFAULT_LENGTH_M: f64 = 10.0;

/// Forwarding method of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// After reception of the whole frame.
    StoreAndForward,
    /// As soon as the destination is known.
    CutThrough,
}

/// A port of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchSpec {
    /// Name.
    pub name: String,
    /// Number of ports.
    pub ports: usize,
    /// Forwarding method.
    pub forwarding: Forwarding,
    /// Latency at an idle port, from the forwarding decision to the frame's first bit.
    pub latency: SimTime,
    /// Size of the output buffer of each port.
    pub buffer_bytes: u32,
    /// For each node the port of its route.
    pub routes: Vec<Option<usize>>,
}

/// End of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// A node's board.
    Node(usize),
    /// A switch.
    Port {
        /// Number of the switch.
        switch: usize,
        /// Number of the port.
        port: usize,
    },
}

/// A link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// The connected ends.
    pub ends: [End; 2],
    /// Transmission time of a byte.
    pub byte_time: SimTime,
    /// Propagation time.
    pub propagation: SimTime,
}

/// Switches and links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// The switches.
    pub switches: Vec<SwitchSpec>,
    /// The links.
    pub links: Vec<LinkSpec>,
}

impl Network {
    /// The link connected to a node.
    #[must_use]
    pub fn link_of(&self, node: usize) -> Option<usize> {
        let end = End::Node(node);
        self.links.iter().position(|link| link.ends.contains(&end))
    }
}

/// Reads the nodes and their network.
pub(super) fn read(
    root: &mut Table<'_>,
    defaults: &Defaults,
) -> Result<(Nodes, Network), ScenarioError> {
    let mut table = root
        .table("network")?
        .ok_or_else(|| root.place.refuse("the table [network] is missing"))?;
    let shape_item = table.need("topology")?;
    let shape = shape_item.choice("topology", &SHAPES)?;
    let groups = root.tables("node")?;
    let count = table.get("nodes");
    let nodes = read_nodes(groups, count.clone(), shape, &shape_item.place, defaults)?;
    let parts = read_parts(&mut table, shape)?;
    let at = count.map_or(shape_item.place, |item| item.place);
    let switches = root.tables("switch")?;
    let links = root.tables("link")?;
    if shape != Shape::Custom
        && let Some(extra) = switches.first().or(links.first())
    {
        let reason = "only in a network with topology = \"custom\"";
        return Err(extra.place.refuse(reason));
    }
    let nodes_count = nodes.all.len();
    let mut given = GivenRoutes::new();
    let mut network = match shape {
        Shape::Pair if nodes_count % 2 == 1 => {
            return Err(at.refuse(format!("{nodes_count} nodes do not make pairs")));
        }
        Shape::Pair => parts.pairs(nodes_count),
        Shape::None => Network::default(),
        Shape::Star => parts.star(nodes_count),
        Shape::Tree => parts.tree(nodes_count, tree_ports(&mut table)?),
        Shape::Custom => {
            let (network, routes) = Custom::new(&nodes, &parts).read(switches, links)?;
            given = routes;
            network
        }
    };
    table.finish()?;
    routes::fill(&mut network, &nodes, &given)?;
    Ok((nodes, network))
}

/// Reads the common properties of a shorthand's links and switches. Properties that the shape does not have
/// are refused.
fn read_parts(table: &mut Table<'_>, shape: Shape) -> Result<Parts, ScenarioError> {
    let mut part = |name: &'static str, shapes: &[Shape]| match shapes.contains(&shape) {
        true => table.table(name),
        false => Ok(None),
    };
    let all = [Shape::Pair, Shape::Star, Shape::Tree, Shape::Custom];
    let default = (byte_time(DEFAULT_SPEED_MBIT), propagation(DEFAULT_LENGTH_M));
    let (byte_time, propagation) = links_of(part("link", &all)?, default)?;
    let uplink = links_of(part("uplink", &[Shape::Tree])?, (byte_time, propagation))?;
    let mut switch = default_switch();
    if let Some(mut table) = part("switch", &all)? {
        switch = read_switch(&mut table, switch)?;
        table.finish()?;
    }
    Ok(Parts {
        byte_time,
        propagation,
        uplink,
        switch,
    })
}

fn read_nodes(
    groups: Vec<Table<'_>>,
    count: Option<Item<'_>>,
    shape: Shape,
    place: &Position,
    defaults: &Defaults,
) -> Result<Nodes, ScenarioError> {
    let least = if shape == Shape::Pair { 2 } else { 1 };
    if let Some(count) = count {
        if !groups.is_empty() {
            let reason = "the nodes are given by [[node]] already";
            return Err(count.place.refuse(reason));
        }
        let wanted = count
            .integer(least..=MOST_NODES as u64)
            .map_err(|mut error| {
                error.reason += " (the addresses of a route table)";
                error
            })?;
        return Ok(Nodes::numbered(wanted, defaults));
    }
    if groups.is_empty() {
        if shape == Shape::Pair {
            return Ok(Nodes::numbered(2, defaults));
        }
        let reason = "how many nodes? \"nodes\" is missing, and there is no [[node]]";
        return Err(place.refuse(reason));
    }
    let mut nodes = Nodes::default();
    for group in groups {
        nodes.add_group(group, defaults)?;
    }
    Ok(nodes)
}

fn byte_time(speed_mbit: f64) -> SimTime {
    SimTime::from_ps((8e6 / speed_mbit).round() as u64)
}

fn propagation(length_m: f64) -> SimTime {
    SimTime::from_ps((length_m * PS_PER_METRE).round() as u64)
}

/// Byte time and propagation time from a table of links.
fn links_of(
    table: Option<Table<'_>>,
    default: (SimTime, SimTime),
) -> Result<(SimTime, SimTime), ScenarioError> {
    let Some(mut table) = table else {
        return Ok(default);
    };
    let timing = link_timing(&mut table)?;
    table.finish()?;
    Ok(timing)
}

/// Byte time and propagation time of a link.
fn link_timing(table: &mut Table<'_>) -> Result<(SimTime, SimTime), ScenarioError> {
    let speed_mbit = match table.get("speed_mbit") {
        Some(item) => item.number(1.0..=100_000.0)?,
        None => DEFAULT_SPEED_MBIT,
    };
    let length = table.get("length_m");
    let direct = table.get("propagation_ns");
    let propagation = match (&length, &direct) {
        (Some(_), Some(item)) => {
            return Err(item.place.refuse("the link has a length_m already"));
        }
        (_, Some(item)) => {
            let ns = item.number(0.0..=1e9)?;
            nonzero(SimTime::from_ps((ns * 1000.0).round() as u64), item)?
        }
        (Some(item), None) => nonzero(propagation(item.number(0.0..=1e6)?), item)?,
        (None, None) => propagation(DEFAULT_LENGTH_M),
    };
    Ok((byte_time(speed_mbit), propagation))
}

fn nonzero(propagation: SimTime, item: &Item<'_>) -> Result<SimTime, ScenarioError> {
    if propagation == SimTime::ZERO {
        let reason =
            "a link without latency: what happens at one end cannot be at the other at once";
        return Err(item.place.refuse(reason));
    }
    Ok(propagation)
}

const fn default_switch() -> SwitchSpec {
    SwitchSpec {
        name: String::new(),
        ports: DEFAULT_PORTS,
        forwarding: Forwarding::StoreAndForward,
        latency: SimTime::from_ns(1000),
        buffer_bytes: 128 * 1024,
        routes: Vec::new(),
    }
}

/// Reads the properties of a switch except name and ports.
fn read_switch(table: &mut Table<'_>, default: SwitchSpec) -> Result<SwitchSpec, ScenarioError> {
    let forwarding = [
        ("store-and-forward", Forwarding::StoreAndForward),
        ("cut-through", Forwarding::CutThrough),
    ];
    Ok(SwitchSpec {
        forwarding: match table.get("forwarding") {
            Some(item) => item.choice("way of forwarding", &forwarding)?,
            None => default.forwarding,
        },
        latency: match table.get("latency_ns") {
            Some(item) => SimTime::from_ps((item.number(0.0..=1e9)? * 1000.0).round() as u64),
            None => default.latency,
        },
        buffer_bytes: table.integer("buffer_bytes", 2048..=1 << 30, default.buffer_bytes)?,
        ..default
    })
}

/// Reader of `[[switch]]` and `[[link]]`.
struct Custom<'a> {
    nodes: &'a Nodes,
    parts: &'a Parts,
    network: Network,
    /// All connected ends.
    taken: Vec<End>,
    given: GivenRoutes,
}

impl<'a> Custom<'a> {
    fn new(nodes: &'a Nodes, parts: &'a Parts) -> Self {
        Self {
            nodes,
            parts,
            network: Network {
                switches: Vec::new(),
                links: Vec::new(),
            },
            taken: Vec::new(),
            given: GivenRoutes::new(),
        }
    }

    fn read(
        mut self,
        switches: Vec<Table<'_>>,
        links: Vec<Table<'_>>,
    ) -> Result<(Network, GivenRoutes), ScenarioError> {
        for table in switches {
            self.switch(table)?;
        }
        for table in links {
            self.link(table)?;
        }
        Ok((self.network, self.given))
    }

    fn switch(&mut self, mut table: Table<'_>) -> Result<(), ScenarioError> {
        let item = table.need("name")?;
        let name = checked_name(&item)?;
        let same = |switch: &SwitchSpec| switch.name == name;
        if self.network.switches.iter().any(same) || self.node_of_name(name).is_some() {
            return Err(item.place.refuse(format!("there is a \"{name}\" already")));
        }
        if self.network.switches.len() == MOST_SWITCHES {
            return Err(item
                .place
                .refuse(format!("more than {MOST_SWITCHES} switches")));
        }
        let ports = table.integer("ports", 1..=256, DEFAULT_PORTS)?;
        let spec = read_switch(&mut table, self.parts.switch.clone())?;
        self.give_routes(table.table("routes")?, ports)?;
        table.finish()?;
        self.network.switches.push(SwitchSpec {
            name: name.into(),
            ports,
            ..spec
        });
        Ok(())
    }

    fn node_of_name(&self, name: &str) -> Option<usize> {
        self.nodes.all.iter().position(|node| node.name == name)
    }

    fn give_routes(&mut self, table: Option<Table<'_>>, ports: usize) -> Result<(), ScenarioError> {
        let switch = self.network.switches.len();
        for (name, item) in table.iter().flat_map(Table::entries) {
            let node = self.node_of_name(&name).ok_or_else(|| {
                let names = self.nodes.all.iter().map(|node| node.name.as_str());
                item.place.refuse(unknown("node", &name, names))
            })?;
            let port = item.integer(0..=ports as u64 - 1)?;
            self.given.insert((switch, node), (port, item.place));
        }
        Ok(())
    }

    fn link(&mut self, mut table: Table<'_>) -> Result<(), ScenarioError> {
        let between = table.need("between")?;
        let items = between.list();
        let [a, b] = items.as_slice() else {
            let reason = format!("a link has two ends, not {}", items.len());
            return Err(between.place.refuse(reason));
        };
        let ends = [self.end(a)?, self.end(b)?];
        if let [End::Port { switch: a, .. }, End::Port { switch: b, .. }] = ends
            && a == b
        {
            let reason = "a link from a switch to itself leads nowhere";
            return Err(between.place.refuse(reason));
        }
        let (byte_time, propagation) = link_timing(&mut table)?;
        table.finish()?;
        self.network.links.push(LinkSpec {
            ends,
            byte_time,
            propagation,
        });
        Ok(())
    }

    /// Reads an end: a node, by number or name, or a switch's port: `"name"` (the next free one) or
    /// `"name:3"`.
    fn end(&mut self, item: &Item<'_>) -> Result<End, ScenarioError> {
        let end = match item.is_text() {
            true => self.end_of_name(item)?,
            false => End::Node(self.nodes.resolve_one(item)?),
        };
        if self.taken.contains(&end) {
            let reason = match end {
                End::Node(node) => {
                    format!("node {} has a cable already", self.nodes.all[node].name)
                }
                End::Port { switch, port } => {
                    let name = &self.network.switches[switch].name;
                    format!("port {port} of {name} is taken")
                }
            };
            return Err(item.place.refuse(reason));
        }
        self.taken.push(end);
        Ok(end)
    }

    fn end_of_name(&self, item: &Item<'_>) -> Result<End, ScenarioError> {
        let text = item.text()?;
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        };
        let switches = &self.network.switches;
        let Some(switch) = switches.iter().position(|switch| switch.name == name) else {
            if let Some(node) = self.node_of_name(text) {
                return Ok(End::Node(node));
            }
            let switches = switches.iter().map(|switch| switch.name.as_str());
            let nodes = self.nodes.all.iter().map(|node| node.name.as_str());
            let reason = unknown("node or switch", name, switches.chain(nodes));
            return Err(item.place.refuse(reason));
        };
        let ports = switches[switch].ports;
        let port = match port {
            Some(digits) => digits.parse().ok().filter(|&port| port < ports),
            None => (0..ports).find(|&port| !self.taken.contains(&End::Port { switch, port })),
        };
        let port = port.ok_or_else(|| {
            let reason = format!("{name} has ports 0 to {} and no other free", ports - 1);
            item.place.refuse(reason)
        })?;
        Ok(End::Port { switch, port })
    }
}
