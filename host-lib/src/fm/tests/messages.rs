//! Messages: packets, handlers, multi-sends, the lock.

use defs::fm::map::{Counter, MULTI_LIMIT};
use defs::fm::packet::MTU;

use super::{Library, collect, content, host_of, nodes, nodes_with, run};
use crate::fm::{ReceiveError, SendError};

/// Sends a whole message in pieces of `piece` bytes.
fn send(library: &mut Library, to: &[u16], bytes: &[u8], piece: usize) -> Result<(), SendError> {
    run(async {
        let length = bytes.len() as u32;
        let mut stream = library.begin_message_multi(to, length, 1).await?;
        for part in bytes.chunks(piece) {
            library.send_piece(&mut stream, part).await?;
        }
        library.end_message(stream).await
    })
}

#[test]
fn messages_of_all_lengths_arrive() {
    let mtu = MTU as usize;
    // Eleven packets are sent at once, when half of the credits may be owed.
    let mut nodes = nodes_with(2, |config| config.credits = 22);
    let inbox = collect(&mut nodes[1]);
    for length in [0, 1, 3, 4, 31, mtu - 1, mtu, mtu + 1, 2 * mtu, 16384] {
        for piece in [1, 7, 500, mtu, 20000] {
            let bytes = content(length, length);
            send(&mut nodes[0], &[1], &bytes, piece).unwrap();
            let packets = run(nodes[1].extract(u32::MAX)).unwrap();
            assert_eq!(packets as usize, length.div_ceil(mtu).max(1), "{length}");
            let (sender, _, got, complete) = inbox.lock().unwrap().pop().unwrap();
            assert!(sender == 0 && complete && got == bytes, "{length}, {piece}");
        }
    }
    assert_eq!(run(nodes[1].extract(u32::MAX)), Ok(0));
    assert!(nodes[1].streams.is_empty());
}

#[test]
fn a_full_packet_leaves_before_the_next_piece() {
    let mut nodes = nodes(2);
    let inbox = collect(&mut nodes[1]);
    let mut stream = run(nodes[0].begin_message(1, 2 * MTU, 1)).unwrap();
    let half = content(0, MTU as usize);
    run(nodes[0].send_piece(&mut stream, &half)).unwrap();
    assert_eq!(run(nodes[1].extract(u32::MAX)), Ok(1));
    assert_eq!(inbox.lock().unwrap()[0].2, half);
    assert!(!inbox.lock().unwrap()[0].3, "it goes on");
}

#[test]
fn a_multi_send_reaches_all_and_only_them() {
    let mut nodes = nodes(16);
    let inboxes: Vec<_> = nodes.iter_mut().map(collect).collect();
    let to = [3, 15, 1, 9];
    let bytes = content(1, 5000);
    send(&mut nodes[2], &to, &bytes, 999).unwrap();
    for (node, library) in nodes.iter_mut().enumerate() {
        let wanted = to.contains(&(node as u16));
        let packets = run(library.extract(u32::MAX)).unwrap();
        assert_eq!(packets, if wanted { 4 } else { 0 }, "node {node}");
        if wanted {
            assert_eq!(
                *inboxes[node].lock().unwrap(),
                [(2, 0, bytes.clone(), true)]
            );
        }
    }
}

#[test]
fn extract_stops_after_the_bytes() {
    let mut nodes = nodes(2);
    collect(&mut nodes[1]);
    send(&mut nodes[0], &[1], &content(0, 5 * MTU as usize), 4096).unwrap();
    assert_eq!(run(nodes[1].extract(0)), Ok(1));
    assert_eq!(run(nodes[1].extract(MTU + 1)), Ok(2));
    assert_eq!(run(nodes[1].extract(u32::MAX)), Ok(2));
}

#[test]
fn nothing_is_received_while_a_stream_is_open() {
    let mut nodes = nodes(2);
    let inbox = collect(&mut nodes[1]);
    send(&mut nodes[0], &[1], b"one", 3).unwrap();
    let stream = run(nodes[1].begin_message(0, 4, 1)).unwrap();
    assert_eq!(run(nodes[1].extract(9)), Err(ReceiveError::StreamOpen));
    assert_eq!(run(nodes[1].wait(None)), Err(ReceiveError::StreamOpen));
    let early = run(nodes[1].end_message(stream));
    let (bytes, length) = (0, 4);
    assert_eq!(early, Err(SendError::Incomplete { bytes, length }));
    let unsafe_one = run(nodes[1].unsafe_begin_message_multi(&[0], 4, 1)).unwrap();
    assert_eq!(run(nodes[1].extract(9)), Ok(1));
    assert_eq!(inbox.lock().unwrap()[0].2, b"one");
    drop(unsafe_one);
}

#[test]
fn impossible_destinations_are_refused() {
    let mut nodes = nodes_with(70, |config| config.routes[5] = None);
    let mut check = |to: &[u16], error| {
        let begun = run(nodes[0].begin_message_multi(to, 4, 1));
        assert_eq!(begun.err(), Some(error), "{to:?}");
        assert!(!nodes[0].is_locked());
    };
    check(&[], SendError::NoDestination);
    check(&[1, 0], SendError::ToItself { node: 0 });
    let nodes_70 = 70;
    check(
        &[1, 70],
        SendError::UnknownNode {
            node: 70,
            nodes: nodes_70,
        },
    );
    check(&[5], SendError::Unreachable { node: 5 });
    check(&[1, 2, 1], SendError::Twice { node: 1 });
    let many: Vec<u16> = (1..).filter(|&node| node != 5).take(65).collect();
    check(&many, SendError::TooManyDestinations { count: 65 });
    let most = &many[..MULTI_LIMIT as usize];
    let inbox = collect(&mut nodes[most[63] as usize]);
    send(&mut nodes[0], most, b"all", 3).unwrap();
    assert_eq!(run(nodes[most[63] as usize].extract(1)), Ok(1));
    assert_eq!(inbox.lock().unwrap().len(), 1);
}

#[test]
fn pieces_beyond_the_message_are_refused() {
    let mut nodes = nodes(2);
    let mut stream = run(nodes[0].begin_message(1, 4, 1)).unwrap();
    run(nodes[0].send_piece(&mut stream, b"abc")).unwrap();
    let refused = run(nodes[0].send_piece(&mut stream, b"de"));
    let (bytes, length) = (5, 4);
    assert_eq!(refused, Err(SendError::TooLong { bytes, length }));
    assert_eq!(stream.accepted(), 3);
    run(nodes[0].send_piece(&mut stream, b"d")).unwrap();
    run(nodes[0].end_message(stream)).unwrap();
}

#[test]
fn a_damaged_packet_breaks_its_message_only() {
    let mut nodes = nodes(2);
    let inbox = collect(&mut nodes[1]);
    host_of(&nodes[0]).lock().damage = 1;
    let bytes = content(3, 2 * MTU as usize + 8);
    send(&mut nodes[0], &[1], &bytes, 9999).unwrap();
    send(&mut nodes[0], &[1], b"next", 4).unwrap();
    // The second packet passes for the first one; the last one shows the gap.
    assert_eq!(run(nodes[1].extract(1)), Ok(1));
    let (sender, message) = (0, 0);
    let broken = ReceiveError::Broken { sender, message };
    assert_eq!(run(nodes[1].extract(1)), Err(broken));
    assert_eq!(run(nodes[1].extract(1)), Ok(1));
    assert_eq!(inbox.lock().unwrap()[1], (0, 1, b"next".to_vec(), true));
    assert_eq!(run(nodes[1].counter(Counter::BadPackets)), 1);
    assert!(nodes[1].streams.is_empty());
}

#[test]
fn a_message_without_handler_is_an_error() {
    let mut nodes = nodes(2);
    send(&mut nodes[0], &[1], b"lost", 4).unwrap();
    let error = ReceiveError::NoHandler {
        sender: 0,
        handler: 1,
    };
    assert_eq!(run(nodes[1].extract(1)), Err(error));
    assert_eq!(run(nodes[1].extract(1)), Ok(0));
    assert_eq!(
        run(nodes[1].wait(Some(5))),
        Err(ReceiveError::Nothing { timeout_ns: 5 })
    );
}
