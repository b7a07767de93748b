//! Assignment of events to messages, with its state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use defs::gm::event::{FAST, FAST_BYTES, HIGH, NEW, PEER, RECEIVE};
use defs::gm::packet::{HEADER_BYTES, MTU};
use defs::gm::probe::Event;
use emulator::observe::event::{FrameHead, Place, TraceEvent, TraceKind};
use emulator::sim::initiator::Initiator;
use emulator::sim::time::SimTime;
use lanigon_worlds::gm::{Call, NO_EVENT};

use super::{GmMessage, GmMessages, Mark, PacketDelivery, PacketDma, Transmission};
use crate::messages::message::MessageId;
use crate::messages::names::gm::header;
use lanigon_worlds::faults::GmPacket;

/// A direction between two nodes: a connection, as its sender's and its receiver's tables have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ConnectionName {
    from: u16,
    to: u16,
    priority: u8,
}

/// A send of the host whose record the firmware has not opened yet, or whose call has not returned.
#[derive(Debug)]
struct Send {
    call: Call,
    begun: SimTime,
    returned: Option<SimTime>,
    message: Option<usize>,
}

/// A packet in a receive buffer.
#[derive(Debug, Clone, Copy)]
struct BufferedPacket {
    message: usize,
    received: SimTime,
    length: u32,
    end: u32,
}

impl BufferedPacket {
    /// Whether an address of SRAM lies in the packet, or in what the receiver or the firmware writes behind it.
    fn covers(&self, local: u32) -> bool {
        let begin = self.end.saturating_sub(self.length + BEHIND);
        (begin..=self.end + BEHIND).contains(&local)
    }
}

/// State of a node.
#[derive(Debug, Default)]
struct TrackedNode {
    /// Open calls of the host library, by their descriptions.
    calls: BTreeMap<Arc<str>, SimTime>,
    sends: VecDeque<Send>,
    /// Head of the packet that is sent or received next.
    heads: [Option<FrameHead>; 2],
    reads: VecDeque<PacketDma>,
    arrivals: VecDeque<BufferedPacket>,
    /// Messages that are being delivered.
    deliveries: VecDeque<usize>,
    /// The message of the last write.
    writing: Option<usize>,
    /// Messages whose events no poll has read yet, with their ports.
    events: VecDeque<(u32, usize)>,
    /// Messages whose events polls have read in calls that have not returned, with their ports.
    seen: Vec<(u32, usize)>,
}

/// Transfers, arrivals and so on that are remembered.
const MOST: usize = 16;
/// Bytes that a check sequence and the rest of a receiver's last unit take.
const BEHIND: u32 = 16;

/// Bytes before a header, in whole words, at most.
const LONGEST_ROUTE_BYTES: u32 = defs::gm::map::ROUTE_LIMIT + 4;

/// Packets of a message.
fn packets(length: u32) -> u32 {
    length.div_ceil(MTU).max(1)
}

/// The sequence word `count` packets behind another one.
const fn behind(sequence: u32, count: u32) -> u32 {
    sequence & 0xFFFF_0000 | sequence.wrapping_add(count) & 0xFFFF
}

/// The delivery of a message by one copy of its packet.
fn delivery(
    message: &GmMessage,
    copy: &BufferedPacket,
    accepted: SimTime,
) -> Option<PacketDelivery> {
    let before = |sent: &&Transmission| sent.sent < copy.received;
    let transmission = *message.transmissions.iter().rfind(before)?;
    Some(PacketDelivery {
        transmission,
        received: copy.received,
        length: copy.length,
        end: copy.end,
        accepted,
        writes: Vec::new(),
        seen: None,
        returned: None,
    })
}

fn remember<T>(queue: &mut VecDeque<T>, item: T) {
    queue.push_back(item);
    if queue.len() > MOST {
        queue.pop_front();
    }
}

/// Tracker of all messages.
#[derive(Debug, Default)]
pub struct Tracker {
    found: GmMessages,
    known: BTreeMap<(ConnectionName, u32), usize>,
    /// Ports of messages, by index.
    ports: Vec<u32>,
    /// Unacknowledged messages of each way, oldest first, with their sequence words.
    outstanding: BTreeMap<ConnectionName, VecDeque<(u32, usize)>>,
    numbers: BTreeMap<(u16, u16), u32>,
    lives: BTreeMap<u16, u16>,
    nodes: BTreeMap<u16, TrackedNode>,
}

impl Tracker {
    /// Takes all messages and clears the state.
    pub fn take_messages(&mut self) -> GmMessages {
        std::mem::take(self).found
    }

    /// Handles an event.
    pub fn event(&mut self, event: &TraceEvent) {
        let Place::Node(node) = event.place else {
            return;
        };
        let now = event.time;
        match (&event.kind, event.initiator) {
            (TraceKind::Reset, Initiator::Power) => self.reset(node),
            (TraceKind::Probe { name, arguments }, Initiator::Cpu(_)) => {
                if let (Some(event), &[number, sequence]) = (Event::from_name(name), &arguments[..])
                {
                    self.probe(node, event, number, sequence, now);
                }
            }
            (TraceKind::HostCall { what }, _) => self.called(node, what, now),
            (TraceKind::HostReturn { what }, _) => self.returned(node, what, now),
            (TraceKind::PollSatisfied { why, value }, _) if **why == *NO_EVENT => {
                self.polled(node, value.swap_bytes(), now);
            }
            (TraceKind::FrameHead { head, .. }, who) => {
                self.node(node).heads[usize::from(who == Initiator::Receiver)] = Some(*head);
            }
            (&TraceKind::FrameSent { address, length }, _) => {
                self.sent(node, (address, length), now);
            }
            (
                &TraceKind::FrameReceived {
                    address, length, ..
                },
                _,
            ) => {
                self.received(node, (address, length), now);
            }
            (&TraceKind::DmaStarted { local, .. }, Initiator::DmaRead) => {
                let (from, to) = (now, None);
                remember(&mut self.node(node).reads, PacketDma { local, from, to });
            }
            (TraceKind::DmaDone { .. }, Initiator::DmaRead) => {
                if let Some(read) = self.node(node).reads.back_mut() {
                    read.to = Some(now);
                }
            }
            (&TraceKind::DmaStarted { local, .. }, Initiator::DmaWrite) => {
                self.write_starts(node, local, now);
            }
            (TraceKind::DmaDone { .. }, Initiator::DmaWrite) => self.write_ends(node, now),
            _ => {}
        }
    }

    fn node(&mut self, node: u16) -> &mut TrackedNode {
        self.nodes.entry(node).or_default()
    }

    /// A node has lost its state. Messages that it has not sent yet stay as they are.
    fn reset(&mut self, node: u16) {
        self.nodes.remove(&node);
        *self.lives.entry(node).or_default() += 1;
        self.known.retain(|(way, _), _| way.from != node);
        self.outstanding.retain(|way, _| way.from != node);
        self.numbers.retain(|(from, _), _| *from != node);
    }

    fn called(&mut self, node: u16, what: &Arc<str>, now: SimTime) {
        let Some(call) = Call::read(what) else {
            return;
        };
        let host = self.node(node);
        host.calls.insert(Arc::clone(what), now);
        if matches!(call, Call::Send { .. }) {
            host.sends.push_back(Send {
                call,
                begun: now,
                returned: None,
                message: None,
            });
        }
    }

    fn returned(&mut self, node: u16, what: &Arc<str>, now: SimTime) {
        let Some(call) = Call::read(what) else {
            return;
        };
        let host = self.node(node);
        host.calls.remove(what);
        match call {
            Call::Send { .. } => {
                let open = |send: &Send| send.returned.is_none() && send.call == call;
                let Some(place) = host.sends.iter().position(open) else {
                    return;
                };
                host.sends[place].returned = Some(now);
                if let Some(message) = host.sends[place].message {
                    host.sends.remove(place);
                    self.found.messages[message].returned = Some(now);
                }
            }
            Call::Receive(port) => {
                let port = u32::from(port);
                let place = host.seen.iter().position(|seen| seen.0 == port);
                if let Some((_, message)) = place.map(|place| host.seen.remove(place))
                    && let Some(delivery) = &mut self.found.messages[message].delivery
                {
                    delivery.returned = Some(now);
                }
            }
            Call::Provide(_)
            | Call::Barrier(_)
            | Call::Reduction(_)
            | Call::AllToAll(_)
            | Call::Atomic(_) => {}
        }
    }

    /// A poll has read the last word of an event.
    fn polled(&mut self, node: u16, word: u32, now: SimTime) {
        const MESSAGES: std::ops::RangeInclusive<u32> = RECEIVE..=RECEIVE + HIGH + PEER + FAST;
        if !MESSAGES.contains(&(word & (NEW - 1))) {
            return;
        }
        let port = word >> 9 & 0x7F;
        let host = self.node(node);
        let place = host.events.iter().position(|event| event.0 == port);
        if let Some(event) = place.and_then(|place| host.events.remove(place)) {
            host.seen.push(event);
            if let Some(delivery) = &mut self.found.messages[event.1].delivery {
                delivery.seen = Some(now);
            }
        }
    }

    fn probe(&mut self, node: u16, event: Event, number: u32, sequence: u32, now: SimTime) {
        let (peer, priority) = ((number >> 1) as u16, (number & 1) as u8);
        let [from, to] = match event {
            Event::PacketReceived | Event::PacketDropped | Event::AckSent => [peer, node],
            _ => [node, peer],
        };
        let way = ConnectionName { from, to, priority };
        let message = match event {
            Event::TokenTaken => Some(self.taken(way, sequence, now)),
            Event::AckReceived => {
                self.acknowledged(way, sequence, now);
                None
            }
            Event::Resend => {
                self.resent(way, sequence, now);
                None
            }
            Event::PacketReceived => {
                let message = self.known.get(&(way, sequence)).copied();
                if let Some(message) = message {
                    self.accepted(node, message, now);
                }
                message
            }
            Event::AckSent => None,
            _ => self.known.get(&(way, sequence)).copied(),
        };
        let marks = self.found.marks.entry(node).or_default();
        marks.push(Mark { time: now, message });
    }

    /// The firmware has made a record of a send.
    fn taken(&mut self, way: ConnectionName, sequence: u32, now: SimTime) -> usize {
        let number = self.numbers.entry((way.from, way.to)).or_default();
        let id = MessageId {
            from: way.from,
            to: way.to,
            life: self.lives.get(&way.from).copied().unwrap_or_default(),
            number: *number,
        };
        *number += 1;
        let index = self.found.messages.len();
        let mut message = GmMessage {
            id,
            length: 0,
            call: None,
            returned: None,
            taken: now,
            transmissions: Vec::new(),
            resends: Vec::new(),
            delivery: None,
            acknowledged: None,
        };
        let mut port = 0;
        let sends = &mut self.node(way.from).sends;
        let fits = |send: &Send| {
            let Call::Send { node, priority, .. } = send.call else {
                return false;
            };
            send.message.is_none() && (node, priority as u8) == (way.to, way.priority)
        };
        if let Some(place) = sends.iter().position(fits) {
            let send = &mut sends[place];
            (message.call, message.returned) = (Some(send.begun), send.returned);
            send.message = Some(index);
            if let Call::Send {
                length_bytes,
                target,
                ..
            } = send.call
            {
                message.length = length_bytes;
                port = target.into();
            }
            if send.returned.is_some() {
                sends.remove(place);
            }
        }
        // The probe names the packet that is sent next: that of an older message, if one waits.
        let outstanding = self.outstanding.entry(way).or_default();
        let first = match outstanding.back() {
            Some(&(last, _)) => behind(last, 1),
            None => sequence,
        };
        for packet in 0..packets(message.length) {
            let sequence = behind(first, packet);
            self.known.insert((way, sequence), index);
            outstanding.push_back((sequence, index));
        }
        self.found.messages.push(message);
        self.ports.push(port);
        index
    }

    /// An ack or nack came: all before `next` have arrived.
    fn acknowledged(&mut self, way: ConnectionName, next: u32, now: SimTime) {
        let Some(outstanding) = self.outstanding.get_mut(&way) else {
            return;
        };
        while let Some(&(sequence, message)) = outstanding.front()
            && sequence >> 16 == next >> 16
            && (1..0x8000).contains(&(next.wrapping_sub(sequence) & 0xFFFF))
        {
            outstanding.pop_front();
            if outstanding.front().is_none_or(|next| next.1 != message) {
                self.found.messages[message].acknowledged = Some(now);
            }
        }
    }

    /// A connection is sent again, from the packet with this sequence word on. If that is new, so is the session: all
    /// unacknowledged messages have new numbers.
    fn resent(&mut self, way: ConnectionName, sequence: u32, now: SimTime) {
        let Some(outstanding) = self.outstanding.get_mut(&way) else {
            return;
        };
        let renewed = outstanding
            .front()
            .is_some_and(|first| first.0 >> 16 != sequence >> 16);
        for (place, (known, message)) in (0_u32..).zip(outstanding.iter_mut()) {
            self.found.messages[*message].resends.push(now);
            if renewed {
                *known = sequence & 0xFFFF_0000 | sequence.wrapping_add(place) & 0xFFFF;
                self.known.insert((way, *known), *message);
            }
        }
    }

    /// The message of a packet with this head.
    fn of_packet(&self, head: Option<FrameHead>) -> Option<(usize, GmPacket)> {
        let header = header(&head?)?;
        if !header.is_data() {
            return None;
        }
        let way = ConnectionName {
            from: header.sender,
            to: header.target,
            priority: header.priority,
        };
        let message = self.known.get(&(way, header.sequence)).copied()?;
        Some((message, header))
    }

    fn sent(&mut self, node: u16, (address, length): (u32, u32), now: SimTime) {
        let head = self.node(node).heads[0].take();
        let Some((message, header)) = self.of_packet(head) else {
            return;
        };
        let header_at = address + HEADER_BYTES;
        let places = header_at..header_at + LONGEST_ROUTE_BYTES;
        let reads = self.node(node).reads.iter();
        let read = reads
            .rev()
            .find(|read| places.contains(&read.local))
            .copied()
            .filter(|_| header.length > 0);
        self.ports[message] = header.target_port;
        let message = &mut self.found.messages[message];
        message.length = message.length.max(header.length);
        message.transmissions.push(Transmission {
            read,
            sent: now,
            length,
        });
    }

    fn received(&mut self, node: u16, (end, length): (u32, u32), received: SimTime) {
        let head = self.node(node).heads[1].take();
        if let Some((message, _)) = self.of_packet(head) {
            let arrival = BufferedPacket {
                message,
                received,
                length,
                end,
            };
            remember(&mut self.node(node).arrivals, arrival);
        }
    }

    /// The firmware accepts a packet.
    fn accepted(&mut self, node: u16, message: usize, now: SimTime) {
        let host = self.nodes.entry(node).or_default();
        let arrivals = host.arrivals.iter();
        let arrival = arrivals.rev().find(|arrival| arrival.message == message);
        let Some(arrival) = arrival else {
            return;
        };
        let found = &mut self.found.messages[message];
        if let Some(delivery) = delivery(found, arrival, now) {
            found.delivery = Some(delivery);
            remember(&mut host.deliveries, message);
        }
    }

    /// Number of writes that bring a message and its event to the host.
    const fn writes(length: u32) -> usize {
        if length > FAST_BYTES { 2 } else { 1 }
    }

    fn write_starts(&mut self, node: u16, local: u32, from: SimTime) {
        let host = self.nodes.entry(node).or_default();
        host.writing = None;
        for &index in &host.deliveries {
            let message = &mut self.found.messages[index];
            let all = Self::writes(message.length);
            let Some(known) = &message.delivery else {
                continue;
            };
            // Where a packet has come more than once, its first write tells which copy was accepted.
            let here =
                |arrival: &&BufferedPacket| arrival.message == index && arrival.covers(local);
            let copy = host.arrivals.iter().rfind(here);
            let Some(copy) = copy.filter(|copy| known.writes.is_empty() || copy.end == known.end)
            else {
                continue;
            };
            if known.end != copy.end {
                message.delivery = delivery(message, copy, known.accepted);
            }
            if let Some(delivery) = &mut message.delivery
                && delivery.writes.len() < all
            {
                let to = None;
                delivery.writes.push(PacketDma { local, from, to });
                host.writing = Some(index);
                if delivery.writes.len() == all {
                    host.events.push_back((self.ports[index], index));
                }
                break;
            }
        }
    }

    fn write_ends(&mut self, node: u16, now: SimTime) {
        let Some(index) = self.node(node).writing.take() else {
            return;
        };
        let message = &mut self.found.messages[index];
        let all = Self::writes(message.length);
        if let Some(delivery) = &mut message.delivery
            && let Some(write) = delivery.writes.last_mut()
        {
            write.to = Some(now);
            if delivery.writes.len() == all {
                self.node(node).deliveries.retain(|&other| other != index);
            }
        }
    }
}
