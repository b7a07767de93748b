//! Credits and send slots.

use defs::fm::map::SEND_SLOT_COUNT;
use defs::fm::packet::{CREDIT, MTU};

use super::{Library, collect, content, host_of, nodes, nodes_with, run};
use crate::fm::{SendError, SendStream};

fn begin(library: &mut Library, to: &[u16], packets: u32) -> SendStream {
    run(library.unsafe_begin_message_multi(to, packets * MTU, 1)).unwrap()
}

/// Sends a packet of a stream.
fn packet(library: &mut Library, stream: &mut SendStream) -> Result<(), SendError> {
    run(library.send_piece(stream, &content(0, MTU as usize)))
}

#[test]
fn a_sender_without_credits_waits() {
    let mut nodes = nodes(3);
    collect(&mut nodes[1]);
    let mut stream = begin(&mut nodes[0], &[1], 40);
    for left in (0..16).rev() {
        packet(&mut nodes[0], &mut stream).unwrap();
        assert_eq!(nodes[0].credits(1), left);
    }
    let (node, timeout_ns) = (1, 1000);
    let none = SendError::NoCredit { node, timeout_ns };
    assert_eq!(packet(&mut nodes[0], &mut stream), Err(none));
    assert_eq!(stream.accepted(), 17 * MTU);
    // Seven packets return nothing yet, the eighth returns all.
    assert_eq!(run(nodes[1].extract(7 * MTU)), Ok(7));
    assert_eq!(run(nodes[0].send_piece(&mut stream, &[])), Err(none));
    assert_eq!(run(nodes[1].extract(1)), Ok(1));
    assert_eq!(run(nodes[0].send_piece(&mut stream, &[])), Ok(()));
    assert_eq!((nodes[0].credits(1), nodes[0].credits(2)), (7, 16));
}

#[test]
fn a_multi_send_waits_for_every_destination() {
    let mut nodes = nodes(4);
    let mut first = begin(&mut nodes[0], &[2], 16);
    for _ in 0..16 {
        packet(&mut nodes[0], &mut first).unwrap();
    }
    let mut stream = begin(&mut nodes[0], &[1, 2, 3], 1);
    let (node, timeout_ns) = (2, 1000);
    let none = SendError::NoCredit { node, timeout_ns };
    assert_eq!(packet(&mut nodes[0], &mut stream), Err(none));
    assert_eq!((nodes[0].credits(1), nodes[0].credits(3)), (16, 16));
    collect(&mut nodes[2]);
    run(nodes[2].extract(u32::MAX)).unwrap();
    assert_eq!(run(nodes[0].send_piece(&mut stream, &[])), Ok(()));
    let credits = [1, 2, 3].map(|node| nodes[0].credits(node));
    assert_eq!(credits, [15, 15, 15]);
}

#[test]
fn credits_return_in_data_packets_that_nobody_has_extracted() {
    let mut nodes = nodes(3);
    collect(&mut nodes[1]);
    let mut stream = begin(&mut nodes[0], &[1], 40);
    for _ in 0..16 {
        packet(&mut nodes[0], &mut stream).unwrap();
    }
    run(nodes[1].extract(5 * MTU)).unwrap();
    // A multi-send whose copy for node 0 tells of five packets.
    let mut back = begin(&mut nodes[1], &[2, 0], 1);
    packet(&mut nodes[1], &mut back).unwrap();
    assert_eq!(nodes[0].credits(1), 0);
    packet(&mut nodes[0], &mut stream).unwrap();
    assert_eq!(nodes[0].credits(1), 4);
    // The packet is still there.
    let inbox = collect(&mut nodes[0]);
    assert_eq!(run(nodes[0].extract(1)), Ok(1));
    assert_eq!(inbox.lock().unwrap().len(), 1);
    assert_eq!(nodes[0].credits(1), 4);
}

#[test]
fn credits_last_for_ever_and_no_ring_overflows() {
    let mut nodes = nodes_with(3, |config| config.credits = 3);
    let inbox = collect(&mut nodes[2]);
    // More than 2^16 packets from two senders: sums, numbers of messages and rings wrap.
    for round in 0..0x1_0100_u32 {
        for library in &mut nodes[..2] {
            let bytes = round.to_be_bytes();
            let mut stream = run(library.begin_message(2, 4, 1)).unwrap();
            run(library.send_piece(&mut stream, &bytes)).unwrap();
            run(library.end_message(stream)).unwrap();
        }
        assert_eq!(run(nodes[2].extract(u32::MAX)), Ok(2));
        let mut inbox = inbox.lock().unwrap();
        let got: Vec<_> = inbox.drain(..).map(|entry| (entry.0, entry.2)).collect();
        let bytes = round.to_be_bytes().to_vec();
        assert_eq!(got, [(0, bytes.clone()), (1, bytes)]);
        let mut world = host_of(&nodes[0]).lock();
        world.nodes.iter_mut().for_each(|node| node.left.clear());
    }
}

#[test]
fn explicit_credits_are_sent_for_half_of_them() {
    let mut nodes = nodes(2);
    collect(&mut nodes[1]);
    let mut stream = begin(&mut nodes[0], &[1], 16);
    for _ in 0..16 {
        packet(&mut nodes[0], &mut stream).unwrap();
    }
    run(nodes[1].extract(u32::MAX)).unwrap();
    let mut world = host_of(&nodes[0]).lock();
    world.settle();
    let left = &world.nodes[1].left;
    assert_eq!(left.len(), 2, "for the eighth and the sixteenth packet");
    let first = |packet: &Vec<u8>| packet[2..6] == CREDIT.to_be_bytes();
    assert!(left.iter().all(first));
}

#[test]
fn a_board_that_sends_nothing_fills_its_slots() {
    let mut nodes = nodes_with(2, |config| config.credits = 100);
    host_of(&nodes[0]).lock().nodes[0].runs = false;
    let mut stream = begin(&mut nodes[0], &[1], 100);
    for _ in 0..SEND_SLOT_COUNT {
        packet(&mut nodes[0], &mut stream).unwrap();
    }
    let timeout_ns = 1000;
    let none = Err(SendError::NoSlot { timeout_ns });
    assert_eq!(packet(&mut nodes[0], &mut stream), none);
    host_of(&nodes[0]).lock().nodes[0].runs = true;
    for _ in 0..50 {
        packet(&mut nodes[0], &mut stream).unwrap();
    }
}

#[test]
fn a_node_that_waits_returns_what_it_owes() {
    let mut nodes = nodes(2);
    collect(&mut nodes[0]);
    collect(&mut nodes[1]);
    let mut to_1 = begin(&mut nodes[0], &[1], 40);
    let mut to_0 = begin(&mut nodes[1], &[0], 40);
    for _ in 0..16 {
        packet(&mut nodes[0], &mut to_1).unwrap();
    }
    assert_eq!(run(nodes[1].extract(3 * MTU)), Ok(3));
    for _ in 0..16 {
        packet(&mut nodes[1], &mut to_0).unwrap();
    }
    assert_eq!(run(nodes[1].extract(3 * MTU)), Ok(3));
    assert!(packet(&mut nodes[1], &mut to_0).is_err());
    for left in (0..6).rev() {
        packet(&mut nodes[0], &mut to_1).unwrap();
        assert_eq!(nodes[0].credits(1), left);
    }
    assert!(packet(&mut nodes[0], &mut to_1).is_err());
}

#[test]
fn two_nodes_that_only_send_to_each_other_stand_still_and_one_that_extracts_does_not() {
    let mut nodes = nodes(2);
    let mut streams: Vec<_> = (0..2)
        .map(|node| begin(&mut nodes[node], &[1 - node as u16], 20))
        .collect();
    for (node, stream) in streams.iter_mut().enumerate() {
        collect(&mut nodes[node]);
        for _ in 0..16 {
            packet(&mut nodes[node], stream).unwrap();
        }
    }
    // Both wait for credits: what they could receive is not looked at but for the credits in it.
    for node in 0..2 {
        let other = 1 - node as u16;
        let timeout_ns = 1000;
        let none = SendError::NoCredit {
            node: other,
            timeout_ns,
        };
        assert_eq!(packet(&mut nodes[node], &mut streams[node]), Err(none));
    }
    // One that extracts meanwhile lets the other one go on.
    assert_eq!(run(nodes[0].await_credits_or_packet(&[1])), Ok(()));
    assert_eq!(run(nodes[0].extract(u32::MAX)), Ok(16));
    assert_eq!(run(nodes[1].send_piece(&mut streams[1], &[])), Ok(()));
    assert_eq!(run(nodes[1].await_credits_or_packet(&[0])), Ok(()));
    assert_eq!(run(nodes[1].extract(u32::MAX)), Ok(16));
    assert_eq!(run(nodes[0].await_credits_or_packet(&[1])), Ok(()));
    assert_eq!(run(nodes[0].send_piece(&mut streams[0], &[])), Ok(()));
}
