//! Streams that an error stops; refused sizes; records that run out; pages that are forgotten.

use defs::gm::event::Status;
use defs::gm::map::Counter;
use defs::gm::packet::capacity;
use defs::gm::port::{DROP, RESUME, SEND_TOKENS};

use crate::cases::{OK, exchange, pair};
use crate::mutations::Mutation;
use crate::node::{FATAL, Message, PROCESS};
use crate::world::{World, message};

const CLOSED: u32 = Status::TargetPortClosed as u32;
const DROPPED: u32 = Status::Dropped as u32;

fn statuses(world: &mut World) -> Vec<u32> {
    world.nodes[0].sent.drain(..).map(|sent| sent.2).collect()
}

/// Three sends to a closed port, one to an open one.
fn stopped() -> (World, Vec<Message>) {
    let mut world = pair();
    world.nodes[1].open(4);
    let all: Vec<Message> = [10, 5000, 300].map(|length| message(2, length)).into();
    world.nodes[1].close(2);
    let other = Message {
        target_port: 4,
        ..message(2, 77)
    };
    world.nodes[1].provide(4, other.size, 0, 1);
    for one in &all {
        world.send(one);
    }
    world.send(&other);
    world.run(40);
    world.receive();
    assert_eq!(statuses(&mut world), [CLOSED, OK]);
    assert_eq!(world.nodes[1].received, [other]);
    world.nodes[1].received.clear();
    (world, all)
}

#[test]
fn a_stream_goes_on_when_it_is_resumed() {
    let (mut world, mut all) = stopped();
    world.nodes[1].reopen(2);
    // A later send waits too.
    all.push(message(2, 1000));
    world.send(&all[3]);
    for one in &all {
        world.nodes[1].provide(2, one.size, 0, 1);
    }
    world.run(40);
    world.receive();
    assert!(world.nodes[0].sent.is_empty() && world.nodes[1].received.is_empty());
    world.nodes[0].resume(&all[0], RESUME);
    world.run(40);
    world.receive();
    assert_eq!(statuses(&mut world), [OK; 3]);
    assert_eq!(world.nodes[1].received, all[1..]);
}

#[test]
fn a_stream_that_is_dropped_loses_its_sends() {
    dropped_stream(None);
}

/// Sends that wait in a stopped stream are dropped.
pub fn dropped_stream(mutation: Option<Mutation>) {
    let (mut world, all) = stopped();
    world.nodes[0].gm.nic_mut().mutation = mutation;
    world.nodes[1].reopen(2);
    for one in &all {
        world.nodes[1].provide(2, one.size, 0, 1);
    }
    world.nodes[0].resume(&all[0], DROP);
    world.run(40);
    world.receive();
    assert_eq!(statuses(&mut world), [DROPPED; 2]);
    world.send(&all[2]);
    world.run(40);
    world.receive();
    assert_eq!(world.nodes[1].received, all[2..]);
}

#[test]
fn a_stream_that_is_resumed_too_early_stops_again() {
    let (mut world, all) = stopped();
    world.nodes[0].resume(&all[0], RESUME);
    world.run(40);
    world.receive();
    assert_eq!(statuses(&mut world), [CLOSED]);
    world.nodes[1].reopen(2);
    exchange_rest(&mut world, &all[2..]);
}

fn exchange_rest(world: &mut World, rest: &[Message]) {
    for one in rest {
        world.nodes[1].provide(2, one.size, 0, 1);
    }
    world.nodes[0].resume(&rest[0], RESUME);
    world.run(40);
    world.receive();
    assert_eq!(world.nodes[1].received, rest);
}

/// The receiver refuses a message; before its answer leaves, its port opens again and the sender sends it once more. What was
/// refused stays refused, and what follows arrives once.
#[test]
fn a_refused_message_is_not_accepted_later() {
    for provided in [false, true] {
        let mut world = pair();
        let all = [message(2, 40), message(2, 60)];
        world.nodes[1].close(2);
        for one in &all {
            world.send(one);
        }
        // The packets come in; the answer does not leave.
        for _ in 0..20 {
            for action in [4, 0, 2, 4] {
                while world.act(0, action) {}
            }
            while world.act(1, 3) {}
        }
        world.nodes[1].reopen(2);
        if provided {
            for one in &all {
                world.nodes[1].provide(2, one.size, 0, 1);
            }
        }
        for _ in 0..8 {
            world.nodes[0].gm.nic_mut().tick();
            for action in [4, 0, 2, 4] {
                while world.act(0, action) {}
            }
            while world.act(1, 3) {}
        }
        world.run(40);
        world.receive();
        assert_eq!(statuses(&mut world), [CLOSED]);
        world.nodes[0].resume(&all[0], RESUME);
        if !provided {
            world.nodes[1].provide(2, all[1].size, 0, 1);
        }
        world.run(40);
        world.receive();
        assert_eq!(world.nodes[1].received, all[1..]);
        assert_eq!(statuses(&mut world), [OK]);
    }
}

/// Packets of two sends are under way when the memory of the first one goes, and both must be sent again.
#[test]
fn memory_goes_while_packets_are_sent_again() {
    let mut world = pair();
    let all = [message(2, 8000), message(2, 60)];
    let buffer = world.nodes[0].next_buffer();
    for one in &all {
        world.nodes[1].provide(2, one.size, 0, 1);
        world.send(one);
    }
    // The acks are lost.
    world.settle_without(&[1]);
    world.nodes[0].deregister(buffer, PROCESS);
    world.run(60);
    world.nodes[0].resume(&all[0], RESUME);
    world.run(60);
    world.receive();
    assert_eq!(world.nodes[1].received, all);
}

#[test]
fn sizes_that_are_not_accepted_are_rejected() {
    let mut world = pair();
    let rejected = Status::Rejected as u32;
    world.nodes[1].accept(2, 1 << 8, 1 << 9);
    for (size, priority, status) in [(8, 0, OK), (9, 0, rejected), (9, 1, OK), (8, 1, rejected)] {
        let one = Message {
            size,
            priority,
            ..message(2, 200)
        };
        if status == OK {
            world.nodes[1].provide(2, size, priority, 1);
        }
        world.send(&one);
        world.run(40);
        world.receive();
        assert_eq!(statuses(&mut world), [status]);
        world.nodes[0].resume(&one, RESUME);
    }
    assert_eq!(world.nodes[1].received.len(), 2);
    // A token of a size that is not accepted is used.
    let one = Message {
        size: 9,
        ..message(2, 100)
    };
    exchange(&mut world, std::slice::from_ref(&one));
    assert_eq!(world.nodes[1].received[2..], [one]);
}

#[test]
fn records_run_out_and_come_back() {
    // Ports that are closed with sends under way keep records until these are acknowledged.
    let mut world = pair();
    world.nodes[0].close(2);
    let fill = |world: &mut World, ports: std::ops::Range<u32>| {
        for port in ports {
            world.nodes[0].reopen(port);
            for _ in 0..SEND_TOKENS {
                world.send(&Message {
                    target_port: 2,
                    priority: port & 1,
                    ..message(port, 20)
                });
            }
        }
        world.settle();
        world.receive();
    };
    world.faults.lost = 256;
    // A window of packets for each priority.
    fill(&mut world, 0..4);
    assert!(world.nodes[0].sent.is_empty());
    for port in 0..4 {
        world.nodes[0].close(port);
    }
    fill(&mut world, 0..8);
    let refused = statuses(&mut world);
    let again = Status::TryAgain as u32;
    assert_eq!(refused, vec![again; 8 * 61 + 2 * 64 - 576]);
    world.faults.lost = 0;
    for port in 0..8 {
        world.nodes[0].close(port);
    }
    world.run(2 * FATAL);
    world.nodes[0].reopen(2);
    world.nodes[0].sent.clear();
    world.receive();
    exchange(&mut world, &[message(2, 9000), message(2, 20)]);
    assert_eq!(world.nodes[1].received.len(), 2);
    assert_eq!(statuses(&mut world), [OK; 2]);
}

#[test]
fn a_forgotten_page_is_not_used() {
    forgotten_page(None);
}

/// A page leaves the page table: no DMA uses it any more.
pub fn forgotten_page(mutation: Option<Mutation>) {
    let mut world = pair();
    for node in &mut world.nodes {
        node.gm.nic_mut().mutation = mutation;
    }
    // A send from it.
    let one = message(2, 3000);
    let page = 0x40_0000;
    exchange(&mut world, std::slice::from_ref(&one));
    let number = world.nodes[0].post(2, 1 << 16 | 4 << 8 | (70 + 12), page, 100, 0);
    world.nodes[1].provide(2, 12, 0, 1);
    world.run(30);
    world.receive();
    assert_eq!(world.nodes[0].sent.pop(), Some((2, number, OK)));
    world.nodes[0].deregister(page, PROCESS);
    let number = world.nodes[0].post(2, 1 << 16 | 4 << 8 | (70 + 12), page, 100, 0);
    world.run(30);
    world.receive();
    let denied = Status::PermissionDenied as u32;
    assert_eq!(world.nodes[0].sent.pop(), Some((2, number, denied)));
    world.nodes[0].resume(&one, RESUME);
    // A receive into it: the buffer was looked up when the token was taken.
    world.nodes[1].received.clear();
    let buffer = 0x44_0000;
    world.nodes[1].provide_at(buffer, 2, 12, 0, 1);
    world.settle();
    let before = world.nodes[1].memory(buffer, 4096);
    world.nodes[1].deregister(buffer, PROCESS);
    world.send(&message(2, 3000));
    world.run(3);
    assert_eq!(world.nodes[1].memory(buffer, 4096), before);
    assert_eq!(world.nodes[1].counter(Counter::Violations), 1);
    // Another buffer of that size takes the message.
    let buffer = world.nodes[1].buffer(capacity(12));
    world.nodes[1].provide_at(buffer + 4096, 2, 12, 0, 1);
    world.run(30);
    world.receive();
    assert_eq!(world.nodes[1].received, [message(2, 3000)]);
    assert_eq!(world.nodes[1].notices.len(), 1);
}

/// A receiver restarts, and its answer to the next packet is lost: the sender learns of the restart from the next answer.
#[test]
fn a_lost_answer_to_an_unknown_session_is_repeated() {
    let mut world = pair();
    exchange(&mut world, &[message(2, 9)]);
    world.nodes[1] = crate::node::Node::new(1, 2, 9);
    world.nodes[1].open(2);
    // The packet itself, then the answer.
    world.lose = vec![world.packets + 1];
    exchange(&mut world, &[message(2, 10)]);
    assert_eq!(world.nodes[1].received, [message(2, 10)]);
    assert_eq!(statuses(&mut world), [OK; 2]);
}

/// A receiver restarts; a copy of an acknowledged packet reaches it, for which it has no token. The packets that follow tell
/// the sender of the restart.
#[test]
fn an_old_first_packet_does_not_begin_a_session_without_a_token() {
    let mut world = pair();
    let one = message(2, 200);
    world.nodes[1].provide(2, one.size, 0, 1);
    world.send(&one);
    let mut copy = None;
    for action in [4, 4, 0, 4, 2] {
        world.act(0, action);
        copy = copy.or_else(|| world.links[1].front().cloned());
    }
    world.settle();
    world.nodes[1] = crate::node::Node::new(1, 2, 9);
    world.nodes[1].open(2);
    world.links[1].push_back(copy.expect("a packet"));
    world.settle();
    world.receive();
    exchange(&mut world, &[message(2, 300)]);
    assert_eq!(world.nodes[1].received, [message(2, 300)]);
    assert_eq!(statuses(&mut world), [OK; 2]);
}
