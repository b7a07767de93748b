//! Packets between nodes.

use std::any::Any;

use emulator::observe::capture::Tap;
use emulator::observe::tracer::Tracer;
use emulator::sim::time::SimTime;
use emulator::state::{Reader, State, StateError, Writer};
use emulator::wire::fault::Passage;
use emulator::wire::medium::{Delivery, Sent};
use emulator::wire::network::{Segment, outbox_of, pass_on};
use emulator::wire::port::Port;
use emulator::wire::unit::{Arrival, Departure};
use emulator::{value_enum, value_struct};

use super::medium::{BYTE, CABLE, Channels, Control, Packet, SWITCH, Worm, Wormhole};

/// An event of a packet. The order of the variants decides at equal times on one channel.
#[derive(Debug)]
pub enum Step {
    /// The tail of a packet has passed the channel's beginning.
    Release(u64),
    /// The channel's beginning hears GO or STOP of the node at its end.
    Ready(bool),
    /// A packet leaves a node.
    Leave(Packet),
    /// The head of a packet is at the channel's end, which is a switch.
    Head(u64),
}

value_enum!(Step {
    Release { 0: number },
    Ready { 0: open },
    Leave { 0: packet },
    Head { 0: number },
});

#[derive(Debug)]
pub struct Event {
    time: SimTime,
    channel: usize,
    step: Step,
    sequence: u64,
}

value_struct!(Event {
    time: time,
    channel: channel,
    step: step,
    sequence: sequence
});

impl Event {
    const fn key(&self) -> (SimTime, usize, u8, u64) {
        let step = match self.step {
            Step::Release(_) => 0,
            Step::Ready(_) => 1,
            Step::Leave(_) => 2,
            Step::Head(_) => 3,
        };
        (self.time, self.channel, step, self.sequence)
    }
}

/// All nodes and channels.
#[derive(Debug)]
pub struct Joined<'a> {
    network: &'a mut Channels,
    nodes: Vec<usize>,
    told: Vec<(usize, SimTime, Delivery<Wormhole>)>,
}

impl<'a> Joined<'a> {
    pub fn new(network: &'a mut Channels, nodes: Vec<usize>) -> Self {
        let told = Vec::new();
        Self {
            network,
            nodes,
            told,
        }
    }

    fn schedule(&mut self, time: SimTime, channel: usize, step: Step) {
        let sequence = self.network.channels[channel].lane.next_sequence();
        let event = Event {
            time,
            channel,
            step,
            sequence,
        };
        let pending = &mut self.network.pending;
        let at = pending.partition_point(|other| other.key() > event.key());
        pending.insert(at, event);
    }

    /// The place of a node in the segment.
    fn member(&self, port: Port) -> usize {
        let Port::Node(node) = port else {
            unreachable!("{port} is no node")
        };
        self.nodes
            .binary_search(&node)
            .expect("a node with a cable")
    }

    fn sender_of(&self, worm: &Worm) -> Port {
        self.network.channels[worm.first].lane.from()
    }

    /// A control goes back to the sender of a packet, through a number of channels but one at least.
    fn tell_sender(&mut self, now: SimTime, worm: &Worm, control: Control, channels: usize) {
        let time = now + SimTime::from_ps(CABLE.ps() * channels.max(1) as u64);
        let sender = self.member(self.sender_of(worm));
        let sent = Sent { time, control };
        self.told.push((sender, time, Delivery::Control(sent)));
    }

    fn handle(&mut self, event: Event) {
        let Event {
            time,
            channel,
            step,
            ..
        } = event;
        match step {
            Step::Leave(packet) => self.leave(time, channel, packet),
            Step::Head(number) => {
                let Port::Switch { switch, .. } = self.network.channels[channel].lane.to() else {
                    unreachable!("a head at a node is no event")
                };
                let port = self
                    .network
                    .worm(number)
                    .packet
                    .next_port()
                    .expect("a route");
                let out = self.network.channel_from(Port::Switch { switch, port });
                self.join(time, out.expect("a cable"), number);
            }
            Step::Ready(open) => {
                self.network.channels[channel].open = open;
                self.admit(time, channel);
            }
            Step::Release(number) => {
                self.network.channels[channel].holder = None;
                let worm = self.network.worm(number);
                worm.held.retain(|&held| held != channel);
                if worm.held.is_empty() {
                    self.network.worms.retain(|worm| worm.number != number);
                }
                self.admit(time, channel);
            }
        }
    }

    /// A packet leaves a node, unless a fault layer loses it: then its sender is done with it at once.
    fn leave(&mut self, time: SimTime, channel: usize, packet: Packet) {
        let mut passage = Passage::default();
        let lane = &mut self.network.channels[channel].lane;
        let departure = Departure {
            head: time,
            unit: packet.clone(),
        };
        match lane.layers() {
            0 => passage.forward(departure),
            _ => lane.pass(0, departure, &mut passage),
        }
        let number = self.network.next_number;
        self.network.next_number += 1;
        let mut worm = Worm {
            number,
            packet,
            first: channel,
            held: Vec::new(),
            stopped: false,
        };
        match passage.take_units().next() {
            Some(departure) => {
                worm.packet = departure.unit;
                let lane = &mut self.network.channels[channel].lane;
                lane.capture(time, &worm.packet, Vec::new());
                lane.carried(&worm.packet);
                self.network.worms.push(worm);
                self.join(time, channel, number);
            }
            None => self.tell_sender(time, &worm, Control::Sent, 1),
        }
    }

    /// The head of a packet wants to enter a channel.
    fn join(&mut self, time: SimTime, channel: usize, number: u64) {
        self.network.channels[channel].waiting.push_back(number);
        self.admit(time, channel);
        let worm = self.network.worm(number);
        if worm.held.last() != Some(&channel) && !worm.stopped {
            worm.stopped = true;
            let worm = worm.clone();
            self.tell_sender(time, &worm, Control::Stop, worm.held.len());
        }
    }

    /// Lets the next packet into a channel that is free and open.
    fn admit(&mut self, time: SimTime, index: usize) {
        let channel = &mut self.network.channels[index];
        if channel.holder.is_some() || !channel.open {
            return;
        }
        let Some(number) = channel.waiting.pop_front() else {
            return;
        };
        channel.holder = Some(number);
        let end = channel.lane.to();
        let worm = self.network.worm(number);
        let latency = if worm.held.is_empty() {
            SimTime::ZERO
        } else {
            SWITCH
        };
        worm.held.push(index);
        let head = time + latency + CABLE;
        match end {
            Port::Switch { .. } => self.schedule(head, index, Step::Head(number)),
            Port::Node(_) => self.last_channel(time, head, end, number),
        }
    }

    /// The head of a packet is on its way to a node that is ready: nothing stops it any more.
    fn last_channel(&mut self, now: SimTime, head: SimTime, end: Port, number: u64) {
        let worm = self.network.worm(number).clone();
        let tail = head + worm.packet.span();
        let arrival = Arrival {
            head,
            tail: Some(tail),
            unit: worm.packet.clone(),
        };
        let member = self.member(end);
        self.told.push((member, head, Delivery::Unit(arrival)));
        if worm.stopped {
            self.tell_sender(now, &worm, Control::Go, worm.held.len() - 1);
        }
        // The tail follows the head through every channel, one cable and one switch after the other.
        let mut free = tail.saturating_sub(CABLE);
        for &channel in worm.held.iter().rev() {
            let time = free.max(now + BYTE);
            self.schedule(time, channel, Step::Release(number));
            if channel == worm.first {
                self.tell_sender(time, &worm, Control::Sent, 1);
            }
            free = free.saturating_sub(CABLE + SWITCH);
        }
    }
}

impl Segment for Joined<'_> {
    fn next_time(&self) -> SimTime {
        let first = self.network.pending.last();
        first.map_or(SimTime::MAX, |event| event.time)
    }

    fn horizon(&self, unit: SimTime, control: SimTime) -> SimTime {
        let ready = control.saturating_add(CABLE);
        let next = self.next_time().min(unit).min(ready);
        next.saturating_add(CABLE)
    }

    fn take_outbox(&mut self, from: usize, outbox: &mut dyn Any) {
        let outbox = outbox_of::<Wormhole>(outbox);
        let port = Port::Node(self.nodes[from]);
        let leads_away = self.network.channel_from(port).expect("a cable");
        for Departure { head, unit } in outbox.take_units() {
            self.schedule(head, leads_away, Step::Leave(unit));
        }
        for Sent { time, control } in outbox.take_controls() {
            let open = control == Control::Go;
            self.schedule(time + CABLE, leads_away ^ 1, Step::Ready(open));
        }
    }

    fn run_until(&mut self, time: SimTime) {
        while self.next_time() < time {
            if let Some(event) = self.network.pending.pop() {
                self.handle(event);
            }
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
        self.network.load(from)
    }

    fn taps(&mut self) -> Box<dyn Iterator<Item = &mut Tap> + '_> {
        let channels = self.network.channels.iter_mut();
        Box::new(channels.filter_map(|channel| channel.lane.tap.as_mut()))
    }
}
