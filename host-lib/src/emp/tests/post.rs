//! Posts: forms, pieces, limits, pools, and bus accesses.

use defs::emp::control::{MAILBOX_RECEIVE, MAILBOX_TRANSMIT};
use defs::emp::descriptor::{Form, STATUS_NEXT_NONE};
use defs::tigon2::map::{WINDOW_VIEW, window_mailbox};
use defs::tigon2::regs::WINDOW_BASE;

use super::*;
use crate::fake::{DESCRIPTOR_BASE, PAGE};
use crate::window::PhysicalAddress;

/// Posts `buffers` as a transmit and checks the decoded form, number of descriptors, and entries.
fn check_post(buffers: &[Buffer], form: Form, descriptors: usize, entries: &[(u64, u16)]) {
    let (fake, mut emp) = start();
    let handle = block_on(emp.post_transmit_vectored(2, 5, buffers)).unwrap();
    let length: u32 = buffers.iter().map(|buffer| buffer.length).sum();
    {
        let machine = fake.lock();
        let posted = machine.last();
        assert_eq!(posted.mailbox, MAILBOX_TRANSMIT);
        assert_eq!(posted.form, form);
        assert_eq!(posted.node_tag, 0x0002_0005);
        assert_eq!(posted.length, length);
        assert_eq!(posted.entries, entries);
    }
    let taken = 200 - emp.free_descriptors(Direction::Transmit);
    assert_eq!(taken, descriptors);
    let head = fake.lock().last().address;
    fake.lock().complete(head, DONE);
    let completion = block_on(emp.wait(handle)).unwrap();
    assert_eq!(
        completion,
        Completion {
            node: 2,
            tag: 5,
            length,
        }
    );
    assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
}

/// The entries of `pages` whole pages from `address`.
fn whole_pages(address: u64, pages: u64) -> Vec<(u64, u16)> {
    (0..pages)
        .map(|page| (physical(address + page * PAGE), 4096))
        .collect()
}

#[test]
fn the_form_follows_from_the_pages() {
    let check = |pages: u64, form, descriptors| {
        let buffers = [buffer(0x10000, (pages * PAGE) as u32)];
        check_post(&buffers, form, descriptors, &whole_pages(0x10000, pages));
    };
    check(1, Form::Short, 1);
    check(2, Form::Chained, 2);
    check(3, Form::Chained, 2);
    check(4, Form::Chained, 3);
    check(7, Form::Chained, 4);
    check(8, Form::Indirect, 1);
    check(512, Form::Indirect, 1);
}

#[test]
fn unaligned_and_scattered_buffers_become_pieces_of_pages() {
    let at = |address, length| (physical(address), length);
    check_post(
        &[buffer(0x5001, 4096)],
        Form::Chained,
        2,
        &[at(0x5001, 4095), at(0x6000, 1)],
    );
    check_post(&[buffer(0x5FFF, 1)], Form::Short, 1, &[at(0x5FFF, 1)]);
    check_post(
        &[buffer(0x9000, 10), buffer(0x2000, 0), buffer(0x3FFE, 4)],
        Form::Chained,
        2,
        &[at(0x9000, 10), at(0x3FFE, 2), at(0x4000, 2)],
    );
    let mut entries = vec![at(0x5001, 4095)];
    entries.extend(whole_pages(0x6000, 6));
    entries.push(at(0xC000, 1));
    check_post(&[buffer(0x5001, 7 * 4096)], Form::Indirect, 1, &entries);
}

#[test]
fn an_empty_message_is_one_empty_entry() {
    for buffers in [&[][..], &[buffer(u64::MAX, 0)], &[buffer(1, 0); 3]] {
        check_post(buffers, Form::Short, 1, &[(0, 0)]);
    }
}

#[test]
fn limits_are_typed_errors_and_hold_nothing() {
    let check = |node, tag, buffers: &[Buffer], expected| {
        let (fake, mut emp) = start();
        let result = block_on(emp.post_transmit_vectored(node, tag, buffers));
        assert_eq!(result.err(), Some(expected));
        assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
        assert!(fake.lock().writes.is_empty());
    };
    let two_megabytes = 2 << 20;
    let too_long = |length_bytes| PostError::TooLong { length_bytes };
    let too_many = |pages| PostError::TooManyPages { pages };
    let unmapped = |address, length_bytes| PostError::Unmapped {
        address: VirtualAddress(address),
        length_bytes,
    };
    let unknown = PostError::UnknownNode { node: 3, nodes: 3 };
    check(2, 0, &[buffer(0, two_megabytes + 1)], too_long(0x20_0001));
    check(2, 0, &[buffer(0, u32::MAX); 3], too_long(0x2_FFFF_FFFD));
    check(2, 0, &[buffer(1, two_megabytes)], too_many(513));
    check(2, 0, &[buffer(0, 1); 513], too_many(513));
    check(2, 0, &[buffer(4096 * PAGE - 1, 2)], unmapped(0xFF_FFFF, 2));
    check(2, 0, &[buffer(u64::MAX, 2)], unmapped(u64::MAX, 2));
    check(3, 0, &[buffer(0, 1)], unknown);
    check(2, 0xFFFF, &[buffer(0, 1)], PostError::ReservedTag);
    let (fake, mut emp) = start();
    fake.lock().mapped_pages = u64::MAX;
    let beyond = buffer(1 << 48, 1);
    let address = PhysicalAddress(physical(1 << 48));
    assert_eq!(
        block_on(emp.post_receive(Source::Any, Tag::Any, beyond)).err(),
        Some(PostError::Unreachable { address })
    );
}

#[test]
fn short_frames_limit_messages() {
    let mut config = super::config();
    config.frame_bytes = 46;
    let mut emp = super::try_start(&Fake::new(), config).unwrap();
    let too_many = PostError::TooManyFrames {
        length: 49145,
        most: 49144,
        frame_bytes: 46,
    };
    let sent = |emp: &mut _, length| block_on(Node::post_transmit(emp, 2, 0, buffer(0, length)));
    assert_eq!(sent(&mut emp, 49145).err(), Some(too_many));
    assert!(sent(&mut emp, 49144).is_ok());
    // What comes in may be of longer frames.
    let space = buffer(0, 65536);
    assert!(block_on(emp.post_receive(Source::Any, Tag::Any, space)).is_ok());
}

#[test]
fn pools_run_out_and_recover() {
    let (fake, mut emp) = start();
    let exhausted = |needed, free| {
        Some(PostError::NoDescriptors {
            direction: Direction::Transmit,
            needed,
            free,
        })
    };
    let seven_pages = buffer(0, 7 * 4096);
    let mut handles = Vec::new();
    for _ in 0..49 {
        handles.push(block_on(emp.post_transmit(0, 1, seven_pages)).unwrap());
    }
    for _ in 0..2 {
        handles.push(block_on(emp.post_transmit(0, 1, buffer(0, 4))).unwrap());
    }
    assert_eq!(
        block_on(emp.post_transmit(0, 1, seven_pages)).err(),
        exhausted(4, 2)
    );
    for _ in 0..2 {
        handles.push(block_on(emp.post_transmit(0, 1, buffer(0, 4))).unwrap());
    }
    let long = buffer(0, 8 * 4096);
    for _ in 0..3 {
        assert_eq!(
            block_on(emp.post_transmit(0, 1, long)).err(),
            exhausted(1, 0)
        );
    }
    assert_eq!(
        fake.lock().list_pages,
        1,
        "a failed post keeps its list page"
    );
    assert!(block_on(emp.post_receive(Source::Any, Tag::Any, long)).is_ok());
    let heads: Vec<u32> = fake.lock().posted.iter().map(|post| post.address).collect();
    for head in heads {
        fake.lock().complete(head, DONE);
    }
    for handle in handles {
        block_on(emp.wait(handle)).unwrap();
    }
    assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
    assert_eq!(emp.free_descriptors(Direction::Receive), 439);
}

#[test]
fn every_receive_descriptor_works_even_across_views() {
    let (fake, mut emp) = start();
    let receive = buffer(0x3000, 64);
    let mut handles = Vec::new();
    for tag in 0..440 {
        let post = emp.post_receive(Source::Node(2), Tag::Value(tag), receive);
        handles.push(block_on(post).unwrap());
    }
    let overflow = block_on(emp.post_receive(Source::Any, Tag::Any, receive));
    assert!(matches!(
        overflow.err(),
        Some(PostError::NoDescriptors {
            direction: Direction::Receive,
            needed: 1,
            free: 0,
        })
    ));
    let posted = fake.lock().posted.clone();
    for (position, post) in (0..).zip(&posted) {
        assert_eq!(post.mailbox, MAILBOX_RECEIVE);
        assert_eq!(post.address, DESCRIPTOR_BASE + (200 + position) * 20);
        assert_eq!(post.node_tag, 0x0002_0000 + position);
        assert_eq!(post.entries, [(physical(0x3000), 64)]);
        let arrival = Script::Arrive(Code::Done, 2, position as u16, position);
        fake.lock().complete(post.address, arrival);
    }
    for (position, handle) in (0..).zip(handles) {
        let completion = block_on(emp.wait(handle)).unwrap();
        assert_eq!(
            (completion.tag, completion.length),
            (position, position.into())
        );
    }
}

#[test]
fn list_pages_are_reused_and_their_lack_is_an_error() {
    let (fake, mut emp) = start();
    fake.lock().list_page_limit = 1;
    let long = buffer(0x10000, 9 * 4096);
    fake.lock().script.extend([DONE, DONE, Script::Keep]);
    for _ in 0..2 {
        let handle = block_on(emp.post_transmit(2, 0, long)).unwrap();
        block_on(emp.wait(handle)).unwrap();
    }
    assert_eq!(fake.lock().list_pages, 1);
    assert_eq!(fake.lock().translations, 3, "the list page's only once");
    let _open = block_on(emp.post_transmit(2, 0, long)).unwrap();
    assert_eq!(
        block_on(emp.post_transmit(2, 0, long)).err(),
        Some(PostError::NoListPage)
    );
}

#[test]
fn a_short_post_is_one_burst_one_mailbox_write_and_one_call() {
    let (fake, mut emp) = start();
    emp.post_overhead_ns = 300;
    let before = fake.lock().time_ns;
    let _handle = block_on(emp.post_transmit(2, 9, buffer(0x2010, 10))).unwrap();
    let machine = fake.lock();
    let head = DESCRIPTOR_BASE + 199 * 20;
    let page = physical(0x2010) as u32;
    let status = 0x8000_0000 | STATUS_NEXT_NONE;
    assert_eq!(
        machine.writes,
        [
            (WINDOW_BASE, vec![0x1800]),
            (
                WINDOW_VIEW + head - 0x1800,
                vec![10 << 16, page, 0x0002_0009, 10, status]
            ),
            (window_mailbox(MAILBOX_TRANSMIT), vec![head]),
        ]
    );
    assert_eq!(machine.translations, 1);
    assert_eq!(machine.time_ns - before, 300);
}

#[test]
fn a_ping_pong_moves_the_view_once() {
    let (fake, mut emp) = start();
    for _ in 0..10 {
        let arrival = Script::Arrive(Code::Done, 2, 1, 4);
        fake.lock().script.extend([arrival, DONE]);
        let receive = emp.post_receive(Source::Any, Tag::Value(1), buffer(0, 4));
        let receive = block_on(receive).unwrap();
        let transmit = block_on(emp.post_transmit(2, 1, buffer(0, 4))).unwrap();
        block_on(emp.wait(transmit)).unwrap();
        block_on(emp.wait(receive)).unwrap();
    }
    assert_eq!(fake.lock().base_writes(), 1);
}
