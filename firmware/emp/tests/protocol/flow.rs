//! Flow control: a receiver that is short of buffer space slows its own senders down, and no others.

use crate::common::{Faults, Settings, World};
use crate::control::set;
use defs::emp::control::{Counter, FLOW_CONTROL};
use defs::emp::descriptor::{ANY_NODE, Code, Form};

const LENGTH: usize = 60_000;

fn world(nodes: u32, flow_control: bool) -> World {
    let settings = Settings {
        receive_timeout_us: 0,
        host_bytes: 4 << 20,
        ..Settings::default()
    };
    let mut world = World::new(nodes, 9, &settings, Faults::default());
    for node in 0..nodes as usize {
        set(&mut world, node, &[(FLOW_CONTROL, flow_control.into())]);
    }
    world
}

/// Sends messages to a node with slow host memory. Returns the number of retransmitted frames and of
/// pauses.
fn flood(flow_control: bool) -> (u32, u32) {
    let mut world = world(2, flow_control);
    world.faults.slow_dma = 93;
    let messages: Vec<_> = (0..8)
        .map(|_| {
            let bytes = world.random.bytes(LENGTH);
            let receive = world.receive(1, ANY_NODE, 7, LENGTH, Form::Indirect);
            let send = world.send(0, 1, 7, &bytes, Form::Indirect);
            (bytes, send, receive)
        })
        .collect();
    for (bytes, send, receive) in messages {
        let outcome = world.await_outcome(1, receive.head);
        assert_eq!(outcome.code, Code::Done);
        assert!(world.received(1, &receive, outcome) == bytes);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    }
    world.faults.slow_dma = 0;
    world.settle();
    let sender = &world.nodes[0];
    (
        sender.counter(Counter::FramesResent),
        sender.counter(Counter::FramesHeld),
    )
}

#[test]
pub fn off_it_holds_nothing_back() {
    let (_, held) = flood(false);
    assert_eq!(held, 0);
}

#[test]
pub fn on_every_message_arrives() {
    let (_, _) = flood(true);
}

/// Sets node 0's rate for `node` to one frame per 512 us.
fn slow_down(world: &mut World, node: u32) {
    use defs::emp::control::{FLOW_RATE_SHIFT, ROUTE_ENTRY_BYTES, ROUTE_EPOCH};
    let routes = emp::MemoryPlan::at(crate::common::nic::SHARED_BASE).routes();
    let at = routes + ROUTE_ENTRY_BYTES * node + 4 * ROUTE_EPOCH;
    let nic = world.nodes[0].nic();
    let word = nic.load(at) | 6 << FLOW_RATE_SHIFT;
    nic.store(at, word);
}

#[test]
fn a_slow_receiver_slows_no_other_flow() {
    let mut world = world(3, true);
    for node in 1..3 {
        world.check_exchange(0, node, 100);
    }
    slow_down(&mut world, 1);
    let mut ends = [0; 3];
    let start_us = world.nodes[0].emp.nic().now_us();
    let messages: Vec<_> = [1, 1, 2]
        .into_iter()
        .map(|to| {
            let bytes = world.random.bytes(3000);
            let receive = world.receive(to, 0, 7, 3000, Form::Chained);
            let send = world.send(0, to as u16, 7, &bytes, Form::Chained);
            (to, bytes, send, receive)
        })
        .collect();
    world.run(100_000, |world| {
        for (end, (to, _, _, receive)) in ends.iter_mut().zip(&messages) {
            let done = world.nodes[*to].outcome(receive.head).is_some();
            if *end == 0 && done {
                *end = world.nodes[*to].emp.nic().now_us().wrapping_sub(start_us);
            }
        }
        ends.iter().all(|&end| end != 0)
    });
    for (to, bytes, send, receive) in &messages {
        let outcome = world.await_outcome(*to, receive.head);
        assert!(world.received(*to, receive, outcome) == *bytes);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    }
    assert!(
        ends[2] < 300 && ends[0] > 800 && ends[1] > ends[0],
        "{ends:?}"
    );
    let node = &world.nodes[0];
    assert!(node.counter(Counter::FramesHeld) > 0);
    // Held messages went out in their order.
    assert_eq!(world.nodes[1].counter(Counter::DropEarly), 0);
    world.settle();
}

#[test]
fn what_is_held_goes_when_flow_control_ends() {
    let mut world = world(2, true);
    world.check_exchange(0, 1, 100);
    slow_down(&mut world, 1);
    let receive = world.receive(1, 0, 7, 10_000, Form::Chained);
    let send = world.send(0, 1, 7, &[1; 10_000], Form::Chained);
    world.run(1000, |world| {
        world.nodes[0].counter(Counter::FramesHeld) > 0
    });
    set(&mut world, 0, &[(FLOW_CONTROL, 0)]);
    let start_us = world.nodes[0].emp.nic().now_us();
    assert_eq!(world.await_outcome(1, receive.head).code, Code::Done);
    assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    let waited_us = world.nodes[0].emp.nic().now_us().wrapping_sub(start_us);
    assert!(waited_us < 300, "{waited_us} us");
    world.settle();
}
