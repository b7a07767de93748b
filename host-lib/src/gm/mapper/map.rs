//! [`Map`]: what a mapper has found out about a network.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use defs::gm::map::NODE_LIMIT;
use defs::gm::mapping::NO_NODE;
use thiserror::Error;

/// The unique id of a node: its board's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UniqueId(pub [u8; 6]);

impl UniqueId {
    /// The id in two words of a packet, of which the first one also holds a node number.
    #[must_use]
    pub const fn from_words(high: u32, low: u32) -> Self {
        let [a, b, ..] = high.to_be_bytes();
        let [c, d, e, f] = low.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// The two words, without a node number.
    #[must_use]
    pub const fn words(self) -> [u32; 2] {
        let [a, b, c, d, e, f] = self.0;
        [
            u32::from_be_bytes([a, b, 0, 0]),
            u32::from_be_bytes([c, d, e, f]),
        ]
    }
}

impl fmt::Display for UniqueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

/// A port of a crossbar. Packets only tell distances between ports: number 0 is the lowest port with a cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CrossbarPort {
    /// Index of the crossbar in the map.
    pub crossbar: usize,
    /// Port of the crossbar.
    pub port: u8,
}

/// A node that answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedNode {
    /// Unique id of the node.
    pub id: UniqueId,
    /// Number of the node.
    pub node: u16,
    /// End of the node's cable; `None` if that is no crossbar.
    pub at: Option<CrossbarPort>,
}

/// A crossbar, and the way to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crossbar {
    /// The route from the mapper to it: a byte for each crossbar before it.
    pub route: Vec<u8>,
    /// The port at which that route comes in.
    pub entry: u8,
}

/// Crossbars, nodes and cables, as they are seen from the mapper. Equal networks have equal maps if the same node maps them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Map {
    /// The node that made it.
    pub mapper: UniqueId,
    /// The crossbars, in the order in which they were found.
    pub crossbars: Vec<Crossbar>,
    /// The nodes, by their numbers; the mapper is one of them.
    pub hosts: Vec<MappedNode>,
    /// Cables between crossbars.
    pub links: Vec<[CrossbarPort; 2]>,
    /// Ports to crossbars that are too far away for a route.
    pub beyond: Vec<CrossbarPort>,
}

/// Nodes cannot have the numbers that they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NumberError {
    /// Two nodes have one number.
    #[error("nodes {first} and {second} both have number {node}")]
    Twice {
        /// The number.
        node: u16,
        /// The one node.
        first: UniqueId,
        /// The other node.
        second: UniqueId,
    },
    /// A number above the limit, or more nodes than there are numbers.
    #[error("node {id} has no number below {NODE_LIMIT}")]
    TooMany {
        /// The node.
        id: UniqueId,
    },
}

impl Map {
    /// The node with a number.
    #[must_use]
    pub fn host(&self, node: u16) -> Option<&MappedNode> {
        self.hosts.iter().find(|host| host.node == node)
    }

    /// Number of the mapper.
    #[must_use]
    pub fn mapper_node(&self) -> Option<u16> {
        let mapper = self.hosts.iter().find(|host| host.id == self.mapper);
        mapper.map(|host| host.node)
    }

    /// The number behind the highest one that a node has.
    #[must_use]
    pub fn number_count(&self) -> u16 {
        let numbers = self.hosts.iter().map(|host| host.node + 1);
        numbers.max().unwrap_or(0)
    }

    /// Gives numbers to nodes that have none: the lowest free ones, in the order of unique ids. Sorts the nodes by number.
    pub(super) fn number(&mut self) -> Result<(), NumberError> {
        let mut taken = BTreeMap::new();
        for host in &self.hosts {
            let node = host.node;
            if u32::from(node) == NO_NODE {
                continue;
            }
            if u32::from(node) >= NODE_LIMIT {
                return Err(NumberError::TooMany { id: host.id });
            }
            if let Some(first) = taken.insert(node, host.id) {
                let second = host.id;
                return Err(NumberError::Twice {
                    node,
                    first,
                    second,
                });
            }
        }
        let mut free = (0..NODE_LIMIT as u16).filter(|node| !taken.contains_key(node));
        // Free numbers go to nodes in the order of their ids: equal networks get equal numbers.
        self.hosts.sort_by_key(|host| host.id);
        for host in &mut self.hosts {
            if u32::from(host.node) == NO_NODE {
                let node = free.next();
                host.node = node.ok_or(NumberError::TooMany { id: host.id })?;
            }
        }
        self.hosts.sort_by_key(|host| host.node);
        Ok(())
    }

    /// Device behind each port with a cable, as text.
    fn ports(&self) -> BTreeMap<CrossbarPort, String> {
        let hosts = self.hosts.iter().filter_map(|host| {
            let text = format!("node {} ({})", host.node, host.id);
            Some((host.at?, text))
        });
        let to = |place: &CrossbarPort| format!("crossbar {} port {}", place.crossbar, place.port);
        let links = self.links.iter();
        let links = links.flat_map(|[a, b]| [(*a, to(b)), (*b, to(a))]);
        let beyond = self.beyond.iter();
        let beyond = beyond.map(|place| (*place, "a crossbar too far away".to_owned()));
        hosts.chain(links).chain(beyond).collect()
    }

    /// Ports without a known cable that a crossbar of `most` ports may have, as distances from the port where the route comes in.
    pub(super) fn vacant(&self, crossbar: usize, most: u8) -> Vec<i8> {
        let ports: BTreeSet<i16> = self
            .ports()
            .keys()
            .filter(|place| place.crossbar == crossbar)
            .map(|place| place.port.into())
            .collect();
        let entry = i16::from(self.crossbars[crossbar].entry);
        let highest = ports.last().copied().unwrap_or(0);
        let most = i16::from(most);
        let possible = highest + 1 - most..most;
        let vacant = possible.filter(|port| !ports.contains(port));
        vacant
            .filter_map(|port| i8::try_from(port - entry).ok())
            .collect()
    }
}

impl fmt::Display for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.ports();
        for (index, crossbar) in self.crossbars.iter().enumerate() {
            write!(f, "crossbar {index}, route")?;
            for byte in &crossbar.route {
                write!(f, " {byte:02x}")?;
            }
            writeln!(f)?;
            let of_crossbar = ports.iter().filter(|(place, _)| place.crossbar == index);
            for (place, text) in of_crossbar {
                writeln!(f, "  port {:2}: {text}", place.port)?;
            }
        }
        for host in self.hosts.iter().filter(|host| host.at.is_none()) {
            writeln!(f, "node {} ({}), no crossbar", host.node, host.id)?;
        }
        Ok(())
    }
}
