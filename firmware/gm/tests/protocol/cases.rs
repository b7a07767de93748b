//! Single cases.

use defs::gm::event::{BAD_RECEIVE_MEMORY, BAD_SEND_MEMORY, Status};
use defs::gm::map::{COMMAND, Counter};
use defs::gm::port::{RECEIVE_TOKENS, RESUME, SEND, SEND_TOKENS};

use crate::board::Cpus;
use crate::node::{FATAL, Message, Node, PROCESS, RESEND};
use crate::world::{World, message};

pub const OK: u32 = Status::Success as u32;

pub fn pair() -> World {
    let mut world = World::new(2, 1);
    for node in &mut world.nodes {
        node.open(2);
    }
    world
}

/// Provides a fitting buffer for each message, sends them, runs.
pub fn exchange(world: &mut World, messages: &[Message]) {
    for one in messages {
        let target = &mut world.nodes[one.target_node as usize];
        target.provide(one.target_port, one.size, one.priority, 7);
        world.send(one);
    }
    world.run(30);
    world.receive();
}

#[test]
fn every_length_arrives() {
    let mut world = pair();
    for length in 0..=4096 {
        let one = message(2, length);
        exchange(&mut world, std::slice::from_ref(&one));
        assert_eq!(world.nodes[1].received.pop(), Some(one));
        let sent = world.nodes[0]
            .sent
            .pop()
            .map(|(port, _, status)| (port, status));
        assert_eq!(sent, Some((2, OK)));
    }
    assert_eq!(world.nodes[1].counter(Counter::Delivered), 4097);
    assert_eq!(world.nodes[0].counter(Counter::Resends), 0);
}

#[test]
fn a_whole_port_of_tokens_is_used() {
    let mut world = pair();
    for tag in 0..RECEIVE_TOKENS {
        world.nodes[1].provide(2, 8, 0, tag);
    }
    for _ in 0..5 {
        for _ in 0..SEND_TOKENS {
            let one = Message {
                size: 8,
                ..message(2, 100)
            };
            if world.nodes[1].received.len() + world.nodes[0].sent.len() < 600 {
                world.send(&one);
            }
        }
        world.run(10);
        world.nodes[0].receive(2);
        while world.nodes[0].receive(2) {}
        while world.nodes[1].receive(2) {}
        while world.nodes[1].can_provide(2) {
            world.nodes[1].provide(2, 8, 0, 1);
        }
    }
    assert_eq!(world.nodes[1].received.len(), 5 * SEND_TOKENS as usize);
    assert!(
        world.nodes[0]
            .sent
            .iter()
            .all(|(_, _, status)| *status == OK)
    );
}

#[test]
fn any_lost_packet_is_sent_again() {
    // Data and acks of ten messages, each lost once.
    for lost in 0..20 {
        let mut world = pair();
        world.lose = vec![lost];
        let all: Vec<Message> = (0..10).map(|at| message(2, 300 + at)).collect();
        exchange(&mut world, &all);
        assert_eq!(world.nodes[1].received, all, "packet {lost}");
        assert_eq!(world.nodes[0].sent.len(), 10, "packet {lost}");
    }
}

#[test]
fn without_a_token_the_message_waits() {
    let mut world = pair();
    let all = [message(2, 40), message(2, 2000)];
    for one in &all {
        world.send(one);
    }
    world.run(20);
    world.receive();
    assert!(world.nodes[1].received.is_empty() && world.nodes[0].sent.is_empty());
    assert!(world.nodes[1].counter(Counter::NoToken) > 1);
    // The other priority is not blocked.
    let high = Message {
        priority: 1,
        ..message(2, 60)
    };
    exchange(&mut world, std::slice::from_ref(&high));
    assert_eq!(world.nodes[1].received, [high]);
    for one in &all {
        world.nodes[1].provide(2, one.size, 0, 1);
    }
    world.run(20);
    world.receive();
    assert_eq!(world.nodes[1].received[1..], all);
}

/// Sends a message and checks its result after `ticks`.
fn check_failure(world: &mut World, one: &Message, ticks: u32, status: Status) {
    let number = world.send(one);
    world.run(ticks);
    world.receive();
    let result = world.nodes[0].sent.pop();
    assert_eq!(result, Some((one.port, number, status as u32)));
    assert!(world.nodes[1].received.is_empty());
    world.nodes[0].resume(one, RESUME);
}

#[test]
fn sends_fail_with_their_reason() {
    let mut world = pair();
    let long = 2 * FATAL + 10;
    let closed = Message {
        target_port: 5,
        ..message(2, 10)
    };
    check_failure(&mut world, &closed, 20, Status::TargetPortClosed);
    check_failure(&mut world, &message(2, 10), long, Status::TimedOut);
    let unknown = Message {
        target_node: 2,
        ..message(2, 10)
    };
    check_failure(&mut world, &unknown, 1, Status::NodeUnreachable);
    let own = Message {
        target_node: 0,
        ..message(2, 10)
    };
    check_failure(&mut world, &own, 1, Status::NodeUnreachable);
    let small = Message {
        size: 5,
        ..message(2, 25)
    };
    check_failure(&mut world, &small, 1, Status::InvalidParameter);
    let port = Message {
        target_port: 8,
        ..message(2, 10)
    };
    check_failure(&mut world, &port, 1, Status::InvalidParameter);
    world.faults.lost = 256;
    check_failure(&mut world, &message(2, 10), long, Status::TimedOut);
    // Afterwards everything works, in a new session.
    world.faults.lost = 0;
    let one = message(2, 500);
    exchange(&mut world, std::slice::from_ref(&one));
    assert_eq!(world.nodes[1].received, [one]);
}

#[test]
fn a_restarted_receiver_is_found() {
    let mut world = pair();
    let one = message(2, 500);
    exchange(&mut world, &[one.clone(), one.clone()]);
    world.nodes[1] = Node::new(1, 2, 2);
    world.nodes[1].open(2);
    exchange(&mut world, std::slice::from_ref(&one));
    assert_eq!(world.nodes[1].received.len(), 1);
    assert_eq!(world.nodes[0].counter(Counter::Sessions), 1);
    world.nodes[0] = Node::new(0, 2, 7);
    world.nodes[0].open(2);
    exchange(&mut world, std::slice::from_ref(&one));
    assert_eq!(world.nodes[1].received, [one.clone(), one]);
}

#[test]
fn a_port_can_be_closed_and_opened_again() {
    let mut world = pair();
    let one = message(2, 100);
    world.nodes[1].provide(2, one.size, 0, 3);
    world.settle();
    world.nodes[1].close(2);
    check_failure(&mut world, &one, 20, Status::TargetPortClosed);
    world.nodes[1].open(2);
    exchange(&mut world, &[one.clone(), one.clone()]);
    assert_eq!(world.nodes[1].received, [one.clone(), one.clone()]);
    // Sends of a closed port are given up and not reported.
    world.faults.lost = 256;
    world.send(&one);
    world.run(RESEND);
    world.nodes[0].close(2);
    world.faults.lost = 0;
    world.run(10 * RESEND);
    world.nodes[0].open(2);
    world.nodes[0].sent.clear();
    exchange(&mut world, std::slice::from_ref(&one));
    assert_eq!(world.nodes[1].received.len(), 3);
    assert_eq!(world.nodes[0].sent.len(), 1);
}

#[test]
fn foreign_packets_are_dropped() {
    let mut world = pair();
    let garbage = [
        vec![],
        vec![0; 4],
        vec![0xFF; 24],
        [&[0, 8, 1, 7][..], &[0; 20]].concat(),
        [&[0, 8, 1, 7, 0, 0, 0, 1][..], &[0xFF; 16]].concat(),
        [
            &[0, 8, 1, 7, 0, 0, 0, 1, 0, 1, 0, 0, 0xFF, 0xFF, 4, 4][..],
            &[0; 8],
        ]
        .concat(),
        vec![7; 4300],
    ];
    for bytes in garbage {
        let (route, intact) = (Vec::new(), true);
        world.links[1].push_back(crate::nic::Wire {
            route,
            bytes,
            intact,
        });
        world.settle();
    }
    assert_eq!(world.nodes[1].bad(), 7);
    let one = message(2, 100);
    exchange(&mut world, std::slice::from_ref(&one));
    assert_eq!(world.nodes[1].received, [one]);
}

/// One ack completes sends of several ports: none of the reports waits for another event.
#[test]
fn an_ack_reports_the_sends_of_all_ports_at_once() {
    for cpus in Cpus::EVERY {
        let mut world = World::of(cpus, 2, 1);
        world.nodes[1].open(2);
        for port in 2..7 {
            world.nodes[0].open(port);
            world.nodes[1].provide(2, 4, 0, port);
            world.send(&Message {
                target_port: 2,
                size: 4,
                ..message(port, 8)
            });
        }
        // All but the time of delayed acks.
        for _ in 0..40 {
            for action in [4, 6, 0, 1, 2, 3] {
                world.act(0, action);
                world.act(1, action);
            }
        }
        assert!(world.nodes[1].gm.nic().is_quiet());
        world.settle();
        world.receive();
        assert_eq!(world.nodes[0].sent.len(), 5, "{cpus:?}");
    }
}

/// Neither CPU uses a page that the host has taken back.
#[test]
fn a_page_that_is_taken_back_is_forgotten() {
    const PAGE: u32 = 0x40_0000;
    for cpus in Cpus::EVERY {
        let mut world = World::of(cpus, 2, 1);
        for node in &mut world.nodes {
            node.open(2);
        }
        let there = message(2, 900);
        world.nodes[1].provide_at(PAGE, 2, there.size, 0, 1);
        world.send(&there);
        world.run(30);
        let back = SEND + there.size;
        world.nodes[0].provide(2, there.size, 0, 2);
        world.nodes[1].post(2, 2 << 9 | back, PAGE, 900, 0);
        world.run(30);
        world.receive();
        assert_eq!(world.nodes[1].received.pop(), Some(there.clone()));
        assert_eq!(
            world.nodes[0].received.pop().map(|one| one.data),
            Some(there.data.clone())
        );
        world.nodes[1].deregister(PAGE, PROCESS);
        assert_eq!(world.nodes[1].gm.word(COMMAND), 0);
        world.nodes[1].provide_at(PAGE, 2, there.size, 0, 3);
        world.send(&there);
        world.nodes[1].post(2, 2 << 9 | back, PAGE, 900, 0);
        world.run(1);
        world.receive();
        let mut kinds: Vec<_> = world.nodes[1]
            .notices
            .iter()
            .map(|notice| (notice.1, notice.2))
            .collect();
        kinds.sort_unstable();
        let mut expected = vec![(BAD_RECEIVE_MEMORY, PAGE), (BAD_SEND_MEMORY, PAGE)];
        expected.sort_unstable();
        assert_eq!(kinds, expected, "{cpus:?}");
        assert!(world.nodes[1].received.is_empty() && world.nodes[0].received.is_empty());
    }
}

/// A port that is closed with sends under way gets no report of them when it is open again, and the others go on.
#[test]
fn a_port_is_closed_with_sends_under_way() {
    for (cpus, seed) in Cpus::EVERY
        .into_iter()
        .flat_map(|cpus| (1..40).map(move |seed| (cpus, seed)))
    {
        let mut world = World::of(cpus, 2, seed);
        for node in &mut world.nodes {
            node.open(2);
            node.open(4);
        }
        for tag in 0..100 {
            world.nodes[1].provide(4, 13, 0, tag);
        }
        let mut data = Vec::new();
        for round in 0..8 {
            for length in [40, 5000 + round] {
                let one = message(2, length);
                world.nodes[1].provide(2, one.size, 0, 3);
                world.send(&one);
                data.push(one.data);
                let one = Message {
                    size: 13,
                    ..message(4, length)
                };
                world.send(&one);
            }
            let stir = world.random.next(150);
            world.stir(stir);
            let port = 4;
            world.nodes[0].close(port);
            world.stir(stir / 4);
            world.nodes[0].open(port);
            world.receive();
        }
        let last = Message {
            size: 13,
            ..message(4, 77)
        };
        world.send(&last);
        world.run(60);
        world.receive();
        let (four, two): (Vec<_>, Vec<_>) = world.nodes[1]
            .received
            .drain(..)
            .partition(|one| one.port == 4);
        let two: Vec<_> = two.into_iter().map(|one| one.data).collect();
        assert_eq!(two, data, "{cpus:?} {seed}");
        assert_eq!(four.last(), Some(&last), "{cpus:?} {seed}");
        assert!(
            world.nodes[0]
                .sent
                .iter()
                .all(|(_, _, status)| *status == OK)
        );
    }
}
