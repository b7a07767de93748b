//! Channels: one direction of a cable, with the slack buffer at its end.

use std::collections::VecDeque;

use super::link::Link;
use super::packet::Packet;
use super::worm::HopId;
use crate::lane::Lane;
use crate::port::Port;
use emulator_base::time::SimTime;
use emulator_state::{state, value_struct};

/// Counts of the flow control of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChannelCounts {
    /// STOPs that its beginning was sent.
    pub stops: u64,
    /// GOs that its beginning was sent.
    pub gos: u64,
    /// The most bytes that the slack buffer at its end, in a crossbar, held.
    pub fullest_bytes: u64,
}

value_struct!(ChannelCounts {
    stops: stops,
    gos: gos,
    fullest_bytes: fullest_bytes
});

/// Whether a transmitter may send, as STOP and GO reach it.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// Times at which the gate was or will be stopped (`true`) or opened, in the order of time.
    changes: Vec<(SimTime, bool)>,
}

state!(Gate { changes });

impl Gate {
    /// Adds a change at `time`, which is not before earlier ones. Those that took effect before `now` are forgotten, but for the last.
    pub fn change(&mut self, now: SimTime, time: SimTime, stopped: bool) {
        let past = self.changes.partition_point(|&(at, _)| at <= now);
        self.changes.drain(..past.saturating_sub(1));
        self.changes.push((time, stopped));
    }

    /// Whether the gate is stopped at a time.
    pub fn is_stopped(&self, time: SimTime) -> bool {
        let past = self.changes.partition_point(|&(at, _)| at <= time);
        past.checked_sub(1).is_some_and(|last| self.changes[last].1)
    }

    /// The last change, which may be still to come.
    pub fn last(&self) -> Option<(SimTime, bool)> {
        self.changes.last().copied()
    }

    /// The times of changes behind `time`.
    pub fn changes_after(&self, time: SimTime) -> Vec<SimTime> {
        let times = self.changes.iter().map(|&(at, _)| at);
        times.filter(|&at| at > time).collect()
    }
}

/// A direction of a cable.
#[derive(Debug)]
pub(super) struct Channel {
    pub lane: Lane<Packet>,
    pub link: Link,
    /// The packet that is being sent on it.
    pub holder: Option<HopId>,
    /// The next packet may begin then: a GAP of one byte ends each packet.
    pub free_at: SimTime,
    /// Packets with bytes on it or in the buffer of the crossbar at its end. The first one leaves the buffer.
    pub inside: VecDeque<HopId>,
    /// Packets that wait for it, in the order in which their heads came.
    pub waiting: VecDeque<HopId>,
    /// Whether its beginning may send.
    pub gate: Gate,
    /// Whether its end, a crossbar or a node, sent STOP, and no GO since.
    pub stopping: bool,
    /// The number of the last prediction of when STOP or GO are due.
    pub prediction: u64,
    pub counts: ChannelCounts,
}

state!(Channel {
    lane, holder, free_at, inside, waiting, gate, stopping, prediction, counts
} fixed { link });

impl Channel {
    /// A channel that has carried nothing.
    pub fn new(from: Port, to: Port, link: Link) -> Self {
        Self {
            lane: Lane::new(from, to),
            link,
            holder: None,
            free_at: SimTime::ZERO,
            inside: VecDeque::new(),
            waiting: VecDeque::new(),
            gate: Gate::default(),
            stopping: false,
            prediction: 0,
            counts: ChannelCounts::default(),
        }
    }

    /// Ends the packet that holds it at `now`.
    pub fn release(&mut self, now: SimTime) {
        self.holder = None;
        self.free_at = now.saturating_add(self.link.byte_time);
    }

    /// The node at its beginning.
    pub const fn sender(&self) -> Option<usize> {
        match self.lane.from() {
            Port::Node(node) => Some(node),
            Port::Switch { .. } => None,
        }
    }

    /// The node at its end.
    pub const fn receiver(&self) -> Option<usize> {
        match self.lane.to() {
            Port::Node(node) => Some(node),
            Port::Switch { .. } => None,
        }
    }
}
