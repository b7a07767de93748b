//! Puts and gets.

use defs::gm::event::Status;
use defs::gm::port::{GET, PUT, RESUME, SEND_TOKENS};

use crate::cases::{OK, pair};
use crate::node::{FATAL, PROCESS};
use crate::world::{World, message};

/// Memory at the target, and at the origin, of the node's registered part.
const THERE: u32 = 0x40_0000;
const HERE: u32 = 0x48_0000;
const PAGE: u32 = 4096;

fn bytes(length: u32, seed: u32) -> Vec<u8> {
    (0..length)
        .map(|at| (at * 13 + seed * 101 + (at >> 8)) as u8)
        .collect()
}

/// Carries out a put or get of node 0 at node 1; returns its status.
fn one(world: &mut World, kind: u32, local: u32, length: u32, remote: u32) -> u32 {
    world.nodes[0].remote(kind, 2, (1, 2), [local, length, remote]);
    world.run(60);
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 1, "one end");
    world.nodes[0].sent.pop().expect("an end").2
}

#[test]
fn puts_and_gets_of_all_lengths() {
    for (lost, damaged) in [(0, 0), (20, 10)] {
        let mut world = pair();
        world.nodes[1].allow(2, true);
        world.faults.lost = lost;
        world.faults.damaged = damaged;
        for (seed, length) in
            (0..).zip([0, 1, 3, 4, 5, 128, 4095, 4096, 4097, 8192, 12_345, 20_000])
        {
            let (here, there) = (HERE + 7 * seed + 1, THERE + 5 * seed + 3);
            let data = bytes(length, seed);
            world.nodes[0].set_memory(here, &data);
            world.nodes[1].set_memory(there - 3, &bytes(length + 6, 99));
            assert_eq!(one(&mut world, PUT, here, length, there), OK, "{length}");
            let mut expected = bytes(length + 6, 99);
            expected[3..3 + length as usize].copy_from_slice(&data);
            assert_eq!(world.nodes[1].memory(there - 3, length + 6), expected);
            let back = HERE + 0x1_0001;
            world.nodes[0].set_memory(back - 1, &bytes(length + 2, 77));
            assert_eq!(one(&mut world, GET, back, length, there), OK, "{length}");
            let mut expected = bytes(length + 2, 77);
            expected[1..1 + length as usize].copy_from_slice(&data);
            assert_eq!(world.nodes[0].memory(back - 1, length + 2), expected);
        }
    }
}

#[test]
fn a_port_of_gets_and_puts() {
    let mut world = pair();
    world.nodes[1].allow(2, true);
    let data = bytes(0x1_0000, 5);
    world.nodes[1].set_memory(THERE, &data);
    for at in 0..SEND_TOKENS {
        let place = at * 600;
        let kind = if at % 3 == 0 { PUT } else { GET };
        let to = if kind == PUT { THERE + 0x2_0000 } else { THERE };
        world.nodes[0].set_memory(HERE + place, &bytes(600, at));
        world.nodes[0].remote(kind, 2, (1, 2), [HERE + place, 600, to + place]);
    }
    world.run(100);
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), SEND_TOKENS as usize);
    assert!(world.nodes[0].sent.iter().all(|sent| sent.2 == OK));
    for at in 0..SEND_TOKENS {
        let place = at * 600;
        if at % 3 == 0 {
            let there = world.nodes[1].memory(THERE + 0x2_0000 + place, 600);
            assert_eq!(there, bytes(600, at));
        } else {
            let here = world.nodes[0].memory(HERE + place, 600);
            assert_eq!(here, data[place as usize..place as usize + 600]);
        }
    }
}

#[test]
fn refusals() {
    let denied = Status::PermissionDenied as u32;
    let closed = Status::TargetPortClosed as u32;
    let end = 0x50_0000;
    let mut world = pair();
    let check = |world: &mut World, kind, local, length, remote, status| {
        assert_eq!(one(world, kind, local, length, remote), status);
        world.nodes[0].resume(&message(2, 1), RESUME);
    };
    // Without permission.
    for kind in [PUT, GET] {
        for length in [0, 100] {
            check(&mut world, kind, HERE, length, THERE, denied);
        }
    }
    world.nodes[1].allow(2, true);
    for kind in [PUT, GET] {
        // Memory that is not registered: the first page, a later one; there, here.
        check(&mut world, kind, HERE, 100, end, denied);
        check(&mut world, kind, HERE, 10_000, end - PAGE, denied);
        check(&mut world, kind, end, 100, THERE, denied);
        check(&mut world, kind, end - PAGE, 10_000, THERE, denied);
        check(&mut world, kind, HERE, 100, THERE, OK);
    }
    world.nodes[1].close(2);
    for kind in [PUT, GET] {
        check(&mut world, kind, HERE, 100, THERE, closed);
    }
    world.nodes[1].open(2);
    check(
        &mut world,
        PUT,
        HERE,
        1 << 31,
        THERE,
        Status::InvalidParameter as u32,
    );
    // A new port does not let others in.
    check(&mut world, GET, HERE, 100, THERE, denied);
}

#[test]
fn memory_goes_while_a_get_is_answered() {
    for lost in 0..6 {
        let mut world = pair();
        world.nodes[1].allow(2, true);
        world.nodes[0].remote(GET, 2, (1, 2), [HERE, 20_000, THERE]);
        world.stir(60);
        for page in 0..6 {
            world.nodes[1].deregister(THERE + page * PAGE, PROCESS);
        }
        world.lose = vec![world.packets + lost, world.packets + lost + 1];
        // A message behind the answer, with the numbers that follow.
        let back = crate::node::Message {
            node: 1,
            target_node: 0,
            ..message(2, 600)
        };
        world.nodes[0].provide(2, back.size, 0, 1);
        world.send(&back);
        world.run(60);
        world.receive();
        assert_eq!(world.nodes[0].sent.len(), 1);
        assert_eq!(world.nodes[0].received, [back], "{lost}");
        assert_eq!(world.nodes[1].sent.len(), 1);
    }
}

#[test]
fn a_get_without_an_answer_ends_and_its_number_is_not_reused() {
    let mut world = pair();
    world.nodes[1].allow(2, true);
    // The request arrives, its answer does not.
    world.nodes[0].remote(GET, 2, (1, 2), [HERE, 5000, THERE]);
    world.settle_request();
    world.settle_acks();
    world.nodes[1] = crate::node::Node::new(1, 2, 5);
    world.nodes[1].open(2);
    world.nodes[1].allow(2, true);
    world.run(2 * FATAL + 10);
    world.receive();
    let ends: Vec<u32> = world.nodes[0].sent.drain(..).map(|sent| sent.2).collect();
    assert_eq!(ends.len(), 1);
    assert_eq!(ends[0], Status::TimedOut as u32);
    world.nodes[0].resume(&message(2, 1), RESUME);
    let data = bytes(5000, 3);
    world.nodes[1].set_memory(THERE, &data);
    world.nodes[1].allow(2, true);
    assert_eq!(one(&mut world, GET, HERE, 5000, THERE), OK);
    assert_eq!(world.nodes[0].memory(HERE, 5000), data);
}

#[test]
fn a_closed_port_gets_no_bytes() {
    let mut world = pair();
    world.nodes[1].allow(2, true);
    let before = bytes(9000, 8);
    world.nodes[0].set_memory(HERE, &before);
    world.nodes[0].remote(GET, 2, (1, 2), [HERE, 9000, THERE]);
    world.settle_request();
    world.nodes[0].close(2);
    world.nodes[0].reopen(2);
    world.run(2 * FATAL + 10);
    world.receive();
    assert_eq!(world.nodes[0].memory(HERE, 9000), before);
    assert!(world.nodes[0].sent.is_empty());
}

#[test]
fn more_gets_than_answers_wait() {
    // 61 tokens of two ports: more than there are records of answers.
    let mut world = pair();
    world.nodes[0].open(4);
    world.nodes[1].allow(2, true);
    for port in [2, 4] {
        for _ in 0..SEND_TOKENS {
            world.nodes[0].remote(GET, port, (1, 2), [HERE, 5000, THERE]);
        }
    }
    world.run(400);
    world.receive();
    assert_eq!(world.nodes[0].sent.len(), 2 * SEND_TOKENS as usize);
    assert!(world.nodes[0].sent.iter().all(|sent| sent.2 == OK));
}
