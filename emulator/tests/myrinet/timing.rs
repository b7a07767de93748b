//! Times of packets that nothing hinders, computed by hand.

use emulator::sim::world::World;
use emulator::wire::myrinet::topology::Topology;
use emulator::wire::myrinet::{Control, CrossbarConfig, Link, MyrinetError};
use emulator::wire::port::Port;

use crate::nic::{nic, nics, received, run_us, send, settled};

/// 10 m of cable: 65 ns. A byte at 2 Gb/s: 4 ns. A crossbar: 200 ns.
const CABLE: Link = Link::at_2_gbps(10);

/// Node 0, a row of crossbars, node 1.
fn row(crossbars: usize, link: Link) -> World {
    let mut world = nics(2);
    let mut place = Port::Node(0);
    for _ in 0..crossbars {
        let switch = world
            .add_crossbar(&CrossbarConfig::new(8))
            .expect("a valid world");
        world
            .connect_myrinet(place, (switch, 2), link)
            .expect("a valid world");
        place = (switch, 5).into();
    }
    world
        .connect_myrinet(place, 1, link)
        .expect("a valid world");
    world
}

#[test]
fn a_lone_packet_passes_crossbars_without_waiting_for_its_tail() {
    // For each crossbar: a cable of 65 ns, 200 ns, and the 4 ns of the route byte that is taken off. 100 bytes reach the node.
    for (crossbars, head, tail, sent) in [
        (0, 1_065, 1_465, 1_400),
        (1, 1_334, 1_734, 1_404),
        (2, 1_603, 2_003, 1_408),
        (3, 1_872, 2_272, 1_412),
    ] {
        let mut world = row(crossbars, CABLE);
        send(&mut world, 0, 1_000, &vec![0x83; crossbars], 7, 100);
        run_us(&mut world, 100, 1);
        let expected = [(7, head * 1_000, tail * 1_000)];
        assert_eq!(received(&world, 1), expected, "{crossbars}");
        let heard = [(sent * 1_000, Control::Sent { whole: true })];
        assert_eq!(nic(&world, 0).controls, heard, "{crossbars}");
        assert_eq!(settled(&world).delivered, 1);
    }
}

#[test]
fn the_older_cables_are_slower() {
    let mut world = row(1, Link::at_1_28_gbps(10));
    send(&mut world, 0, 1_000, &[0x83], 7, 100);
    run_us(&mut world, 100, 1);
    // A byte takes 6.25 ns.
    assert_eq!(received(&world, 1), [(7, 1_336_250, 1_961_250)]);
}

#[test]
fn the_slower_cable_sets_the_pace() {
    let slow = Link::at_1_28_gbps(10);
    for (first, second, head, tail) in [
        (CABLE, slow, 1_334_000, 1_959_000),
        // The last byte itself takes 4 ns on the fast cable.
        (slow, CABLE, 1_336_250, 1_959_000),
    ] {
        let mut world = nics(2);
        world.add_crossbar(&CrossbarConfig::new(8)).unwrap();
        world.connect_myrinet(0, (0, 2), first).unwrap();
        world.connect_myrinet((0, 5), 1, second).unwrap();
        send(&mut world, 0, 1_000, &[0x83], 7, 100);
        run_us(&mut world, 100, 1);
        assert_eq!(received(&world, 1), [(7, head, tail)]);
    }
}

#[test]
fn packets_follow_each_other_at_the_rate_of_the_cable() {
    let mut world = row(2, CABLE);
    for tag in 0..20 {
        send(&mut world, 0, 1_000, &[0x83, 0x83], tag, 100);
    }
    run_us(&mut world, 100, 1);
    // 102 bytes and a GAP of one byte leave the sender for each packet.
    let expected = (0..20).map(|tag| {
        let head = 1_603_000 + 412_000 * u64::from(tag);
        (tag, head, head + 400_000)
    });
    assert_eq!(received(&world, 1), Vec::from_iter(expected));
}

#[test]
fn impossible_networks_are_refused() {
    let mut world = nics(3);
    let refused = world.add_crossbar(&CrossbarConfig::new(12));
    assert_eq!(refused, Err(MyrinetError::Ports(12)));
    let mut config = CrossbarConfig::new(16);
    config.watermarks.go_bytes = 48;
    let refused = world.add_crossbar(&config);
    assert_eq!(refused, Err(MyrinetError::Watermarks { go: 48, stop: 48 }));
    let config = CrossbarConfig::new(32);
    assert_eq!(world.add_crossbar(&config), Ok(0));
    world.connect_myrinet(0, (0, 31), CABLE).unwrap();
    let port = |port| Port::Switch { switch: 0, port };
    for (a, b, error) in [
        (Port::Node(1), port(32), MyrinetError::NoSuchPort(port(32))),
        (Port::Node(1), port(31), MyrinetError::Occupied(port(31))),
        (port(1), port(1), MyrinetError::Loop(port(1))),
    ] {
        assert_eq!(world.connect_myrinet(a, b, CABLE), Err(error));
    }
    let none = Link::at_2_gbps(0);
    let refused = world.connect_myrinet(1, 2, none);
    assert_eq!(refused, Err(MyrinetError::NoTime(1.into(), 2.into())));
    let refused = world.connect_myrinet(1, 3, CABLE);
    assert!(matches!(refused, Err(MyrinetError::Attach(_))));
    let refused = world.fail_crossbar(1, emulator::sim::time::SimTime::ZERO, None);
    assert_eq!(refused, Err(MyrinetError::NoSuchCrossbar(1)));
}

#[test]
fn topologies_are_built() {
    for (topology, nodes, crossbars) in [
        (Topology::pair(), 2, 0),
        (Topology::one_crossbar(16, 16), 16, 1),
        (Topology::tree(8, 3, 3), 27, 13),
        (Topology::clos(16, 8), 64, 16),
    ] {
        assert_eq!(topology.nodes(), Vec::from_iter(0..nodes));
        assert_eq!(topology.crossbars.len(), crossbars);
        let mut world = nics(nodes);
        let config = CrossbarConfig::new(8);
        world.build_myrinet(&topology, &config, CABLE).unwrap();
    }
}
