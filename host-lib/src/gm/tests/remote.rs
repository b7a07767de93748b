//! Long messages, memory of other nodes, stopped streams, alarms, processes.

use std::sync::{Arc, Mutex};

use defs::gm::port::{SEND, SEND_TYPE, send_slot};

use super::{Library, PAGE, VIRTUAL, host_of, pair, run};
use crate::gm::{
    Buffer, Event, PortError, Priority, Remote, SendError, SendId, SendRequest, Status, Violation,
    size_for,
};
use crate::window::{VirtualAddress, Window};

const LOW: Priority = Priority::Low;
const PORT: u8 = 2;

/// Bytes of the program, whose pages are not adjacent for the board.
const fn scattered(offset: u64, length: u32) -> Buffer {
    Buffer {
        address: VirtualAddress(VIRTUAL + offset),
        length,
    }
}

/// Two nodes with an open port, and all of their programs' memory registered.
fn ready() -> [Library; 2] {
    let mut nodes = pair();
    for gm in &mut nodes {
        run(gm.open(PORT)).expect("a port");
        run(gm.register(scattered(0, 60 * PAGE as u32))).expect("mapped");
    }
    nodes
}

fn request(buffer: Buffer, size: u8) -> SendRequest {
    SendRequest {
        buffer,
        size,
        priority: LOW,
        node: 1,
        port: PORT,
    }
}

fn remote(offset: u64) -> Remote {
    Remote {
        node: 1,
        port: PORT,
        priority: LOW,
        address: VirtualAddress(VIRTUAL + offset),
    }
}

fn sent(gm: &mut Library) -> Vec<(SendId, Status)> {
    match run(gm.receive(PORT)).expect("an event") {
        Event::Sent(sent) => sent,
        other => panic!("{other:?} instead of the end of a send"),
    }
}

fn fill(gm: &mut Library, buffer: Buffer) -> Vec<u8> {
    let bytes: Vec<u8> = (0..buffer.length).map(|at| (at * 7 + 3) as u8).collect();
    gm.system_mut()
        .write_memory(buffer.address, &bytes)
        .expect("mapped");
    bytes
}

#[test]
fn long_messages_cross_pages_and_packets() {
    let [mut a, mut b] = ready();
    for length in [4097, 8192, 10_001, 65_536] {
        let from = scattered(100, length);
        let bytes = fill(&mut a, from);
        let size = size_for(length);
        let room = scattered(50, crate::gm::capacity(size));
        run(b.provide_receive_buffer(PORT, room, size, LOW, 9)).expect("a token");
        run(a.send(PORT, request(from, size))).expect("a token");
        let Ok(Event::Received(message)) = run(b.receive(PORT)) else {
            panic!("no message");
        };
        assert_eq!((message.length, message.tag), (length, 9));
        let same = b.system().memory_is(message.message, &bytes);
        assert_eq!(same, Ok(true), "{length}");
        assert_eq!(sent(&mut a)[0].1, Status::Success);
    }
}

#[test]
fn puts_and_gets_use_memory_that_the_target_allows() {
    let [mut a, mut b] = ready();
    let from = scattered(4000, 9000);
    let bytes = fill(&mut a, from);
    let id = run(a.put(PORT, from, remote(777))).expect("a token");
    assert_eq!(sent(&mut a), [(id, Status::PermissionDenied)]);
    run(a.resume_sending(PORT, 1, PORT, LOW)).expect("open");
    run(b.allow_remote_memory_access(PORT, true)).expect("open");
    let id = run(a.put(PORT, from, remote(777))).expect("a token");
    assert_eq!(sent(&mut a), [(id, Status::Success)]);
    let same = b.system().memory_is(VirtualAddress(VIRTUAL + 777), &bytes);
    assert_eq!(same, Ok(true));
    let back = scattered(20_000, 9000);
    let id = run(a.get(PORT, back, remote(777))).expect("a token");
    assert_eq!(sent(&mut a), [(id, Status::Success)]);
    assert_eq!(a.system().memory_is(back.address, &bytes), Ok(true));
    // Beyond what the target has registered.
    let id = run(a.get(PORT, back, remote(62 * PAGE))).expect("a token");
    assert_eq!(sent(&mut a), [(id, Status::PermissionDenied)]);
    assert_eq!(run(b.try_receive(PORT)), Ok(None));
}

#[test]
fn a_failed_send_stops_its_stream() {
    let [mut a, mut b] = ready();
    let small = scattered(0, 8);
    let to = |port| SendRequest {
        port,
        ..request(small, 4)
    };
    let first = run(a.send(PORT, to(5))).expect("a token");
    assert_eq!(sent(&mut a), [(first, Status::TargetPortClosed)]);
    let second = run(a.send(PORT, to(5))).expect("a token");
    run(b.open(5)).expect("a port");
    run(b.provide_receive_buffer(5, scattered(100, 8), 4, LOW, 0)).expect("a token");
    let waits = run(a.receive_within(PORT, 1_000_000));
    assert_eq!(waits, Ok(None));
    run(a.resume_sending(PORT, 1, 5, LOW)).expect("open");
    assert_eq!(sent(&mut a), [(second, Status::Success)]);
    // Dropped instead.
    run(b.close(5)).expect("open");
    let third = run(a.send(PORT, to(5))).expect("a token");
    assert_eq!(sent(&mut a), [(third, Status::TargetPortClosed)]);
    let fourth = run(a.send(PORT, to(5))).expect("a token");
    run(a.drop_sends(PORT, 1, 5, LOW)).expect("open");
    assert_eq!(sent(&mut a), [(fourth, Status::Dropped)]);
}

#[test]
fn sizes_that_are_not_accepted_are_refused() {
    let [mut a, mut b] = ready();
    run(b.set_acceptable_sizes(PORT, LOW, 1 << 5)).expect("open");
    let id = run(a.send(PORT, request(scattered(0, 8), 4))).expect("a token");
    assert_eq!(sent(&mut a), [(id, Status::Rejected)]);
}

#[test]
fn alarms_come_in_the_order_of_their_times() {
    let [mut a, _] = ready();
    let late = run(a.set_alarm(PORT, 3000)).expect("open");
    let early = run(a.set_alarm(PORT, 500)).expect("open");
    let never = run(a.set_alarm(PORT, 1000)).expect("open");
    assert_eq!(run(a.cancel_alarm(PORT, never)), Ok(true));
    let begin = a.system().now_ps();
    let mut came = Vec::new();
    while came.len() < 2 {
        if let Event::Alarm(ids) = run(a.receive(PORT)).expect("an event") {
            came.extend(ids);
        }
    }
    assert_eq!(came, [early, late]);
    let passed_us = (a.system().now_ps() - begin) / 1_000_000;
    assert!((3000..3400).contains(&passed_us), "{passed_us}");
    assert_eq!(run(a.cancel_alarm(PORT, late)), Ok(false));
}

#[test]
fn a_sleeping_program_is_woken_by_a_message() {
    let [mut a, mut b] = ready();
    run(b.provide_receive_buffer(PORT, scattered(0, 8), 4, LOW, 1)).expect("a token");
    run(a.send(PORT, request(scattered(0, 8), 4))).expect("a token");
    let event = run(b.blocking_receive_no_spin(PORT)).expect("an event");
    assert!(matches!(event, Event::Received(_)), "{event:?}");
    run(a.set_alarm(PORT, 1000)).expect("open");
    loop {
        if let Event::Alarm(ids) = run(a.blocking_receive(PORT)).expect("an event")
            && !ids.is_empty()
        {
            break;
        }
    }
}

#[test]
fn closing_ends_sends_that_are_under_way() {
    let [mut a, _] = ready();
    let results = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..3 {
        let results = Arc::clone(&results);
        let call = a.send_with_callback(PORT, request(scattered(0, 8), 4), move |status| {
            results.lock().expect("no panic").push(status);
        });
        run(call).expect("a token");
    }
    run(a.close(PORT)).expect("open");
    assert_eq!(*results.lock().expect("no panic"), [Status::PortClosed; 3]);
    run(a.open(PORT)).expect("a port");
    assert_eq!(a.send_tokens(PORT), Ok(61));
}

#[test]
fn a_process_has_neither_the_ports_nor_the_memory_of_another_one() {
    let [a, mut b] = ready();
    let host = host_of(&a).clone();
    let mut other = a
        .process(host.clone().into(), host.clone().into())
        .expect("a process");
    assert_eq!(run(other.open(PORT)), Err(PortError::Busy { port: PORT }));
    run(other.open(4)).expect("a port");
    // The library refuses; the board too, whatever is written into a slot.
    let theirs = scattered(0, 8);
    let refused = run(other.send(4, request(theirs, 4)));
    assert!(matches!(refused, Err(SendError::Memory(_))), "{refused:?}");
    run(b.provide_receive_buffer(PORT, scattered(0, 2040), 11, LOW, 0)).expect("a token");
    let slot = send_slot(4, 0);
    let word = 1 << 16 | u32::from(PORT) << 9 | (SEND + 11);
    let mut window = host;
    run(window.write_burst(
        slot + SEND_TYPE - 16,
        &[0, (VIRTUAL >> 32) as u32, VIRTUAL as u32, 2000, word],
    ));
    let event = run(other.receive(4)).expect("an event");
    let place = VirtualAddress(VIRTUAL);
    assert_eq!(event, Event::Violation(Violation::SendMemory(place)));
    assert_eq!(run(b.try_receive(PORT)), Ok(None));
}
