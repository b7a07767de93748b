//! Construction of worlds: nodes, switches and cables. Every world of the testbench is built here.

use emulator::board::NoSuchFault;
use emulator::profile::ProfileError;
use emulator::sim::node::Node;
use emulator::sim::world::World;
use emulator::wire::ethernet::EthernetError;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::myrinet::{self, CrossbarConfig, MyrinetError};
use emulator::wire::port::Port;

use crate::boards::{BoardError, BoardType, Parts};
use crate::nodes::mac_address;

/// A world cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// A board.
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
