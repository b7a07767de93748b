//! A board of the wormhole network: it sends packets one after the other, and receives while it is ready.

use emulator::board::{Board, Context, Inspect, Ran};
use emulator::observe::event::TraceKind;
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::tigon2::timing::Timing;
use emulator::wire::medium::{Outbox, Sent};
use emulator::wire::port::Port;
use emulator::wire::unit::{Arrival, Unit};
use emulator::{state, value_enum};

use super::medium::{Control, Packet, Wormhole};

#[derive(Debug)]
pub enum Event {
    /// A packet joins those that are to leave.
    Send(Packet),
    /// The head of a packet is there; its tail comes at that time.
    Head(Packet, SimTime),
    Tail(Packet),
    Control(Control),
    /// The receiver becomes ready, or ceases to be.
    Ready(bool),
}

value_enum!(Event {
    Send { 0: packet },
    Head { 0: packet, 1: tail },
    Tail { 0: packet },
    Control { 0: control },
    Ready { 0: ready },
});

/// A received packet: its tag, and in nanoseconds when its head and its tail came.
pub type Received = (u8, u64, u64);

#[derive(Debug, Default)]
pub struct Nic {
    pub received: Vec<Received>,
    /// Controls from the network, each with its time in nanoseconds.
    pub controls: Vec<(u64, Control)>,
    /// Not ready for so long after each packet.
    pub rest: SimTime,
    /// Sends a packet on along each of these routes, in turn.
    pub answers: Vec<Vec<u8>>,
    to_send: Vec<Packet>,
    busy: bool,
    sent: u64,
    outbox: Outbox<Wormhole>,
}

state!(Nic { received, controls, to_send, busy, sent } fixed { rest, answers, outbox });

impl Nic {
    fn send_next(&mut self, ctx: &mut Context<'_, Event>) {
        if self.busy || self.to_send.is_empty() {
            return;
        }
        let packet = self.to_send.remove(0);
        self.busy = true;
        let (address, length) = (packet.check(), packet.length() as u32);
        let kind = TraceKind::FrameSent { address, length };
        ctx.trace.record(ctx.now, Initiator::Transmitter, kind);
        self.outbox.send(ctx.now, packet);
    }

    fn answer(&mut self, packet: &Packet) {
        let routes = self.answers.len() as u64;
        let tag = packet.bytes()[0];
        if routes > 0 && tag > 0 {
            let route = &self.answers[(self.sent % routes) as usize];
            let mut payload = packet.bytes().to_vec();
            payload[0] -= 1;
            self.to_send.push(Packet::new(route, &payload));
            self.sent += 1;
        }
    }
}

impl Board for Nic {
    type Event = Event;
    type Medium = Wormhole;

    fn handle(&mut self, event: Event, ctx: &mut Context<'_, Event>) {
        match event {
            Event::Send(packet) => self.to_send.push(packet),
            Event::Head(packet, tail) => {
                let ns = |time: SimTime| time.ps() / 1000;
                let tag = packet.bytes()[0];
                self.received.push((tag, ns(ctx.now), ns(tail)));
                let kind = TraceKind::FrameReceived {
                    address: packet.check(),
                    length: packet.length() as u32,
                    status: 0,
                };
                ctx.trace.record(ctx.now, Initiator::Receiver, kind);
                if self.rest > SimTime::ZERO {
                    self.outbox.control(ctx.now, Control::Stop);
                    ctx.schedule(tail + self.rest, Initiator::Receiver, Event::Ready(true));
                }
                ctx.schedule(tail, Initiator::Receiver, Event::Tail(packet));
            }
            Event::Tail(packet) => {
                self.answer(&packet);
            }
            Event::Control(control) => {
                self.controls.push((ctx.now.ps() / 1000, control));
                self.busy &= control != Control::Sent;
            }
            Event::Ready(ready) => {
                let control = if ready { Control::Go } else { Control::Stop };
                self.outbox.control(ctx.now, control);
            }
        }
        self.send_next(ctx);
    }

    fn plug_in(&mut self, (): &()) {}

    fn schedule_carrier(&mut self, _: bool, _: SimTime, _: &mut Context<'_, Event>) {}

    fn unit_arrives(&mut self, arrival: Arrival<Packet>, ctx: &mut Context<'_, Event>) {
        let tail = arrival.tail.expect("the network knows it");
        let event = Event::Head(arrival.unit, tail);
        ctx.schedule(arrival.head, Initiator::Receiver, event);
    }

    fn control_arrives(&mut self, sent: Sent<Control>, ctx: &mut Context<'_, Event>) {
        let event = Event::Control(sent.control);
        ctx.schedule(sent.time, Initiator::Transmitter, event);
    }

    fn outbox(&mut self) -> &mut Outbox<Wormhole> {
        &mut self.outbox
    }

    fn run_cores(&mut self, _: SimTime, _: &mut Context<'_, Event>) -> Ran {
        Ran::There
    }

    fn next_activity(&self, _: SimTime) -> SimTime {
        SimTime::MAX
    }

    fn window_read(&mut self, _: u32, _: &mut Context<'_, Event>) -> u32 {
        0
    }

    fn window_write(&mut self, _: u32, _: u32, _: &mut Context<'_, Event>) {}

    fn window_peek(&self, _: u32, _: SimTime) -> u32 {
        0
    }

    fn interrupt_line(&self) -> bool {
        false
    }

    fn reset(&mut self, _: &mut Context<'_, Event>) {}

    fn outlives_reset(_: &Event) -> bool {
        true
    }
}

impl Inspect for Nic {
    fn name(&self) -> &'static str {
        "wormhole"
    }
}

/// Nodes without cables.
pub fn nics(count: usize) -> World {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let costs = timing.host;
    let node = |index| Node::new(index as u16, Nic::default(), &costs, 1);
    World::new((0..count).map(node).collect())
}

/// Lays a cable between two ports.
pub fn connect(world: &mut World, a: impl Into<Port>, b: impl Into<Port>) {
    let ends = [a.into(), b.into()];
    world.network_mut::<Wormhole>().connect(ends[0], ends[1]);
    for end in ends {
        if let Port::Node(node) = end {
            world
                .attach::<Wormhole>(node, &())
                .expect("a board that fits");
        }
    }
}

pub fn nic(world: &World, node: usize) -> &Nic {
    world.nodes[node].board()
}

/// Schedules an event of a board.
pub fn at(world: &mut World, node: usize, time_ns: u64, event: Event) {
    world.nodes[node].with_board::<Nic, _>(|_, ctx| {
        let who = Initiator::Transmitter;
        ctx.schedule(SimTime::from_ns(time_ns), who, event);
    });
}
