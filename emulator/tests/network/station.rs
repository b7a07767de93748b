//! A minimal board: it sends frames on request, and records arrivals.

use emulator::board::{Board, Context, Inspect, Ran};
use emulator::observe::event::TraceKind;
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::tigon2::timing::Timing;
use emulator::wire::ethernet::Ethernet;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::{Forwarding, SwitchConfig};
use emulator::wire::medium::Outbox;
use emulator::wire::port::Port;
use emulator::wire::unit::Arrival;
use emulator::{state, value_enum, value_struct};
use host_lib::address::MacAddress;

/// An event of a station.
#[derive(Debug)]
pub enum Event {
    /// Send a frame as soon as possible.
    Send(Frame),
    /// The first bytes of a frame have arrived.
    Begins(Frame, SimTime),
    /// The whole frame has arrived.
    Ends(Frame),
    /// The carrier changes.
    Signal(bool),
}

value_enum!(Event {
    Send { 0: frame },
    Begins { 0: frame, 1: first_bit },
    Ends { 0: frame },
    Signal { 0: present }
});

/// Reaction of a station to a received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Manner {
    /// None.
    #[default]
    Quiet,
    /// Sends it back.
    Echo,
    /// Forwards it to another one of `stations`, `times` times in all.
    Chat { stations: u8, times: u8 },
}

/// A received frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub first_bit: SimTime,
    pub tag: u8,
    pub intact: bool,
}

value_struct!(Received {
    first_bit: first_bit,
    tag: tag,
    intact: intact
});

#[derive(Debug)]
pub struct Station {
    pub manner: Manner,
    pub received: Vec<Received>,
    pub signal: Vec<(SimTime, bool)>,
    link: Link,
    free_at: SimTime,
    outbox: Outbox<Ethernet>,
}

state!(Station { received, signal, free_at } fixed { manner, link, outbox });

/// Positions in a frame of its tag and of the number of times it was forwarded.
const TAG: usize = 14;
const TIMES: usize = 15;

pub const GIGABIT: Link = Link {
    byte_time: SimTime::from_ns(8),
    propagation: SimTime::from_ns(100),
};

pub const fn address(station: u8) -> MacAddress {
    MacAddress([0x02, 0, 0, 0, 0, station])
}

/// A frame of `length` bytes with FCS.
pub fn frame(to: MacAddress, from: u8, tag: u8, length: usize) -> Frame {
    let mut bytes = vec![0; length - 4];
    bytes[..6].copy_from_slice(&to.0);
    bytes[6..12].copy_from_slice(&address(from).0);
    bytes[TAG] = tag;
    Frame::new(bytes)
}

impl Station {
    fn send(&mut self, frame: Frame, ctx: &Context<'_, Event>) {
        let first_bit = ctx.now.max(self.free_at);
        self.free_at = first_bit + self.link.frame_span(&frame) + self.link.gap();
        self.outbox.send(first_bit, frame);
    }

    fn answer(&self, frame: &Frame) -> Option<Frame> {
        let mut bytes = frame.bytes().to_vec();
        let here = bytes[5];
        match self.manner {
            Manner::Quiet => return None,
            Manner::Echo => {
                let (to, from) = bytes[..12].split_at_mut(6);
                to.swap_with_slice(from);
            }
            Manner::Chat { stations, times } => {
                bytes[TIMES] += 1;
                if bytes[TIMES] > times || !frame.is_intact() {
                    return None;
                }
                let step = 1 + bytes[TAG].wrapping_mul(bytes[TIMES]) % (stations - 1);
                bytes[5] = (here + step) % stations;
                bytes[11] = here;
            }
        }
        Some(Frame::new(bytes))
    }
}

impl Board for Station {
    type Event = Event;
    type Medium = Ethernet;

    fn handle(&mut self, event: Event, ctx: &mut Context<'_, Event>) {
        match event {
            Event::Send(frame) => self.send(frame, ctx),
            Event::Begins(frame, first_bit) => {
                let tag = frame.bytes()[TAG];
                self.received.push(Received {
                    first_bit,
                    tag,
                    intact: frame.is_intact(),
                });
                let kind = TraceKind::FrameReceived {
                    address: tag.into(),
                    length: frame.length_with_fcs() as u32,
                    status: 0,
                };
                ctx.trace.record(ctx.now, Initiator::Receiver, kind);
                let end = first_bit + self.link.frame_span(&frame);
                ctx.schedule(end, Initiator::Receiver, Event::Ends(frame));
            }
            Event::Ends(frame) => {
                if let Some(answer) = self.answer(&frame) {
                    self.send(answer, ctx);
                }
            }
            Event::Signal(present) => self.signal.push((ctx.now, present)),
        }
    }

    fn unit_arrives(&mut self, arrival: Arrival<Frame>, ctx: &mut Context<'_, Event>) {
        let first_bit = arrival.head;
        let begins = first_bit + self.link.span(72);
        let end = first_bit + self.link.frame_span(&arrival.unit);
        assert_eq!(arrival.tail, Some(end));
        let event = Event::Begins(arrival.unit, first_bit);
        ctx.schedule(begins, Initiator::Receiver, event);
    }

    fn outbox(&mut self) -> &mut Outbox<Ethernet> {
        &mut self.outbox
    }

    fn plug_in(&mut self, link: &Link) {
        self.link = *link;
    }

    fn schedule_carrier(&mut self, present: bool, time: SimTime, ctx: &mut Context<'_, Event>) {
        ctx.schedule(time, Initiator::Receiver, Event::Signal(present));
    }

    fn transmitter_free_at(&self) -> SimTime {
        self.free_at
    }

    fn run_cores(&mut self, _: SimTime, _: &mut Context<'_, Event>) -> Ran {
        Ran::There
    }

    fn window_read(&mut self, _: u32, _: &mut Context<'_, Event>) -> u32 {
        0
    }

    fn window_write(&mut self, _: u32, _: u32, _: &mut Context<'_, Event>) {}

    fn window_peek(&self, _: u32, _: SimTime) -> u32 {
        0
    }

    fn reset(&mut self, _: &mut Context<'_, Event>) {}

    fn outlives_reset(_: &Event) -> bool {
        true
    }

    fn interrupt_line(&self) -> bool {
        false
    }

    fn next_activity(&self, _: SimTime) -> SimTime {
        SimTime::MAX
    }
}

impl Inspect for Station {
    fn name(&self) -> &'static str {
        "station"
    }
}

/// Stations without cables.
pub fn stations(count: usize) -> World {
    let timing = Timing::built_in("tigon2-88mhz").expect("a built-in profile");
    let costs = timing.host;
    let node = |index| {
        let station = Station {
            manner: Manner::Quiet,
            received: Vec::new(),
            signal: Vec::new(),
            link: GIGABIT,
            free_at: SimTime::ZERO,
            outbox: Outbox::default(),
        };
        Node::new(index as u16, station, &costs, 1)
    };
    World::new((0..count).map(node).collect())
}

/// A switch with half a microsecond of latency and large buffers.
pub fn switch(forwarding: Forwarding, ports: usize) -> SwitchConfig {
    SwitchConfig {
        ports,
        forwarding,
        latency: SimTime::from_ns(500),
        buffer_bytes: 1 << 20,
        routes: Vec::new(),
    }
}

/// Stations around one switch with routes to all of them: station n at port n.
pub fn star(count: usize, config: &SwitchConfig) -> World {
    let mut world = stations(count);
    let hub = world.add_switch(config).expect("a switch");
    for node in 0..count {
        world.connect(node, (hub, node), GIGABIT).expect("a port");
        world
            .add_route(hub, address(node as u8), node)
            .expect("a route");
    }
    world
}

/// Schedules a frame from a station.
pub fn send_at(world: &mut World, from: usize, time_ns: u64, frame: Frame) {
    world.nodes[from].with_board::<Station, _>(|_, ctx| {
        let time = SimTime::from_ns(time_ns);
        ctx.schedule(time, Initiator::Transmitter, Event::Send(frame));
    });
}

/// Lets `us` microseconds pass.
pub fn run_us(world: &mut World, us: u64, threads: usize) {
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(us)),
        threads: threads.try_into().expect("a thread"),
        ..RunLimits::default()
    };
    assert!(world.pass_time(&limits));
}

/// Arrival times at a station, in nanoseconds, and tags.
pub fn arrivals(world: &World, node: usize) -> Vec<(u64, u8)> {
    let received = world.nodes[node].board::<Station>().received.iter();
    received
        .map(|frame| (frame.first_bit.ps() / 1000, frame.tag))
        .collect()
}

/// All events of lines and switches, as lines of text.
pub fn happenings(world: &mut World) -> Vec<String> {
    let events = world.traces().flat_map(|trace| trace.take());
    let events = events.filter(|event| event.initiator == Initiator::Wire);
    events.map(|event| event.to_string()).collect()
}

/// Counts of the frames that a port of a switch dropped.
pub fn dropped(world: &World, port: Port) -> emulator::wire::loss::LossCounts {
    let Port::Switch { switch, port } = port else {
        panic!("{port} is no port of a switch");
    };
    let mut counts = world.switches()[switch].counts();
    counts.nth(port).expect("a port").dropped
}
