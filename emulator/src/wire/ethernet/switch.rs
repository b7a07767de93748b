//! Switches: ports, routes, buffers and a latency.

use std::collections::{BTreeMap, VecDeque};

use host_lib::address::MacAddress;

use super::frame::Frame;
use super::line::Happening;
use super::link::Link;
use crate::observe::capture::{Interface, Note, Tap};
use crate::observe::event::Place;
use crate::observe::tracer::Tracer;
use crate::sim::initiator::Initiator;
use crate::sim::time::SimTime;
use crate::state;
use crate::value_struct;
use crate::wire::loss::{LossCounts, LossReason};

/// When a switch may begin to pass a frame on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// When it is in as a whole and its FCS is found right.
    StoreAndForward,
    /// When its header is in, if the port where it goes is free and as fast as the one where it came;
    /// otherwise as above. What passes so is not checked.
    CutThrough,
}

/// What a switch is like.
#[derive(Debug, Clone)]
pub struct SwitchConfig {
    /// The number of ports.
    pub ports: usize,
    /// When frames are passed on.
    pub forwarding: Forwarding,
    /// From the moment at which it may pass a frame on to the first bit that leaves, at least.
    pub latency: SimTime,
    /// Room for frames that wait at a port to leave, or are leaving, in bytes with FCS. A frame that passes
    /// without waiting for its end needs none.
    pub buffer_bytes: u64,
    /// The port behind which each destination lies. Frames to others are dropped; those to a group of nodes
    /// go to all ports of a tree that reaches everybody once.
    pub routes: Vec<(MacAddress, usize)>,
}

/// What passed a port of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounts {
    /// Frames that came in.
    pub received: u64,
    /// Frames that were given to the port to leave.
    pub forwarded: u64,
    /// Frames that were dropped: those that came in here and go nowhere, and those that do not fit the
    /// buffer of this port.
    pub dropped: LossCounts,
    /// The most bytes that its buffer held.
    pub peak_buffer_bytes: u64,
}

value_struct!(PortCounts {
    received: received,
    forwarded: forwarded,
    dropped: dropped,
    peak_buffer_bytes: peak_buffer_bytes
});

/// A port of a switch: its egress queue.
#[derive(Debug, Default)]
pub(crate) struct SwitchPort {
    /// The line that leads away from it.
    pub(crate) line: Option<usize>,
    /// Whether frames to a group of nodes go there.
    pub(crate) floods: bool,
    pub(crate) counts: PortCounts,
    /// When frames that are in the buffer have left it, and their lengths.
    buffered: VecDeque<(SimTime, u64)>,
    buffered_bytes: u64,
    /// The next frame may begin to leave then.
    free_at: SimTime,
}

state!(SwitchPort { counts, buffered, buffered_bytes, free_at } fixed { line, floods });

impl SwitchPort {
    /// Forgets the frames that have left before `now` or do so now.
    fn leave(&mut self, now: SimTime) {
        while let Some(&(end, bytes)) = self.buffered.front()
            && end <= now
        {
            self.buffered.pop_front();
            self.buffered_bytes -= bytes;
        }
    }

    /// Takes the port for a frame from `first_bit` on.
    fn take(&mut self, frame: &Frame, link: &Link, first_bit: SimTime) -> SimTime {
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
    pub(crate) forwarding: Forwarding,
    pub(crate) latency: SimTime,
    buffer_bytes: u64,
    routes: BTreeMap<MacAddress, usize>,
    pub(crate) ports: Vec<SwitchPort>,
    pub(crate) trace: Tracer,
    /// Where the frames that it drops are captured, if somebody wants to see them.
    pub(crate) tap: Option<Tap>,
}

state!(Switch { trace } lists { ports } fixed {
    index,
    forwarding,
    latency,
    buffer_bytes,
    routes,
    tap
});

/// Where a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    Port(usize),
    /// All ports of the tree but the one where it came in.
    Group,
}

impl Switch {
    /// A switch with nothing plugged in and no routes.
    pub(crate) fn new(index: usize, config: &SwitchConfig) -> Self {
        Self {
            index,
            forwarding: config.forwarding,
            latency: config.latency,
            buffer_bytes: config.buffer_bytes,
            routes: BTreeMap::new(),
            ports: (0..config.ports).map(|_| SwitchPort::default()).collect(),
            trace: Tracer::new(Place::Switch(index as u16)),
            tap: None,
        }
    }

    /// The port behind which `address` lies.
    pub(crate) fn route(&self, address: MacAddress) -> Option<usize> {
        self.routes.get(&address).copied()
    }

    /// From now on `address` lies behind `port`.
    pub(crate) fn set_route(&mut self, address: MacAddress, port: usize) {
        self.routes.insert(address, port);
    }

    /// Counts and records a frame that is dropped at a port.
    pub(crate) fn drop_frame(
        &mut self,
        port: usize,
        reason: LossReason,
        frame: &Frame,
        now: SimTime,
    ) {
        self.ports[port].counts.dropped.count(reason);
        let kind = Happening::Loss(reason).on(Some(port), frame);
        self.trace.record(now, Initiator::Wire, kind);
        if let Some(tap) = &mut self.tap {
            let port = Some(port);
            tap.capture(now, frame, vec![Note::Lost { reason, port }]);
        }
    }

    /// What a capture calls the place of the frames that it drops.
    pub(crate) fn interface(&self) -> Interface {
        let index = self.index;
        Interface {
            name: format!("s{index} drops"),
            description: format!("dropped in switch {index}"),
            bits_per_s: None,
        }
    }

    /// Where a frame goes that came in at `ingress`.
    pub(crate) fn destination(
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

    /// Lets a frame of which only the header is in pass through `port`, if that is free. Gives when its
    /// first bit leaves.
    pub(crate) fn cut_through(
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
        port.take(frame, link, first_bit);
        Some(first_bit)
    }

    /// Puts a frame that is in as a whole into the buffer of `port`. Gives when its first bit leaves,
    /// unless there is no room.
    pub(crate) fn enqueue(
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
        let end = port.take(frame, link, first_bit);
        port.buffered.push_back((end, bytes));
        port.buffered_bytes += bytes;
        let peak = &mut port.counts.peak_buffer_bytes;
        *peak = port.buffered_bytes.max(*peak);
        Some(first_bit)
    }

    /// Its number in the world.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// What passed each port.
    pub fn counts(&self) -> impl Iterator<Item = &PortCounts> {
        self.ports.iter().map(|port| &port.counts)
    }
}
