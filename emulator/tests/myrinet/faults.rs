//! Faults: loss, damage, cut cables, dead crossbars, wrong routes.

use emulator::observe::pcapng::PcapNg;
use emulator::sim::time::SimTime;
use emulator::sim::world::World;
use emulator::wire::fault::{FaultRates, Outage, RandomFaults};
use emulator::wire::loss::LossReason;
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::myrinet::{Control, CrossbarConfig, Link, Packet};
use emulator::wire::port::Port;
use emulator::wire::unit::Unit;

use crate::nic::{Event, at, nic, nic_mut, nics, received, run_us, send, settled};

const CABLE: Link = Link::at_2_gbps(10);

fn star() -> World {
    let mut world = nics(4);
    let topology = Topology::one_crossbar(8, 4);
    let config = CrossbarConfig::new(8);
    world
        .build_myrinet(&topology, &config, CABLE)
        .expect("a valid world");
    world
}

#[test]
fn routes_that_lead_nowhere_lose_the_packet() {
    let unknown = LossReason::UnknownDestination;
    for (route, reason) in [
        (&[0x85][..], LossReason::Unconnected),
        // Beyond the first and the last port.
        (&[0xBF], unknown),
        (&[0x88], unknown),
        // No route byte at all: the type comes first; and one with a wrong bit.
        (&[], unknown),
        (&[0xC1], unknown),
    ] {
        let mut world = star();
        send(&mut world, 0, 1_000, route, 1, 200);
        send(&mut world, 0, 1_000, &[0x81], 2, 100);
        run_us(&mut world, 100, 1);
        let lost = world.myrinet_counts(0).unwrap().lost;
        assert_eq!((lost.of(reason), lost.total()), (1, 1), "{route:x?}");
        let tags: Vec<u8> = received(&world, 1).iter().map(|packet| packet.0).collect();
        assert_eq!(tags, [2], "{route:x?}");
        assert_eq!(settled(&world).lost, 1);
        // The sender does not notice.
        let whole = (1_000 + 4 * (200 + route.len() as u64)) * 1_000;
        assert_eq!(
            nic(&world, 0).controls[0],
            (whole, Control::Sent { whole: true })
        );
    }
}

#[test]
fn packets_of_any_bytes_do_no_harm() {
    let mut world = star();
    let shortest = (0..4).map(|length| vec![0x81; length]);
    let routes_alone = [vec![0x80; 300], [0x81, 0xBF].repeat(100), vec![0xFF; 9]];
    for bytes in shortest.chain(routes_alone) {
        at(&mut world, 0, 1_000, Event::Send(Packet::new(bytes)));
    }
    send(&mut world, 0, 1_000, &[0x81], 2, 100);
    run_us(&mut world, 1_000, 1);
    let heads = &nic(&world, 1).heads;
    assert!(heads.iter().any(|head| head.1.bytes().get(2) == Some(&2)));
    let counts = settled(&world);
    assert_eq!(counts.sent, counts.delivered + counts.lost);
}

#[test]
fn a_packet_comes_back_on_the_port_where_it_came_in() {
    let mut world = star();
    send(&mut world, 0, 1_000, &[0x80], 9, 100);
    run_us(&mut world, 100, 1);
    assert_eq!(received(&world, 0), [(9, 1_334_000, 1_734_000)]);
}

#[test]
fn damage_shows_behind_crossbars_and_loss_leaves_the_others() {
    for (port, doubled) in [(Port::Node(0), true), ((0, 1).into(), false)] {
        let mut world = star();
        let rates = FaultRates {
            loss: 0.3,
            corruption: 0.3,
            duplication: 0.2,
            delay: 0.2,
            longest_delay: SimTime::from_us(2),
        };
        let layer = RandomFaults::new(rates, 5, 0).unwrap();
        world.add_myrinet_fault(port, Box::new(layer)).unwrap();
        for tag in 0..100 {
            send(&mut world, 0, 1_000, &[0x81], tag, 100);
        }
        run_us(&mut world, 2_000, 1);
        let counts = settled(&world);
        assert_eq!(counts.sent, 100);
        assert!((10..60).contains(&counts.lost), "{counts:?}");
        assert_eq!(counts.doubled > 0, doubled);
        let heads = &nic(&world, 1).heads;
        let wrong = heads.iter().filter(|head| head.1.defects().check).count();
        assert!((5..50).contains(&wrong), "{wrong}");
        let faults: u64 = world
            .myrinet_fault_counts(port)
            .unwrap()
            .map(|counts| counts.total())
            .sum();
        assert!(faults > 50, "{faults}");
    }
}

#[test]
fn an_outage_loses_packets_and_keeps_the_carrier() {
    let mut world = star();
    let outage = Outage {
        from: SimTime::ZERO,
        until: SimTime::from_ns(1_500),
    };
    world.add_myrinet_fault((0, 1), Box::new(outage)).unwrap();
    send(&mut world, 0, 1_000, &[0x81], 1, 100);
    send(&mut world, 0, 2_000, &[0x81], 2, 100);
    run_us(&mut world, 100, 1);
    assert_eq!(received(&world, 1), [(2, 2_334_000, 2_734_000)]);
    assert_eq!(nic(&world, 1).carrier, []);
}

#[test]
fn a_cut_cable_ends_the_packet_on_it() {
    let mut world = star();
    let (from, until) = (SimTime::from_ns(2_000), SimTime::from_ns(9_000));
    world.unplug_myrinet(1, from, Some(until)).unwrap();
    send(&mut world, 0, 1_000, &[0x81], 1, 1_000);
    send(&mut world, 2, 6_000, &[0xBF], 2, 100);
    send(&mut world, 2, 9_000, &[0xBF], 3, 100);
    run_us(&mut world, 100, 1);
    let node = nic(&world, 1);
    assert_eq!(node.carrier, [(2_000_000, false), (9_000_000, true)]);
    assert_eq!(node.tails, [(2_065_000, false), (9_734_000, true)]);
    let lost = world.myrinet_counts((0, 1)).unwrap().lost;
    assert_eq!((lost.of(LossReason::Cut), lost.total()), (2, 2));
    let counts = settled(&world);
    assert_eq!((counts.delivered, counts.cut_short, counts.lost), (1, 1, 1));
    // Its sender sends on into nothing.
    let whole = Control::Sent { whole: true };
    assert_eq!(nic(&world, 0).controls, [(5_004_000, whole)]);
}

#[test]
fn a_dead_crossbar_loses_what_is_inside() {
    let mut world = star();
    at(&mut world, 1, 0, Event::Say(Control::Stop));
    send(&mut world, 0, 1_000, &[0x81], 1, 40);
    let from = SimTime::from_us(10);
    let until = Some(SimTime::from_us(20));
    world.fail_crossbar(0, from, until).unwrap();
    send(&mut world, 2, 12_000, &[0x81], 2, 100);
    send(&mut world, 2, 20_000, &[0x81], 3, 100);
    run_us(&mut world, 100, 1);
    let tags: Vec<u8> = received(&world, 3).iter().map(|packet| packet.0).collect();
    assert_eq!(tags, [3]);
    let counts = settled(&world);
    assert_eq!((counts.delivered, counts.lost), (1, 2));
    assert_eq!(nic(&world, 3).carrier.len(), 2);
}

#[test]
fn every_channel_is_captured() {
    let mut world = star();
    let bytes: std::sync::Arc<std::sync::Mutex<Vec<u8>>> = std::sync::Arc::default();
    world.capture(Box::new(PcapNg::new(Box::new(Disk(bytes.clone())))));
    send(&mut world, 0, 1_000, &[0x81], 1, 100);
    run_us(&mut world, 100, 1);
    assert!(world.finish_capturing().is_empty());
    let bytes = bytes.lock().unwrap();
    // On the way in with its route byte, on the way out without it, each with its own CRC.
    let whole = crate::nic::packet(&[0x81], 1, 100);
    for packet in [whole.clone(), whole.stripped(1)] {
        let found = [&packet.bytes()[..], &[packet.crc()]].concat();
        assert!(bytes.windows(found.len()).any(|window| window == found));
    }
}

struct Disk(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .expect("a valid world")
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_cable_is_plugged_in_elsewhere() {
    let mut world = star();
    let (pulled, plugged) = (SimTime::from_ns(20_000), SimTime::from_ns(30_000));
    let ends = [Port::Node(1), (0, 6).into()];
    world.replug_myrinet(1, ends, pulled, plugged).unwrap();
    for (tag, ns) in [(1, 1_000), (2, 25_000), (3, 31_000)] {
        send(&mut world, 0, ns, &[0x81], tag, 100);
        send(&mut world, 2, ns, &[0x84], tag + 10, 100);
        // From port 1 and from port 6 to port 3.
        send(&mut world, 1, ns, &[0x82], tag, 100);
        send(&mut world, 1, ns + 1_000, &[0xBD], tag + 10, 100);
    }
    run_us(&mut world, 100, 1);
    let tags = |node| -> Vec<u8> {
        let all = received(&world, node);
        all.into_iter().map(|(tag, ..)| tag).collect()
    };
    assert_eq!((tags(1), tags(3)), (vec![1, 13], vec![1, 13]));
    let counts = settled(&world);
    assert_eq!((counts.sent, counts.delivered), (12, 4));
    let carrier = &nic(&world, 1).carrier;
    assert_eq!(carrier, &[(20_000_000, false), (30_000_000, true)]);
}

/// A node that takes nothing while its cable is moved still takes nothing, and a node that was stopped goes on.
#[test]
fn stop_outlives_the_cable() {
    let mut world = star();
    nic_mut(&mut world, 1).rest = SimTime::from_us(50);
    let at = SimTime::from_us(20);
    let ends = [Port::Node(1), (0, 7).into()];
    world.replug_myrinet(1, ends, at, at).unwrap();
    send(&mut world, 0, 1_000, &[0x81], 1, 1_000);
    send(&mut world, 2, 30_000, &[0x85], 2, 1_000);
    run_us(&mut world, 40, 1);
    let stopped = |world: &World| {
        let controls = &nic(world, 2).controls;
        controls
            .iter()
            .any(|(_, control)| *control == Control::Stop)
    };
    assert!(stopped(&world));
    run_us(&mut world, 200, 1);
    // The first one was on the cable when it was pulled out.
    let tails: Vec<bool> = nic(&world, 1).tails.iter().map(|tail| tail.1).collect();
    assert_eq!(tails, [false, true]);
    settled(&world);
    let mut world = star();
    nic_mut(&mut world, 1).rest = SimTime::from_us(50);
    let ends = [Port::Node(0), (0, 7).into()];
    world.replug_myrinet(0, ends, at, at).unwrap();
    send(&mut world, 0, 1_000, &[0x81], 1, 1_000);
    send(&mut world, 0, 90_000, &[0xBA], 2, 1_000);
    run_us(&mut world, 200, 1);
    let heard = &nic(&world, 0).controls;
    let whole = Control::Sent { whole: false };
    assert_eq!(
        heard[1..3],
        [(20_065_000, whole), (20_065_000, Control::Go)]
    );
    let tails: Vec<bool> = nic(&world, 1).tails.iter().map(|tail| tail.1).collect();
    assert_eq!(tails, [false, true]);
}

#[test]
fn a_cable_cannot_be_plugged_in_anywhere() {
    let mut world = star();
    let now = SimTime::ZERO;
    let mut check = |port: usize, ends: [Port; 2], text: &str| {
        let moved = world.replug_myrinet(port, ends, now, now);
        assert_eq!(moved.expect_err("refused").to_string(), text);
    };
    let node = Port::Node(1);
    check(
        1,
        [node, (0, 2).into()],
        "port 2 of switch 0 has a cable already",
    );
    check(1, [node, (0, 8).into()], "there is no port 8 of switch 0");
    let other = "the cable between node 1 and port 1 of switch 0 must keep its nodes, and lead to another port or crossbar";
    check(1, [(0, 5).into(), (0, 6).into()], other);
    check(1, [node, node], other);
    check(5, [node, (0, 5).into()], "there is no node 5");
    world
        .replug_myrinet(1, [node, (0, 5).into()], now, now)
        .unwrap();
    let taken = world.replug_myrinet(2, [Port::Node(2), (0, 5).into()], now, now);
    assert!(taken.is_err());
}
