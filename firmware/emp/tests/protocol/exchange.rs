//! Messages between two nodes over a faulty wire: every message arrives exactly once, in order, complete.

use std::collections::VecDeque;

use crate::common::memory::Random;
use crate::common::{Faults, Posting, Settings, World};
#[cfg(not(target_os = "none"))]
use cases::cases;
use defs::emp::descriptor::{ANY_NODE, ANY_TAG, Code, Form, node_tag};
#[cfg(not(target_os = "none"))]
use proptest::prelude::*;

/// A message and its receive.
struct Message {
    bytes: Vec<u8>,
    tag: u16,
    send_form: Form,
    key: u32,
    capacity: usize,
    receive_form: Form,
}

/// The messages of one direction.
struct Flow {
    from: usize,
    to: usize,
    messages: Vec<Message>,
    sends: VecDeque<Posting>,
    sent: usize,
    acknowledged: usize,
    receives: Vec<Posting>,
    delivered: usize,
}

fn random_message(random: &mut Random, from: u16, most: usize) -> Message {
    let length = match random.below(8) {
        0 => 0,
        1 => random.below(100) as usize,
        2 => 1478 + random.below(3) as usize,
        3..6 => random.below(8000) as usize,
        _ => random.below(most as u64) as usize,
    };
    let tag = random.below(4) as u16;
    let form = |random: &mut Random, length: usize| match random.below(3) {
        0 if length <= 65_535 => Form::Short,
        1 if length <= 7 * 65_535 => Form::Chained,
        _ => Form::Indirect,
    };
    let capacity = match random.below(6) {
        0 => length + random.below(5000) as usize,
        1 => random.below(length as u64 + 1) as usize,
        _ => length,
    };
    let node = if random.chance(30) { ANY_NODE } else { from };
    let wanted = if random.chance(30) { ANY_TAG } else { tag };
    Message {
        bytes: random.bytes(length),
        tag,
        send_form: form(random, length),
        key: node_tag(node, wanted),
        capacity,
        receive_form: form(random, capacity),
    }
}

impl Flow {
    fn new(random: &mut Random, from: usize, count: usize, most: usize) -> Self {
        Self {
            from,
            to: 1 - from,
            messages: (0..count)
                .map(|_| random_message(random, from as u16, most))
                .collect(),
            sends: VecDeque::new(),
            sent: 0,
            acknowledged: 0,
            receives: Vec::new(),
            delivered: 0,
        }
    }

    /// Lets the two hosts post messages and collect complete ones.
    fn advance(&mut self, world: &mut World, outstanding: usize) {
        let ahead = self.receives.len() - self.delivered;
        if self.receives.len() < self.messages.len()
            && ahead < 2 * outstanding
            && world.nodes[self.to].mailbox_free(true)
        {
            let message = &self.messages[self.receives.len()];
            let node = &mut world.nodes[self.to];
            let buffer = node.buffer(&mut world.random, message.capacity, message.receive_form);
            let capacity = message.capacity as u32;
            if let Some(posting) = node.prepare(true, message.key, capacity, buffer) {
                node.post(true, posting.head);
                self.receives.push(posting);
            }
        }
        if self.sent < self.messages.len()
            && self.sends.len() < outstanding
            && world.nodes[self.from].mailbox_free(false)
        {
            let message = &self.messages[self.sent];
            let node = &mut world.nodes[self.from];
            let length = message.bytes.len();
            let buffer = node.buffer(&mut world.random, length, message.send_form);
            node.fill(&buffer, &message.bytes);
            let key = node_tag(self.to as u16, message.tag);
            if let Some(posting) = node.prepare(false, key, length as u32, buffer) {
                node.post(false, posting.head);
                self.sends.push_back(posting);
                self.sent += 1;
            }
        }
        let node = &mut world.nodes[self.from];
        if let Some(posting) = self.sends.front()
            && let Some(outcome) = node.outcome(posting.head)
        {
            assert_eq!(outcome.code, Code::Done, "message {}", self.acknowledged);
            node.retire(false, posting);
            self.sends.pop_front();
            self.acknowledged += 1;
        }
        while let Some(posting) = self.receives.get(self.delivered)
            && let Some(outcome) = world.nodes[self.to].outcome(posting.head)
        {
            self.check_delivery(world, outcome);
            world.nodes[self.to].retire(true, &self.receives[self.delivered]);
            self.delivered += 1;
        }
    }

    /// Checks one delivery. The receives were posted in the order of the messages, each with a match:
    /// receive `n` must hold message `n`, whatever its wildcards.
    fn check_delivery(&self, world: &World, outcome: crate::common::Outcome) {
        let message = &self.messages[self.delivered];
        let (length, capacity) = (message.bytes.len(), message.capacity);
        let code = if length > capacity {
            Code::Truncated
        } else {
            Code::Done
        };
        let expected = crate::common::Outcome {
            code,
            node: self.from as u16,
            tag: message.tag,
            length: length as u32,
        };
        assert_eq!(outcome, expected, "message {}", self.delivered);
        let got = world.received(self.to, &self.receives[self.delivered], outcome);
        let fits = length.min(capacity);
        assert!(got[..fits] == message.bytes[..fits], "bytes differ");
    }

    fn is_done(&self) -> bool {
        self.acknowledged == self.messages.len() && self.delivered == self.messages.len()
    }
}

/// Exchanges random messages both ways.
fn exchange(seed: u64, settings: &Settings, faults: Faults, count: usize, most: usize) -> World {
    let mut random = Random::new(seed);
    let mut flows = [
        Flow::new(&mut random, 0, count, most),
        Flow::new(&mut random, 1, count, most),
    ];
    let outstanding = 1 + random.below(8) as usize;
    let mut world = World::new(2, seed ^ 0x5EED, settings, faults);
    world.run(6_000_000, |world| {
        for flow in &mut flows {
            flow.advance(world, outstanding);
        }
        flows.iter().all(Flow::is_done)
    });
    world.settle();
    world
}

#[cfg(not(target_os = "none"))]
proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_message_arrives_once_in_order_and_whole(
        seed in any::<u64>(),
        loss in 0u64..8,
        duplication in 0u64..6,
        reordering in 0u64..20,
        damage in 0u64..3,
        slow_dma in 0u64..95,
        ack_group in 1u32..=16,
        frame_bytes in prop_oneof![Just(1500u32), Just(576), Just(9000)],
    ) {
        let settings = Settings { ack_group, frame_bytes, ..Settings::default() };
        let faults = Faults { loss, duplication, reordering, damage, slow_dma };
        exchange(seed, &settings, faults, 20, 200_000);
    }
}

#[test]
pub fn a_good_wire_needs_no_retransmission() {
    use defs::emp::control::Counter;
    let settings = Settings {
        timeout_us: 100_000,
        ..Settings::default()
    };
    let world = exchange(7, &settings, Faults::default(), 40, 100_000);
    for node in &world.nodes {
        assert_eq!(node.counter(Counter::FramesResent), 0);
        let acks: u32 = node.counter(Counter::AcksSent);
        assert!(acks >= node.counter(Counter::FramesAccepted) / 3);
    }
}

#[test]
pub fn the_longest_message_arrives() {
    let check = |seed, faults, ack_group| {
        let settings = Settings {
            ack_group,
            ..Settings::default()
        };
        let mut world = World::new(2, seed, &settings, faults);
        let bytes = Random::new(seed).bytes(2 << 20);
        let receive = world.receive(1, 0, 3, bytes.len(), Form::Indirect);
        let send = world.send(0, 1, 3, &bytes, Form::Indirect);
        let outcome = world.await_outcome(1, receive.head);
        assert_eq!(outcome.code, Code::Done);
        assert!(world.received(1, &receive, outcome) == bytes);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        world.settle();
    };
    check(1, Faults::default(), 3);
    check(
        2,
        Faults {
            loss: 2,
            reordering: 10,
            slow_dma: 50,
            ..Faults::default()
        },
        1,
    );
}
