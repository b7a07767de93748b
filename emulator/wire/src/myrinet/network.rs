//! The fabric of a world: channels, crossbars, and the packets under way.

use super::channel::{Channel, ChannelCounts};
use super::crossbar::{Crossbar, CrossbarConfig};
use super::error::MyrinetError;
use super::event::{Event, Pending, Step};
use super::link::Link;
use super::packet::Packet;
use super::segment::Joined;
use super::worm::{Hop, HopId, Worm, Worms};
use super::{LINK_TYPE, Myrinet};
use crate::lane::Lane;
use crate::medium::MediumId;
use crate::network::{Network, Segment};
use crate::port::Port;
use emulator_base::time::SimTime;
use emulator_observe::capture::{Interface, Tap};
use emulator_observe::event::Place;
use emulator_observe::tracer::Tracer;
use emulator_state::{state, value_struct};

/// The longest cable, and the slowest crossbar: sums of times stay far from their limit.
const LONGEST: SimTime = SimTime::from_us(1_000);
const SLOWEST_BYTE: SimTime = SimTime::from_us(1);
/// Traces number crossbars with 16 bits.
const MOST: usize = 1 << 16;

/// Counts of packets by their fate. `sent + doubled` is the sum of the others and of the packets under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FabricCounts {
    /// Packets that boards sent.
    pub sent: u64,
    /// Copies that fault layers added.
    pub doubled: u64,
    /// Packets that reached a board as a whole, damaged or not.
    pub delivered: u64,
    /// Packets of which a board received only the beginning.
    pub cut_short: u64,
    /// Packets that reached no board.
    pub lost: u64,
}

value_struct!(FabricCounts {
    sent: sent,
    doubled: doubled,
    delivered: delivered,
    cut_short: cut_short,
    lost: lost
});

/// Channels and crossbars of a world.
#[derive(Debug, Default)]
pub struct MyrinetNetwork {
    /// The directions of a cable are neighbours: `index ^ 1` is the other one.
    pub(super) channels: Vec<Channel>,
    pub(super) crossbars: Vec<Crossbar>,
    /// For each node, the channel that leads away from it.
    node_channels: Vec<Option<usize>>,
    /// Ends of cables that are plugged in later.
    planned: Vec<[Port; 2]>,
    pub(super) worms: Worms,
    pub(super) next_number: u64,
    pub(super) pending: Pending,
    /// The time of the last event.
    pub(super) now: SimTime,
    pub(super) counts: FabricCounts,
}

state!(MyrinetNetwork {
    worms, next_number, pending, now, counts, node_channels
} lists { channels, crossbars } fixed { planned });

impl MyrinetNetwork {
    /// The world has this number of nodes.
    pub fn set_nodes(&mut self, count: usize) {
        self.node_channels.resize(count, None);
    }

    /// A channel: a direction of a cable. That of the same cable in reverse is `channel ^ 1`.
    #[must_use]
    pub fn lane(&self, channel: usize) -> &Lane<Packet> {
        &self.channels[channel].lane
    }

    /// A channel, to be changed.
    pub fn lane_mut(&mut self, channel: usize) -> &mut Lane<Packet> {
        &mut self.channels[channel].lane
    }

    /// All channels: also those of cables that were pulled out, or will be plugged in.
    pub fn lanes(&self) -> impl Iterator<Item = &Lane<Packet>> {
        self.channels.iter().map(|channel| &channel.lane)
    }

    /// Counts of STOP, GO and the slack buffer of a channel.
    #[must_use]
    pub fn flow_counts(&self, channel: usize) -> &ChannelCounts {
        &self.channels[channel].counts
    }

    /// The nodes at the ends of the cable of a channel.
    pub fn nodes_at(&self, channel: usize) -> impl Iterator<Item = usize> + use<> {
        let ends = [channel, channel ^ 1].map(|channel| self.channels[channel].sender());
        ends.into_iter().flatten()
    }

    /// For each crossbar the channels that lead away from its ports.
    pub fn crossbars(&self) -> impl Iterator<Item = &[Option<usize>]> {
        self.crossbars.iter().map(|crossbar| &*crossbar.ports)
    }

    /// A packet that no board has sent comes out of the far end of a node's cable at `time`, or now if that is past.
    ///
    /// # Errors
    /// If the node does not exist or has no cable.
    pub fn inject(
        &mut self,
        node: usize,
        packet: Packet,
        time: SimTime,
    ) -> Result<(), MyrinetError> {
        // The two channels of a cable are neighbours.
        let channel = self.connected(Port::Node(node))? ^ 1;
        let layers = self.channels[channel].lane.layers();
        self.counts.sent += 1;
        self.schedule(
            time.max(self.now),
            channel,
            Step::Leave(packet, layers, false),
        );
        Ok(())
    }

    /// The counts of packets by their fate.
    #[must_use]
    pub const fn counts(&self) -> &FabricCounts {
        &self.counts
    }

    /// Number of packets under way, without those that have not begun to leave their sender. Fault layers hold some of them back.
    #[must_use]
    pub fn under_way(&self) -> usize {
        let held = |event: &&Event| matches!(event.step, Step::Leave(_, layer, _) if layer > 0);
        self.worms.len() + self.pending.0.iter().filter(held).count()
    }

    /// The channel that leads away from a node.
    pub(super) fn node_channel(&self, node: usize) -> Option<usize> {
        self.node_channels.get(node).copied().flatten()
    }

    /// The channel that leads to the node from which a channel leads away: the other direction of its cable, or, if the cable
    /// ends where it begins, that channel itself.
    pub(super) fn back(&self, away: usize) -> usize {
        let lane = &self.channels[away].lane;
        match lane.from() == lane.to() {
            true => away,
            false => away ^ 1,
        }
    }

    /// The channel that leads away from a port: none if no cable is plugged in, an error if there is no such port.
    pub(super) fn channel_from(&self, port: Port) -> Result<Option<usize>, MyrinetError> {
        let channel = match port {
            Port::Node(node) => self.node_channels.get(node).copied(),
            Port::Switch { switch, port } => {
                let crossbar = self.crossbars.get(switch);
                crossbar.and_then(|crossbar| crossbar.ports.get(port).copied())
            }
        };
        channel.ok_or(MyrinetError::NoSuchPort(port))
    }

    /// The channel that leads away from a port with a cable.
    pub fn connected(&self, port: Port) -> Result<usize, MyrinetError> {
        self.channel_from(port)?.ok_or(MyrinetError::NoCable(port))
    }

    /// Adds a crossbar; returns its number.
    pub fn add_crossbar(&mut self, config: &CrossbarConfig) -> Result<usize, MyrinetError> {
        let (go, stop) = (config.watermarks.go_bytes, config.watermarks.stop_bytes);
        if !matches!(config.ports, 8 | 16 | 32) {
            return Err(MyrinetError::Ports(config.ports));
        }
        if config.latency > LONGEST {
            return Err(MyrinetError::Latency(config.latency));
        }
        if go >= stop {
            return Err(MyrinetError::Watermarks { go, stop });
        }
        if config.watchdog == Some(SimTime::ZERO) {
            return Err(MyrinetError::Watchdog);
        }
        if self.crossbars.len() >= MOST {
            return Err(MyrinetError::TooManyCrossbars);
        }
        self.crossbars.push(Crossbar {
            config: *config,
            ports: vec![None; config.ports],
        });
        Ok(self.crossbars.len() - 1)
    }

    /// Joins two ports.
    pub fn connect(&mut self, a: Port, b: Port, link: Link) -> Result<(), MyrinetError> {
        for end in [a, b] {
            if self.channel_from(end)?.is_some() {
                return Err(MyrinetError::Occupied(end));
            }
        }
        if a == b && matches!(a, Port::Switch { .. }) {
            return Err(MyrinetError::Loop(a));
        }
        if link.byte_time == SimTime::ZERO || link.propagation == SimTime::ZERO {
            return Err(MyrinetError::NoTime(a, b));
        }
        if link.byte_time > SLOWEST_BYTE || link.propagation > LONGEST {
            return Err(MyrinetError::TooSlow(a, b));
        }
        for (from, to) in [(a, b), (b, a)] {
            let index = Some(self.channels.len());
            match from {
                Port::Node(node) => self.node_channels[node] = index,
                Port::Switch { switch, port } => self.crossbars[switch].ports[port] = index,
            }
            self.channels.push(Channel::new(from, to, link));
        }
        Ok(())
    }

    /// Cuts the cable of a channel for a span of time. `crossbar`: the crossbar at an end fails with it.
    pub fn cut(
        &mut self,
        channel: usize,
        span: (SimTime, Option<SimTime>),
        crossbar: Option<usize>,
    ) {
        for channel in [channel, channel ^ 1] {
            let lane = &mut self.channels[channel].lane;
            lane.cut(span.0, span.1.unwrap_or(SimTime::MAX));
            let end = lane.to();
            let fails = matches!(end, Port::Switch { switch, .. } if Some(switch) == crossbar);
            self.schedule(span.0.max(self.now), channel, Step::Cut(fails));
        }
    }

    /// Adds a cable that takes the place of an existing one, whose channel is given, at `at`: it lies between other ports and carries
    /// packets from `from` on.
    pub fn replug(
        &mut self,
        old: usize,
        ends: [Port; 2],
        at: SimTime,
        from: SimTime,
    ) -> Result<(), MyrinetError> {
        let lane = &self.channels[old].lane;
        let own = [lane.from(), lane.to()];
        for end in ends {
            let free = self.channel_from(end)?.is_none();
            let planned = self.planned.iter().flatten().any(|taken| *taken == end);
            if planned || !free && !own.contains(&end) {
                return Err(MyrinetError::Occupied(end));
            }
        }
        let mut nodes =
            [own, ends].map(|ends| ends.map(|end| matches!(end, Port::Node(_)).then_some(end)));
        // A cable names its ends in any order.
        nodes.iter_mut().for_each(|nodes| nodes.sort_unstable());
        if ends[0] == ends[1] || nodes[0] != nodes[1] {
            return Err(MyrinetError::OtherNode(own[0], own[1]));
        }
        let (link, new) = (self.channels[old].link, self.channels.len());
        for (from_end, to) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let mut channel = Channel::new(from_end, to, link);
            channel.lane.cut(SimTime::ZERO, from);
            self.channels.push(channel);
        }
        self.planned.push(ends);
        self.schedule(at.max(self.now), old, Step::Replug(new));
        Ok(())
    }

    /// Gives the ports of an old cable free and plugs in a new one. Both are given by a channel.
    pub(super) fn plug_in(&mut self, old: usize, new: usize) {
        for (channels, plugged) in [([old, old ^ 1], false), ([new, new ^ 1], true)] {
            for channel in channels {
                let place = match self.channels[channel].lane.from() {
                    Port::Node(node) => self.node_channels.get_mut(node),
                    Port::Switch { switch, port } => {
                        let crossbar = self.crossbars.get_mut(switch);
                        crossbar.and_then(|crossbar| crossbar.ports.get_mut(port))
                    }
                };
                match place {
                    Some(place) if plugged => *place = Some(channel),
                    // Another cable may be there already.
                    Some(place) if *place == Some(channel) => *place = None,
                    _ => {}
                }
            }
        }
    }

    /// The channel that leads away from the node where a channel begins: another one if its cable was replaced.
    pub(super) fn current_away(&self, channel: usize) -> usize {
        let node = self.channels[channel].sender();
        node.and_then(|node| self.node_channel(node))
            .unwrap_or(channel)
    }

    /// The channel that leads to the node where a channel ends: another one if its cable was replaced.
    pub(super) fn current_back(&self, channel: usize) -> usize {
        let node = self.channels[channel].receiver();
        let away = node.and_then(|node| self.node_channel(node));
        away.map_or(channel, |away| self.back(away))
    }

    pub(super) fn schedule(&mut self, time: SimTime, channel: usize, step: Step) -> u64 {
        let sequence = self.channels[channel].lane.next_sequence();
        self.pending.0.push(Event {
            time,
            channel,
            step,
            sequence,
        });
        sequence
    }

    /// The span from a byte at a channel's beginning to that byte in the slack buffer at its end; `None` if a node is there.
    pub(super) fn delay(&self, channel: usize) -> Option<SimTime> {
        let channel = &self.channels[channel];
        let Port::Switch { switch, .. } = channel.lane.to() else {
            return None;
        };
        let latency = self.crossbars.get(switch)?.config.latency;
        Some(channel.link.propagation.saturating_add(latency))
    }

    /// A packet under way.
    pub(super) fn worm(&self, number: u64) -> Option<&Worm> {
        self.worms.get(number)
    }

    /// A packet under way.
    pub(super) fn worm_mut(&mut self, number: u64) -> Option<&mut Worm> {
        self.worms.get_mut(number)
    }

    pub(super) fn hop(&self, (number, hop): HopId) -> Option<&Hop> {
        self.worm(number)?.hops.get(hop)
    }

    pub(super) fn hop_mut(&mut self, (number, hop): HopId) -> Option<&mut Hop> {
        self.worm_mut(number)?.hops.get_mut(hop)
    }

    /// The port where a packet began.
    fn sender_of(&self, (number, _): HopId) -> Option<Port> {
        let first = self.hop((number, 0))?;
        Some(self.channels[first.channel].lane.from())
    }

    fn describe(&self, channel: &Channel) -> Vec<String> {
        let (place, to) = (channel.lane.from(), channel.lane.to());
        let holder = channel.holder.and_then(|holder| self.sender_of(holder));
        let stopped = channel.gate.is_stopped(self.now);
        let held = holder.filter(|_| stopped).map(|holder| match to {
            Port::Node(_) => format!("packet from {holder} stops at {place}, {to} is not ready"),
            Port::Switch { .. } => format!("packet from {holder} stops at {place}, {to} is full"),
        });
        let waiting = channel.waiting.iter().map(|&waiting| {
            let from = match self.sender_of(waiting) {
                Some(from) => from.to_string(),
                None => "an unknown port".to_owned(),
            };
            match holder {
                Some(holder) => {
                    format!("packet from {from} waits at {place}, held by a packet from {holder}")
                }
                None => format!("packet from {from} waits at {place}"),
            }
        });
        held.into_iter().chain(waiting).collect()
    }
}

impl Network for MyrinetNetwork {
    fn medium(&self) -> MediumId {
        MediumId::of::<Myrinet>()
    }

    /// All nodes are one segment, even if they cannot reach each other.
    fn segments(&mut self) -> Vec<(Vec<usize>, Box<dyn Segment + '_>)> {
        let nodes = self.node_channels.iter().enumerate();
        let nodes = nodes.filter(|(_, channel)| channel.is_some());
        let nodes: Vec<usize> = nodes.map(|(node, _)| node).collect();
        if nodes.is_empty() {
            return Vec::new();
        }
        vec![(nodes.clone(), Box::new(Joined::new(self, nodes)))]
    }

    fn traces(&self) -> Box<dyn Iterator<Item = &Tracer> + '_> {
        Box::new(self.channels.iter().map(|channel| &channel.lane.trace))
    }

    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_> {
        let channels = self.channels.iter_mut();
        Box::new(channels.map(|channel| &mut channel.lane.trace))
    }

    fn begin_capture(&mut self, first: usize) -> Vec<Interface> {
        let (channels, nodes) = (self.channels.len(), self.node_channels.len());
        for (index, channel) in self.channels.iter_mut().enumerate() {
            let place = match channel.lane.from() {
                Port::Node(node) => node,
                Port::Switch { switch, .. } => nodes + switch,
            };
            channel.lane.tap = Some(Tap::new(first + index, first + channels + place));
        }
        let wires = self.channels.iter();
        let wires = wires.map(|wire| wire.lane.interface(LINK_TYPE, wire.link.bits_per_s()));
        let nodes = (0..nodes).map(|node| Place::Node(node as u16));
        let crossbars = (0..self.crossbars.len()).map(|crossbar| Place::Switch(crossbar as u16));
        let places = nodes.chain(crossbars);
        let drops = places.map(|place| Interface::of_drops::<Packet>(place, LINK_TYPE));
        wires.chain(drops).collect()
    }

    fn end_capture(&mut self) {
        for channel in &mut self.channels {
            channel.lane.tap = None;
        }
    }

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        let channels = self.channels.iter_mut();
        Box::new(channels.filter_map(|channel| channel.lane.tap.as_mut()))
    }

    fn describe_waiting(&self) -> Vec<String> {
        let channels = self.channels.iter();
        channels
            .flat_map(|channel| self.describe(channel))
            .collect()
    }
}
