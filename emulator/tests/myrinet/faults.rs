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

use crate::nic::{Event, at, nic, nics, received, run_us, send, settled};

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
