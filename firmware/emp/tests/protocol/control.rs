//! Host requests while the protocol runs: receives are cancelled, settings change.

use crate::common::nic::SHARED_BASE;
use crate::common::{Faults, Settings, World, descriptor_address};
use defs::emp::control::{
    ACK_GROUP, COMMAND_SET, Counter, MAILBOX_CANCEL, MAILBOX_COMMAND, RETRY_LIMIT, TIMEOUT_US,
};
use defs::emp::descriptor::{ANY_NODE, ANY_TAG, Code, Form};
use emp::nic::Event;

fn pair() -> World {
    let settings = Settings {
        receive_timeout_us: 0,
        host_bytes: 1 << 20,
        ..Settings::default()
    };
    World::new(2, 5, &settings, Faults::default())
}

/// Writes a mailbox and waits until the firmware has acknowledged it.
fn ask(world: &mut World, node: usize, mailbox: u32, value: u32) {
    world.nodes[node].nic().write_mailbox(mailbox, value);
    world.run(10_000, |world| {
        world.nodes[node].emp.nic().mailbox_free(mailbox)
    });
}

fn cancel(world: &mut World, node: usize, head: u32) {
    ask(world, node, MAILBOX_CANCEL, descriptor_address(head));
}

/// Writes control words and waits until the firmware has read them.
pub fn set(world: &mut World, node: usize, words: &[(u32, u32)]) {
    for &(word, value) in words {
        world.nodes[node].nic().store(word, value);
    }
    ask(world, node, MAILBOX_COMMAND, COMMAND_SET);
}

#[test]
pub fn a_receive_that_waits_comes_back_and_matches_nothing() {
    let mut world = pair();
    let receives: Vec<_> = (0..3)
        .map(|_| world.receive(1, ANY_NODE, ANY_TAG, 100, Form::Short))
        .collect();
    world.run(1000, |world| world.nodes[1].mailbox_free(true));
    cancel(&mut world, 1, receives[1].head);
    let outcome = world.nodes[1].outcome(receives[1].head);
    assert_eq!(outcome.map(|outcome| outcome.code), Some(Code::Cancelled));
    assert_eq!(world.nodes[1].events(Event::ReceiveCancelled), 1);
    for (receive, byte) in [(&receives[0], 1), (&receives[2], 2)] {
        let send = world.send(0, 1, 7, &[byte; 100], Form::Short);
        let outcome = world.await_outcome(1, receive.head);
        assert_eq!(outcome.code, Code::Done);
        assert_eq!(world.received(1, receive, outcome), [byte; 100]);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    }
    // It can be posted again.
    world.nodes[1].retire(true, &receives[1]);
    world.check_exchange(0, 1, 1000);
    world.settle();
}

#[test]
pub fn a_cancel_at_any_moment_yields_one_outcome() {
    let mut cancelled = 0;
    let mut delivered = 0;
    for steps in 0..150 {
        let mut world = pair();
        let receive = world.receive(1, ANY_NODE, ANY_TAG, 6000, Form::Chained);
        let bytes = world.random.bytes(6000);
        let send = world.send(0, 1, 7, &bytes, Form::Chained);
        for _ in 0..steps {
            world.step();
        }
        cancel(&mut world, 1, receive.head);
        let code = world.await_outcome(1, receive.head).code;
        let took = if code == Code::Cancelled {
            cancelled += 1;
            world.receive(1, 0, 7, 6000, Form::Indirect)
        } else {
            delivered += 1;
            receive
        };
        let outcome = world.await_outcome(1, took.head);
        assert_eq!(outcome.code, Code::Done, "cancelled after {steps} steps");
        assert!(world.received(1, &took, outcome) == bytes);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        assert_eq!(world.nodes[1].counter(Counter::BadPosts), 0);
        world.settle();
    }
    assert!(
        cancelled > 1 && delivered > 1,
        "{cancelled} cancelled, {delivered} delivered"
    );
}

#[test]
pub fn what_cannot_be_cancelled_or_obeyed_changes_nothing() {
    let mut world = pair();
    let receive = world.receive(1, 0, 7, 100, Form::Short);
    world.run(1000, |world| world.nodes[1].mailbox_free(true));
    let bad = |world: &mut World, mailbox, value, counted| {
        let before = world.nodes[1].counter(Counter::BadPosts);
        ask(world, 1, mailbox, value);
        world.settle();
        let after = world.nodes[1].counter(Counter::BadPosts);
        assert_eq!(after - before, counted, "mailbox {mailbox}: {value:#x}");
    };
    for value in [
        u32::MAX,
        SHARED_BASE - 20,
        descriptor_address(640),
        descriptor_address(199),
        descriptor_address(receive.head) + 4,
    ] {
        bad(&mut world, MAILBOX_CANCEL, value, 1);
    }
    for value in [1, 3, u32::MAX] {
        bad(&mut world, MAILBOX_COMMAND, value, 1);
    }
    bad(&mut world, 6, 0, 1);
    bad(&mut world, 31, 0, 1);
    // A receive that is not posted.
    bad(&mut world, MAILBOX_CANCEL, descriptor_address(600), 0);
    let send = world.send(0, 1, 7, &[4; 100], Form::Short);
    assert_eq!(world.await_outcome(1, receive.head).code, Code::Done);
    bad(
        &mut world,
        MAILBOX_CANCEL,
        descriptor_address(receive.head),
        0,
    );
    assert_eq!(world.await_outcome(1, receive.head).code, Code::Done);
    assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    world.settle();
}

#[test]
fn a_posting_and_its_cancel_may_be_seen_together() {
    let mut world = pair();
    let buffer = {
        let World { nodes, random, .. } = &mut world;
        nodes[1].buffer(random, 100, Form::Short)
    };
    let posting = world.nodes[1].prepare(true, 7, 100, buffer).expect("free");
    world.nodes[1].post(true, posting.head);
    cancel(&mut world, 1, posting.head);
    assert_eq!(world.await_outcome(1, posting.head).code, Code::Cancelled);
    world.settle();
}

#[test]
pub fn ack_groups_change_between_messages_not_within() {
    for (first, second) in [(3, 1), (1, 16), (16, 3), (2, 5)] {
        let mut world = pair();
        set(&mut world, 0, &[(ACK_GROUP, first)]);
        let receive = world.receive(1, 0, 7, 60_000, Form::Indirect);
        let bytes = world.random.bytes(60_000);
        // Lost frames are sent again in the old groups.
        world.faults.loss = 10;
        let send = world.send(0, 1, 7, &bytes, Form::Indirect);
        world.run(10_000, |world| {
            world.nodes[0].counter(Counter::FramesSent) >= 20
        });
        set(&mut world, 0, &[(ACK_GROUP, second)]);
        let outcome = world.await_outcome(1, receive.head);
        assert!(world.received(1, &receive, outcome) == bytes);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        world.faults.loss = 0;
        world.settle();
        let acks = world.nodes[1].counter(Counter::AcksSent);
        // 20 frames.
        world.check_exchange(0, 1, 1478 + 19 * 1486);
        let acks = world.nodes[1].counter(Counter::AcksSent) - acks;
        assert_eq!(acks, 20_u32.div_ceil(second), "{first} to {second}");
        world.settle();
    }
}

#[test]
pub fn timeout_and_retry_limit_hold_at_once() {
    let mut world = pair();
    world.loses = |_| true;
    // Less than the first early wait, which is an eighth of the default timeout and 128 us.
    set(&mut world, 0, &[(TIMEOUT_US, 300), (RETRY_LIMIT, 254)]);
    let send = world.send(0, 1, 7, &[1; 100], Form::Short);
    let retries = |world: &World| world.nodes[0].events(Event::Retransmit);
    world.run(20_000, |world| retries(world) == 3);
    set(&mut world, 0, &[(TIMEOUT_US, 100), (RETRY_LIMIT, 5)]);
    let start_us = world.nodes[0].emp.nic().now_us();
    assert_eq!(world.await_outcome(0, send.head).code, Code::Timeout);
    let waited_us = world.nodes[0].emp.nic().now_us().wrapping_sub(start_us);
    // The rest of the third wait (2400 us), then 1600 us twice.
    assert!((5_500..5_800).contains(&waited_us), "{waited_us} us");
    assert_eq!(retries(&world), 5);
    // Invalid values select the default.
    set(&mut world, 0, &[(TIMEOUT_US, 0), (RETRY_LIMIT, 255)]);
    let before = retries(&world);
    let send = world.send(0, 1, 7, &[1; 100], Form::Short);
    assert_eq!(world.await_outcome(0, send.head).code, Code::Timeout);
    // Early waits come first: an eighth of the timeout and 128 us, twice and four times as much, each two times.
    assert_eq!(retries(&world) - before, 6 + 10);
    world.settle();
}
