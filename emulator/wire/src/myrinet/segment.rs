//! The run of the fabric: heads that go on, packets that wait for channels, and what nodes send and hear.

use std::any::Any;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::event::{Event, Step};
use super::nearness::{self, Nearness};
use super::network::MyrinetNetwork;
use super::packet::{MINIMUM_BYTES, Packet, RouteByte};
use super::worm::{Hop, HopId, Worm};
use super::{Control, Myrinet};
use crate::fault::Passage;
use crate::medium::{Delivery, Sent};
use crate::network::{Segment, outbox_of, pass_on};
use crate::port::Port;
use emulator_base::loss::LossReason;
use emulator_base::time::SimTime;
use emulator_base::unit::{Departure, Unit};
use emulator_observe::capture::{Note, Noted, Tap};
use emulator_observe::tracer::Tracer;
use emulator_state::{Reader, State, StateError, Writer};

/// All nodes and channels.
#[derive(Debug)]
pub(super) struct Joined<'a> {
    pub network: &'a mut MyrinetNetwork,
    /// The nodes with a cable, in order.
    pub(super) nodes: Vec<usize>,
    /// Span from a packet that begins to leave to the first moment at which its sender can hear of the tail.
    shortest: SimTime,
    /// Span from a packet that begins to leave to the first moment at which another node can hear of it.
    path: SimTime,
    /// Span from anything else to the first moment at which a node can hear of it: the shortest cable of a node.
    shortest_cable: SimTime,
    /// Span from any event to the first moment at which a far node can hear of what follows, if there can be far nodes.
    far_span: Option<SimTime>,
    /// The events and packets that are near nodes.
    pub(super) nearness: Nearness,
    /// The time of the event that is handled.
    pub now: SimTime,
    /// Packets that wait in the ports of nodes.
    waiting: usize,
    /// For pending events after which a node can hear of its own tail sooner than of anything else: when it can, and the time of the
    /// event. Those of events that are over may remain behind others.
    own_tails: BinaryHeap<Reverse<(SimTime, SimTime)>>,
    told: Vec<(usize, SimTime, Delivery<Myrinet>)>,
}

impl<'a> Joined<'a> {
    pub fn new(network: &'a mut MyrinetNetwork, nodes: Vec<usize>) -> Self {
        let at_nodes = network.channels.iter();
        let at_nodes = at_nodes.filter(|c| c.sender().is_some() || c.receiver().is_some());
        let links = at_nodes.map(|channel| channel.link);
        let shortest_cable = links.clone().map(|link| link.propagation).min();
        let shortest_cable = shortest_cable.unwrap_or(SimTime::MAX);
        let shortest = links.map(|link| link.span(MINIMUM_BYTES)).min();
        let shortest = shortest.unwrap_or(SimTime::MAX).min(shortest_cable);
        let channels = 0..network.channels.len();
        let of_nodes = channels.filter(|&channel| network.channels[channel].sender().is_some());
        // A crossbar does nothing before the head is in its buffer.
        let paths = of_nodes
            .clone()
            .map(|channel| match network.delay(channel) {
                Some(delay) => delay.saturating_add(shortest),
                None => shortest_cable,
            });
        let path = paths.min().unwrap_or(SimTime::MAX);
        let waiting = of_nodes.map(|channel| network.channels[channel].waiting.len());
        let mut joined = Self {
            shortest,
            path,
            shortest_cable,
            far_span: nearness::span_of(network, shortest_cable),
            now: network.now,
            waiting: waiting.sum(),
            nearness: Nearness::new(network, &nodes),
            own_tails: BinaryHeap::new(),
            network,
            nodes,
            told: Vec::new(),
        };
        joined.note_changed_packets();
        let pending = joined.network.pending.0.iter();
        let tails = pending.filter_map(|event| {
            let tail = joined.own_tail(event.time, event.channel, &event.step)?;
            Some(Reverse((tail, event.time)))
        });
        joined.own_tails = tails.collect();
        joined
    }

    pub fn schedule(&mut self, time: SimTime, channel: usize, step: Step) {
        self.schedule_numbered(time, channel, step);
    }

    /// Schedules an event; returns its number on the channel.
    fn schedule_numbered(&mut self, time: SimTime, channel: usize, step: Step) -> u64 {
        debug_assert!(time >= self.now, "{step:?} too late");
        if let Some(tail) = self.own_tail(time, channel, &step) {
            self.own_tails.push(Reverse((tail, time)));
        }
        self.nearness.begins(channel, &step);
        self.network.schedule(time, channel, step)
    }

    /// Passes something on to a node.
    pub fn announce(&mut self, node: usize, time: SimTime, delivery: Delivery<Myrinet>) {
        debug_assert!(
            time >= self.now.saturating_add(self.shortest),
            "{delivery:?} too late"
        );
        if let Some(member) = self.member(node) {
            self.told.push((member, time, delivery));
        }
    }

    /// The number of a node in the segment.
    pub(super) fn member(&self, node: usize) -> Option<usize> {
        match self.nodes.get(node) {
            // Mostly all nodes have a cable.
            Some(&same) if same == node => Some(node),
            _ => self.nodes.binary_search(&node).ok(),
        }
    }

    pub fn announce_control(&mut self, node: usize, time: SimTime, control: Control) {
        self.announce(node, time, Delivery::Control(Sent { time, control }));
    }

    fn handle(&mut self, event: Event) {
        let Event {
            time,
            channel,
            step,
            sequence,
        } = event;
        self.now = time;
        match step {
            Step::TailOut(hop, version) if self.is_current(hop, version) => self.tail_out(hop),
            Step::Begin(hop, version) if self.is_current(hop, version) => self.begin(hop),
            Step::Settle(hop, version) if self.is_current(hop, version) => self.settle(hop),
            Step::Replan(hop, version) if self.is_current(hop, version) => self.replan(hop, time),
            Step::TailOut(..) | Step::Begin(..) | Step::Settle(..) | Step::Replan(..) => {}
            Step::Gate(stop) => self.gate_changes(channel, stop),
            Step::Heard(control) => self.hear(self.network.current_back(channel), control),
            Step::Flow(hop, flow) => self.flow_changes(hop, flow),
            Step::Head(hop) => self.head_arrives(hop),
            Step::Watermark(prediction) => {
                if self.network.channels[channel].prediction == prediction {
                    self.watch(channel);
                }
            }
            Step::Free => {
                self.admit(channel);
                self.forward_first(channel);
                self.watch(channel);
            }
            Step::Leave(packet, layer, reports) => {
                let notes = self.notes(channel, Noted::Event(sequence));
                let channel = match layer {
                    0 => self.network.current_away(channel),
                    _ => channel,
                };
                self.leave(channel, (packet, notes), layer, reports);
            }
            Step::Cut(crossbar) => self.cut(channel, crossbar),
            Step::Watchdog(hop) => self.bark(channel, hop),
            Step::Replug(new) => self.replug(channel, new),
        }
    }

    fn is_current(&self, id: HopId, version: u64) -> bool {
        self.network
            .hop(id)
            .is_some_and(|hop| hop.version == version)
    }

    /// The first moment at which a node can hear of the tail of its own packet because of an event at `time`. `None` if that is no
    /// sooner than it can hear of anything else.
    fn own_tail(&self, time: SimTime, channel: usize, step: &Step) -> Option<SimTime> {
        let channel = &self.network.channels[channel];
        channel.sender()?;
        let bytes = match step {
            // Fault layers may make it shorter.
            Step::Leave(packet, layer, _) if *layer >= channel.lane.layers() => {
                packet.length().max(MINIMUM_BYTES)
            }
            Step::Leave(..) | Step::Free | Step::Replan(..) => MINIMUM_BYTES,
            _ => return None,
        };
        Some(time.saturating_add(channel.link.span(bytes)))
    }

    /// A packet waits for a channel.
    fn wait_for(&mut self, channel: usize, id: HopId) {
        let channel = &mut self.network.channels[channel];
        channel.waiting.push_back(id);
        self.waiting += usize::from(channel.sender().is_some());
    }

    /// A packet waits no longer for a channel.
    pub fn end_wait(&mut self, channel: usize, id: HopId) {
        let channel = &mut self.network.channels[channel];
        let before = channel.waiting.len();
        channel.waiting.retain(|&waiting| waiting != id);
        if channel.sender().is_some() {
            self.waiting -= before - channel.waiting.len();
        }
    }

    /// A packet leaves a node: it passes the lane's fault layers, then it asks for the channel.
    fn leave(
        &mut self,
        channel: usize,
        (packet, notes): (Packet, Vec<Note>),
        layer: usize,
        reports: bool,
    ) {
        if layer == 0 {
            self.network.counts.sent += 1;
        }
        let now = self.now;
        let lane = &mut self.network.channels[channel].lane;
        if layer >= lane.layers() {
            return self.enter(channel, (packet, notes), reports);
        }
        let length = packet.length();
        let mut passage = Passage::default();
        let departure = Departure {
            head: now,
            unit: packet,
        };
        let before = lane.tap.is_some().then(|| departure.clone());
        lane.pass(layer, departure, &mut passage);
        let copies = passage.units().len();
        if let Some(before) = before.as_ref().filter(|_| copies == 0) {
            let notes = notes.iter().cloned().chain([Note::Dropped]);
            lane.capture(now, &before.unit, notes.collect());
        }
        for (index, after) in passage.take_units().enumerate() {
            let mut notes = notes.clone();
            if let Some(before) = &before {
                notes.extend(Note::of_fault(before, &after, index + 1, copies));
            }
            let step = Step::Leave(after.unit, layer + 1, reports && index == 0);
            let event = self.schedule_numbered(after.head, channel, step);
            self.note(channel, Noted::Event(event), notes);
        }
        self.network.counts.doubled += (copies as u64).saturating_sub(1);
        if copies == 0 {
            self.vanish(channel, length, reports);
        }
    }

    /// Keeps notes on a unit of a channel until it is captured, if it is captured at all.
    fn note(&mut self, channel: usize, unit: Noted, notes: Vec<Note>) {
        if let Some(tap) = &mut self.network.channels[channel].lane.tap {
            tap.note(unit, notes);
        }
    }

    /// Takes the notes on a unit of a channel.
    fn notes(&mut self, channel: usize, unit: Noted) -> Vec<Note> {
        let tap = &mut self.network.channels[channel].lane.tap;
        tap.as_mut().map_or_else(Vec::new, |tap| tap.notes(unit))
    }

    /// A packet that a node sends gets no further than the node's port. The sender does not know.
    fn vanish(&mut self, channel: usize, length: u64, reports: bool) {
        self.network.counts.lost += 1;
        let channel = &self.network.channels[channel];
        let gone = self.now + channel.link.span(length.max(MINIMUM_BYTES));
        if let Some(node) = channel.sender().filter(|_| reports) {
            self.announce_control(node, gone, Control::Sent { whole: true });
        }
    }

    /// A packet of a node asks for its first channel.
    fn enter(&mut self, channel: usize, (packet, notes): (Packet, Vec<Note>), reports: bool) {
        let length = packet.length();
        if length < MINIMUM_BYTES {
            let lane = &mut self.network.channels[channel].lane;
            lane.lose_unheard(self.now, LossReason::Length, &packet, notes);
            return self.vanish(channel, length, reports);
        }
        let number = self.network.next_number;
        self.network.next_number += 1;
        self.note(channel, Noted::Packet(number), notes);
        let hop = Hop {
            channel,
            length,
            ..Hop::default()
        };
        self.network.worms.push(Worm {
            number,
            packet,
            base: 0,
            hops: vec![hop],
            reports,
        });
        self.nearness.changes_packet(number);
        self.wait_for(channel, (number, 0));
        self.admit(channel);
    }

    /// A head is in at a crossbar.
    pub fn head_arrives(&mut self, id: HopId) {
        let now = self.now;
        let Some(hop) = self.network.hop_mut(id) else {
            return;
        };
        if hop.head_in || hop.arrived.passed(now) == 0 {
            return;
        }
        hop.head_in = true;
        let channel = hop.channel;
        self.forward_first(channel);
        self.watch(channel);
    }

    /// The first packet in the buffer at a channel's end goes on, if its head is in and has not been sent on yet.
    pub fn forward_first(&mut self, channel: usize) {
        let Some(&id) = self.network.channels[channel].inside.front() else {
            return;
        };
        let Some(worm) = self.network.worm(id.0) else {
            return;
        };
        let first = worm.hops.len() == id.1 + 1 && worm.hops[id.1].head_in;
        if !first {
            return;
        }
        match self.egress(channel, worm, id.1) {
            Ok(out) => self.ask(out, id),
            Err(reason) => self.lose(id, channel, reason),
        }
    }

    /// The channel to which a packet's route leads from the end of another one.
    pub(super) fn egress(
        &self,
        channel: usize,
        worm: &Worm,
        hop: usize,
    ) -> Result<usize, LossReason> {
        let nowhere = LossReason::UnknownDestination;
        let Port::Switch { switch, port } = self.network.channels[channel].lane.to() else {
            return Err(nowhere);
        };
        let crossbar = self.network.crossbars.get(switch).ok_or(nowhere)?;
        let byte = worm.route_byte(hop).and_then(RouteByte::read);
        let egress = byte.and_then(|byte| byte.egress(port, crossbar.ports.len()));
        crossbar.ports[egress.ok_or(nowhere)?].ok_or(LossReason::Unconnected)
    }

    /// A packet asks for a channel behind the hop that it is on.
    fn ask(&mut self, out: usize, (number, hop): HopId) {
        let next = (number, hop + 1);
        let Some(worm) = self.network.worm_mut(number) else {
            return;
        };
        let length = worm.hops[hop].length.saturating_sub(1);
        worm.hops.push(Hop {
            channel: out,
            length,
            ..Hop::default()
        });
        self.nearness.changes_packet(number);
        self.wait_for(out, next);
        self.admit(out);
        let out_channel = &self.network.channels[out];
        let Port::Switch { switch, .. } = out_channel.lane.from() else {
            return;
        };
        let crossbar = self.network.crossbars.get(switch);
        if let Some(span) = crossbar.and_then(|crossbar| crossbar.config.watchdog)
            && out_channel.waiting.contains(&next)
        {
            let time = self.now.saturating_add(span);
            self.schedule(time, out, Step::Watchdog(next));
        }
    }

    /// Gives a free channel to the packet that has waited longest.
    pub fn admit(&mut self, channel: usize) {
        loop {
            let free = &self.network.channels[channel];
            if free.holder.is_some() || self.now < free.free_at {
                return;
            }
            let channel_here = &mut self.network.channels[channel];
            let Some(id) = channel_here.waiting.pop_front() else {
                return;
            };
            self.waiting -= usize::from(channel_here.sender().is_some());
            self.grant(channel, id);
        }
    }

    /// Gives a channel to a packet, unless it gets lost there.
    fn grant(&mut self, index: usize, id: HopId) {
        let now = self.now;
        let channel = &self.network.channels[index];
        if channel
            .lane
            .is_cut(now, now.saturating_add(channel.link.propagation))
        {
            return self.lose_unsent(id, index, LossReason::Cut);
        }
        let mut notes = Vec::new();
        let start = match channel.lane.layers() {
            0 => now,
            _ if id.1 == 0 => now,
            _ => match self.pass_layers(index, id, &mut notes) {
                Some(start) => start,
                None => return,
            },
        };
        self.capture(index, id, notes);
        let channel = &mut self.network.channels[index];
        channel.holder = Some(id);
        if channel.receiver().is_none() {
            channel.inside.push_back(id);
        }
        let mut changes = vec![start];
        if id.1 == 0 {
            changes.extend(channel.gate.changes_after(start));
        }
        let Some(hop) = self.network.hop_mut(id) else {
            return;
        };
        hop.granted = true;
        let version = hop.version;
        self.nearness.changes_packet(id.0);
        if start > now {
            return self.schedule(start, index, Step::Replan(id, version));
        }
        for time in changes {
            self.replan(id, time);
        }
    }

    /// A packet passes the fault layers of a crossbar's port. Returns when its head may leave, unless it is lost. A packet that is under
    /// way cannot be doubled, and cannot change its length.
    fn pass_layers(&mut self, channel: usize, id: HopId, notes: &mut Vec<Note>) -> Option<SimTime> {
        let mut unit = self.network.worm(id.0)?.packet_at(id.1);
        let (mut head, length) = (self.now, unit.length());
        let mut passage = Passage::of_one();
        let lane = &mut self.network.channels[channel].lane;
        for layer in 0..lane.layers() {
            let before = Departure { head, unit };
            lane.pass(layer, before.clone(), &mut passage);
            let first = passage.take_units().next();
            let Some(after) = first else {
                notes.push(Note::Dropped);
                lane.capture(self.now, &before.unit, std::mem::take(notes));
                self.clear(id.0);
                return None;
            };
            notes.extend(Note::of_fault(&before, &after, 1, 1));
            (head, unit) = (after.head, after.unit);
        }
        if unit.length() != length {
            self.lose_unsent(id, channel, LossReason::Length);
            return None;
        }
        let worm = self.network.worm_mut(id.0)?;
        (worm.packet, worm.base) = (unit, id.1);
        Some(head)
    }

    /// Captures a packet at a channel with these notes, and those that were kept.
    fn capture(&mut self, channel: usize, (number, hop): HopId, notes: Vec<Note>) {
        if self.network.channels[channel].lane.tap.is_none() {
            return;
        }
        let packet = self.network.worm(number).map(|worm| worm.packet_at(hop));
        if let Some(packet) = packet {
            let mut all = self.notes_before(channel, (number, hop));
            all.extend(notes);
            let lane = &mut self.network.channels[channel].lane;
            lane.capture(self.now, &packet, all);
        }
    }

    /// The notes on a packet that were kept until it enters the network.
    pub(super) fn notes_before(&mut self, channel: usize, (number, hop): HopId) -> Vec<Note> {
        match hop {
            0 => self.notes(channel, Noted::Packet(number)),
            _ => Vec::new(),
        }
    }
}

impl Segment for Joined<'_> {
    fn next_time(&self) -> SimTime {
        let first = self.network.pending.0.peek();
        first.map_or(SimTime::MAX, |event| event.time)
    }

    fn horizon(&self, unit: SimTime, control: SimTime) -> SimTime {
        // What waits in a node's port may be let go by anything, and its sender then hears of its tail.
        let lead = match self.waiting {
            0 => self.shortest_cable,
            _ => self.shortest,
        };
        let next = self.next_time().saturating_add(lead);
        let others = next.min(control.saturating_add(lead));
        let own = self.own_tails.peek();
        let own = own.map_or(SimTime::MAX, |Reverse((tail, _))| *tail);
        let unit = unit.saturating_add(self.path);
        others.min(unit).min(own)
    }

    fn far_horizon(
        &self,
        unit: SimTime,
        control: SimTime,
        near: &mut Vec<bool>,
    ) -> Option<SimTime> {
        let span = self.far_span?;
        let first = self.next_time().min(unit).min(control);
        self.nearness.mark(near);
        debug_assert_eq!(*near, self.find_near(), "nodes that are not far");
        near.contains(&false).then(|| first.saturating_add(span))
    }

    fn feedback_span(&self) -> SimTime {
        self.shortest
    }

    fn answer_span(&self) -> SimTime {
        self.shortest
    }

    fn take_outbox(&mut self, from: usize, outbox: &mut dyn Any) {
        let outbox = outbox_of::<Myrinet>(outbox);
        if outbox.is_empty() {
            return;
        }
        let Some(away) = self.network.node_channel(self.nodes[from]) else {
            return outbox.clear();
        };
        let back = self.network.back(away);
        self.network.channels[away].lane.take_losses(outbox);
        for Departure { head, unit } in outbox.take_units() {
            self.schedule(head, away, Step::Leave(unit, 0, true));
        }
        for Sent { time, control } in outbox.take_controls() {
            self.schedule(time, back, Step::Heard(control));
        }
    }

    fn run_until(&mut self, time: SimTime) {
        while self.next_time() < time {
            if let Some(event) = self.network.pending.0.pop() {
                self.nearness.is_over(event.channel, &event.step);
                self.handle(event);
            }
        }
        self.note_changed_packets();
        self.network.now = self.network.now.max(self.now);
        let over = |tail: &Reverse<(SimTime, SimTime)>| tail.0.1 < time;
        while self.own_tails.peek().is_some_and(over) {
            self.own_tails.pop();
        }
    }

    fn deliver(&mut self, to: &mut dyn FnMut(usize, SimTime, &mut dyn Any)) {
        for (node, matters, delivery) in self.told.drain(..) {
            pass_on(node, matters, delivery, to);
        }
    }

    fn traces_mut(&mut self) -> Box<dyn Iterator<Item = &mut Tracer> + '_> {
        let channels = self.network.channels.iter_mut();
        Box::new(channels.map(|channel| &mut channel.lane.trace))
    }

    fn save(&self, out: &mut Writer) {
        self.network.save(out);
    }

    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        self.network.load(from)?;
        self.nearness = Nearness::new(self.network, &self.nodes);
        self.note_changed_packets();
        Ok(())
    }

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        let channels = self.network.channels.iter_mut();
        Box::new(channels.filter_map(|channel| channel.lane.tap.as_mut()))
    }
}
