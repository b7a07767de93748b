//! A wormhole network: channels that a packet holds from its head to its tail, and STOP and GO in the reverse direction.
//!
//! A packet begins with its route, one byte for each switch: the egress port. A switch takes its byte off and sends the head on as
//! soon as the egress channel is free. A channel that ends at a node must also be open: the node says GO when it is ready to
//! receive, and STOP when it is not. A packet whose head cannot go on holds all channels behind it. Its sender is told to STOP,
//! and to GO once the head has entered its last channel; it is told again when the tail has left it.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use emulator::observe::capture::{Interface, LinkType, Tap};
use emulator::observe::tracer::Tracer;
use emulator::sim::time::SimTime;
use emulator::wire::lane::Lane;
use emulator::wire::medium::{Medium, MediumId};
use emulator::wire::network::{Network, Segment};
use emulator::wire::port::Port;
use emulator::wire::unit::{Defects, Unit};
use emulator::{state, value_enum, value_struct};

use super::segment::{Event, Joined};

/// Time of a byte on a channel.
pub const BYTE: SimTime = SimTime::from_ns(10);
/// From one end of a channel to the other, in both directions.
pub const CABLE: SimTime = SimTime::from_ns(50);
/// From a head at the ingress of a switch to the head at its egress.
pub const SWITCH: SimTime = SimTime::from_ns(100);
/// A link type for private use.
pub const LINK_TYPE: LinkType = LinkType(147);

#[derive(Debug)]
pub struct Wormhole;

impl Medium for Wormhole {
    const NAME: &'static str = "Wormhole";
    const HAS_CONTROLS: bool = true;
    type Unit = Packet;
    type Control = Control;
    type Cable = ();
    type Network = Channels;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// From a receiver: not ready. To a sender: the head of its packet is blocked.
    Stop,
    /// From a receiver: ready. To a sender: the head is in its last channel.
    Go,
    /// To a sender: the tail of its packet has left.
    Sent,
}

value_enum!(Control { Stop {}, Go {}, Sent {} });

/// The rest of a route, then the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    bytes: Arc<[u8]>,
    check: u32,
}

value_struct!(Packet {
    bytes: bytes,
    check: check
});

impl Packet {
    pub fn new(route: &[u8], payload: &[u8]) -> Self {
        Self {
            bytes: [route, payload].concat().into(),
            check: payload.iter().map(|&byte| u32::from(byte)).sum(),
        }
    }

    /// Takes the first byte of the route off.
    pub fn next_port(&mut self) -> Option<usize> {
        let (&first, rest) = self.bytes.split_first()?;
        self.bytes = rest.into();
        Some(first.into())
    }

    /// From its head to its tail.
    pub fn span(&self) -> SimTime {
        SimTime::from_ps(BYTE.ps() * self.length())
    }
}

impl Unit for Packet {
    const CHECK_BYTES: usize = 1;

    fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    fn check(&self) -> u32 {
        self.check
    }

    fn with_bytes(&self, bytes: Vec<u8>) -> Self {
        let (bytes, check) = (bytes.into(), self.check);
        Self { bytes, check }
    }

    fn with_check(bytes: Vec<u8>, check: u32) -> Self {
        let bytes = bytes.into();
        Self { bytes, check }
    }

    fn defects(&self) -> Defects {
        Defects::default()
    }
}

/// One direction of a cable.
#[derive(Debug)]
pub struct Channel {
    pub lane: Lane<Packet>,
    /// The packet that holds it.
    pub holder: Option<u64>,
    /// Packets whose heads wait for it, in the order in which they came.
    pub waiting: VecDeque<u64>,
    /// Whether the node at its end is ready, as far as is known at its beginning.
    pub open: bool,
}

state!(Channel {
    lane,
    holder,
    waiting,
    open
});

/// A packet under way.
#[derive(Debug, Clone)]
pub struct Worm {
    pub number: u64,
    pub packet: Packet,
    /// The channel that begins at its sender.
    pub first: usize,
    /// The channels that it holds, the sender's first.
    pub held: Vec<usize>,
    /// Whether the sender was told to stop.
    pub stopped: bool,
}

value_struct!(Worm {
    number: number,
    packet: packet,
    first: first,
    held: held,
    stopped: stopped
});

#[derive(Debug, Default)]
pub struct Channels {
    /// The directions of a cable are neighbours: `index ^ 1` is the other one.
    pub channels: Vec<Channel>,
    pub worms: Vec<Worm>,
    pub next_number: u64,
    /// Pending events, the next one last.
    pub pending: Vec<Event>,
    /// The nodes that have a cable.
    nodes: BTreeSet<usize>,
}

state!(Channels { worms, next_number, pending } lists { channels } fixed { nodes });

impl Channels {
    /// Lays a cable. Nodes must be attached besides.
    pub fn connect(&mut self, a: Port, b: Port) {
        for (from, to) in [(a, b), (b, a)] {
            self.channels.push(Channel {
                lane: Lane::new(from, to),
                holder: None,
                waiting: VecDeque::new(),
                open: !matches!(to, Port::Node(_)),
            });
            if let Port::Node(node) = from {
                self.nodes.insert(node);
            }
        }
    }

    /// The channel that begins at a port.
    pub fn channel_from(&self, port: Port) -> Option<usize> {
        self.channels
            .iter()
            .position(|channel| channel.lane.from() == port)
    }

    pub fn worm(&mut self, number: u64) -> &mut Worm {
        let worm = self.worms.iter_mut().find(|worm| worm.number == number);
        worm.expect("a packet under way")
    }

    fn waits_for(&self, number: u64, channel: &Channel) -> String {
        let sender = |number: u64| {
            let worm = self.worms.iter().find(|worm| worm.number == number);
            worm.map(|worm| self.channels[worm.first].lane.from())
        };
        let from = sender(number).expect("a packet under way");
        let place = channel.lane.from();
        match channel.holder.and_then(sender) {
            Some(holder) => {
                format!("packet from {from} waits at {place}, held by a packet from {holder}")
            }
            None => format!(
                "packet from {from} waits at {place}, {} is not ready",
                channel.lane.to()
            ),
        }
    }
}

impl Network for Channels {
    fn medium(&self) -> MediumId {
        MediumId::of::<Wormhole>()
    }

    /// All nodes are one segment, even if they cannot reach each other.
    fn segments(&mut self) -> Vec<(Vec<usize>, Box<dyn Segment + '_>)> {
        let nodes: Vec<usize> = self.nodes.iter().copied().collect();
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
        let channels = self.channels.iter_mut().enumerate();
        channels
            .map(|(index, channel)| {
                channel.lane.tap = Some(Tap::new(first + index, first + index));
                channel.lane.interface(LINK_TYPE, 800_000_000)
            })
            .collect()
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
        let waiting = self.channels.iter().flat_map(|channel| {
            let numbers = channel.waiting.iter();
            numbers.map(|&number| self.waits_for(number, channel))
        });
        waiting.collect()
    }
}
