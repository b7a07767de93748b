//! Random schedules, faults and messages.

use std::collections::BTreeMap;

use defs::gm::event::Status;
use defs::gm::packet::capacity;
use proptest::prelude::*;

use crate::board::Cpus;
use crate::node::Message;
use crate::world::{Faults, World};

/// Port, target node and port, priority.
type Stream = (u32, u32, u32, u32, u32);

fn stream(one: &Message) -> Stream {
    (
        one.node,
        one.port,
        one.target_node,
        one.target_port,
        one.priority,
    )
}

fn any_message(world: &mut World, node: u32, ports: &[u32]) -> Message {
    let nodes = u32::try_from(world.nodes.len()).expect("in range");
    let random = &mut world.random;
    let count = u32::try_from(ports.len()).expect("in range");
    let more = if random.next(6) == 0 {
        random.next(4)
    } else {
        0
    };
    let size = 13 + more - random.next(14).min(random.next(14));
    let length = random.next(capacity(size) + 1);
    let target_node = (node + 1 + random.next(nodes - 1)) % nodes;
    Message {
        node,
        port: ports[random.next(count) as usize],
        target_node,
        target_port: ports[random.next(count) as usize],
        priority: random.next(2),
        size,
        data: (0..length).map(|_| random.next(256) as u8).collect(),
    }
}

/// Random messages among all nodes. Each must arrive once, in its stream's order, and each send must succeed.
fn check(cpus: Cpus, nodes: u32, messages: u32, faults: Faults, seed: u64) {
    let mut world = World::of(cpus, nodes, seed);
    world.faults = faults;
    let ports = [2, 4, 7];
    for node in &mut world.nodes {
        for port in ports {
            node.open(port);
        }
    }
    let mut expected: BTreeMap<Stream, Vec<Message>> = BTreeMap::new();
    let (mut sent, mut late) = (0, Vec::new());
    for index in 0..messages {
        let node = world.random.next(nodes);
        let one = any_message(&mut world, node, &ports);
        let target = &world.nodes[one.target_node as usize];
        if !world.nodes[node as usize].can_send(one.port) || !target.can_provide(one.target_port) {
            world.stir(200);
            world.receive();
            continue;
        }
        // Some receive tokens come late.
        match world.random.next(4) {
            0 => late.push(one.clone()),
            _ => provide(&mut world, &one, index),
        }
        world.send(&one);
        sent += 1;
        expected.entry(stream(&one)).or_default().push(one);
        let stir = world.random.next(60);
        world.stir(stir);
        if world.random.next(4) == 0 {
            world.receive();
        }
        if world.random.next(8) == 0 {
            for one in late.drain(..) {
                provide(&mut world, &one, index);
            }
        }
    }
    for one in late {
        provide(&mut world, &one, 9);
    }
    world.run(4000);
    world.receive();
    let mut received: BTreeMap<Stream, Vec<Message>> = BTreeMap::new();
    let mut reports = 0;
    for node in &mut world.nodes {
        reports += node.sent.len();
        let success = Status::Success as u32;
        let failed: Vec<_> = node
            .sent
            .iter()
            .filter(|(_, _, status)| *status != success)
            .collect();
        assert!(failed.is_empty(), "{failed:?}");
        for one in node.received.drain(..) {
            received.entry(stream(&one)).or_default().push(one);
        }
    }
    assert_eq!(received, expected);
    assert_eq!(reports, sent);
}

fn provide(world: &mut World, one: &Message, tag: u32) {
    let node = &mut world.nodes[one.target_node as usize];
    assert!(node.can_provide(one.target_port));
    node.provide(one.target_port, one.size, one.priority, tag & 0xFFFF);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_faults(nodes in 2_u32..5, seed in any::<u64>()) {
        check(Cpus::One, nodes, 150, Faults::default(), seed);
    }

    #[test]
    fn with_lost_damaged_and_doubled_packets(
        nodes in 2_u32..5,
        (lost, damaged, doubled) in (0_u32..40, 0_u32..30, 0_u32..20),
        seed in any::<u64>(),
    ) {
        check(Cpus::One, nodes, 100, Faults { lost, damaged, doubled }, seed);
    }

    #[test]
    fn on_two_cpus(nodes in 2_u32..5, seed in any::<u64>()) {
        check(Cpus::Two, nodes, 150, Faults::default(), seed);
    }

    #[test]
    fn on_two_cpus_with_faults(
        nodes in 2_u32..5,
        (lost, damaged, doubled) in (0_u32..40, 0_u32..30, 0_u32..20),
        seed in any::<u64>(),
    ) {
        check(Cpus::Two, nodes, 100, Faults { lost, damaged, doubled }, seed);
    }
}
