//! Completions, failures, persistent transfers, counters.

use defs::emp::control::{COUNTERS, Counter};

use super::*;

#[test]
fn a_test_gives_the_handle_back_until_the_transfer_is_over() {
    let (fake, mut emp) = start();
    let handle = block_on(emp.post_receive(Source::Any, Tag::Any, buffer(0, 100))).unwrap();
    assert_eq!(fake.lock().last().node_tag, u32::MAX);
    let reads = fake.lock().reads;
    let Progress::Pending(handle) = block_on(emp.test(handle)) else {
        panic!("nothing has arrived");
    };
    assert_eq!(fake.lock().reads - reads, 1);
    let head = fake.lock().last().address;
    fake.lock()
        .complete(head, Script::Arrive(Code::Done, 2, 44, 99));
    let Progress::Complete(result) = block_on(emp.test(handle)) else {
        panic!("the message is there");
    };
    let expected = Completion {
        node: 2,
        tag: 44,
        length: 99,
    };
    assert_eq!(result, Ok(expected));
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
}

#[test]
fn completions_read_only_what_is_unknown() {
    let check = |source, tag, reads| {
        let (fake, mut emp) = start();
        let arrival = Script::Arrive(Code::Done, 2, 44, 7);
        fake.lock().script.push_back(arrival);
        let handle = block_on(emp.post_receive(source, tag, buffer(0, 8))).unwrap();
        let before = fake.lock().reads;
        let completion = block_on(emp.wait(handle)).unwrap();
        assert_eq!((completion.node, completion.tag), (2, 44));
        assert_eq!(completion.length, 7);
        assert_eq!(fake.lock().reads - before, reads);
    };
    check(Source::Node(2), Tag::Value(44), 1);
    check(Source::Any, Tag::Value(44), 2);
    check(Source::Node(2), Tag::Any, 2);
    check(Source::Any, Tag::Any, 2);
}

#[test]
fn codes_become_failures_with_their_context() {
    let check = |status: u32, expected: Failure, message: &str| {
        let (fake, mut emp) = start();
        fake.lock().script.push_back(Script::Status(status));
        let handle = block_on(emp.post_transmit(2, 6, buffer(0, 8))).unwrap();
        let error = block_on(emp.wait(handle)).unwrap_err();
        assert_eq!(error.failure, expected);
        assert_eq!(
            error.to_string(),
            format!("transmit (node 2, tag 6) failed: {message}")
        );
        assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
    };
    let code = |code, expected, message| check(status_complete(code, 0), expected, message);
    code(
        Code::BadDescriptor,
        Failure::BadDescriptor,
        "the NIC rejects the descriptor",
    );
    code(
        Code::HostMemory,
        Failure::HostMemory,
        "a DMA to or from host memory failed",
    );
    code(
        Code::UnknownNode,
        Failure::UnknownNode,
        "the NIC has no route to the node",
    );
    code(
        Code::Timeout,
        Failure::Timeout,
        "the other node is silent or has given up",
    );
    code(
        Code::NoResources,
        Failure::NoResources,
        "the NIC's memory for transfers ran out",
    );
    code(Code::Cancelled, Failure::Cancelled, "cancelled");
    for status in [0, 0x0200_FFFF, 0x0F00_FFFF] {
        let message = format!("the NIC completed it with the invalid status {status:#010x}");
        check(status, Failure::BadStatus { status }, &message);
    }
}

#[test]
fn a_truncated_message_says_whose_it_was() {
    let (fake, mut emp) = start();
    let arrival = Script::Arrive(Code::Truncated, 2, 44, 500);
    fake.lock().script.push_back(arrival);
    let handle = block_on(emp.post_receive(Source::Any, Tag::Any, buffer(0, 100))).unwrap();
    let error = block_on(emp.wait(handle)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "receive (node 2, tag 44) failed: the message of 500 bytes was cut to 100"
    );
}

#[test]
fn a_persistent_transmit_writes_status_and_mailbox_only() {
    let (fake, mut emp) = start();
    let buffers = [buffer(0x5001, 4096)];
    let mut persistent = block_on(emp.prepare_transmit(2, 3, &buffers)).unwrap();
    assert!(fake.lock().posted.is_empty());
    for _ in 0..3 {
        {
            let mut machine = fake.lock();
            machine.script.push_back(DONE);
            machine.writes.clear();
            machine.translations = 0;
        }
        let started = block_on(emp.start_persistent(persistent));
        let sizes: Vec<usize> = fake
            .lock()
            .writes
            .iter()
            .map(|write| write.1.len())
            .collect();
        assert_eq!(sizes, [1, 1]);
        assert_eq!(fake.lock().translations, 0);
        let expected = [(physical(0x5001), 4095), (physical(0x6000), 1)];
        assert_eq!(fake.lock().last().entries, expected);
        let (back, result) = block_on(emp.wait_persistent(started));
        assert_eq!(result.unwrap().length, 4096);
        persistent = back;
    }
    assert_eq!(emp.free_descriptors(Direction::Transmit), 198);
    emp.release(persistent);
    assert_eq!(emp.free_descriptors(Direction::Transmit), 200);
}

#[test]
fn a_persistent_receive_keeps_its_wildcards_and_capacity() {
    let (fake, mut emp) = start();
    let buffers = [buffer(0x5000, 4000)];
    let mut persistent = block_on(emp.prepare_receive(Source::Any, Tag::Any, &buffers)).unwrap();
    for tag in 0..3 {
        let arrival = Script::Arrive(Code::Done, 2, tag, 10);
        fake.lock().script.push_back(arrival);
        let started = block_on(emp.start_persistent(persistent));
        assert_eq!(fake.lock().last().node_tag, u32::MAX);
        assert_eq!(fake.lock().last().length, 4000);
        let (back, result) = block_on(emp.wait_persistent(started));
        assert_eq!(result.unwrap().tag, tag);
        persistent = back;
    }
    emp.release(persistent);
    assert_eq!(emp.free_descriptors(Direction::Receive), 440);
}

#[test]
fn counters_are_read_from_their_words() {
    let (fake, mut emp) = start();
    for index in 0..COUNTER_COUNT {
        fake.lock().sram.insert(COUNTERS + index * 4, 100 + index);
    }
    assert_eq!(block_on(emp.counter(Counter::DropUnmatched)), 105);
    let counters = block_on(emp.counters());
    let expected: Vec<u32> = (100..100 + COUNTER_COUNT).collect();
    assert_eq!(counters.to_vec(), expected);
}

#[test]
fn futures_and_handles_can_move_between_threads() {
    fn check<T: Send>(value: T) -> T {
        value
    }
    let (fake, mut emp) = start();
    fake.lock().script.push_back(DONE);
    let handle = block_on(check(emp.post_transmit(2, 0, buffer(0, 1)))).unwrap();
    let completion = block_on(check(emp.wait(check(handle))));
    assert!(completion.is_ok());
    let node = check(Emp::start(
        fake.clone().into(),
        fake.clone().into(),
        None,
        config(),
    ));
    assert!(block_on(node).is_ok());
}
