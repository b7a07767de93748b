//! A board with a Myrinet port: it sends packets one after the other, and says STOP and GO as it is told.

use emulator::board::{Board, Context, Inspect, Ran};
use emulator::observe::event::TraceKind;
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::tigon2::timing::Timing;
use emulator::wire::medium::{Outbox, Sent};
use emulator::wire::myrinet::{Control, Direction, FabricCounts, Link, Myrinet, Packet};
use emulator::wire::unit::{Arrival, Unit};
use emulator::{state, value_enum};

#[derive(Debug)]
pub enum Event {
    /// A packet joins those that are to leave.
    Send(Packet),
    Head(Packet),
    /// From the fabric.
    Heard(Control),
    /// The board says it to the fabric.
    Say(Control),
    /// The send engine has been stopped for the time of NRES, if it stopped for the time of that number.
    Nres(u64),
}

value_enum!(Event {
    Send { 0: packet },
    Head { 0: packet },
    Heard { 0: control },
    Say { 0: control },
    Nres { 0: stops },
});

#[derive(Debug, Default)]
pub struct Nic {
    /// Packets, and when their heads came.
    pub heads: Vec<(u64, Packet)>,
    /// When their tails came, and whether they are whole.
    pub tails: Vec<(u64, bool)>,
    /// Other controls that the fabric sent, each with its time.
    pub controls: Vec<(u64, Control)>,
    /// After each head, STOP at once and GO so much later.
    pub rest: SimTime,
    /// The time after which a blocked packet is taken out.
    pub nres: Option<SimTime>,
    /// Sends a packet on along each of these routes, in turn, while its third byte is not 0.
    pub answers: Vec<Vec<u8>>,
    pub carrier: Vec<(u64, bool)>,
    to_send: Vec<Packet>,
    busy: bool,
    answered: u64,
    stops: u64,
    stopped: bool,
    outbox: Outbox<Myrinet>,
}

state!(Nic {
    heads, tails, controls, carrier, to_send, busy, answered, stops, stopped
} fixed { rest, nres, answers, outbox });

impl Nic {
    fn send_next(&mut self, ctx: &mut Context<'_, Event>) {
        if self.busy || self.to_send.is_empty() {
            return;
        }
        self.busy = true;
        self.outbox.send(ctx.now, self.to_send.remove(0));
    }

    fn head(&mut self, packet: Packet, ctx: &mut Context<'_, Event>) {
        if self.rest > SimTime::ZERO {
            self.outbox.control(ctx.now, Control::Stop);
            let go = Event::Say(Control::Go);
            ctx.schedule(ctx.now + self.rest, Initiator::Receiver, go);
        }
        self.heads.push((ctx.now.ps(), packet));
    }

    fn tail(&mut self, whole: bool, ctx: &mut Context<'_, Event>) {
        self.tails.push((ctx.now.ps(), whole));
        let Some((_, packet)) = self.heads.last() else {
            panic!("a tail without a head");
        };
        let kind = TraceKind::FrameReceived {
            address: packet.check(),
            length: packet.length() as u32,
            status: whole.into(),
        };
        ctx.trace.record(ctx.now, Initiator::Receiver, kind);
        let mut rest = packet.bytes().to_vec();
        if let Some(left) = rest.get_mut(2).filter(|left| whole && **left > 0)
            && !self.answers.is_empty()
        {
            *left -= 1;
            let route = &self.answers[self.answered as usize % self.answers.len()];
            self.to_send.push(Packet::new([&route[..], &rest].concat()));
            self.answered += 1;
        }
    }

    fn hear(&mut self, control: Control, ctx: &mut Context<'_, Event>) {
        match control {
            Control::Tail { whole } => return self.tail(whole, ctx),
            Control::Sent { .. } => (self.busy, self.stopped) = (false, false),
            Control::Stop => {
                (self.stops, self.stopped) = (self.stops + 1, true);
                if let Some(span) = self.nres {
                    let event = Event::Nres(self.stops);
                    ctx.schedule(ctx.now + span, Initiator::Transmitter, event);
                }
            }
            Control::Go => self.stopped = false,
            Control::Reset(_) => panic!("the fabric does not say that"),
        }
        self.controls.push((ctx.now.ps(), control));
    }
}

impl Board for Nic {
    type Event = Event;
    type Medium = Myrinet;

    fn handle(&mut self, event: Event, ctx: &mut Context<'_, Event>) {
        match event {
            Event::Send(packet) => self.to_send.push(packet),
            Event::Head(packet) => self.head(packet, ctx),
            Event::Heard(control) => self.hear(control, ctx),
            Event::Say(control) => self.outbox.control(ctx.now, control),
            Event::Nres(stops) => {
                if self.stopped && self.stops == stops {
                    let reset = Control::Reset(Direction::Send);
                    self.outbox.control(ctx.now, reset);
                }
            }
        }
        self.send_next(ctx);
    }

    fn plug_in(&mut self, _: &Link) {}

    fn schedule_carrier(&mut self, present: bool, time: SimTime, _: &mut Context<'_, Event>) {
        self.carrier.push((time.ps(), present));
    }

    fn unit_arrives(&mut self, arrival: Arrival<Packet>, ctx: &mut Context<'_, Event>) {
        assert_eq!(arrival.tail, None);
        let event = Event::Head(arrival.unit);
        ctx.schedule(arrival.head, Initiator::Receiver, event);
    }

    fn control_arrives(&mut self, sent: Sent<Control>, ctx: &mut Context<'_, Event>) {
        let event = Event::Heard(sent.control);
        ctx.schedule(sent.time, Initiator::Transmitter, event);
    }

    fn outbox(&mut self) -> &mut Outbox<Myrinet> {
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
        "myrinet"
    }
}

/// Nodes without cables.
pub fn nics(count: usize) -> World {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let costs = timing.host;
    let node = |index| Node::new(index as u16, Nic::default(), &costs, 1);
    World::new((0..count).map(node).collect())
}

pub fn nic(world: &World, node: usize) -> &Nic {
    world.nodes[node].board()
}

pub fn nic_mut(world: &mut World, node: usize) -> &mut Nic {
    world.nodes[node].board_mut()
}

/// Schedules an event of a board.
pub fn at(world: &mut World, node: usize, time_ns: u64, event: Event) {
    world.nodes[node].with_board::<Nic, _>(|_, ctx| {
        let who = Initiator::Transmitter;
        ctx.schedule(SimTime::from_ns(time_ns), who, event);
    });
}

/// A packet of this route; `length` bytes follow it, with type, tag and CRC.
pub fn packet(route: &[u8], tag: u8, length: usize) -> Packet {
    let mut rest = vec![0xA5; length - 1];
    rest[..3].copy_from_slice(&[0, 4, tag]);
    Packet::new([route, &rest].concat())
}

pub fn send(world: &mut World, node: usize, time_ns: u64, route: &[u8], tag: u8, length: usize) {
    let packet = packet(route, tag, length);
    at(world, node, time_ns, Event::Send(packet));
}

/// Tag, head and tail of each received packet, in picoseconds.
pub fn received(world: &World, node: usize) -> Vec<(u8, u64, u64)> {
    let nic = nic(world, node);
    let both = nic.heads.iter().zip(&nic.tails);
    both.map(|((head, packet), (tail, whole))| {
        assert!(packet.is_intact() && *whole);
        (packet.bytes()[2], *head, *tail)
    })
    .collect()
}

pub fn run_us(world: &mut World, us: u64, threads: usize) {
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(us)),
        threads: threads.try_into().expect("a thread"),
        ..RunLimits::default()
    };
    assert!(world.pass_time(&limits));
}

/// Checks that what became of packets adds up, and returns the counts.
pub fn accounted(world: &World) -> FabricCounts {
    let counts = world.fabric_counts();
    let fabric = world.network::<Myrinet>().expect("a fabric");
    let under_way = fabric.under_way() as u64;
    let found = counts.delivered + counts.cut_short + counts.lost + under_way;
    assert_eq!(counts.sent + counts.doubled, found, "{counts:?}");
    counts
}

/// Checks besides that nodes heard of all of that: nothing is on a cable any more.
pub fn settled(world: &World) -> FabricCounts {
    let counts = accounted(world);
    let of_nodes = |count: &dyn Fn(&Nic) -> usize| {
        let nodes = (0..world.nodes.len()).map(|node| count(nic(world, node)));
        nodes.sum::<usize>() as u64
    };
    let tails = |whole| of_nodes(&|nic| nic.tails.iter().filter(|tail| tail.1 == whole).count());
    assert_eq!(
        (tails(true), tails(false)),
        (counts.delivered, counts.cut_short)
    );
    counts
}
