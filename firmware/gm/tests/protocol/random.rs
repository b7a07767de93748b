//! Random schedules, faults and messages.

use std::collections::BTreeMap;

use cases::cases;
use defs::gm::event::Status;
use defs::gm::packet::capacity;
use defs::gm::port::{GET, PUT};
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

/// Random puts and gets among three nodes, with messages between them. Each must succeed, and its bytes must be there.
fn check_remote(cpus: Cpus, faults: Faults, seed: u64) {
    let mut world = World::of(cpus, 3, seed);
    world.faults = faults;
    for node in &mut world.nodes {
        for port in [2, 4] {
            node.open(port);
            node.allow(port, true);
        }
    }
    let (mut expected, mut posts) = (Vec::new(), 0);
    for _ in 0..60 {
        let from = world.random.next(3);
        let to = (from + 1 + world.random.next(2)) % 3;
        let port = 2 + 2 * world.random.next(2);
        let subport = (2 + 2 * world.random.next(2)) << 1 | world.random.next(2);
        let length = match world.random.next(3) {
            0 => world.random.next(9000),
            _ => world.random.next(100),
        };
        let kind = [PUT, GET][world.random.next(2) as usize];
        if world.nodes[from as usize].can_send(port) {
            let local = world.nodes[from as usize].buffer(length);
            let remote = world.nodes[to as usize].buffer(length);
            let data: Vec<u8> = (0..length).map(|_| world.random.next(256) as u8).collect();
            let (source, place) = if kind == PUT {
                (from, local)
            } else {
                (to, remote)
            };
            world.nodes[source as usize].set_memory(place, &data);
            let word = to << 16 | subport << 8 | kind;
            world.nodes[from as usize].post(port, word, local, length, remote);
            posts += 1;
            let result = if kind == PUT {
                (to, remote)
            } else {
                (from, local)
            };
            expected.push((result, data));
        }
        let stir = world.random.next(120);
        world.stir(stir);
        world.receive();
    }
    world.run(4000);
    world.receive();
    let results = world.nodes.iter().flat_map(|node| &node.sent);
    let results: Vec<_> = results.map(|(_, _, status)| *status).collect();
    assert_eq!(results, vec![Status::Success as u32; posts]);
    for ((node, place), data) in expected {
        let length = u32::try_from(data.len()).expect("in range");
        assert_eq!(world.nodes[node as usize].memory(place, length), data);
    }
}

fn provide(world: &mut World, one: &Message, tag: u32) {
    let node = &mut world.nodes[one.target_node as usize];
    assert!(node.can_provide(one.target_port));
    node.provide(one.target_port, one.size, one.priority, tag & 0xFFFF);
}

proptest! {
    #![proptest_config(cases(48))]

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
        for cpus in [Cpus::Two, Cpus::Lending] {
            check(cpus, nodes, 150, Faults::default(), seed);
        }
    }

    #[test]
    fn on_two_cpus_with_faults(
        nodes in 2_u32..5,
        (lost, damaged, doubled) in (0_u32..40, 0_u32..30, 0_u32..20),
        seed in any::<u64>(),
    ) {
        for cpus in [Cpus::Two, Cpus::Lending] {
            check(cpus, nodes, 100, Faults { lost, damaged, doubled }, seed);
        }
    }

    #[test]
    fn puts_and_gets(two in any::<bool>(), lost in 0_u32..30, doubled in 0_u32..20, seed in any::<u64>()) {
        let cpus = if two { Cpus::Two } else { Cpus::One };
        check_remote(cpus, Faults { lost, damaged: 0, doubled }, seed);
    }
}
