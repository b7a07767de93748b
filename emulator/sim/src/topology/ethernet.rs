//! Building an Ethernet in a world: the methods of `World` that lay cables and add switches, routes and faults.

use lanigon_window::address::MacAddress;

use crate::node::Node;
use crate::world::World;
use emulator_base::time::SimTime;
use emulator_base::unit::Arrival;
use emulator_wire::ethernet::frame::{Departure, Frame};
use emulator_wire::ethernet::link::Link;
use emulator_wire::ethernet::switch::{Switch, SwitchConfig};
use emulator_wire::ethernet::{Ethernet, EthernetError, EthernetNetwork};
use emulator_wire::fault::{FaultCounts, FaultLayer};
use emulator_wire::lane::LaneCounts;
use emulator_wire::medium::Delivery;
use emulator_wire::network::outbox_of;
use emulator_wire::port::Port;
use emulator_wire::strikes::StrikeLog;

impl World {
    /// The Ethernet, to be changed.
    fn ethernet_mut(&mut self) -> &mut EthernetNetwork {
        let nodes = self.nodes.len();
        let ethernet = self.network_mut::<Ethernet>();
        ethernet.set_nodes(nodes);
        ethernet
    }

    /// The Ethernet and a line of it, that leads away from a port.
    fn ethernet_line(&self, port: Port) -> Result<(&EthernetNetwork, usize), EthernetError> {
        match self.network::<Ethernet>() {
            Some(ethernet) => Ok((ethernet, ethernet.connected(port)?)),
            None if matches!(port, Port::Node(node) if node < self.nodes.len()) => {
                Err(EthernetError::NoCable(port))
            }
            None => Err(EthernetError::NoSuchPort(port)),
        }
    }

    /// Adds a switch; returns its number.
    ///
    /// # Errors
    /// If its properties are impossible.
    pub fn add_switch(&mut self, config: &SwitchConfig) -> Result<usize, EthernetError> {
        self.ethernet_mut().add_switch(config)
    }

    /// Adds a route to a switch.
    ///
    /// # Errors
    /// If the port does not exist, or the address has a route already.
    pub fn add_route(
        &mut self,
        switch: usize,
        address: MacAddress,
        port: usize,
    ) -> Result<(), EthernetError> {
        self.ethernet_mut().add_route(switch, address, port)
    }

    /// Adds shortest routes to a node to all switches that can reach it and have no route to its address.
    ///
    /// # Errors
    /// If the node does not exist or has no cable.
    pub fn route_to(&mut self, node: usize, address: MacAddress) -> Result<(), EthernetError> {
        self.ethernet_mut().route_to(node, address)
    }

    /// Connects two ports: a number is a node, a pair of numbers a switch and its port.
    ///
    /// # Errors
    /// If an end does not exist, has a cable already or is a board of another medium, or if the link's properties are
    /// impossible.
    pub fn connect(
        &mut self,
        a: impl Into<Port>,
        b: impl Into<Port>,
        link: Link,
    ) -> Result<(), EthernetError> {
        let ends = [a.into(), b.into()];
        let nodes = || {
            ends.into_iter().filter_map(|end| match end {
                Port::Node(node) => Some(node),
                Port::Switch { .. } => None,
            })
        };
        for node in nodes().filter(|&node| node < self.nodes.len()) {
            self.check_medium::<Ethernet>(node)?;
        }
        self.ethernet_mut().connect(ends[0], ends[1], link)?;
        for node in nodes() {
            self.attach::<Ethernet>(node, &link)?;
        }
        Ok(())
    }

    /// Adds a fault layer between a port and its link, after existing layers: it handles frames that leave
    /// the port.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn add_fault(
        &mut self,
        port: impl Into<Port>,
        layer: Box<dyn FaultLayer<Frame>>,
    ) -> Result<(), EthernetError> {
        let ethernet = self.ethernet_mut();
        let line = ethernet.connected(port.into())?;
        ethernet.lane_mut(line).add_layer(layer);
        Ok(())
    }

    /// Records what the fault layers of a port do from now on; returns the record of each. Call it before the run.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn record_faults(
        &mut self,
        port: impl Into<Port>,
    ) -> Result<Vec<StrikeLog>, EthernetError> {
        let ethernet = self.ethernet_mut();
        let line = ethernet.connected(port.into())?;
        Ok(ethernet.lane_mut(line).record_layers())
    }

    /// Pulls the cable of a port out at `from` and plugs it in again at `until`, if ever. Nodes at its
    /// ends lose their carrier; frames that are on it at any time in between are lost.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn unplug(
        &mut self,
        port: impl Into<Port>,
        from: SimTime,
        until: Option<SimTime>,
    ) -> Result<(), EthernetError> {
        let ethernet = self.ethernet_mut();
        let line = ethernet.connected(port.into())?;
        let ends = [line, line ^ 1].map(|line| {
            let lane = ethernet.lane_mut(line);
            lane.cut(from, until.unwrap_or(SimTime::MAX));
            lane.from()
        });
        for end in ends {
            let Port::Node(node) = end else {
                continue;
            };
            self.nodes[node].schedule_carrier(false, from);
            if let Some(until) = until {
                self.nodes[node].schedule_carrier(true, until);
            }
        }
        Ok(())
    }

    /// The switches.
    #[must_use]
    pub fn switches(&self) -> &[Switch] {
        let ethernet = self.network::<Ethernet>();
        ethernet.map_or(&[], |ethernet| ethernet.switches())
    }

    /// Counts of the frames that left a port.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn line_counts(&self, port: impl Into<Port>) -> Result<&LaneCounts, EthernetError> {
        let (ethernet, line) = self.ethernet_line(port.into())?;
        Ok(ethernet.lane(line).counts())
    }

    /// Counts of each fault layer of a port.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn fault_counts(
        &self,
        port: impl Into<Port>,
    ) -> Result<impl Iterator<Item = FaultCounts>, EthernetError> {
        let (ethernet, line) = self.ethernet_line(port.into())?;
        Ok(ethernet.lane(line).fault_counts())
    }
}

/// For tests that feed a node by hand. Its board must have an Ethernet port.
impl Node {
    /// Delivers a frame whose first bit arrives at `first_bit`.
    ///
    /// # Panics
    /// If the board has a port of another medium.
    pub fn frame_arrives(&mut self, frame: Frame, first_bit: SimTime) {
        let arrival = Arrival {
            head: first_bit,
            tail: None,
            unit: frame,
        };
        self.deliver(&mut Some(Delivery::<Ethernet>::Unit(arrival)));
    }

    /// Takes the frames that began to leave.
    ///
    /// # Panics
    /// If the board has a port of another medium.
    pub fn take_departures(&mut self) -> Vec<Departure> {
        outbox_of::<Ethernet>(self.outbox()).take_units().collect()
    }
}
