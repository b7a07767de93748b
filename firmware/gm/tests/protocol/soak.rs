//! Many messages between 16 nodes under faults; `LANIGON_SOAK` says how many.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use defs::gm::event::Status;
use defs::gm::map::Counter;
use defs::gm::packet::size_for;

use crate::node::Message;
use crate::world::{Faults, World};

const NODES: u32 = 16;
const PORTS: [u32; 2] = [2, 6];

type Expected = BTreeMap<[u32; 5], VecDeque<Message>>;

fn any_message(world: &mut World, node: u32) -> Message {
    let random = &mut world.random;
    let length = match random.next(8) {
        0 => random.next(12_000),
        1 | 2 => random.next(4097),
        _ => random.next(200),
    };
    Message {
        node,
        port: PORTS[random.next(2) as usize],
        target_node: (node + 1 + random.next(NODES - 1)) % NODES,
        target_port: PORTS[random.next(2) as usize],
        priority: random.next(2),
        size: size_for(length),
        data: (0..length).map(|_| random.next(256) as u8).collect(),
    }
}

/// The hosts take all events; returns how many sends and messages have ended.
fn take(world: &mut World, expected: &mut Expected) -> (u32, u32) {
    let (mut sends, mut messages) = (0, 0);
    world.receive();
    for node in &mut world.nodes {
        for (_, _, status) in node.sent.drain(..) {
            assert_eq!(status, Status::Success as u32);
            sends += 1;
        }
        for one in node.received.drain(..) {
            let stream = [
                one.node,
                one.port,
                one.target_node,
                one.target_port,
                one.priority,
            ];
            let next = expected.get_mut(&stream).and_then(VecDeque::pop_front);
            assert_eq!(next, Some(one));
            messages += 1;
        }
    }
    (sends, messages)
}

#[test]
fn soak() {
    let asked = std::env::var("LANIGON_SOAK").ok();
    let count: u32 = asked.and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let begin = Instant::now();
    let mut world = World::new(NODES, 4);
    // 13 of 256 packets.
    world.faults = Faults {
        lost: 5,
        damaged: 4,
        doubled: 4,
    };
    for node in &mut world.nodes {
        for port in PORTS {
            node.open(port);
        }
    }
    let mut expected = Expected::new();
    let (mut posted, mut sends, mut messages) = (0, 0, 0);
    while messages < count || sends < count {
        let node = world.random.next(NODES);
        let one = any_message(&mut world, node);
        let under_way = posted - messages;
        let can = world.nodes[node as usize].can_send(one.port)
            && world.nodes[one.target_node as usize].can_provide(one.target_port);
        if posted < count && under_way < 200 && can {
            let target = &mut world.nodes[one.target_node as usize];
            target.provide(one.target_port, one.size, one.priority, posted & 0xFFFF);
            world.send(&one);
            let stream = [
                one.node,
                one.port,
                one.target_node,
                one.target_port,
                one.priority,
            ];
            expected.entry(stream).or_default().push_back(one);
            posted += 1;
            world.stir(150);
        } else {
            world.stir(3000);
        }
        let (ends, arrived) = take(&mut world, &mut expected);
        sends += ends;
        messages += arrived;
    }
    let sum = |counter| -> u32 { world.nodes.iter().map(|node| node.counter(counter)).sum() };
    println!(
        "{messages} messages, {} packets, {} faults, {} damaged, {} duplicates, {} gaps, {} resends, {:.1} s",
        world.packets,
        world.faulty,
        sum(Counter::BadPackets),
        sum(Counter::Duplicates),
        sum(Counter::Gaps),
        sum(Counter::Resends),
        begin.elapsed().as_secs_f64()
    );
    assert_eq!((sends, messages), (count, count));
}
