//! A board with nothing but the methods that have no default: it runs as any other, alone, on a cable, on a switch, and in
//! one world with another type of board.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::sync::{Arc, Mutex};

use emulator::board::events::HostEvent;
use emulator::board::{Board, Context, Inspect, NodeEvent, Ran};
use emulator::sim::initiator::Initiator;
use emulator::sim::node::Node;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::tigon2::board::Tigon2;
use emulator::tigon2::sram::SramSize;
use emulator::tigon2::timing::Timing;
use emulator::wire::ethernet::Ethernet;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::{Forwarding, SwitchConfig};
use emulator::wire::medium::Outbox;
use emulator::wire::unit::Arrival;
use emulator::{state, value_enum};
use host_lib::address::MacAddress;
use host_lib::window::{System, SystemPort, Window, WindowWatch};

/// A write sends a frame with this tag; once it has left, the word is 0 again.
const SEND: u32 = 0;
/// The tag of the last frame that came in.
const CAME: u32 = 4;
/// A write shifts what reads of the words from [`VIEW`] on show.
const BASE: u32 = 8;
/// The tag of the last frame in view 0, nothing in view 1.
const VIEW: u32 = 0x10;

#[derive(Debug)]
enum Event {
    Sent,
    Came(Frame),
    Signal,
}

value_enum!(Event { Sent {}, Came { 0: frame }, Signal {} });

/// Three words behind a window, and a frame for each write of the first.
#[derive(Debug, Default)]
struct Toy {
    send: u32,
    came: u32,
    base: u32,
    raised: bool,
    outbox: Outbox<Ethernet>,
}

state!(Toy { send, came, base, raised } fixed { outbox });

const LINK: Link = Link {
    byte_time: SimTime::from_ns(8),
    propagation: SimTime::from_ns(100),
};

fn address(node: u32) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, node as u8])
}

impl Board for Toy {
    type Event = Event;
    type Medium = Ethernet;

    fn handle(&mut self, event: Event, ctx: &mut Context<'_, Event>) {
        match event {
            Event::Sent => self.send = 0,
            Event::Came(frame) => {
                self.came = frame.bytes()[14].into();
                self.raised = true;
                let event = NodeEvent::Host(HostEvent::Interrupt);
                ctx.queue.schedule(ctx.now, Initiator::Host, event);
            }
            Event::Signal => {}
        }
    }

    fn run_cores(&mut self, _: SimTime, _: &mut Context<'_, Event>) -> Ran {
        Ran::There
    }

    fn next_activity(&self, _: SimTime) -> SimTime {
        SimTime::MAX
    }

    fn window_read(&mut self, offset: u32, ctx: &mut Context<'_, Event>) -> u32 {
        self.window_peek(offset, ctx.now)
    }

    fn window_write(&mut self, offset: u32, value: u32, ctx: &mut Context<'_, Event>) {
        match offset {
            SEND => {
                self.send = value;
                let mut bytes = vec![0; 60];
                bytes[..6].copy_from_slice(&address(value >> 8).0);
                bytes[14] = value as u8;
                let frame = Frame::new(bytes);
                let end = ctx.now + LINK.frame_span(&frame) + LINK.gap();
                ctx.schedule(end, Initiator::Transmitter, Event::Sent);
                self.outbox.send(ctx.now, frame);
            }
            CAME => (self.came, self.raised) = (value, false),
            BASE => self.base = value,
            _ => {}
        }
    }

    fn window_peek(&self, offset: u32, _: SimTime) -> u32 {
        match (offset, self.base) {
            (SEND, _) => self.send,
            (CAME, _) | (VIEW, 0) => self.came,
            _ => 0,
        }
    }

    fn interrupt_line(&self) -> bool {
        self.raised
    }

    fn reset(&mut self, _: &mut Context<'_, Event>) {
        let outbox = std::mem::take(&mut self.outbox);
        *self = Self {
            outbox,
            ..Self::default()
        };
    }

    fn outlives_reset(event: &Event) -> bool {
        !matches!(event, Event::Sent)
    }

    fn unit_arrives(&mut self, arrival: Arrival<Frame>, ctx: &mut Context<'_, Event>) {
        let end = arrival.head + LINK.frame_span(&arrival.unit);
        ctx.schedule(end, Initiator::Receiver, Event::Came(arrival.unit));
    }

    fn outbox(&mut self) -> &mut Outbox<Ethernet> {
        &mut self.outbox
    }

    fn plug_in(&mut self, link: &Link) {
        assert_eq!(*link, LINK);
    }

    fn schedule_carrier(&mut self, _: bool, time: SimTime, ctx: &mut Context<'_, Event>) {
        ctx.schedule(time, Initiator::Receiver, Event::Signal);
    }
}

impl Inspect for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }
}

fn toy(index: u16) -> Node {
    let timing = Timing::built_in("tigon2-88mhz").unwrap();
    Node::new(index, Toy::default(), &timing.host, 1)
}

fn tigon2(index: u16) -> Node {
    let timing = Timing::built_in("tigon2-88mhz").unwrap();
    let board = Tigon2::new(SramSize::K512, timing);
    Node::new(index, board, &timing.host, 1)
}

fn limits(threads: usize) -> RunLimits {
    RunLimits {
        max_time: Some(SimTime::from_us(10_000)),
        threads: threads.try_into().unwrap(),
        ..RunLimits::default()
    }
}

type Notes = Arc<Mutex<Vec<(u32, u64)>>>;

/// Number of times that a frame goes from one node to the other.
const TURNS: u32 = 24;

/// The first two nodes send each other a frame in turn, with rising tags, and wait for it by a poll, by a poll in two views, or for
/// an interrupt. Notes tags and times.
fn ping_pong(world: &mut World) -> Notes {
    let notes = Notes::default();
    for node in 0..2 {
        let notes = Arc::clone(&notes);
        let programs = &mut world.nodes[node as usize].programs;
        programs.spawn("ping", move |mut machine| async move {
            for tag in 1..=TURNS {
                if tag % 2 == node {
                    machine.poll_until(SEND, !0, 0, "the transmitter").await;
                    machine.write(SEND, (1 - node) << 8 | tag).await;
                    continue;
                }
                let view = |base| WindowWatch {
                    before: Some((BASE, base)),
                    offset: VIEW,
                    mask: !0,
                    expected: tag,
                };
                match tag / 2 % 3 {
                    0 => _ = machine.poll_until(CAME, !0, tag, "a frame").await,
                    1 => {
                        let found = machine.poll_any(&[view(1), view(0)], "a frame").await;
                        assert_eq!(found, Some((1, tag)));
                    }
                    _ => assert!(machine.wait_interrupt(Some(1_000_000)).await.is_ok()),
                }
                assert_eq!(machine.read(CAME).await, tag);
                machine.write(CAME, 0).await;
                notes.lock().unwrap().push((tag, machine.now_ps()));
            }
        });
    }
    notes
}

fn tags(notes: &Notes) -> Vec<u32> {
    notes.lock().unwrap().iter().map(|(tag, _)| *tag).collect()
}

#[test]
fn required_methods_are_enough_on_a_cable_and_on_a_switch() {
    let cable = |world: &mut World| world.connect(0, 1, LINK).unwrap();
    let switch = |world: &mut World| {
        let config = SwitchConfig {
            ports: 3,
            forwarding: Forwarding::CutThrough,
            latency: SimTime::from_ns(500),
            buffer_bytes: 1 << 16,
            routes: Vec::new(),
        };
        let hub = world.add_switch(&config).unwrap();
        for node in 0..3 {
            world.connect(node, (hub, node), LINK).unwrap();
            world.route_to(node, address(node as u32)).unwrap();
        }
    };
    let run = |connect: &dyn Fn(&mut World), threads| {
        let mut world = World::new(vec![toy(0), toy(1), tigon2(2)]);
        connect(&mut world);
        let notes = ping_pong(&mut world);
        assert_eq!(world.run(&limits(threads)), RunEnd::Completed);
        assert_eq!(tags(&notes), Vec::from_iter(1..=TURNS));
        let times = notes.lock().unwrap().clone();
        (world.trace_hash(), world.now(), times)
    };
    for connect in [&cable as &dyn Fn(&mut World), &switch] {
        assert_eq!(run(connect, 1), run(connect, 2));
    }
}

/// The programs' own node says nothing of the future: what they poll for may come at any time, unless nothing is pending.
#[test]
fn a_deadlock_is_found_or_the_time_limit_ends_the_run() {
    let poll = |views: bool| {
        let mut world = World::new(vec![toy(0), tigon2(1)]);
        world.nodes[0]
            .programs
            .spawn("waits", move |mut machine| async move {
                let watch = WindowWatch {
                    before: views.then_some((BASE, 0)),
                    offset: VIEW,
                    mask: !0,
                    expected: 1,
                };
                machine.poll_any(&[watch], "a frame").await;
            });
        world.run(&limits(1))
    };
    assert!(matches!(poll(false), RunEnd::Deadlock(_)));
    assert!(matches!(poll(true), RunEnd::TimeLimit(_)));
}

#[test]
fn boards_of_two_types_share_a_cable() {
    let mut world = World::new(vec![toy(0), tigon2(1)]);
    world.connect(0, 1, LINK).unwrap();
    world.nodes[0]
        .programs
        .spawn("sends", |mut machine| async move {
            machine.write(SEND, 1 << 8 | 7).await;
            machine.poll_until(SEND, !0, 0, "the transmitter").await;
            machine.compute(10_000).await;
        });
    world.nodes[1].trace.keep(true);
    assert_eq!(world.run(&limits(1)), RunEnd::Completed);
    let seen = world.nodes[1].trace.take();
    let by_receiver = |by: Initiator| seen.iter().filter(|event| event.initiator == by).count();
    assert_eq!(by_receiver(Initiator::Receiver), 1, "{seen:?}");

    assert_eq!(world.nodes[0].board::<Toy>().send, 0);
    assert!(world.nodes[0].try_board::<Tigon2>().is_none());
    assert!(world.nodes[1].try_board_mut::<Tigon2>().is_some());
    assert_eq!(world.nodes[0].inspect().describe_cpus().len(), 0);
    assert_eq!(world.nodes[1].inspect().describe_cpus().len(), 2);
}

/// A world with both types is saved and goes on with equal bits.
#[test]
fn boards_of_two_types_are_saved_together() {
    let build = || {
        let mut world = World::new(vec![toy(0), toy(1), tigon2(2)]);
        world.connect(0, 1, LINK).unwrap();
        world.keep_logs();
        let notes = ping_pong(&mut world);
        (world, notes)
    };
    let (mut plain, notes) = build();
    plain.pass_time(&RunLimits {
        max_time: Some(SimTime::from_us(30)),
        ..limits(1)
    });
    let middle = notes.lock().unwrap().len();
    assert!(0 < middle && middle < TURNS as usize, "{middle}");
    let (state, logs) = (plain.save().unwrap(), plain.logs());
    assert_eq!(plain.run(&limits(1)), RunEnd::Completed);

    let (mut loaded, _) = build();
    loaded.load(&state, &logs).unwrap();
    assert_eq!(loaded.run(&limits(1)), RunEnd::Completed);
    assert_eq!(loaded.trace_hash(), plain.trace_hash());
    assert_eq!(loaded.save().unwrap(), plain.save().unwrap());
}

#[test]
fn a_reset_ends_what_the_board_had_begun() {
    let mut world = World::new(vec![toy(0)]);
    world.nodes[0]
        .programs
        .spawn_restartable("sends", |mut machine, life| async move {
            machine.write(SEND, 9).await;
            machine.poll_until(SEND, !0, 0, "the transmitter").await;
            machine.compute(if life == 0 { 1_000_000 } else { 0 }).await;
        });
    let us = SimTime::from_us;
    world.nodes[0].schedule_reset(us(20), Some(us(5)));
    assert_eq!(world.run(&limits(1)), RunEnd::Completed);
    assert_eq!(world.nodes[0].board::<Toy>().send, 0);
}
