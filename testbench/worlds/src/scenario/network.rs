//! The network of a scenario: switches, links and routes.

use std::collections::BTreeMap;

use emulator::sim::time::SimTime;

use super::cables::Cables;
use super::error::{Position, ScenarioError, unknown};
use super::nodes::{Defaults, MOST_NODES, Nodes, check_number, checked_name};
use super::routes::{self, GivenRoutes};
use super::table::{Item, Table};
use super::topology::{Parts, SHAPES, Shape, most_clos, tree_ports};
use crate::boards::Medium;
use crate::nodes::profile_cable;
use crate::profile;

/// Crossbars of Myrinet have one of these numbers of ports.
pub(super) const CROSSBAR_PORTS: [usize; 3] = [8, 16, 32];
/// Largest number of switches.
const MOST_SWITCHES: usize = 256;
/// Default number of ports of a switch.
const DEFAULT_PORTS: usize = 8;
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
    /// Name of the switch.
    pub name: String,
    /// Number of ports.
    pub ports: usize,
    /// Forwarding method.
    pub forwarding: Forwarding,
    /// Latency at an idle port, from the forwarding decision to the frame's first bit; crossbars have one of their own.
    pub latency: SimTime,
    /// Size of the output buffer of each port; crossbars have none.
    pub buffer_bytes: u32,
    /// Crossbars: latency, STOP and GO, and the watchdog.
    pub crossbar: CrossbarSpec,
    /// For each node the port of its route.
    pub routes: Vec<Option<usize>>,
}

/// Properties of crossbars of Myrinet; what is `None` is that of the boards' profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CrossbarSpec {
    /// Latency of a packet in the crossbar.
    pub latency: Option<SimTime>,
    /// Bytes in the slack buffer of a port at which it says STOP.
    pub stop_bytes: Option<u32>,
    /// Bytes at which it says GO.
    pub go_bytes: Option<u32>,
    /// A packet whose head waits for so long is taken out.
    pub watchdog: Option<SimTime>,
}

/// End of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkEnd {
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
    pub ends: [LinkEnd; 2],
    /// Transmission time of a byte.
    pub byte_time: SimTime,
    /// Propagation time.
    pub propagation: SimTime,
}

/// Switches and links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Network {
    /// The medium of all links.
    pub medium: Medium,
    /// The switches; in a Myrinet, crossbars.
    pub switches: Vec<SwitchSpec>,
    /// Links between nodes, switches and crossbars.
    pub links: Vec<LinkSpec>,
}

impl Network {
    /// The link connected to a node.
    #[must_use]
    pub fn link_of(&self, node: usize) -> Option<usize> {
        let end = LinkEnd::Node(node);
        self.links.iter().position(|link| link.ends.contains(&end))
    }
}

/// Reads the nodes and their network; returns the position of the number of nodes, too.
pub(super) fn read(
    root: &mut Table<'_>,
    defaults: &Defaults,
) -> Result<(Nodes, Network, Position), ScenarioError> {
    let mut table = root
        .table("network")?
        .ok_or_else(|| root.place.refuse("the table [network] is missing"))?;
    let shape_item = table.need("topology")?;
    let shape = shape_item.choice("topology", &SHAPES)?;
    let groups = root.tables("node")?;
    let count = table.get("nodes");
    let nodes = read_nodes(groups, count.clone(), shape, &shape_item.place, defaults)?;
    let medium = medium_of(&nodes, shape, &shape_item.place)?;
    let parts = read_parts(&mut table, shape, &nodes, medium)?;
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
        Shape::Loop => parts.loops(nodes_count),
        Shape::Star => match parts.star_ports(nodes_count) {
            Some(ports) => parts.star(nodes_count, ports),
            None => return Err(at.refuse("a crossbar has at most 32 ports")),
        },
        Shape::Tree => parts.tree(nodes_count, tree_ports(&mut table, medium)?),
        Shape::Clos => {
            let ports = tree_ports(&mut table, medium)?;
            let most = most_clos(ports);
            if nodes_count > most {
                return Err(at.refuse(format!(
                    "crossbars of {ports} ports join at most {most} nodes"
                )));
            }
            parts.clos(nodes_count, ports)
        }
        Shape::Custom => {
            let (network, routes) = Custom::new(&nodes, &parts).read(switches, links)?;
            given = routes;
            network
        }
    };
    table.finish()?;
    network.medium = medium;
    routes::fill(&mut network, &nodes, &given)?;
    Ok((nodes, network, at))
}

/// The medium of all boards of a network.
fn medium_of(nodes: &Nodes, shape: Shape, place: &Position) -> Result<Medium, ScenarioError> {
    let mut all = nodes.all.iter();
    let medium = all
        .next()
        .map_or(Medium::Ethernet, |node| node.board.medium);
    if let Some(other) = all.find(|node| node.board.medium != medium)
        && shape != Shape::None
    {
        let reason = format!(
            "node {} has a board for {}, others have boards for {}: a network has one medium",
            other.name,
            other.board.medium.name(),
            medium.name()
        );
        return Err(place.refuse(reason));
    }
    let only_myrinet = matches!(shape, Shape::Loop | Shape::Clos);
    if only_myrinet && medium != Medium::Myrinet {
        let reason = format!(
            "there is no such network of {}: it is for Myrinet",
            medium.name()
        );
        return Err(place.refuse(reason));
    }
    Ok(medium)
}

/// Speed of the slowest board's cables, in Mbit/s: that of a built-in profile for Myrinet, otherwise that of the type of board.
fn slowest_mbit(nodes: &Nodes) -> u32 {
    let mut known = BTreeMap::new();
    let speeds = nodes.all.iter().map(|node| {
        let name = &node.profile.name;
        *known.entry((name, node.board.name)).or_insert_with(|| {
            let profile = profile::built_in(name).ok();
            let cable = profile.filter(|_| node.board.medium == Medium::Myrinet);
            let cable = cable.and_then(|profile| profile_cable(&profile).ok());
            cable.map_or(node.board.link_mbit, |cable| {
                (cable.bits_per_s() / 1_000_000) as u32
            })
        })
    });
    speeds.min().unwrap_or(1000)
}

/// Reads the common properties of a shorthand's links and switches. Properties that the shape does not have
/// are refused.
fn read_parts(
    table: &mut Table<'_>,
    shape: Shape,
    nodes: &Nodes,
    medium: Medium,
) -> Result<Parts, ScenarioError> {
    let mut part = |name: &'static str, shapes: &[Shape]| match shapes.contains(&shape) {
        true => table.table(name),
        false => Ok(None),
    };
    let with_links = [
        Shape::Pair,
        Shape::Loop,
        Shape::Star,
        Shape::Tree,
        Shape::Clos,
        Shape::Custom,
    ];
    let cables = Cables::new(slowest_mbit(nodes), medium);
    let (byte_time, propagation) = cables.links_of(part("link", &with_links)?, cables.usual())?;
    let inner = [Shape::Tree, Shape::Clos];
    let uplink = cables.links_of(part("uplink", &inner)?, (byte_time, propagation))?;
    let mut switch = default_switch(medium);
    if let Some(mut table) = part("switch", &with_links)? {
        switch = read_switch(&mut table, switch, medium)?;
        table.finish()?;
    }
    Ok(Parts {
        byte_time,
        propagation,
        uplink,
        switch,
        cables,
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
        if let Ok(wanted) = count.integer(0..=u64::MAX) {
            check_number(wanted, [&defaults.image], &count.place)?;
        }
        let wanted = count.integer(least..=MOST_NODES as u64)?;
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

const fn default_switch(medium: Medium) -> SwitchSpec {
    SwitchSpec {
        name: String::new(),
        ports: DEFAULT_PORTS,
        forwarding: match medium {
            Medium::Ethernet => Forwarding::StoreAndForward,
            Medium::Myrinet => Forwarding::CutThrough,
        },
        latency: SimTime::from_ns(1000),
        buffer_bytes: 128 * 1024,
        crossbar: CrossbarSpec {
            latency: None,
            stop_bytes: None,
            go_bytes: None,
            watchdog: None,
        },
        routes: Vec::new(),
    }
}

/// When an Ethernet switch sends a frame on, by name.
pub(super) const FORWARDING: [(&str, Forwarding); 2] = [
    ("store-and-forward", Forwarding::StoreAndForward),
    ("cut-through", Forwarding::CutThrough),
];

/// Reads the properties of a switch except name and ports.
fn read_switch(
    table: &mut Table<'_>,
    default: SwitchSpec,
    medium: Medium,
) -> Result<SwitchSpec, ScenarioError> {
    if medium == Medium::Myrinet {
        return read_crossbar(table, default);
    }
    let forwarding = default.forwarding;
    Ok(SwitchSpec {
        forwarding: table.choice("forwarding", "way of forwarding", &FORWARDING, forwarding)?,
        latency: table.time("latency_ns", default.latency)?,
        buffer_bytes: table.integer("buffer_bytes", default.buffer_bytes)?,
        ..default
    })
}

/// Reads the properties of a crossbar except name and ports.
fn read_crossbar(table: &mut Table<'_>, default: SwitchSpec) -> Result<SwitchSpec, ScenarioError> {
    let before = default.crossbar;
    let stop_bytes = match table.get("stop_bytes") {
        Some(item) => Some(item.whole()?),
        None => before.stop_bytes,
    };
    let go = table.get("go_bytes");
    let most = stop_bytes.unwrap_or(1 << 20) - 1;
    let go_bytes = match &go {
        Some(item) => Some(item.integer(0..=u64::from(most))?),
        None => before.go_bytes.map(|bytes: u32| bytes.min(most)),
    };
    Ok(SwitchSpec {
        crossbar: CrossbarSpec {
            latency: match table.get("latency_ns") {
                Some(item) => {
                    let ns = item.number(0.0..=1e6)?;
                    Some(SimTime::from_ps((ns * 1000.0).round() as u64))
                }
                None => before.latency,
            },
            stop_bytes,
            go_bytes,
            watchdog: match table.get("watchdog_us") {
                Some(item) => Some(item.time()?),
                None => before.watchdog,
            },
        },
        ..default
    })
}

/// Reads the number of ports of a crossbar.
pub(super) fn crossbar_ports(item: &Item<'_>) -> Result<usize, ScenarioError> {
    let ports = item.whole()?;
    match CROSSBAR_PORTS.contains(&ports) {
        true => Ok(ports),
        false => Err(item.place.refuse("a crossbar has 8, 16 or 32 ports")),
    }
}

/// Reader of `[[switch]]` and `[[link]]`.
struct Custom<'a> {
    nodes: &'a Nodes,
    parts: &'a Parts,
    network: Network,
    /// All connected ends.
    taken: Vec<LinkEnd>,
    given: GivenRoutes,
}

impl<'a> Custom<'a> {
    fn new(nodes: &'a Nodes, parts: &'a Parts) -> Self {
        Self {
            nodes,
            parts,
            network: Network::default(),
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
        let medium = self.parts.cables.medium;
        let ports = match (table.get("ports"), medium) {
            (Some(item), Medium::Myrinet) => crossbar_ports(&item)?,
            (Some(item), Medium::Ethernet) => item.whole()?,
            (None, _) => DEFAULT_PORTS,
        };
        let spec = read_switch(&mut table, self.parts.switch.clone(), medium)?;
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
        if let [
            LinkEnd::Port { switch: a, .. },
            LinkEnd::Port { switch: b, .. },
        ] = ends
            && a == b
        {
            let reason = "a link from a switch to itself leads nowhere";
            return Err(between.place.refuse(reason));
        }
        let (byte_time, propagation) = self.parts.cables.link_timing(&mut table)?;
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
    fn end(&mut self, item: &Item<'_>) -> Result<LinkEnd, ScenarioError> {
        let end = match item.is_text() {
            true => self.end_of_name(item)?,
            false => LinkEnd::Node(self.nodes.resolve_one(item)?),
        };
        if self.taken.contains(&end) {
            let reason = match end {
                LinkEnd::Node(node) => {
                    format!("node {} has a cable already", self.nodes.all[node].name)
                }
                LinkEnd::Port { switch, port } => {
                    let name = &self.network.switches[switch].name;
                    format!("port {port} of {name} is taken")
                }
            };
            return Err(item.place.refuse(reason));
        }
        self.taken.push(end);
        Ok(end)
    }

    fn end_of_name(&self, item: &Item<'_>) -> Result<LinkEnd, ScenarioError> {
        let text = item.text()?;
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        };
        let switches = &self.network.switches;
        let Some(switch) = switches.iter().position(|switch| switch.name == name) else {
            if let Some(node) = self.node_of_name(text) {
                return Ok(LinkEnd::Node(node));
            }
            let switches = switches.iter().map(|switch| switch.name.as_str());
            let nodes = self.nodes.all.iter().map(|node| node.name.as_str());
            let reason = unknown("node or switch", name, switches.chain(nodes));
            return Err(item.place.refuse(reason));
        };
        let ports = switches[switch].ports;
        let port = match port {
            Some(digits) => digits.parse().ok().filter(|&port| port < ports),
            None => (0..ports).find(|&port| !self.taken.contains(&LinkEnd::Port { switch, port })),
        };
        let port = port.ok_or_else(|| {
            let reason = format!("{name} has ports 0 to {} and no other free", ports - 1);
            item.place.refuse(reason)
        })?;
        Ok(LinkEnd::Port { switch, port })
    }
}
