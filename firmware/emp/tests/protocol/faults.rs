//! Faults other than those of the wire: silent peers, invalid descriptors, unmapped memory, exhausted
//! records and buffers, nodes that restart, invalid frames.

use crate::common::memory::{HostMemory, Random};
use crate::common::nic::{SHARED_BASE, word_of};
use crate::common::{Buffer, Faults, Node, Posting, Settings, World, descriptor_address};
#[cfg(not(target_os = "none"))]
use cases::cases;
use defs::emp::control::{Counter, MAILBOX_RECEIVE, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{
    ANY_NODE, ANY_TAG, Code, Form, MESSAGE_LIMIT_BYTES, STATUS_FORM_SHIFT, STATUS_NEXT_NONE,
    STATUS_NIC_OWNS, node_tag, page_entry, status_complete, status_posted,
};
use defs::emp::frame::{FLAG_GROUP_END, Kind, WORD_TYPE_KIND};
use emp::nic::Event;
use emp::{ACTIVE_SLOTS, MemoryPlan};
#[cfg(not(target_os = "none"))]
use proptest::prelude::*;

fn pair(settings: Settings) -> World {
    World::new(2, 11, &settings, Faults::default())
}

fn quick() -> Settings {
    Settings {
        timeout_us: 300,
        retry_limit: 3,
        ..Settings::default()
    }
}

fn kind(frame: &[u8]) -> Option<Kind> {
    Kind::from_word(word_of(frame, WORD_TYPE_KIND))
}

fn is_data(frame: &[u8]) -> bool {
    kind(frame) == Some(Kind::Data)
}

fn is_ack(frame: &[u8]) -> bool {
    kind(frame) == Some(Kind::Ack)
}

#[test]
pub fn a_silent_peer_is_given_up_after_the_last_retry() {
    // The second try leaves out the first frame of a group.
    let check = |length: usize, frames: u32, left_out: u32| {
        // So short that no earlier waits precede it.
        let mut world = pair(Settings {
            timeout_us: 140,
            ..quick()
        });
        world.loses = |_| true;
        let send = world.send(0, 1, 1, &vec![5; length], Form::Chained);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Timeout);
        let node = &world.nodes[0];
        assert_eq!(node.counter(Counter::FramesSent), frames);
        assert_eq!(node.counter(Counter::FramesResent), 3 * frames - left_out);
        assert_eq!(node.events(Event::Retransmit), 3);
        // 140 us, twice, four times and eight times as much.
        let waited = node.emp.nic().now_us().wrapping_sub(u32::MAX - 20_000);
        assert!((2100..2300).contains(&waited), "{waited} us");
        world.settle();
    };
    check(0, 1, 0);
    check(1000, 1, 0);
    check(10_000, 7, 1);
}

#[test]
pub fn a_message_that_was_given_up_does_not_hold_up_the_next() {
    let mut world = pair(quick());
    let unwanted = world.send(0, 1, 1, &[1; 100], Form::Short);
    let wanted = world.send(0, 1, 2, &[2; 100], Form::Short);
    let receive = world.receive(1, 0, 2, 100, Form::Short);
    assert_eq!(world.await_outcome(0, unwanted.head).code, Code::Timeout);
    // The wanted message was early all the time: it has been abandoned too, or arrives just in time.
    let first = world.await_outcome(0, wanted.head).code;
    if first == Code::Timeout {
        let again = world.send(0, 1, 2, &[2; 100], Form::Short);
        assert_eq!(world.await_outcome(0, again.head).code, Code::Done);
    }
    let outcome = world.await_outcome(1, receive.head);
    assert_eq!(
        (outcome.code, outcome.tag, outcome.length),
        (Code::Done, 2, 100)
    );
    world.settle();
}

#[test]
pub fn a_message_that_breaks_off_is_reported_at_its_receive() {
    let mut world = pair(quick());
    world.loses = is_data;
    let receive = world.receive(1, 0, ANY_TAG, 20_000, Form::Chained);
    let send = world.send(0, 1, 1, &[1; 20_000], Form::Chained);
    assert_eq!(world.await_outcome(0, send.head).code, Code::Timeout);
    world.loses = |_| false;
    assert_eq!(world.nodes[1].outcome(receive.head), None);
    world.check_exchange(0, 1, 5000);
    let outcome = world.await_outcome(1, receive.head);
    assert_eq!(
        (outcome.code, outcome.node, outcome.tag),
        (Code::Timeout, 0, 1)
    );
    world.settle();
}

#[test]
pub fn lost_acks_are_sent_again() {
    let mut world = pair(quick());
    world.loses = is_ack;
    let receive = world.receive(1, 0, 1, 9000, Form::Chained);
    let send = world.send(0, 1, 1, &[9; 9000], Form::Chained);
    assert_eq!(world.await_outcome(1, receive.head).code, Code::Done);
    assert_eq!(world.nodes[0].outcome(send.head), None);
    world.loses = |_| false;
    assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    assert!(world.nodes[1].counter(Counter::DropDuplicate) > 0);
    world.settle();
}

#[test]
pub fn descriptors_that_make_no_sense_come_back() {
    let mut world = pair(Settings::default());
    let memory = world.nodes[0].nic().host.allocate(4096, 0);
    let [high, low] = page_entry(memory, 4096);
    let [list_high, list_low] = page_entry(memory, 7);
    let to = node_tag(1, 1);
    let short = status_posted(Form::Short, STATUS_NEXT_NONE);
    let chained = |next| status_posted(Form::Chained, next);
    let indirect = status_posted(Form::Indirect, STATUS_NEXT_NONE);
    let formless = STATUS_NIC_OWNS | (3 << STATUS_FORM_SHIFT);
    let mut check = |receive: bool, words: [u32; 5], expected| {
        let head = if receive { 210 } else { 10 };
        world.nodes[0].write_descriptor(head, words);
        world.post(0, receive, head);
        let code = world.await_outcome(0, head).code;
        assert_eq!(code, expected, "receive {receive}: {words:#x?}");
    };
    for receive in [false, true] {
        let bad = Code::BadDescriptor;
        check(receive, [high, low, to, 4096, formless], bad);
        check(receive, [high, low, to, 4097, short], bad);
        check(receive, [0, 0, to, 1, short], bad);
        check(
            receive,
            [high, low, to, MESSAGE_LIMIT_BYTES + 1, indirect],
            bad,
        );
        check(receive, [high, low, to, u32::MAX, indirect], bad);
        check(receive, [list_high, list_low, to, 1, indirect], bad);
        check(receive, [high, low, to, 4096, chained(640)], bad);
        check(receive, [high, low, to, 4096, chained(0xFFFE)], bad);
        // A cyclic chain.
        check(
            receive,
            [high, low, to, 4096, chained(if receive { 210 } else { 10 })],
            bad,
        );
    }
    let unknown = Code::UnknownNode;
    check(false, [high, low, node_tag(2, 1), 10, short], unknown);
    check(
        false,
        [high, low, node_tag(ANY_NODE, 1), 10, short],
        unknown,
    );
    world.check_exchange(0, 1, 3000);
    world.settle();
}

#[test]
pub fn a_list_that_ends_too_early_fails_its_message() {
    let check = |receive: bool| {
        let mut world = pair(quick());
        let node = usize::from(receive);
        let host = &mut world.nodes[node].nic().host;
        let piece = host.allocate(2000, 0);
        let buffer = Buffer {
            pieces: vec![(piece, 2000)],
            form: Form::Indirect,
        };
        let peer = node_tag(1 - node as u16, 1);
        let posting = world.nodes[node]
            .prepare(receive, peer, 6000, buffer)
            .expect("descriptors");
        if receive {
            world.post(1, true, posting.head);
            let send = world.send(0, 1, 1, &[1; 6000], Form::Chained);
            assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        } else {
            world.post(0, false, posting.head);
        }
        let outcome = world.await_outcome(node, posting.head);
        assert_eq!(outcome.code, Code::BadDescriptor);
        world.check_exchange(0, 1, 6000);
        world.settle();
    };
    check(false);
    check(true);
}

#[test]
pub fn mailboxes_that_name_nothing_are_acknowledged_and_ignored() {
    let mut world = pair(Settings::default());
    let owned = status_posted(Form::Short, STATUS_NEXT_NONE);
    let node = &mut world.nodes[0];
    node.write_descriptor(5, [0, 0, node_tag(1, 1), 0, status_complete(Code::Done, 0)]);
    node.write_descriptor(6, [0, 0, node_tag(1, 1), 0, owned]);
    node.write_descriptor(300, [0, 0, node_tag(1, 1), 0, owned]);
    let check = |world: &mut World, mailbox, value| {
        let before = world.nodes[0].counter(Counter::BadPosts);
        world.nodes[0].nic().write_mailbox(mailbox, value);
        world.run(100, |world| world.nodes[0].emp.nic().mailbox_free(mailbox));
        world.settle();
        let bad = world.nodes[0].counter(Counter::BadPosts) - before;
        assert_eq!(bad, 1, "mailbox {mailbox}: {value:#x}");
    };
    for mailbox in [MAILBOX_TRANSMIT, MAILBOX_RECEIVE] {
        for value in [0, 4, u32::MAX, SHARED_BASE - 20, descriptor_address(640)] {
            check(&mut world, mailbox, value);
        }
        for byte in 1..20 {
            check(&mut world, mailbox, descriptor_address(6) + byte);
        }
        check(&mut world, mailbox, descriptor_address(5));
    }
    check(&mut world, MAILBOX_TRANSMIT, descriptor_address(300));
    check(&mut world, MAILBOX_RECEIVE, descriptor_address(6));
    // A receive that is already posted.
    world.post(0, true, 300);
    world.run(100, |world| world.nodes[0].mailbox_free(true));
    check(&mut world, MAILBOX_RECEIVE, descriptor_address(300));
}

/// A buffer of three pieces, one of them unmapped.
fn holey(node: &mut Node, hole: usize, form: Form) -> Buffer {
    let pieces = (0..3)
        .map(|index| {
            let address = node.nic().host.allocate(4000, 0);
            let address = if index == hole {
                HostMemory::NOWHERE
            } else {
                address
            };
            (address, 4000)
        })
        .collect();
    Buffer { pieces, form }
}

#[test]
pub fn host_memory_that_does_not_answer_fails_the_message_alone() {
    let check = |hole: usize, form: Form, receive: bool| {
        let mut world = pair(quick());
        world.faults.slow_dma = 60;
        let node = usize::from(receive);
        let peer = node_tag(1 - node as u16, 1);
        let buffer = holey(&mut world.nodes[node], hole, form);
        let posting = world.nodes[node]
            .prepare(receive, peer, 12_000, buffer)
            .expect("descriptors");
        if receive {
            world.post(1, true, posting.head);
            let send = world.send(0, 1, 1, &[1; 12_000], Form::Chained);
            assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        } else {
            world.post(0, false, posting.head);
        }
        let outcome = world.await_outcome(node, posting.head);
        assert_eq!(outcome.code, Code::HostMemory, "{hole} {form:?} {receive}");
        assert!(world.nodes[node].counter(Counter::DmaErrors) > 0);
        world.check_exchange(0, 1, 12_000);
        world.check_exchange(1, 0, 100);
        world.settle();
    };
    for receive in [false, true] {
        for hole in 0..3 {
            check(hole, Form::Chained, receive);
            check(hole, Form::Indirect, receive);
        }
    }
}

#[test]
pub fn a_list_that_does_not_answer_fails_the_message_alone() {
    let check = |receive: bool| {
        let mut world = pair(quick());
        let node = usize::from(receive);
        let [high, low] = page_entry(HostMemory::NOWHERE, 4096);
        let head = if receive { 600 } else { 150 };
        let status = status_posted(Form::Indirect, STATUS_NEXT_NONE);
        let peer = node_tag(1 - node as u16, 1);
        world.nodes[node].write_descriptor(head, [high, low, peer, 9000, status]);
        world.post(node, receive, head);
        if receive {
            let send = world.send(0, 1, 1, &[1; 9000], Form::Chained);
            assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        }
        assert_eq!(world.await_outcome(node, head).code, Code::HostMemory);
        world.check_exchange(0, 1, 9000);
        world.settle();
    };
    check(false);
    check(true);
}

#[test]
pub fn tiny_pieces_outnumber_the_dma_ring() {
    let check = |receive: bool| {
        let mut world = pair(Settings::default());
        let node = usize::from(receive);
        let bytes = Random::new(3).bytes(500);
        let pieces = (0..500)
            .map(|_| (world.nodes[node].nic().host.allocate(1, 3), 1))
            .collect();
        let buffer = Buffer {
            pieces,
            form: Form::Indirect,
        };
        if !receive {
            world.nodes[0].fill(&buffer, &bytes);
        }
        let peer = node_tag(1 - node as u16, 1);
        let scattered = world.nodes[node]
            .prepare(receive, peer, 500, buffer)
            .expect("descriptors");
        let (receive, send);
        if node == 1 {
            world.post(1, true, scattered.head);
            send = world.send(0, 1, 1, &bytes, Form::Short);
            receive = scattered;
        } else {
            receive = world.receive(1, 0, 1, 500, Form::Short);
            world.post(0, false, scattered.head);
            send = scattered;
        }
        let outcome = world.await_outcome(1, receive.head);
        assert_eq!(outcome.code, Code::Done);
        assert!(world.received(1, &receive, outcome) == bytes);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
        world.settle();
    };
    check(false);
    check(true);
}

/// Posts `count` messages and their receives at once.
fn burst(world: &mut World, count: usize, length: usize) -> Vec<(Posting, Posting)> {
    (0..count)
        .map(|_| {
            let receive = world.receive(1, ANY_NODE, ANY_TAG, length, Form::Short);
            let send = world.send(0, 1, 1, &vec![7; length], Form::Short);
            (send, receive)
        })
        .collect()
}

fn check_burst(world: &mut World, burst: &[(Posting, Posting)]) {
    for (send, receive) in burst {
        assert_eq!(world.await_outcome(1, receive.head).code, Code::Done);
        assert_eq!(world.await_outcome(0, send.head).code, Code::Done);
    }
    world.settle();
}

#[test]
pub fn active_records_run_out_and_come_back() {
    let mut world = pair(Settings {
        timeout_us: 2000,
        retry_limit: 200,
        ..Settings::default()
    });
    world.loses = is_data;
    let messages = burst(&mut world, ACTIVE_SLOTS + 20, 3000);
    world.run(100_000, |world| {
        world.nodes[1].counter(Counter::DropResources) > 0
    });
    world.loses = |_| false;
    check_burst(&mut world, &messages);
}

#[test]
pub fn all_send_descriptors_at_once() {
    let mut world = pair(Settings::default());
    let messages = burst(&mut world, 200, 2000);
    check_burst(&mut world, &messages);
}

#[test]
pub fn acks_wait_for_a_mac_that_stands() {
    let mut world = pair(Settings {
        timeout_us: 500,
        retry_limit: 100,
        ..Settings::default()
    });
    world.stalled = Some(1);
    let messages = burst(&mut world, 150, 10);
    world.run(1_000_000, |world| {
        world.nodes[1].counter(Counter::DropResources) > 5
    });
    world.stalled = None;
    check_burst(&mut world, &messages);
}

#[test]
pub fn identifiers_wrap() {
    let mut world = pair(Settings::default());
    let at = MemoryPlan::at(SHARED_BASE).routes() + 16 + 8;
    world.nodes[0].nic().store(at, 0xFFF0 << 16);
    for _ in 0..40 {
        world.check_exchange(0, 1, 2000);
    }
    world.settle();
}

#[test]
pub fn a_node_that_starts_anew_is_met_again() {
    let settings = quick();
    let mut world = pair(settings);
    for _ in 0..3 {
        world.check_exchange(0, 1, 4000);
        world.check_exchange(1, 0, 4000);
    }
    // A frame of the earlier run, and an incomplete message.
    let mut stale = Vec::new();
    let half = world.receive(1, 0, ANY_TAG, 20_000, Form::Chained);
    world.loses = is_data;
    world.send(0, 1, 9, &[1; 20_000], Form::Chained);
    for _ in 0..100 {
        world.step();
        stale.extend(world.nodes[0].nic().sent.iter().cloned());
    }
    world.loses = |_| false;
    world.nodes[0] = Node::start(0, 2, 2, &settings);
    world.check_exchange(0, 1, 4000);
    assert_eq!(world.await_outcome(1, half.head).code, Code::Timeout);
    // The other node's identifiers continue; the new run begins with them.
    world.check_exchange(1, 0, 4000);
    let mut old = Node::start(0, 2, 1, &settings);
    let bytes = [3; 100];
    let mut random = Random::new(1);
    let buffer = old.buffer(&mut random, bytes.len(), Form::Short);
    let posting = old
        .prepare(false, node_tag(1, 77), 100, buffer)
        .expect("descriptors");
    old.post(false, posting.head);
    for _ in 0..10 {
        old.dispatch();
        old.nic().step_read();
        old.nic().step_mac();
    }
    let wanted = world.receive(1, ANY_NODE, ANY_TAG, 100, Form::Short);
    stale.extend(old.nic().sent.drain(..));
    assert!(!stale.is_empty());
    for frame in stale {
        world.carry(frame);
    }
    world.run(1000, |world| world.nodes[1].counter(Counter::DropEpoch) > 0);
    world.settle();
    assert_eq!(world.nodes[1].outcome(wanted.head), None);
}

#[cfg(not(target_os = "none"))]
proptest! {
    #![proptest_config(cases(200))]

    /// Frames with the right Ethertype and any content.
    #[test]
    fn no_frame_can_stop_the_cpu(
        frames in prop::collection::vec(
            (0u32..6, any::<u8>(), any::<bool>(), 0u32..4, 0u32..4, prop::array::uniform5(any::<u32>()), 14usize..1600),
            1..40,
        ),
        small in any::<bool>(),
    ) {
        let mut world = pair(quick());
        for form in [Form::Short, Form::Chained, Form::Indirect] {
            world.receive(1, ANY_NODE, ANY_TAG, 9000, form);
        }
        for length in [0, 3000] {
            world.send(1, 0, 1, &vec![1; length], Form::Chained);
        }
        for (kind, place, end, source, id, words, length) in frames {
            let flags = if end { FLAG_GROUP_END } else { 0 };
            let word = |value: u32| if small { value & 0x0003_0003 } else { value };
            let header = [
                0x0260_0000, 0x0001_0260, 0,
                0x88B5_0000 | (kind << 12) | flags | u32::from(place),
                (source << 16) | id,
                word(words[0]), word(words[1]), word(words[2]), word(words[3]), words[4],
            ];
            let mut frame: Vec<u8> = header.into_iter().flat_map(u32::to_be_bytes).collect();
            frame.resize(length, 0xAB);
            world.nodes[1].nic().receive(&frame, true);
            for _ in 0..5 {
                world.step();
            }
        }
        world.run(100_000, |world| world.nodes.iter().all(|node| {
            let nic = node.emp.nic();
            nic.is_quiet() && !nic.timer_armed() && nic.buffers_are_free()
        }));
    }

    /// Descriptors of any content, any address in the mailboxes.
    #[test]
    fn no_descriptor_can_stop_the_cpu(
        posts in prop::collection::vec(
            (any::<bool>(), 0u32..640, prop::array::uniform5(any::<u32>()), 0u32..5, any::<bool>()),
            1..60,
        ),
    ) {
        let mut world = pair(quick());
        for (receive, index, mut words, form, tame) in posts {
            if tame {
                words[0] = (words[0] & 0x0FFF_0000) | 2;
                words[1] |= 0xFFF0_0000;
                words[2] &= 0x0001_0001;
                words[3] &= 0x3FFF;
                words[4] = STATUS_NIC_OWNS | (form << STATUS_FORM_SHIFT) | (words[4] % 700);
            }
            world.nodes[0].write_descriptor(index, words);
            world.post(0, receive, index);
            for _ in 0..20 {
                world.step();
            }
        }
        world.settle();
    }
}
