//! Switches: ports, routes, buffers and a latency.

use std::collections::{BTreeMap, VecDeque};

use lanigon_window::address::MacAddress;

use super::frame::Frame;
use super::link::Link;
use crate::lane::loss_event;
use emulator_base::initiator::Initiator;
use emulator_base::loss::{LossCounts, LossReason};
use emulator_base::time::SimTime;
use emulator_observe::capture::{Interface, LinkType, Note, Tap};
use emulator_observe::event::Place;
use emulator_observe::names::NO_BOARD;
use emulator_observe::tracer::Tracer;
use emulator_state::state;
use emulator_state::value_struct;

/// The condition for a switch to forward a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// The frame is complete, and its FCS is right.
    StoreAndForward,
    /// The frame's header is in, if the egress port is free and as fast as the ingress port; otherwise the frame is complete. A frame
    /// that cuts through is not checked.
    CutThrough,
}

/// The properties of a switch.
#[derive(Debug, Clone)]
pub struct SwitchConfig {
    /// The number of ports.
    pub ports: usize,
    /// The condition for frames to be forwarded.
    pub forwarding: Forwarding,
    /// Shortest time from when it may forward a frame to when the first bit leaves.
    pub latency: SimTime,
    /// Buffer of each port for frames that wait to leave, or are leaving, in bytes with FCS. A frame that cuts through needs
    /// none.
    pub buffer_bytes: u64,
    /// The port that leads to each destination. Frames to other destinations are dropped; frames to a group of nodes go to
    /// all ports of a tree that reaches every node once.
    pub routes: Vec<(MacAddress, usize)>,
}

/// Counts of a port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Frames that came in.
    pub received: u64,
    /// Further copies of frames to a group that came in: a frame has one for each port where it leaves.
    pub copies: u64,
    /// Frames that were given to the port to leave.
    pub forwarded: u64,
    /// Frames that were dropped: those that came in here and have no egress port, and those that do not fit the buffer of this
    /// port.
    pub dropped: LossCounts,
    /// Peak of the bytes in its buffer.
    pub peak_buffer_bytes: u64,
}

value_struct!(PortCounts {
    received: received,
    copies: copies,
    forwarded: forwarded,
    dropped: dropped,
    peak_buffer_bytes: peak_buffer_bytes
});

/// A port of a switch: its egress queue.
#[derive(Debug, Default)]
pub(super) struct SwitchPort {
    /// The line that begins at this port.
    pub(super) line: Option<usize>,
    /// Whether frames to a group of nodes leave here.
    pub(super) floods: bool,
    pub(super) counts: PortCounts,
    /// For each frame in the buffer, when it will have left, and its length.
    buffered: VecDeque<(SimTime, u64)>,
    buffered_bytes: u64,
    /// The next frame may begin to leave then.
    free_at: SimTime,
}

state!(SwitchPort { counts, buffered, buffered_bytes, free_at } fixed { line, floods });

impl SwitchPort {
    /// Removes the frames that have left by `now` from the buffer.
    fn leave(&mut self, now: SimTime) {
        while let Some(&(end, bytes)) = self.buffered.front()
            && end <= now
        {
            self.buffered.pop_front();
            self.buffered_bytes -= bytes;
        }
    }

    /// Occupies the port with a frame from `first_bit` on; returns when the last bit leaves.
    fn occupy(&mut self, frame: &Frame, link: &Link, first_bit: SimTime) -> SimTime {
        let end = first_bit.saturating_add(link.frame_span(frame));
        self.free_at = end.saturating_add(link.gap());
        self.counts.forwarded += 1;
        end
    }
}

/// A switch.
#[derive(Debug)]
pub struct Switch {
    index: usize,
    pub(super) forwarding: Forwarding,
    pub(super) latency: SimTime,
    buffer_bytes: u64,
    routes: BTreeMap<MacAddress, usize>,
    pub(super) ports: Vec<SwitchPort>,
    pub(super) trace: Tracer,
    /// The tap that captures dropped frames, if an observer wants them.
    pub(super) tap: Option<Tap>,
}

state!(Switch { trace } lists { ports } fixed {
    index,
    forwarding,
    latency,
    buffer_bytes,
    routes,
    tap
});

/// The egress of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    Port(usize),
    /// All ports of the tree but the ingress port.
    Group,
}

impl Switch {
    /// A switch without cables.
    pub(super) fn new(index: usize, config: &SwitchConfig) -> Self {
        Self {
            index,
            forwarding: config.forwarding,
            latency: config.latency,
            buffer_bytes: config.buffer_bytes,
            routes: BTreeMap::new(),
            ports: (0..config.ports).map(|_| SwitchPort::default()).collect(),
            trace: Tracer::new(Place::Switch(index as u16), &NO_BOARD),
            tap: None,
        }
    }

    /// The port that leads to `address`.
    pub(super) fn route(&self, address: MacAddress) -> Option<usize> {
        self.routes.get(&address).copied()
    }

    /// Adds or replaces the route to `address`.
    pub(super) fn set_route(&mut self, address: MacAddress, port: usize) {
        self.routes.insert(address, port);
    }

    /// Counts and records a frame that is dropped at a port.
    pub(super) fn drop_frame(
        &mut self,
        port: usize,
        reason: LossReason,
        frame: &Frame,
        now: SimTime,
    ) {
        self.ports[port].counts.dropped.count(reason);
        let kind = loss_event(reason, Some(port), frame);
        self.trace.record(now, Initiator::Wire, kind);
        if let Some(tap) = &mut self.tap {
            let port = Some(port);
            tap.capture(now, frame, vec![Note::Lost { reason, port }]);
        }
    }

    /// The place that a capture shows for the frames that it drops.
    pub(super) fn interface(&self) -> Interface {
        Interface::of_drops::<Frame>(Place::Switch(self.index as u16), LinkType::ETHERNET)
    }

    /// The egress of a frame that came in at `ingress`.
    pub(super) fn destination(
        &self,
        frame: &Frame,
        ingress: usize,
    ) -> Result<Destination, LossReason> {
        let Some(&address) = frame.bytes().first_chunk::<6>() else {
            return Err(LossReason::Length);
        };
        let address = MacAddress(address);
        if address.is_group() {
            return Ok(Destination::Group);
        }
        match self.route(address) {
            None => Err(LossReason::UnknownDestination),
            Some(port) if port == ingress => Err(LossReason::Returning),
            Some(port) if self.ports[port].line.is_none() => Err(LossReason::Unconnected),
            Some(port) => Ok(Destination::Port(port)),
        }
    }

    /// Lets a frame cut through to `port`, if that is free; returns when its first bit leaves.
    pub(super) fn cut_through(
        &mut self,
        port: usize,
        frame: &Frame,
        link: &Link,
        now: SimTime,
    ) -> Option<SimTime> {
        let first_bit = now.saturating_add(self.latency);
        let port = &mut self.ports[port];
        if port.free_at > first_bit {
            return None;
        }
        port.occupy(frame, link, first_bit);
        Some(first_bit)
    }

    /// Puts a frame that is in as a whole into the buffer of a port; returns when its first bit leaves,
    /// unless there is no room.
    pub(super) fn enqueue(
        &mut self,
        index: usize,
        frame: &Frame,
        link: &Link,
        now: SimTime,
    ) -> Option<SimTime> {
        let bytes = frame.length_with_fcs();
        let port = &mut self.ports[index];
        port.leave(now);
        if port.buffered_bytes + bytes > self.buffer_bytes {
            self.drop_frame(index, LossReason::BufferFull, frame, now);
            return None;
        }
        let first_bit = now.saturating_add(self.latency).max(port.free_at);
        let end = port.occupy(frame, link, first_bit);
        port.buffered.push_back((end, bytes));
        port.buffered_bytes += bytes;
        let peak = &mut port.counts.peak_buffer_bytes;
        *peak = port.buffered_bytes.max(*peak);
        Some(first_bit)
    }

    /// Number of the switch among the world's Ethernet switches.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Counts of each port.
    pub fn counts(&self) -> impl Iterator<Item = &PortCounts> {
        self.ports.iter().map(|port| &port.counts)
    }
}
