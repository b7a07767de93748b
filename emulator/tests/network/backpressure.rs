//! A medium with a reverse direction: a receiver that is not ready holds the channels behind it, and lets them go again.

use emulator::observe::event::TraceKind;
use emulator::observe::pcapng::PcapNg;
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::state::StateError;
use emulator::wire::ethernet::{Ethernet, EthernetError};
use emulator::wire::fault::Outage;
use emulator::wire::medium::{AttachError, Medium};
use emulator::wire::port::Port;
use host_lib::window::System;

use crate::capture::{Disk, read};
use crate::station::{GIGABIT, Station, address, arrivals, frame, run_us, send_at, stations};
use crate::wormhole::medium::{Control, Packet, Wormhole};
use crate::wormhole::nic::{Event, Nic, at, connect, nic, nics};

use Control::{Go, Sent, Stop};

/// Bytes of a packet behind its route.
const LENGTH: usize = 40;

fn packet(route: &[u8], tag: u8) -> Packet {
    let mut payload = [0; LENGTH];
    payload[0] = tag;
    Packet::new(route, &payload)
}

fn send(world: &mut World, node: usize, time_ns: u64, route: &[u8], tag: u8) {
    at(world, node, time_ns, Event::Send(packet(route, tag)));
}

/// Nodes 0 to 2 at a switch, nodes 3 to 5 at another one, and a cable between port 3 of each.
fn two_switches() -> World {
    let mut world = nics(6);
    for node in 0..6 {
        connect(&mut world, node, (node / 3, node % 3));
    }
    connect(&mut world, (0, 3), (1, 3));
    world
}

/// Nodes 0 and 1 send to node 3, which is not ready; node 2 sends to node 4 through the cable that the first packet holds; node 5
/// sends to node 4 without that cable.
pub fn blocked() -> World {
    let mut world = two_switches();
    at(&mut world, 4, 0, Event::Ready(true));
    send(&mut world, 0, 1_000, &[3, 0], 10);
    send(&mut world, 1, 1_010, &[3, 0], 11);
    send(&mut world, 2, 1_020, &[3, 1], 12);
    send(&mut world, 5, 2_000, &[1], 13);
    world
}

#[test]
fn head_and_tail_have_times_of_their_own() {
    let mut world = two_switches();
    at(&mut world, 4, 0, Event::Ready(true));
    send(&mut world, 2, 1_000, &[3, 1], 7);
    send(&mut world, 2, 2_000, &[3, 1], 8);
    run_us(&mut world, 100, 1);
    // Three cables of 50 ns and two switches of 100 ns; 41 bytes of 10 ns. The sender hears that the tail has left one cable later.
    let expected = [(7, 1_350, 1_760), (8, 2_350, 2_760)];
    assert_eq!(nic(&world, 4).received, expected);
    assert_eq!(nic(&world, 2).controls, [(1_460, Sent), (2_460, Sent)]);
}

#[test]
fn a_receiver_that_is_not_ready_holds_the_channels_behind_it() {
    let mut world = blocked();
    run_us(&mut world, 9, 1);
    assert_eq!(nic(&world, 3).received, []);
    // It does not need the cable between the switches.
    assert_eq!(nic(&world, 4).received, [(13, 2_200, 2_610)]);
    for (node, stopped_at) in [(0, 1_300), (1, 1_110), (2, 1_120)] {
        assert_eq!(nic(&world, node).controls, [(stopped_at, Stop)], "{node}");
    }
    at(&mut world, 3, 10_000, Event::Ready(true));
    run_us(&mut world, 100, 1);
    // In the order in which they came to the channel that was held.
    let expected = [(10, 10_200, 10_610), (11, 10_710, 11_120)];
    assert_eq!(nic(&world, 3).received, expected);
    assert_eq!(nic(&world, 4).received[1..], [(12, 11_220, 11_630)]);
    for (node, go_at, sent_at) in [
        (0, 10_150, 10_310),
        (1, 10_660, 10_820),
        (2, 11_170, 11_330),
    ] {
        assert_eq!(
            nic(&world, node).controls[1..],
            [(go_at, Go), (sent_at, Sent)],
            "{node}"
        );
    }
}

#[test]
fn a_receiver_that_is_never_ready_is_a_deadlock() {
    let mut world = blocked();
    let programs = &mut world.nodes[3].programs;
    programs.spawn("receiver", |mut machine| async move {
        machine.wait_interrupt(None).await.unwrap();
    });
    let RunEnd::Deadlock(lines) = world.run(&RunLimits::default()) else {
        panic!("no deadlock");
    };
    assert!(lines[0].starts_with("node 3: "), "{lines:?}");
    let expected = [
        "packet from node 0 waits at port 0 of switch 1, node 3 is not ready",
        "packet from node 1 waits at port 3 of switch 0, held by a packet from node 0",
        "packet from node 2 waits at port 3 of switch 0, held by a packet from node 0",
    ];
    let waiting = lines.iter().filter(|line| line.starts_with("packet"));
    assert_eq!(Vec::from_iter(waiting), expected);
}

/// Nodes at four switches in a row, each of which sends packets on to others whenever it gets one, and rests after each.
fn crowd() -> World {
    const NODES: usize = 24;
    let mut world = nics(NODES);
    let place = |node: usize| (node / 6, node % 6);
    for node in 0..NODES {
        connect(&mut world, node, place(node));
    }
    for switch in 0..3 {
        // Port 7 leads up, port 6 down.
        connect(&mut world, (switch, 7), (switch + 1, 6));
    }
    let route = |from: usize, to: usize| {
        let ((from, _), (to, port)) = (place(from), place(to));
        let way = if from < to { 7 } else { 6 };
        let mut route = vec![way; from.abs_diff(to)];
        route.push(port as u8);
        route
    };
    for node in 0..NODES {
        let board = world.nodes[node].board_mut::<Nic>();
        board.rest = SimTime::from_ns(100 + 37 * node as u64);
        let others = [5, 11, 7, 18].map(|step| (node + step) % NODES);
        board.answers = others.map(|other| route(node, other)).into();
        at(&mut world, node, 0, Event::Ready(true));
        let first = route(node, (node + 13) % NODES);
        send(&mut world, node, 1_000 + 3 * node as u64, &first, 40);
    }
    world
}

/// The hash, and what all nodes received and heard.
fn outcome(world: &World) -> (u64, Vec<String>) {
    let nodes = (0..world.nodes.len()).map(|node| nic(world, node));
    let seen = nodes.map(|nic| format!("{:?} {:?}", nic.received, nic.controls));
    (world.trace_hash(), seen.collect())
}

#[test]
fn threads_do_not_matter() {
    let run = |threads| {
        let mut world = crowd();
        run_us(&mut world, 2_000, threads);
        outcome(&world)
    };
    let alone = run(1);
    let stops = |seen: &str| seen.matches("Stop").count();
    let stopped: usize = alone.1.iter().map(|seen| stops(seen)).sum();
    assert!(stopped > 100, "{stopped}");
    for threads in [2, 3] {
        assert_eq!(run(threads), alone);
    }
}

#[test]
fn a_snapshot_goes_on_in_the_midst_of_blocked_packets() {
    for (build, us) in [(crowd as fn() -> World, 20), (crowd, 333), (blocked, 5)] {
        let go_on = |world: &mut World, threads| {
            at(world, 3, 400_000, Event::Ready(true));
            run_us(world, 1_000, threads);
        };
        let mut whole = build();
        run_us(&mut whole, us, 1);
        let (state, logs) = (whole.save().unwrap(), whole.logs());
        let mut loaded = build();
        loaded.load(&state, &logs).unwrap();
        assert_eq!(loaded.save().unwrap(), state);
        go_on(&mut whole, 1);
        go_on(&mut loaded, 2);
        assert_eq!(outcome(&loaded), outcome(&whole));
        assert_eq!(loaded.save().unwrap(), whole.save().unwrap());
    }
}

#[test]
fn slices_of_a_run_do_not_matter() {
    let mut whole = crowd();
    run_us(&mut whole, 500, 1);
    let mut parts = crowd();
    for us in (0..=500).step_by(7).chain([500]) {
        run_us(&mut parts, us, 1);
    }
    assert_eq!(outcome(&parts), outcome(&whole));
}

#[test]
fn a_cable_of_another_medium_does_not_fit() {
    let mut world = World::new(vec![stations(1).nodes.remove(0), nics(1).nodes.remove(0)]);
    let wrong = |node, board, cable| AttachError::WrongMedium { node, board, cable };
    let ethernet = wrong(1, Wormhole::NAME, Ethernet::NAME);
    let refused = world.connect(0, 1, GIGABIT);
    assert_eq!(refused, Err(EthernetError::Attach(ethernet.clone())));
    let text = "the board of node 1 has a port for Wormhole: a cable of Ethernet does not fit";
    assert_eq!(ethernet.to_string(), text);
    // Nothing was plugged in at the other end.
    let counts = world.line_counts(0).map(|counts| counts.units);
    assert_eq!(counts, Err(EthernetError::NoCable(Port::Node(0))));
    let refused = world.attach::<Wormhole>(0, &());
    assert_eq!(refused, Err(wrong(0, Ethernet::NAME, Wormhole::NAME)));
    let refused = world.attach::<Wormhole>(2, &());
    assert_eq!(refused, Err(AttachError::NoSuchNode(2)));
}

/// Two stations on an Ethernet cable and two nodes on a cable of the other medium.
fn both() -> World {
    let mut nodes = stations(2).nodes;
    nodes.extend(nics(2).nodes);
    let mut world = World::new(nodes);
    world
        .connect(0, 1, GIGABIT)
        .expect("both boards are Ethernet boards");
    connect(&mut world, 2, 3);
    world
}

#[test]
fn a_world_has_two_media() {
    let run = |threads| {
        let mut world = both();
        let disk = Disk::new();
        world.capture(Box::new(PcapNg::new(Box::new(disk.clone()))));
        send_at(&mut world, 0, 1_000, frame(address(1), 0, 5, 64));
        at(&mut world, 3, 0, Event::Ready(true));
        send(&mut world, 2, 1_500, &[], 6);
        run_us(&mut world, 100, threads);
        assert_eq!(arrivals(&world, 1), [(1_100, 5)]);
        assert_eq!(nic(&world, 3).received, [(6, 1_550, 1_960)]);
        assert!(world.finish_capturing().is_empty());
        let frames = read(&disk.bytes());
        let seen: Vec<_> = frames
            .iter()
            .map(|frame| (frame.ns, frame.wire.as_str(), frame.data.len()))
            .collect();
        // A frame with 4 bytes of FCS, a packet with one byte of check sequence.
        assert_eq!(seen, [(1_000, "n0 -> n1", 64), (1_500, "n2 -> n3", 41)]);
        world.trace_hash()
    };
    assert_eq!(run(1), run(2));
}

#[test]
fn faults_and_counts_work_on_any_medium() {
    let mut world = two_switches();
    world.traces().for_each(|trace| trace.keep(true));
    at(&mut world, 4, 0, Event::Ready(true));
    let network = world.network_mut::<Wormhole>();
    let lane = network.channel_from(Port::Node(2)).unwrap();
    let lane = &mut network.channels[lane].lane;
    lane.add_layer(Box::new(Outage {
        from: SimTime::ZERO,
        until: SimTime::from_ns(1_200),
    }));
    send(&mut world, 2, 1_000, &[3, 1], 7);
    send(&mut world, 2, 1_100, &[3, 1], 8);
    send(&mut world, 2, 1_200, &[3, 1], 9);
    run_us(&mut world, 100, 1);
    let tags = nic(&world, 4).received.iter().map(|received| received.0);
    assert_eq!(Vec::from_iter(tags), [9]);
    let network = world.network::<Wormhole>().unwrap();
    let lane = &network.channels[network.channel_from(Port::Node(2)).unwrap()].lane;
    let faults: u64 = lane.fault_counts().map(|counts| counts.total()).sum();
    assert_eq!((faults, lane.counts().units), (2, 1));
    let events = world.traces().flat_map(|trace| trace.take());
    let faults = events.filter(|event| matches!(event.kind, TraceKind::Fault { .. }));
    assert_eq!(faults.count(), 2);
}

#[test]
fn a_run_of_both_media_is_saved() {
    let mut whole = both();
    at(&mut whole, 3, 0, Event::Ready(true));
    send(&mut whole, 2, 9_900, &[], 6);
    send_at(&mut whole, 0, 9_990, frame(address(1), 0, 5, 1_000));
    run_us(&mut whole, 10, 1);
    let mut loaded = both();
    loaded.load(&whole.save().unwrap(), &whole.logs()).unwrap();
    for world in [&mut whole, &mut loaded] {
        run_us(world, 100, 1);
    }
    assert_eq!(loaded.trace_hash(), whole.trace_hash());
    assert_eq!(nic(&loaded, 3).received.len(), 1);
    let received = |world: &World| world.nodes[1].board::<Station>().received.clone();
    assert_eq!(received(&loaded), received(&whole));
    // A world with one network alone takes no such state.
    let mut other = World::new(both().nodes);
    other.connect(0, 1, GIGABIT).unwrap();
    let (what, saved, here) = ("networks", 2, 1);
    let refused = other.load(&whole.save().unwrap(), &whole.logs());
    assert_eq!(refused, Err(StateError::Shape { what, saved, here }));
}
