//! Ports, memory, messages.

use std::sync::{Arc, Mutex};

use defs::gm::map::Counter;

use super::{Library, PAGE, VIRTUAL, host_of, pair, run};
use crate::gm::{
    Buffer, Event, MemoryError, PortError, Priority, ReceiveError, ReceivedMessage, SendError,
    SendId, SendRequest, Status, capacity, size_for,
};
use crate::window::VirtualAddress;

const LOW: Priority = Priority::Low;

fn request(buffer: Buffer, node: u16, port: u8) -> SendRequest {
    let size = size_for(buffer.length);
    SendRequest {
        buffer,
        size,
        priority: LOW,
        node,
        port,
    }
}

/// Two nodes with port 2 open and 4 KB each.
fn ready() -> ([Library; 2], [Buffer; 2]) {
    let mut nodes = pair();
    let rooms = [0, 1].map(|node: usize| {
        run(nodes[node].open(2)).expect("a port");
        nodes[node].allocate_dma(8184).expect("memory")
    });
    (nodes, rooms)
}

fn received(gm: &mut Library) -> ReceivedMessage {
    match run(gm.receive(2)).expect("an event") {
        Event::Received(message) => message,
        other => panic!("{other:?} instead of a message"),
    }
}

#[test]
fn messages_arrive_with_their_tags() {
    let ([mut a, mut b], [from, to]) = ready();
    for length in [0, 1, 127, 128, 129, 4088, 4096] {
        let bytes: Vec<u8> = (0..length).map(|at| (at ^ length) as u8).collect();
        a.system_mut()
            .write_memory(from.address, &bytes)
            .expect("mapped");
        let size = size_for(length);
        run(b.provide_receive_buffer(2, to, size, LOW, 0x1234)).expect("a token");
        let buffer = Buffer { length, ..from };
        let id = run(a.send(2, request(buffer, 1, 2))).expect("a token");
        let message = received(&mut b);
        assert_eq!(
            message,
            ReceivedMessage {
                message: message.message,
                buffer: to.address,
                length,
                node: 0,
                port: 2,
                tag: 0x1234,
                size,
                room: to.length,
                priority: LOW,
            }
        );
        assert_eq!(message.message == to.address, length > 128);
        b.memorize_message(&message).expect("mapped");
        assert_eq!(b.system().memory_is(to.address, &bytes), Ok(true));
        assert_eq!(
            run(a.receive(2)),
            Ok(Event::Sent(vec![(id, Status::Success)]))
        );
        assert_eq!(a.send_tokens(2), Ok(61));
        assert_eq!(b.receive_tokens(2), Ok(254));
    }
    assert_eq!(run(b.counter(Counter::Delivered)), 7);
    assert_eq!((a.node(), b.node(), b.nodes()), (0, 1, 2));
}

#[test]
fn callbacks_are_called_with_the_result() {
    let ([mut a, mut b], [from, to]) = ready();
    let results = Arc::new(Mutex::new(Vec::new()));
    let small = Buffer { length: 10, ..from };
    run(b.provide_receive_buffer(2, to, size_for(10), LOW, 0)).expect("a token");
    for port in [2, 5] {
        let results = Arc::clone(&results);
        let call = a.send_with_callback(2, request(small, 1, port), move |status| {
            results.lock().expect("no panic").push((port, status));
        });
        run(call).expect("a token");
    }
    let mut ids = Vec::new();
    while ids.len() < 2 {
        match run(a.receive(2)) {
            Ok(Event::Sent(sent)) => ids.extend(sent),
            other => panic!("{other:?}"),
        }
    }
    let expected = [
        (SendId(0), Status::Success),
        (SendId(1), Status::TargetPortClosed),
    ];
    assert_eq!(ids, expected);
    let results = results.lock().expect("no panic");
    assert_eq!(
        *results,
        [(2, Status::Success), (5, Status::TargetPortClosed)]
    );
}

#[test]
fn ports_open_once() {
    let mut a = pair().into_iter().next().expect("two");
    assert_eq!(run(a.open(8)), Err(PortError::Unknown { port: 8 }));
    assert_eq!(run(a.close(3)), Err(PortError::NotOpen { port: 3 }));
    assert_eq!(run(a.open(3)), Ok(()));
    assert_eq!(run(a.open(3)), Err(PortError::AlreadyOpen { port: 3 }));
    assert_eq!(run(a.open(7)), Ok(()));
    assert_eq!(run(a.close(3)), Ok(()));
    assert_eq!(run(a.open(3)), Ok(()));
    assert_eq!(a.receive_pending(3), Ok(false));
    assert_eq!(run(a.try_receive(7)), Ok(None));
}

#[test]
fn memory_must_be_registered() {
    let ([mut a, _], _) = ready();
    let at = |offset, length| Buffer {
        address: VirtualAddress(VIRTUAL + offset),
        length,
    };
    let send = |a: &mut Library, buffer| run(a.send(2, request(buffer, 1, 2))).map(drop);
    let unregistered = |buffer: Buffer| MemoryError::Unregistered {
        address: buffer.address,
        length: buffer.length,
    };
    let one = at(100, 50);
    assert_eq!(send(&mut a, one), Err(unregistered(one).into()));
    assert_eq!(run(a.register(at(100, 8000))), Ok(()));
    assert_eq!(send(&mut a, one), Ok(()));
    assert_eq!(send(&mut a, at(100 + 7950, 50)), Ok(()));
    let behind = at(100 + 7951, 50);
    assert_eq!(send(&mut a, behind), Err(unregistered(behind).into()));
    // The pages are not adjacent for the board.
    assert_eq!(send(&mut a, at(PAGE - 1, 2)), Ok(()));
    assert_eq!(run(a.deregister(at(100, 8000))), Ok(()));
    assert_eq!(send(&mut a, one), Err(unregistered(one).into()));
    let far = at(1 << 20, 1);
    let not_mapped = MemoryError::NotMapped(far.address);
    assert_eq!(run(a.register(far)), Err(not_mapped));
}

#[test]
fn tokens_end() {
    let ([mut a, mut b], [from, to]) = ready();
    let small = Buffer { length: 8, ..from };
    for _ in 0..61 {
        run(a.send(2, request(small, 1, 2))).expect("a token");
    }
    let full = run(a.send(2, request(small, 1, 2)));
    assert_eq!(full, Err(SendError::NoToken { port: 2 }));
    for _ in 0..254 {
        run(b.provide_receive_buffer(2, to, 4, LOW, 0)).expect("a token");
    }
    let full = run(b.provide_receive_buffer(2, to, 4, LOW, 0));
    assert_eq!(full, Err(ReceiveError::NoToken { port: 2 }));
    for _ in 0..61 {
        received(&mut b);
    }
    while a.send_tokens(2) != Ok(61) {
        run(a.receive(2)).expect("reports");
    }
    let mut world = host_of(&a).lock();
    assert!(world.nodes.iter_mut().all(|node| node.fake().is_quiet()));
}

#[test]
fn wrong_requests_are_refused() {
    let ([mut a, _], [from, _]) = ready();
    let small = Buffer { length: 8, ..from };
    let usual = request(small, 1, 2);
    let mut check = |request, error| assert_eq!(run(a.send(2, request)), Err(error));
    let (node, nodes) = (2, 2);
    check(
        SendRequest { node, ..usual },
        SendError::UnknownNode { node, nodes },
    );
    let port = 8;
    check(
        SendRequest { port, ..usual },
        SendError::UnknownPort { port },
    );
    let (length, size) = (8, 3);
    check(
        SendRequest { size, ..usual },
        SendError::TooLong { length, size },
    );
    let size = 32;
    let room = run(a.provide_receive_buffer(2, small, size, LOW, 0));
    assert_eq!(room, Err(ReceiveError::Size { length: 8, size }));
    let size = 5;
    let room = run(a.provide_receive_buffer(2, small, size, LOW, 0));
    assert_eq!(room, Err(ReceiveError::Size { length: 8, size }));
    assert_eq!((capacity(5), size_for(24)), (24, 5));
}
