//! Behaviour of switches, to the picosecond.

use crate::station::Station;
use emulator::sim::time::SimTime;
use emulator::wire::ethernet::EthernetError;
use emulator::wire::ethernet::frame::Frame;
use emulator::wire::ethernet::link::Link;
use emulator::wire::ethernet::switch::Forwarding::{self, CutThrough, StoreAndForward};
use emulator::wire::ethernet::switch::SwitchConfig;
use emulator::wire::loss::LossReason;
use emulator::wire::port::Port;
use host_lib::address::MacAddress;

use crate::station::{
    GIGABIT, Manner, address, arrivals, dropped, frame, happenings, run_us, send_at, star,
    stations, switch,
};

/// Four times slower and longer than the default.
const SLOW: Link = Link {
    byte_time: SimTime::from_ns(32),
    propagation: SimTime::from_ns(400),
};

/// Sends a frame to the other station at 1 us; returns its arrival time and that of its echo.
fn echo_arrives(forwarding: Forwarding, links: [Link; 2], length: usize) -> [u64; 2] {
    let mut world = stations(2);
    let hub = world
        .add_switch(&switch(forwarding, 2))
        .expect("a world that can be built");
    for (node, link) in links.into_iter().enumerate() {
        world
            .connect(node, (hub, node), link)
            .expect("a world that can be built");
        world
            .route_to(node, address(node as u8))
            .expect("a world that can be built");
    }
    world.nodes[1].board_mut::<Station>().manner = Manner::Echo;
    send_at(&mut world, 0, 1000, frame(address(1), 0, 7, length));
    run_us(&mut world, 500, 1);
    [1, 0].map(|node| match arrivals(&world, node)[..] {
        [(time, 7)] => time,
        ref other => panic!("{other:?}"),
    })
}

#[test]
fn frames_take_as_long_as_they_should() {
    // On its way: 100 ns, the whole frame and its preamble or just the header (8 ns a byte), 500 ns, 100 ns.
    // The station that echoes waits for the end.
    let check = |forwarding, links, length, expected: [u64; 2]| {
        assert_eq!(echo_arrives(forwarding, links, length), expected);
    };
    let same = [GIGABIT; 2];
    let there = 1000 + 100 + 72 * 8 + 500 + 100;
    let back = there + 72 * 8 + 100 + 72 * 8 + 500 + 100;
    check(StoreAndForward, same, 64, [there, back]);
    let there = 1000 + 100 + 1526 * 8 + 500 + 100;
    let back = there + 1526 * 8 + 100 + 1526 * 8 + 500 + 100;
    check(StoreAndForward, same, 1518, [there, back]);
    let there = 1000 + 100 + 22 * 8 + 500 + 100;
    let back = there + 72 * 8 + 100 + 22 * 8 + 500 + 100;
    check(CutThrough, same, 64, [there, back]);
    let there = 1000 + 100 + 22 * 8 + 500 + 100;
    let back = there + 1526 * 8 + 100 + 22 * 8 + 500 + 100;
    check(CutThrough, same, 1518, [there, back]);
    // Between different speeds every switch stores frames.
    let there = 1000 + 100 + 108 * 8 + 500 + 400;
    let back = there + 108 * 32 + 400 + 108 * 32 + 500 + 100;
    for forwarding in [StoreAndForward, CutThrough] {
        check(forwarding, [GIGABIT, SLOW], 100, [there, back]);
    }
}

#[test]
fn frames_to_one_port_follow_each_other() {
    // Two whole frames arrive simultaneously; the lower port goes first.
    for (forwarding, first, second) in [
        (StoreAndForward, 100 + 576 + 500 + 100, 576 + 96),
        // The second one is stored: the port is busy when its header arrives.
        (CutThrough, 100 + 176 + 500 + 100, 576 + 96),
    ] {
        let mut world = star(3, &switch(forwarding, 3));
        for from in [1, 0] {
            send_at(
                &mut world,
                from,
                0,
                frame(address(2), from as u8, from as u8, 64),
            );
        }
        run_us(&mut world, 100, 1);
        let expected = [(first, 0), (first + second, 1)];
        assert_eq!(arrivals(&world, 2), expected, "{forwarding:?}");
    }
}

#[test]
fn a_full_buffer_drops_what_comes_last() {
    let config = SwitchConfig {
        buffer_bytes: 2 * 64 + 63,
        ..switch(StoreAndForward, 5)
    };
    let mut world = star(5, &config);
    world.traces().for_each(|trace| trace.keep(true));
    for from in 0..4u8 {
        // A nanosecond apart: the order of arrival counts.
        let data = frame(address(4), from, from, 64);
        send_at(&mut world, from.into(), from.into(), data);
    }
    // There is room again when the first one has left.
    let data = frame(address(4), 0, 9, 64);
    send_at(&mut world, 0, 500 + 576, data);
    run_us(&mut world, 100, 1);
    let tags: Vec<u8> = arrivals(&world, 4).iter().map(|&(_, tag)| tag).collect();
    assert_eq!(tags, [0, 1, 9]);
    let lost = dropped(&world, (0, 4).into());
    assert_eq!((lost.of(LossReason::BufferFull), lost.total()), (2, 2));
    let counts = *world.switches()[0].counts().nth(4).unwrap();
    assert_eq!((counts.forwarded, counts.peak_buffer_bytes), (3, 128));
    let expected = [2, 3].map(|from| {
        let fcs = frame(address(4), from, from, 64).fcs();
        format!(
            "         0.67{}000 s0 wire      port 4 frame lost: buffer full length=64 fcs={fcs:#010x}",
            6 + from
        )
    });
    assert_eq!(happenings(&mut world), expected);
}

#[test]
fn frames_that_go_nowhere_are_counted() {
    let damaged = |frame: Frame| Frame::with_fcs(frame.bytes().to_vec(), !frame.fcs());
    let check = |forwarding, frame: Frame, reason: Option<LossReason>| {
        // Port 3 has a route and no cable.
        let config = SwitchConfig {
            routes: vec![(address(3), 3)],
            ..switch(forwarding, 4)
        };
        let mut world = star(2, &config);
        send_at(&mut world, 0, 0, frame);
        run_us(&mut world, 100, 1);
        let lost = dropped(&world, (0, 0).into());
        assert_eq!(lost.total(), u64::from(reason.is_some()), "{reason:?}");
        assert!(
            reason.is_none_or(|reason| lost.of(reason) == 1),
            "{reason:?}"
        );
        let received = &world.nodes[1].board::<Station>().received;
        assert_eq!(received.len(), usize::from(reason.is_none()));
        received.iter().all(|frame| frame.intact)
    };
    let to = |to| frame(address(to), 0, 1, 64);
    for forwarding in [StoreAndForward, CutThrough] {
        check(forwarding, to(77), Some(LossReason::UnknownDestination));
        check(forwarding, to(0), Some(LossReason::Returning));
        check(forwarding, to(3), Some(LossReason::Unconnected));
        assert!(check(forwarding, to(1), None));
    }
    check(StoreAndForward, damaged(to(1)), Some(LossReason::Damaged));
    assert!(
        !check(CutThrough, damaged(to(1)), None),
        "passed on as it is"
    );
}

/// Switches in a ring, with a station at port 2 of each.
fn ring(count: usize, forwarding: Forwarding) -> emulator::sim::world::World {
    let mut world = stations(count);
    for node in 0..count {
        let index = world
            .add_switch(&switch(forwarding, 3))
            .expect("a world that can be built");
        world
            .connect(node, (index, 2), GIGABIT)
            .expect("a world that can be built");
    }
    for index in 0..count {
        let next = (index + 1) % count;
        world
            .connect((index, 0), (next, 1), GIGABIT)
            .expect("a world that can be built");
    }
    world
}

#[test]
fn frames_to_everybody_reach_everybody_once_even_in_a_ring() {
    for forwarding in [StoreAndForward, CutThrough] {
        let mut world = ring(5, forwarding);
        send_at(&mut world, 1, 0, frame(MacAddress::BROADCAST, 1, 3, 64));
        run_us(&mut world, 1000, 1);
        for node in 0..5 {
            let tags: Vec<u8> = arrivals(&world, node).iter().map(|&(_, tag)| tag).collect();
            assert_eq!(tags, vec![3; usize::from(node != 1)], "node {node}");
        }
    }
}

#[test]
fn frames_that_go_in_circles_end() {
    for forwarding in [StoreAndForward, CutThrough] {
        let mut world = ring(3, forwarding);
        for index in 0..3 {
            world.add_route(index, address(9), 0).unwrap();
        }
        send_at(&mut world, 0, 0, frame(address(9), 0, 3, 64));
        run_us(&mut world, 1000, 1);
        let lost = |switch| dropped(&world, (switch, 1).into());
        let ended = (0..3).map(|switch| lost(switch).of(LossReason::TooManySwitches));
        assert_eq!(ended.sum::<u64>(), 1, "{forwarding:?}");
    }
}

#[test]
fn routes_to_a_node_take_the_shortest_way() {
    let mut world = ring(5, StoreAndForward);
    world.add_route(4, address(2), 0).unwrap();
    world.route_to(2, address(2)).unwrap();
    for from in [0, 1, 3, 4] {
        send_at(
            &mut world,
            from,
            0,
            frame(address(2), from as u8, from as u8, 64),
        );
    }
    run_us(&mut world, 1000, 1);
    let hop = 576 + 500 + 100;
    let passed = |switches: u64| 100 + switches * hop;
    let mut found = arrivals(&world, 2);
    // Switch 4 routes through 0: its frame crosses four switches behind those of 0 and 1.
    found.sort_by_key(|&(_, tag)| tag);
    let times: Vec<u64> = [(0, 3), (1, 2), (3, 2), (4, 4)]
        .map(|(_, switches)| passed(switches))
        .to_vec();
    let queued = 576 + 96;
    let expected = [
        (times[0].max(times[1] + queued), 0),
        (times[1], 1),
        (times[2] + queued, 3),
        (times[3], 4),
    ];
    assert_eq!(found[1], expected[1]);
    let tags: Vec<u8> = found.iter().map(|&(_, tag)| tag).collect();
    assert_eq!(tags, [0, 1, 3, 4]);
}

#[test]
fn cables_that_cannot_be_are_refused() {
    let mut world = stations(3);
    let hub = world.add_switch(&switch(StoreAndForward, 2)).unwrap();
    world.connect(0, (hub, 0), GIGABIT).unwrap();
    let node = Port::Node;
    let port = |port| Port::Switch { switch: 0, port };
    let no_time = Link {
        byte_time: SimTime::ZERO,
        ..GIGABIT
    };
    let endless = Link {
        propagation: SimTime::MAX,
        ..GIGABIT
    };
    for (a, b, link, expected) in [
        (
            node(3),
            node(1),
            GIGABIT,
            EthernetError::NoSuchPort(node(3)),
        ),
        (
            node(1),
            port(2),
            GIGABIT,
            EthernetError::NoSuchPort(port(2)),
        ),
        (node(0), node(1), GIGABIT, EthernetError::Occupied(node(0))),
        (node(1), port(0), GIGABIT, EthernetError::Occupied(port(0))),
        (node(1), node(1), GIGABIT, EthernetError::Loop(node(1))),
        (port(1), port(1), GIGABIT, EthernetError::Loop(port(1))),
        (
            node(1),
            port(1),
            no_time,
            EthernetError::NoTime(node(1), port(1)),
        ),
        (
            node(1),
            port(1),
            endless,
            EthernetError::TooSlow(node(1), port(1)),
        ),
    ] {
        assert_eq!(world.connect(a, b, link), Err(expected));
    }
    assert_eq!(
        world.route_to(1, address(1)),
        Err(EthernetError::NoCable(node(1)))
    );
    let nowhere = world.unplug((0, 1), SimTime::ZERO, None);
    assert_eq!(nowhere, Err(EthernetError::NoCable(port(1))));
}

#[test]
fn switches_that_cannot_be_are_refused() {
    let mut world = stations(1);
    world.add_switch(&switch(StoreAndForward, 2)).unwrap();
    let with = |change: fn(&mut SwitchConfig)| {
        let mut config = switch(CutThrough, 2);
        change(&mut config);
        config
    };
    let (a, everybody) = (address(1), MacAddress::BROADCAST);
    for (config, expected) in [
        (with(|c| c.ports = 0), EthernetError::Ports(0)),
        (with(|c| c.ports = 65_537), EthernetError::Ports(65_537)),
        (
            with(|c| c.latency = SimTime::MAX),
            EthernetError::Latency(SimTime::MAX),
        ),
        (
            with(|c| c.routes = vec![(address(1), 2)]),
            EthernetError::NoSuchPort(Port::Switch { switch: 1, port: 2 }),
        ),
        (
            with(|c| c.routes = vec![(address(1), 0), (address(1), 1)]),
            EthernetError::RouteTwice(1, a),
        ),
        (
            with(|c| c.routes = vec![(MacAddress::BROADCAST, 0)]),
            EthernetError::RouteToGroup(everybody),
        ),
    ] {
        assert_eq!(world.add_switch(&config), Err(expected));
    }
}
