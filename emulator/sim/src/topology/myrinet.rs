//! Building a Myrinet in a world: the methods of `World` that lay cables and add crossbars and faults.
//!
//! A cable has two channels, one for each direction; a channel is named by the port that it leads away from. The fault layers of a channel,
//! and its counts, are its lane.

use crate::world::World;
use emulator_base::time::SimTime;
use emulator_wire::fault::{FaultCounts, FaultLayer};
use emulator_wire::lane::{Lane, LaneCounts};
use emulator_wire::myrinet::topology::Topology;
use emulator_wire::myrinet::{
    ChannelCounts, CrossbarConfig, FabricCounts, Link, Myrinet, MyrinetError, MyrinetNetwork,
    Packet,
};
use emulator_wire::port::Port;
use emulator_wire::strikes::StrikeLog;

impl World {
    /// The Myrinet, to be changed.
    fn myrinet_mut(&mut self) -> &mut MyrinetNetwork {
        let nodes = self.nodes.len();
        let myrinet = self.network_mut::<Myrinet>();
        myrinet.set_nodes(nodes);
        myrinet
    }

    /// The Myrinet and a channel of it, that leads away from a port.
    fn myrinet_channel(&self, port: Port) -> Result<(&MyrinetNetwork, usize), MyrinetError> {
        let myrinet = self.network::<Myrinet>();
        let myrinet = myrinet.ok_or(MyrinetError::NoCable(port))?;
        Ok((myrinet, myrinet.connected(port)?))
    }

    /// Adds a crossbar; returns its number.
    ///
    /// # Errors
    /// If its properties are impossible.
    pub fn add_crossbar(&mut self, config: &CrossbarConfig) -> Result<usize, MyrinetError> {
        self.myrinet_mut().add_crossbar(config)
    }

    /// Connects two ports with a Myrinet cable: a number is a node, a pair of numbers a crossbar and its port.
    ///
    /// # Errors
    /// If an end does not exist, has a cable already or is a board of another medium, or if the cable's properties are
    /// impossible.
    pub fn connect_myrinet(
        &mut self,
        a: impl Into<Port>,
        b: impl Into<Port>,
        link: Link,
    ) -> Result<(), MyrinetError> {
        let ends = [a.into(), b.into()];
        let nodes = || {
            ends.into_iter().filter_map(|end| match end {
                Port::Node(node) => Some(node),
                Port::Switch { .. } => None,
            })
        };
        for node in nodes() {
            self.check_medium::<Myrinet>(node)?;
        }
        self.myrinet_mut().connect(ends[0], ends[1], link)?;
        for node in nodes() {
            self.attach::<Myrinet>(node, &link)?;
        }
        Ok(())
    }

    /// Adds the crossbars and cables of a topology to a world without crossbars. `crossbar` gives the properties of all crossbars but
    /// the number of ports.
    ///
    /// # Errors
    /// If a crossbar or a cable is impossible.
    pub fn build_myrinet(
        &mut self,
        topology: &Topology,
        crossbar: &CrossbarConfig,
        link: Link,
    ) -> Result<(), MyrinetError> {
        for &ports in &topology.crossbars {
            self.add_crossbar(&CrossbarConfig { ports, ..*crossbar })?;
        }
        for &(a, b) in &topology.cables {
            self.connect_myrinet(a, b, link)?;
        }
        Ok(())
    }

    /// Adds a fault layer between a port and its channel, after existing layers: it handles packets that leave the port. At a crossbar's
    /// port it cannot double a packet or change its length, because the packet is under way.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn add_myrinet_fault(
        &mut self,
        port: impl Into<Port>,
        layer: Box<dyn FaultLayer<Packet>>,
    ) -> Result<(), MyrinetError> {
        let myrinet = self.myrinet_mut();
        let channel = myrinet.connected(port.into())?;
        myrinet.lane_mut(channel).add_layer(layer);
        Ok(())
    }

    /// Records what the fault layers of a port do from now on; returns the record of each. Call it before the run.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn record_myrinet_faults(
        &mut self,
        port: impl Into<Port>,
    ) -> Result<Vec<StrikeLog>, MyrinetError> {
        let myrinet = self.myrinet_mut();
        let channel = myrinet.connected(port.into())?;
        Ok(myrinet.lane_mut(channel).record_layers())
    }

    /// A packet that no board has sent comes out of the far end of a node's cable at `time`, or now if that is past. It waits for
    /// GO like any other packet, and passes no fault layer. Its bytes have no route left.
    ///
    /// # Errors
    /// If the node does not exist or has no cable.
    pub fn inject_myrinet(
        &mut self,
        node: usize,
        packet: Packet,
        time: SimTime,
    ) -> Result<(), MyrinetError> {
        self.myrinet_mut().inject(node, packet, time)
    }

    /// Pulls the cable of a port out at `from` and plugs it in again at `until`, if ever. Nodes at its ends lose their
    /// carrier; packets that are on it at `from` are lost, and those that come in between.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn unplug_myrinet(
        &mut self,
        port: impl Into<Port>,
        from: SimTime,
        until: Option<SimTime>,
    ) -> Result<(), MyrinetError> {
        let channel = self.myrinet_mut().connected(port.into())?;
        self.cut_myrinet(channel, (from, until), None);
        Ok(())
    }

    /// Pulls the cable of a port out at `at` and plugs it in between `ends` at `until`. Nodes at its ends keep it, so only ends at
    /// crossbars move, to ports that are free from the beginning, or stay. Packets that are on it at `at` are lost, and those that nodes
    /// send in between. Fault layers of the old ports do not move with it.
    ///
    /// # Errors
    /// If the port does not exist or has no cable, or the new ends are not possible.
    pub fn replug_myrinet(
        &mut self,
        port: impl Into<Port>,
        ends: [Port; 2],
        at: SimTime,
        until: SimTime,
    ) -> Result<(), MyrinetError> {
        let myrinet = self.myrinet_mut();
        let channel = myrinet.connected(port.into())?;
        myrinet.replug(channel, ends, at, until)?;
        self.cut_myrinet(channel, (at, None), None);
        for end in ends {
            if let Port::Node(node) = end {
                self.nodes[node].schedule_carrier(true, until);
            }
        }
        Ok(())
    }

    /// A crossbar is dead from `from` to `until`, if ever: its cables carry nothing, and packets inside are lost.
    ///
    /// # Errors
    /// If there is no such crossbar.
    pub fn fail_crossbar(
        &mut self,
        crossbar: usize,
        from: SimTime,
        until: Option<SimTime>,
    ) -> Result<(), MyrinetError> {
        let found = self.myrinet_mut().crossbars().nth(crossbar);
        let found = found.ok_or(MyrinetError::NoSuchCrossbar(crossbar))?;
        let channels: Vec<usize> = found.iter().copied().flatten().collect();
        for channel in channels {
            self.cut_myrinet(channel, (from, until), Some(crossbar));
        }
        Ok(())
    }

    /// Cuts one channel for a span of time, because its cable is cut or because all of `crossbar` is off. The nodes at its ends lose the carrier.
    fn cut_myrinet(
        &mut self,
        channel: usize,
        span: (SimTime, Option<SimTime>),
        crossbar: Option<usize>,
    ) {
        let myrinet = self.myrinet_mut();
        myrinet.cut(channel, span, crossbar);
        for node in myrinet.nodes_at(channel) {
            self.nodes[node].schedule_carrier(false, span.0);
            if let Some(until) = span.1 {
                self.nodes[node].schedule_carrier(true, until);
            }
        }
    }

    /// Counts of the packets that left a port.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn myrinet_counts(&self, port: impl Into<Port>) -> Result<&LaneCounts, MyrinetError> {
        let (myrinet, channel) = self.myrinet_channel(port.into())?;
        Ok(myrinet.lane(channel).counts())
    }

    /// Counts of STOP, GO and the slack buffer of the channel that leads away from a port.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn myrinet_flow_counts(
        &self,
        port: impl Into<Port>,
    ) -> Result<&ChannelCounts, MyrinetError> {
        let (myrinet, channel) = self.myrinet_channel(port.into())?;
        Ok(myrinet.flow_counts(channel))
    }

    /// Counts of each fault layer of a port.
    ///
    /// # Errors
    /// If the port does not exist or has no cable.
    pub fn myrinet_fault_counts(
        &self,
        port: impl Into<Port>,
    ) -> Result<impl Iterator<Item = FaultCounts>, MyrinetError> {
        let (myrinet, channel) = self.myrinet_channel(port.into())?;
        Ok(myrinet.lane(channel).fault_counts())
    }

    /// Counts of all channels: also of cables that were pulled out, or will be plugged in.
    pub fn myrinet_lanes(&self) -> impl Iterator<Item = &LaneCounts> {
        let networks = self.network::<Myrinet>().into_iter();
        networks.flat_map(|myrinet| myrinet.lanes().map(Lane::counts))
    }

    /// Counts of the fault layers of all channels.
    pub fn myrinet_layers(&self) -> impl Iterator<Item = FaultCounts> {
        let networks = self.network::<Myrinet>().into_iter();
        let lanes = networks.flat_map(|myrinet| myrinet.lanes());
        lanes.flat_map(Lane::fault_counts)
    }

    /// The number of ports of each crossbar.
    pub fn crossbar_ports(&self) -> impl Iterator<Item = usize> {
        let myrinet = self.network::<Myrinet>();
        let crossbars = myrinet.into_iter().flat_map(|myrinet| myrinet.crossbars());
        crossbars.map(<[_]>::len)
    }

    /// Counts of all packets by their fate.
    #[must_use]
    pub fn fabric_counts(&self) -> FabricCounts {
        let myrinet = self.network::<Myrinet>();
        myrinet.map(|myrinet| *myrinet.counts()).unwrap_or_default()
    }
}
