//! STOP and GO: packets that wait, the channels that they hold, and the slack buffers behind them.

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits, World};
use emulator::wire::loss::LossReason;
use emulator::wire::myrinet::Control::{Go, Sent, Stop};
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::myrinet::{Control, CrossbarConfig, Direction, Link};

use host_lib::window::System;

use crate::nic::{Event, at, nic, nic_mut, nics, received, run_us, send, settled};

const CABLE: Link = Link::at_2_gbps(10);
const WHOLE: Control = Sent { whole: true };

fn ns(heard: &[(u64, Control)]) -> Vec<(u64, Control)> {
    let heard = heard.iter();
    heard
        .map(|&(time, control)| (time / 1_000, control))
        .collect()
}

fn build(topology: &Topology, watchdog: Option<SimTime>) -> World {
    let mut world = nics(topology.nodes().len());
    let config = CrossbarConfig {
        watchdog,
        ..CrossbarConfig::new(8)
    };
    world
        .build_myrinet(topology, &config, CABLE)
        .expect("a valid world");
    world
}

/// Nodes 0 to 2 at a crossbar, nodes 3 to 5 at another one, and a cable between port 3 of each.
fn two_crossbars() -> Topology {
    let mut topology = Topology {
        crossbars: vec![8, 8],
        cables: Vec::new(),
    };
    for node in 0..6 {
        topology.cable(node, (node / 3, node % 3));
    }
    topology.cable((0, 3), (1, 3));
    topology
}

#[test]
fn the_second_packet_for_an_output_waits() {
    let mut world = build(&Topology::one_crossbar(8, 3), None);
    send(&mut world, 0, 1_000, &[0x82], 1, 1_000);
    send(&mut world, 1, 1_010, &[0x81], 2, 1_000);
    run_us(&mut world, 100, 1);
    // The first one has the egress until 5273 ns, with its GAP. The head of the second one comes at 1275 ns. Its byte 48 is in the buffer at 1463 ns:
    // STOP reaches the sender at 1528 ns, after 130 bytes. At 5657 ns 32 of them are left: GO is at the sender at 5722 ns, and its next
    // byte in the buffer at 5987 ns, 202 ns after the last one before it left.
    let expected = [(1, 1_334_000, 5_334_000), (2, 5_338_000, 9_536_000)];
    assert_eq!(received(&world, 2), expected);
    assert_eq!(ns(&nic(&world, 0).controls), [(5_004, WHOLE)]);
    let heard = [(1_528, Stop), (5_722, Go), (9_206, WHOLE)];
    assert_eq!(ns(&nic(&world, 1).controls), heard);
    let flow = world.myrinet_flow_counts(1).unwrap();
    assert_eq!((flow.stops, flow.gos, flow.fullest_bytes), (1, 1, 130));
    let flow = world.myrinet_flow_counts(0).unwrap();
    assert_eq!((flow.stops, flow.gos), (0, 0));
}

#[test]
fn a_short_packet_waits_in_the_slack_buffer() {
    let mut world = build(&Topology::one_crossbar(8, 3), None);
    send(&mut world, 0, 1_000, &[0x82], 1, 1_000);
    send(&mut world, 1, 1_010, &[0x81], 2, 40);
    run_us(&mut world, 100, 1);
    let expected = [(1, 1_334_000, 5_334_000), (2, 5_338_000, 5_498_000)];
    assert_eq!(received(&world, 2), expected);
    // Its sender sees nothing of that.
    assert_eq!(ns(&nic(&world, 1).controls), [(1_174, WHOLE)]);
}

#[test]
fn a_receiver_stops_a_packet_in_its_midst() {
    let mut world = build(&Topology::one_crossbar(8, 2), None);
    nic_mut(&mut world, 1).rest = SimTime::from_ns(1_000);
    send(&mut world, 0, 1_000, &[0x81], 1, 1_000);
    run_us(&mut world, 100, 1);
    // STOP is at the crossbar at 1399 ns, after 33 bytes. The buffer fills: STOP at the sender at 1654 ns, after 164 bytes. GO at the
    // crossbar at 2399 ns and at the sender at 2852 ns, whose next byte is in the buffer at 3117 ns.
    assert_eq!(received(&world, 1), [(1, 1_334_000, 6_530_000)]);
    let heard = [(1_654, Stop), (2_852, Go), (6_200, WHOLE)];
    assert_eq!(ns(&nic(&world, 0).controls), heard);
    let flow = world.myrinet_flow_counts(0).unwrap();
    assert_eq!(flow.fullest_bytes, 130);
}

#[test]
fn a_receiver_stops_its_neighbour() {
    let mut world = build(&Topology::pair(), None);
    nic_mut(&mut world, 1).rest = SimTime::from_ns(1_000);
    send(&mut world, 0, 1_000, &[], 1, 100);
    run_us(&mut world, 100, 1);
    // STOP is at the sender at 1130 ns, after 33 bytes; GO at 2130 ns.
    assert_eq!(received(&world, 1), [(1, 1_065_000, 2_463_000)]);
    let heard = [(1_130, Stop), (2_130, Go), (2_398, WHOLE)];
    assert_eq!(ns(&nic(&world, 0).controls), heard);
}

/// Node 3 takes nothing. A packet for it holds the cable between the crossbars, and a packet for node 4 waits for that cable.
fn blocked(watchdog: Option<SimTime>) -> World {
    let mut world = build(&two_crossbars(), watchdog);
    at(&mut world, 3, 0, Event::Say(Stop));
    send(&mut world, 0, 1_000, &[0x83, 0xBD], 10, 1_000);
    send(&mut world, 2, 1_020, &[0x81, 0xBE], 12, 1_000);
    send(&mut world, 5, 2_000, &[0xBF], 13, 100);
    world
}

#[test]
fn a_blocked_packet_holds_its_channels() {
    let mut world = blocked(None);
    run_us(&mut world, 50, 1);
    // The packet from node 5 does not need the cable.
    assert_eq!(received(&world, 4), [(13, 2_334_000, 2_734_000)]);
    assert_eq!(nic(&world, 3).heads, []);
    at(&mut world, 3, 60_000, Event::Say(Go));
    run_us(&mut world, 200, 1);
    assert_eq!(received(&world, 3).len(), 1);
    let (tag, head, _) = received(&world, 4)[1];
    assert_eq!(tag, 12);
    assert!(head > 60_000_000, "{head}");
    assert_eq!(settled(&world).delivered, 3);
}

#[test]
fn a_report_says_who_waits_for_what() {
    let mut world = blocked(None);
    let programs = &mut world.nodes[3].programs;
    programs.spawn("receiver", |mut machine| async move {
        machine.wait_interrupt(None).await.unwrap();
    });
    let RunEnd::Deadlock(lines) = world.run(&RunLimits::default()) else {
        panic!("no deadlock");
    };
    let lines: Vec<&String> = lines
        .iter()
        .filter(|line| line.starts_with("packet"))
        .collect();
    let expected = [
        "packet from node 0 stops at node 0, port 0 of switch 0 is full",
        "packet from node 2 stops at node 2, port 2 of switch 0 is full",
        "packet from node 0 stops at port 3 of switch 0, port 3 of switch 1 is full",
        "packet from node 2 waits at port 3 of switch 0, held by a packet from node 0",
        "packet from node 0 stops at port 0 of switch 1, node 3 is not ready",
    ];
    for line in expected {
        assert!(
            lines.iter().any(|found| *found == line),
            "{line}: {lines:#?}"
        );
    }
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
}

#[test]
fn nres_ends_a_blocked_packet() {
    let mut world = blocked(None);
    nic_mut(&mut world, 0).nres = Some(SimTime::from_us(20));
    run_us(&mut world, 200, 1);
    let heard = ns(&nic(&world, 0).controls);
    let (stopped, _) = heard[0];
    // Reset 20 us after STOP; the port answers one cable later.
    let ended = (stopped + 20_065, Sent { whole: false });
    // Then the buffer behind it is empty.
    assert_eq!(heard[1..], [ended, (stopped + 20_069, Go)]);
    // The cable is free for the other packet.
    let tags = received(&world, 4).into_iter().map(|packet| packet.0);
    assert_eq!(Vec::from_iter(tags), [13, 12]);
    let lost = world.myrinet_counts(0).unwrap().lost;
    assert_eq!((lost.of(LossReason::Blocked), lost.total()), (1, 1));
    assert_eq!(settled(&world).lost, 1);
}

#[test]
fn a_receiver_resets_its_port() {
    let mut world = build(&Topology::one_crossbar(8, 2), None);
    send(&mut world, 0, 1_000, &[0x81], 1, 1_000);
    send(&mut world, 0, 1_000, &[0x81], 2, 100);
    at(
        &mut world,
        1,
        2_000,
        Event::Say(Control::Reset(Direction::Receive)),
    );
    run_us(&mut world, 100, 1);
    let nic = nic(&world, 1);
    assert_eq!(nic.tails[0], (2_065_000, false));
    assert_eq!((nic.heads.len(), nic.tails.len()), (2, 2));
    assert_eq!(settled(&world).cut_short, 1);
}

#[test]
fn a_crossbar_ends_a_packet_that_waits_too_long() {
    let mut world = blocked(Some(SimTime::from_us(10)));
    run_us(&mut world, 200, 1);
    let lost = world.myrinet_counts((0, 3)).unwrap().lost;
    assert_eq!((lost.of(LossReason::Blocked), lost.total()), (1, 1));
    assert_eq!(settled(&world).lost, 1);
}

/// Four crossbars in a ring, and packets that all go half round it the same way: each waits for a cable that the next one holds.
fn ring(watchdog: Option<SimTime>) -> World {
    let mut topology = Topology {
        crossbars: vec![8; 4],
        cables: Vec::new(),
    };
    for crossbar in 0..4 {
        topology.cable(crossbar, (crossbar, 0));
        topology.cable((crossbar, 1), ((crossbar + 1) % 4, 2));
    }
    let mut world = build(&topology, watchdog);
    for node in 0..4 {
        send(&mut world, node, 1_000, &[0x81, 0xBF, 0xBF, 0xBE], 1, 4_000);
    }
    world
}

#[test]
fn packets_in_a_circle_wait_until_a_watchdog_acts() {
    let mut world = ring(None);
    run_us(&mut world, 1_000, 1);
    assert_eq!(settled(&world).delivered, 0);
    let mut world = ring(Some(SimTime::from_us(50)));
    run_us(&mut world, 1_000, 1);
    let counts = settled(&world);
    assert_eq!(counts.delivered + counts.lost, 4);
    assert!(counts.lost > 0);
}
