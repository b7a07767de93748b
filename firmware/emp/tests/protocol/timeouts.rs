//! Incomplete messages, and peers that restart in the middle of one: both hosts get an error, and no
//! abandoned frame is acknowledged.

use crate::common::nic::word_of;
use crate::common::{Faults, Node, Settings, World};
use crate::control::set;
use defs::emp::control::{Counter, RECEIVE_TIMEOUT_US, RETRY_LIMIT, TIMEOUT_US};
use defs::emp::descriptor::{ANY_NODE, ANY_TAG, Code, Form};
use defs::emp::frame::{Kind, WORD_FRAME_EPOCH, WORD_TYPE_KIND};
use emp::ACTIVE_SLOTS;
use emp::nic::Event;

const PATIENCE_US: u32 = 8000;

fn settings() -> Settings {
    Settings {
        timeout_us: 1000,
        retry_limit: 50,
        receive_timeout_us: 0,
        host_bytes: 4 << 20,
        ..Settings::default()
    }
}

/// Two nodes that abandon incomplete messages after [`PATIENCE_US`].
fn pair() -> World {
    let mut world = World::new(2, 3, &settings(), Faults::default());
    for node in 0..2 {
        set(&mut world, node, &[(RECEIVE_TIMEOUT_US, PATIENCE_US)]);
    }
    world
}

fn kind(frame: &[u8]) -> Option<Kind> {
    Kind::from_word(word_of(frame, WORD_TYPE_KIND))
}

/// Selects all frames of a message except the first.
fn is_data(frame: &[u8]) -> bool {
    kind(frame) == Some(Kind::Data)
}

/// Selects all frames of a message after the first group.
fn is_late_data(frame: &[u8]) -> bool {
    is_data(frame) && word_of(frame, WORD_FRAME_EPOCH) >> 16 > 2
}

fn now_us(world: &World, node: usize) -> u32 {
    world.nodes[node].emp.nic().now_us()
}

#[test]
pub fn a_receive_ends_when_its_sender_dies() {
    let mut world = pair();
    let receive = world.receive(1, ANY_NODE, ANY_TAG, 60_000, Form::Indirect);
    world.send(0, 1, 5, &[1; 60_000], Form::Indirect);
    world.run(10_000, |world| {
        world.nodes[1].counter(Counter::FramesAccepted) == 10
    });
    world.stalled = Some(0);
    world.nodes[0] = Node::start(0, 2, 2, &settings());
    let start_us = now_us(&world, 1);
    let outcome = world.await_outcome(1, receive.head);
    assert_eq!((outcome.code, outcome.tag), (Code::Timeout, 5));
    let waited_us = now_us(&world, 1).wrapping_sub(start_us);
    let expected = PATIENCE_US - PATIENCE_US / 8 - 100..=PATIENCE_US + 100;
    assert!(expected.contains(&waited_us), "{waited_us} us");
    world.stalled = None;
    world.check_exchange(0, 1, 10_000);
    world.check_exchange(1, 0, 10_000);
    world.settle();
}

#[test]
pub fn a_message_that_arrives_slowly_is_not_given_up() {
    let mut world = pair();
    set(
        &mut world,
        0,
        &[(TIMEOUT_US, PATIENCE_US / 32), (RETRY_LIMIT, 254)],
    );
    world.faults.loss = 70;
    let receive = world.receive(1, 0, 5, 30_000, Form::Indirect);
    let bytes = world.random.bytes(30_000);
    let send = world.send(0, 1, 5, &bytes, Form::Indirect);
    let outcome = world.await_outcome(1, receive.head);
    assert_eq!(outcome.code, Code::Done);
    assert!(world.received(1, &receive, outcome) == bytes);
    world.faults.loss = 0;
    assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    world.settle();
}

#[test]
pub fn a_sender_learns_that_its_receiver_gave_up() {
    let check = |loses: fn(&[u8]) -> bool, length: usize| {
        let mut world = pair();
        world.loses = loses;
        let receive = world.receive(1, 0, ANY_TAG, length, Form::Indirect);
        let send = world.send(0, 1, 5, &vec![1; length], Form::Indirect);
        assert_eq!(world.await_outcome(1, receive.head).code, Code::Timeout);
        assert_eq!(world.nodes[0].outcome(send.head), None);
        world.loses = |_| false;
        assert_eq!(world.await_outcome(0, send.head).code, Code::Timeout);
        assert!(world.nodes[1].counter(Counter::NacksSent) > 0);
        let nacks = world.nodes[0].counter(Counter::NacksReceived);
        assert!(nacks > 0);
        assert_eq!(world.nodes[0].events(Event::NackReceived), nacks);
        assert!(world.nodes[1].counter(Counter::DropAbandoned) > 0);
        world.check_exchange(0, 1, length);
        world.settle();
    };
    check(is_data, 4000);
    check(is_late_data, 20_000);
}

#[test]
pub fn what_is_forgotten_is_not_acknowledged_either() {
    let mut world = pair();
    world.loses = is_data;
    // More than there are records, so that some must be dropped.
    let messages: Vec<_> = (0..ACTIVE_SLOTS + 10)
        .map(|_| {
            let receive = world.receive(1, 0, 5, 4000, Form::Short);
            let send = world.send(0, 1, 5, &[1; 4000], Form::Short);
            (send, receive)
        })
        .collect();
    for (_, receive) in &messages {
        let code = world.await_outcome(1, receive.head).code;
        assert_eq!(code, Code::Timeout);
    }
    world.loses = |_| false;
    for (send, _) in &messages {
        assert_eq!(world.await_outcome(0, send.head).code, Code::Timeout);
    }
    // Without an older open message there is no doubt: acks are repeated again.
    world.loses = |frame| kind(frame) == Some(Kind::Ack);
    let receive = world.receive(1, 0, 6, 10, Form::Short);
    let send = world.send(0, 1, 6, &[2; 10], Form::Short);
    assert_eq!(world.await_outcome(1, receive.head).code, Code::Done);
    world.loses = |_| false;
    assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    world.settle();
}

#[test]
pub fn a_peer_that_starts_anew_has_not_half_a_message() {
    let mut world = pair();
    // Its second group is acknowledged; a frame of the first group is missing.
    world.loses = |frame| is_data(frame) && word_of(frame, WORD_FRAME_EPOCH) >> 16 == 1;
    world.receive(1, 0, 5, 8000, Form::Chained);
    let half = world.send(0, 1, 5, &[1; 8000], Form::Chained);
    let whole = world.send(0, 1, 6, &[2; 100], Form::Short);
    world.run(10_000, |world| {
        world.nodes[0].counter(Counter::AcksReceived) == 1
    });
    world.nodes[1] = Node::start(1, 2, 2, &settings());
    set(&mut world, 1, &[(RECEIVE_TIMEOUT_US, PATIENCE_US)]);
    world.loses = |_| false;
    // The new run would take retransmitted frames, and then wait for those that its earlier run had received.
    let receive = world.receive(1, 0, 5, 8000, Form::Chained);
    let other = world.receive(1, 0, 6, 100, Form::Short);
    assert_eq!(world.await_outcome(0, half.head).code, Code::Timeout);
    assert_eq!(world.await_outcome(1, receive.head).code, Code::Timeout);
    assert_eq!(world.await_outcome(0, whole.head).code, Code::Done);
    assert_eq!(world.await_outcome(1, other.head).code, Code::Done);
    world.settle();
}

#[test]
pub fn epochs_wrap() {
    let mut world = pair();
    for epoch in [0x7FFF, 0xFFFE, 0xFFFF, 0, 1, 0x8000] {
        world.nodes[0] = Node::start(0, 2, epoch, &settings());
        world.check_exchange(0, 1, 4000);
        world.check_exchange(1, 0, 4000);
    }
    // An epoch that is not later.
    world.nodes[0] = Node::start(0, 2, 0x7FFF, &settings());
    world.receive(1, 0, 1, 10, Form::Short);
    world.send(0, 1, 1, &[1; 10], Form::Short);
    world.run(100_000, |world| {
        world.nodes[1].counter(Counter::DropEpoch) > 0
    });
}
