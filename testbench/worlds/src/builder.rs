//! Construction of worlds: nodes, switches and cables. Every world of the testbench is built here.

use emulator::board::NoSuchFault;
use emulator::profile::ProfileError;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::ethernet::EthernetError;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::fault::FaultLayer;
use emulator::wire::myrinet::{self, CrossbarConfig, MyrinetError, Packet};
use emulator::wire::port::Port;
use emulator::wire::strikes::StrikeLog;

use crate::boards::{BoardError, BoardType, Medium, Parts};
use crate::nodes::mac_address;

/// A world cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A board cannot be built.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The profile of a cable.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A fault of a board.
    #[error(transparent)]
    Fault(#[from] NoSuchFault),
    /// A switch or a cable.
    #[error(transparent)]
    Network(#[from] EthernetError),
    /// A crossbar or a cable of Myrinet.
    #[error(transparent)]
    Myrinet(#[from] MyrinetError),
}

/// Sizes in which crossbars are made.
const CROSSBAR_PORTS: [usize; 3] = [8, 16, 32];

/// The ports of the smallest crossbar for this many nodes; `None` if the largest one is too small.
#[must_use]
pub fn crossbar_ports(nodes: usize) -> Option<usize> {
    CROSSBAR_PORTS.into_iter().find(|&ports| ports >= nodes)
}

/// A world of one node.
#[must_use]
pub fn alone(node: Node) -> World {
    World::new(vec![node])
}

/// Adds a fault layer for what leaves a port, on any medium.
///
/// # Errors
/// If the port does not exist or has no cable of that medium.
pub fn add_layer<L>(
    world: &mut World,
    medium: Medium,
    port: impl Into<Port>,
    layer: L,
) -> Result<(), WorldError>
where
    L: FaultLayer<Frame> + FaultLayer<Packet> + 'static,
{
    match medium {
        Medium::Ethernet => world.add_fault(port, Box::new(layer))?,
        Medium::Myrinet => world.add_myrinet_fault(port, Box::new(layer))?,
    }
    Ok(())
}

/// From now on records what the fault layers of a port do, on any medium; returns the record of each.
///
/// # Errors
/// If the port does not exist or has no cable of that medium.
pub fn record_layers(
    world: &mut World,
    medium: Medium,
    port: impl Into<Port>,
) -> Result<Vec<StrikeLog>, WorldError> {
    Ok(match medium {
        Medium::Ethernet => world.record_faults(port)?,
        Medium::Myrinet => world.record_myrinet_faults(port)?,
    })
}

/// Delivers a frame or a packet to a node at `time`, as from the other end of its cable.
///
/// # Errors
/// If the node does not exist or, on Myrinet, has no cable.
pub fn inject(
    world: &mut World,
    medium: Medium,
    node: usize,
    time: SimTime,
    bytes: &[u8],
) -> Result<(), WorldError> {
    match medium {
        Medium::Ethernet => {
            if let Some(node) = world.nodes.get_mut(node) {
                node.frame_arrives(Frame::new(bytes.to_vec()), time);
            }
        }
        Medium::Myrinet => world.inject_myrinet(node, Packet::new(bytes.to_vec()), time)?,
    }
    Ok(())
}

/// A world that is being described.
#[derive(Debug, Default)]
pub struct WorldBuilder {
    nodes: Vec<Node>,
    switches: Vec<SwitchConfig>,
    cables: Vec<(Port, Port, Link)>,
    crossbars: Vec<CrossbarConfig>,
    myrinet_cables: Vec<(Port, Port, myrinet::Link)>,
}

impl WorldBuilder {
    /// A world without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a node with a board of this type; its number is the count of the nodes before it. The firmware is not loaded
    /// yet.
    ///
    /// # Errors
    /// If parts do not fit the board.
    pub fn node(
        &mut self,
        board: &'static BoardType,
        parts: &Parts<'_>,
    ) -> Result<&mut Node, BoardError> {
        let index = self.nodes.len();
        self.nodes.push(board.node(index as u16, parts)?);
        Ok(&mut self.nodes[index])
    }

    /// Adds a switch; its number is the count of the switches before it.
    pub fn switch(&mut self, config: SwitchConfig) -> usize {
        self.switches.push(config);
        self.switches.len() - 1
    }

    /// Adds a cable.
    pub fn cable(&mut self, a: impl Into<Port>, b: impl Into<Port>, link: Link) {
        self.cables.push((a.into(), b.into(), link));
    }

    /// Adds a crossbar of Myrinet; its number is the count of the crossbars before it.
    pub fn crossbar(&mut self, config: CrossbarConfig) -> usize {
        self.crossbars.push(config);
        self.crossbars.len() - 1
    }

    /// Adds a cable of Myrinet. It may lead from a node to itself.
    pub fn myrinet_cable(&mut self, a: impl Into<Port>, b: impl Into<Port>, link: myrinet::Link) {
        self.myrinet_cables.push((a.into(), b.into(), link));
    }

    /// Joins nodes 0 and 1 by a cable, 2 and 3, and so on.
    pub fn pairs(&mut self, link: Link) {
        for first in (0..self.nodes.len().saturating_sub(1)).step_by(2) {
            self.cable(first, first + 1, link);
        }
    }

    /// Joins all nodes by a switch, node n at port n. The routes of the switch are those to the nodes.
    pub fn star(&mut self, mut config: SwitchConfig, link: Link) {
        let count = self.nodes.len();
        let routes = (0..count).map(|node| (mac_address(node as u16), node));
        config.routes = routes.collect();
        let switch = self.switch(config);
        for node in 0..count {
            self.cable(node, (switch, node), link);
        }
    }

    /// Joins nodes 0 and 1 by a cable of Myrinet, 2 and 3, and so on.
    pub fn myrinet_pairs(&mut self, link: myrinet::Link) {
        for first in (0..self.nodes.len().saturating_sub(1)).step_by(2) {
            self.myrinet_cable(first, first + 1, link);
        }
    }

    /// Joins all nodes by a crossbar, node n at port n.
    pub fn myrinet_star(&mut self, config: CrossbarConfig, link: myrinet::Link) {
        let crossbar = self.crossbar(config);
        for node in 0..self.nodes.len() {
            self.myrinet_cable(node, (crossbar, node), link);
        }
    }

    /// The world.
    ///
    /// # Errors
    /// If a switch or a cable is invalid.
    pub fn build(self) -> Result<World, WorldError> {
        let mut world = World::new(self.nodes);
        for config in &self.switches {
            world.add_switch(config)?;
        }
        for (a, b, link) in self.cables {
            world.connect(a, b, link)?;
        }
        for config in &self.crossbars {
            world.add_crossbar(config)?;
        }
        for (a, b, link) in self.myrinet_cables {
            world.connect_myrinet(a, b, link)?;
        }
        Ok(world)
    }
}
