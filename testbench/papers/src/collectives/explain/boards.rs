//! The critical path of an operation that boards execute, from their packets.
//!
//! What made a board send a packet, or report the end, is the last of the packets without which the schedule does not let it, or the
//! own host's post. The firmware marks packets of barriers and reductions when it accepts them, some after what follows from them.
//! So what counts is when a packet is in SRAM: they are handled in that order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use defs::gm::collective::{GATHER, PARTIAL, RELEASE, RESULT, STEP};
use defs::gm::gossip::{EXCHANGED, SPREAD};
use defs::gm::probe::Event;
use emulator::observe::event::{Details, FrameHead, Place, TraceEvent, TraceKind};
use emulator::observe::stream::Observer;
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use lanigon_worlds::faults::GmPacket;
use lanigon_worlds::gm::{Call, NO_EVENT};

use super::{Calls, CriticalPath, LIBRARY};

/// A packet of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OperationPacket {
    header: GmPacket,
    /// The word behind the header: of an all-to-all broadcast, origin or step.
    place: u32,
}

impl OperationPacket {
    fn read(head: &FrameHead) -> Option<Self> {
        let header = GmPacket::read(|offset| head[offset as usize / 4])?;
        let known = [STEP, GATHER, RELEASE, PARTIAL, RESULT, SPREAD, EXCHANGED];
        let place = head[6];
        known
            .contains(&header.subtype)
            .then_some(Self { header, place })
    }

    /// Place among the steps of an exchange; the others have none.
    fn step(&self) -> u32 {
        match self.header.subtype {
            STEP => (self.header.sender ^ self.header.target)
                .checked_ilog2()
                .unwrap_or_default(),
            _ => self.place & 0xF,
        }
    }

    /// Whether a board that sends `next` waits for this packet first.
    fn is_before(&self, next: &Self) -> bool {
        let [own, other] = [self, next].map(|packet| packet.header.subtype);
        match other {
            STEP | EXCHANGED => own == other && self.step() < next.step(),
            GATHER | PARTIAL => own == other,
            RELEASE => matches!(own, GATHER | RELEASE),
            RESULT => matches!(own, PARTIAL | RESULT),
            // The origin's rank.
            SPREAD => own == SPREAD && self.place >> 16 == next.place >> 16,
            _ => false,
        }
    }

    fn name(&self) -> String {
        match self.header.subtype {
            STEP | EXCHANGED => format!("step {}", self.step()),
            GATHER => "gather".into(),
            RELEASE => "release".into(),
            PARTIAL => "value".into(),
            RESULT => "result".into(),
            _ => format!("block of {}", self.place >> 16),
        }
    }
}

/// A packet that a board has received, and the times of its steps.
#[derive(Debug, Clone, Copy)]
struct ReceivedPacket {
    packet: OperationPacket,
    /// Time at which the packet is in SRAM.
    received: SimTime,
    /// The firmware has marked that it accepts it.
    accepted: Option<SimTime>,
}

/// Record of a node: its posts and packets.
#[derive(Debug, Default)]
struct NodeRecord {
    /// Heads of the packets that are sent or received next.
    heads: [Option<OperationPacket>; 2],
    /// Returns of the calls that post operations.
    posts: Vec<SimTime>,
    sent: Vec<(SimTime, OperationPacket)>,
    arrivals: Vec<ReceivedPacket>,
    /// DMA transfers to host memory.
    writes: Vec<(SimTime, Option<SimTime>)>,
    /// Polls that have read an event.
    polls: Vec<SimTime>,
}

impl NodeRecord {
    fn event(&mut self, event: &TraceEvent) {
        let now = event.time;
        match (&event.kind, event.initiator) {
            (TraceKind::HostReturn { what }, _) => {
                let posts = [
                    Call::Barrier as fn(u8) -> Call,
                    Call::Reduction,
                    Call::AllToAll,
                ];
                if let Some(call) = Call::read(what)
                    && posts.iter().any(|post| {
                        std::mem::discriminant(&post(0)) == std::mem::discriminant(&call)
                    })
                {
                    self.posts.push(now);
                }
            }
            (TraceKind::PollSatisfied { why, .. }, _) if **why == *NO_EVENT => {
                self.polls.push(now);
            }
            (TraceKind::FrameHead { head, .. }, who) => {
                self.heads[usize::from(who == Initiator::Receiver)] = OperationPacket::read(head);
            }
            (TraceKind::FrameSent { .. }, _) => {
                self.sent
                    .extend(self.heads[0].take().map(|packet| (now, packet)));
            }
            (TraceKind::FrameReceived { .. }, _) => {
                let arrival = |packet| ReceivedPacket {
                    packet,
                    received: now,
                    accepted: None,
                };
                self.arrivals.extend(self.heads[1].take().map(arrival));
            }
            (TraceKind::DmaStarted { .. }, Initiator::DmaWrite) => self.writes.push((now, None)),
            (TraceKind::DmaDone { .. }, Initiator::DmaWrite) => {
                if let Some(write) = self.writes.last_mut() {
                    write.1 = Some(now);
                }
            }
            (TraceKind::Probe { name, arguments }, Initiator::Cpu(_)) => {
                if let (Some(Event::PacketReceived), &[number, sequence]) =
                    (Event::from_name(name), &arguments[..])
                {
                    let same = |arrival: &&mut ReceivedPacket| {
                        let header = arrival.packet.header;
                        (u32::from(header.sender), header.sequence) == (number >> 1, sequence)
                    };
                    if let Some(arrival) = self.arrivals.iter_mut().rev().find(same) {
                        arrival.accepted.get_or_insert(now);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Observer of what boards do for operations. Clones share its data: add one to a world, and query another.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<BTreeMap<u16, NodeRecord>>>);

impl Observer for Recorder {
    fn details(&self) -> Details {
        Details::FRAMES | Details::HOST
    }

    fn event(&mut self, event: &TraceEvent) {
        if let Place::Node(node) = event.place {
            let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            nodes.entry(node).or_default().event(event);
        }
    }
}

impl Recorder {
    /// The path to the return of this rank's call.
    pub(super) fn path(&self, calls: &Calls, last: u16) -> CriticalPath {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut path = CriticalPath::new(calls.ended(last));
        if let Some(node) = nodes.get(&last) {
            report(&mut path, node, last);
        }
        let (mut rank, mut next): (u16, Option<(u16, OperationPacket)>) = (last, None);
        while let Some(node) = nodes.get(&rank) {
            let began = calls.began(rank);
            let what = match &next {
                None => "ends the operation".into(),
                Some((to, packet)) => format!("sends {} to {to}", packet.name()),
            };
            let mut post = node.posts.iter();
            let post = post.rfind(|time| (began..=path.at).contains(*time));
            let post = post.copied().unwrap_or(began);
            let is_cause = |arrival: &&ReceivedPacket| {
                let before = next
                    .as_ref()
                    .is_none_or(|(_, next)| arrival.packet.is_before(next));
                before && post < arrival.received && arrival.received <= path.at
            };
            let causes = node.arrivals.iter().filter(is_cause);
            let cause = causes.max_by_key(|arrival| arrival.received);
            let Some((arrival, sent)) =
                cause.and_then(|arrival| Some((arrival, sent(&nodes, arrival)?)))
            else {
                path.back_to(post, rank, "NIC", format!("takes the post, {what}"));
                path.back_to(
                    began,
                    rank,
                    "host",
                    format!("{LIBRARY}, PIO writes of the post"),
                );
                return path;
            };
            let name = arrival.packet.name();
            path.back_to(
                arrival.accepted.unwrap_or(path.at),
                rank,
                "NIC",
                what.clone(),
            );
            let what = match arrival.accepted.is_some_and(|accepted| accepted == path.at) {
                true => format!("takes {name}"),
                false => format!("takes {name}, {what}"),
            };
            path.back_to(arrival.received, rank, "NIC", what);
            let from = arrival.packet.header.sender;
            path.back_to(sent, from, "wire", format!("{name} to {rank}"));
            path.hops += 1;
            next = Some((rank, arrival.packet));
            rank = from;
        }
        path
    }
}

/// When a packet that arrived was given to its sender's transmitter.
fn sent(nodes: &BTreeMap<u16, NodeRecord>, arrival: &ReceivedPacket) -> Option<SimTime> {
    let mut sent = nodes.get(&arrival.packet.header.sender)?.sent.iter();
    let found = sent.rfind(|sent| sent.1 == arrival.packet && sent.0 < arrival.received);
    found.map(|sent| sent.0)
}

/// The end of the path: from the event's DMA to the return of the call.
fn report(path: &mut CriticalPath, node: &NodeRecord, rank: u16) {
    let poll = node.polls.iter().rfind(|time| **time <= path.at);
    path.back_to(poll.copied().unwrap_or(path.at), rank, "host", LIBRARY);
    let done = |write: &&(SimTime, Option<SimTime>)| write.1.is_some_and(|end| end <= path.at);
    if let Some(&(from, Some(to))) = node.writes.iter().rfind(done) {
        path.back_to(to, rank, "host", "wait: the next poll");
        path.back_to(from, rank, "NIC", "write DMA of the event");
    }
}
