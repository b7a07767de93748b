//! Messages of several packets: HEAD, BODY and TAIL.

use defs::gm::event::Status;
use defs::gm::map::Counter;
use defs::gm::port::RESUME;

use crate::cases::{OK, exchange, pair};
use crate::node::{Message, Node, RESEND};
use crate::world::{World, message};

fn reversed(one: &Message) -> Message {
    Message {
        node: one.target_node,
        port: one.target_port,
        target_node: one.node,
        target_port: one.port,
        ..one.clone()
    }
}

/// Lets a message go until `packets` of it are at the receiver, and no further.
fn stop_after(world: &mut World, packets: usize) {
    let before = world.packets;
    for _ in 0..200 {
        for node in 0..2 {
            for action in [4, 0, 1] {
                while world.act(node, action) {}
            }
            if world.packets - before < packets {
                world.act(node, 2);
            }
            while world.act(node, 3) {}
        }
    }
    assert_eq!(world.packets - before, packets);
}

#[test]
fn every_length_of_several_packets_arrives() {
    let mut world = pair();
    for length in [
        4097, 4100, 5000, 8191, 8192, 8193, 12_288, 20_001, 65_528, 65_529, 131_072, 262_136,
    ] {
        let one = message(2, length);
        exchange(&mut world, std::slice::from_ref(&one));
        assert_eq!(world.nodes[1].received.pop(), Some(one));
        assert_eq!(world.nodes[0].sent.pop().map(|sent| sent.2), Some(OK));
    }
    assert_eq!(world.nodes[0].counter(Counter::Resends), 0);
}

#[test]
fn any_lost_packet_of_long_messages_is_sent_again() {
    for lost in 0..16 {
        let mut world = pair();
        world.lose = vec![lost, lost + 2];
        let all = [
            message(2, 9000),
            message(2, 300),
            message(2, 5000),
            message(2, 12_289),
        ];
        exchange(&mut world, &all);
        assert_eq!(world.nodes[1].received, all, "packet {lost}");
        assert_eq!(world.nodes[0].sent.len(), 4, "packet {lost}");
    }
}

#[test]
fn a_receiver_restarts_in_the_middle_of_a_message() {
    for packets in 1..5 {
        let mut world = pair();
        let all = [message(2, 19_000), message(2, 50)];
        for one in &all {
            world.nodes[1].provide(2, one.size, 0, 1);
            world.send(one);
        }
        stop_after(&mut world, packets);
        // What the receiver has acknowledged is its own loss.
        world.settle_acks();
        world.nodes[1] = Node::new(1, 2, 9);
        world.nodes[1].open(2);
        for one in &all {
            world.nodes[1].provide(2, one.size, 0, 1);
        }
        world.run(40);
        world.receive();
        assert_eq!(world.nodes[1].received, all, "{packets}");
        assert!(world.nodes[0].sent.iter().all(|sent| sent.2 == OK));
        assert_eq!(world.nodes[0].sent.len(), 2);
    }
}

#[test]
fn a_sender_restarts_in_the_middle_of_a_message() {
    for packets in 1..5 {
        let mut world = pair();
        let one = message(2, 19_000);
        world.nodes[1].provide(2, one.size, 0, 1);
        world.send(&one);
        stop_after(&mut world, packets);
        world.nodes[0] = Node::new(0, 2, 9);
        world.nodes[0].open(2);
        // The receive token of the first part is used again.
        world.send(&one);
        world.run(40);
        world.receive();
        assert_eq!(world.nodes[1].received, [one], "{packets}");
        assert_eq!(world.nodes[0].sent, [(2, 0, OK)]);
    }
}

#[test]
fn the_target_port_closes_in_the_middle_of_a_message() {
    for (packets, reopened) in [(1, false), (2, true), (4, false), (4, true)] {
        let mut world = pair();
        let one = message(2, 19_000);
        world.nodes[1].provide(2, one.size, 0, 1);
        world.send(&one);
        stop_after(&mut world, packets);
        world.nodes[1].close(2);
        if reopened {
            world.nodes[1].reopen(2);
            world.nodes[1].provide(2, one.size, 0, 2);
        }
        world.run(40);
        world.receive();
        let closed = Status::TargetPortClosed as u32;
        assert_eq!(world.nodes[0].sent, [(2, 0, closed)], "{packets}");
        world.nodes[0].resume(&one, RESUME);
        if !reopened {
            world.nodes[1].reopen(2);
        }
        exchange(&mut world, std::slice::from_ref(&one));
        assert_eq!(world.nodes[1].received, [one], "{packets}");
    }
}

#[test]
fn the_sending_port_closes_in_the_middle_of_a_message() {
    for packets in 1..5 {
        for acknowledged in [false, true] {
            let mut world = pair();
            world.nodes[0].open(4);
            let one = message(2, 40_000);
            world.nodes[1].provide(2, one.size, 0, 1);
            world.send(&one);
            stop_after(&mut world, packets);
            if acknowledged {
                world.settle_acks();
            }
            world.nodes[0].close(2);
            world.run(40);
            // The token is there for another node or port, without a packet of this one.
            let other = Message {
                port: 4,
                ..one.clone()
            };
            world.send(&other);
            world.run(40);
            world.receive();
            assert_eq!(world.nodes[1].received, [other], "{packets}");
            world.nodes[0].reopen(2);
            exchange(&mut world, std::slice::from_ref(&one));
            assert_eq!(world.nodes[1].received[1..], [one]);
        }
    }
}

#[test]
fn a_partial_message_of_a_closed_port_gives_its_token_back() {
    let mut world = World::new(3, 1);
    for node in &mut world.nodes {
        node.open(2);
    }
    // The first 8 packets are acknowledged at once.
    let one = message(2, 12 * 4096 + 10);
    world.nodes[1].provide(2, one.size, 0, 1);
    world.send(&one);
    stop_after(&mut world, 9);
    world.nodes[0].close(2);
    world.run(40);
    let other = Message {
        node: 2,
        ..one.clone()
    };
    world.send(&other);
    world.run(40);
    world.receive();
    assert_eq!(world.nodes[1].received, [other]);
}

#[test]
fn both_directions_and_closing() {
    let mut world = pair();
    for _ in 0..4 {
        let (there, back) = (message(2, 9000), reversed(&message(2, 9000)));
        for one in [&there, &back, &there, &back] {
            let target = &mut world.nodes[one.target_node as usize];
            target.provide(one.target_port, one.size, 0, 7);
            world.send(one);
        }
        world.stir(30);
        world.nodes[0].close(2);
        world.nodes[0].reopen(2);
        for _ in 0..2 {
            world.nodes[0].provide(2, back.size, 0, 8);
        }
        world.run(10 * RESEND);
        world.nodes[1].resume(&back, RESUME);
        world.run(10 * RESEND);
        world.receive();
        let closed = Status::TargetPortClosed as u32;
        assert!(
            world.nodes[1]
                .sent
                .iter()
                .all(|sent| sent.2 == OK || sent.2 == closed)
        );
        assert_eq!(world.nodes[1].sent.len(), 2);
        world.nodes[1].sent.clear();
        world.nodes[1].resume(&back, RESUME);
        world.run(10 * RESEND);
        world.nodes[0].close(2);
        world.nodes[0].reopen(2);
        world.nodes[1].close(2);
        world.nodes[1].reopen(2);
        world.receive();
        world.nodes[0].received.clear();
        world.nodes[0].sent.clear();
        world.nodes[1].received.clear();
        exchange(&mut world, &[there.clone(), back.clone()]);
        assert_eq!(world.nodes[1].received, [there]);
        assert_eq!(world.nodes[0].received, [back]);
        world.nodes[1].received.clear();
        world.nodes[1].sent.clear();
    }
}
