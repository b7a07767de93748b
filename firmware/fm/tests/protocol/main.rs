//! The control program on fake hardware.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod nic;

use defs::fm::map::{
    COMMAND, COMMAND_START, COUNTERS, CREDITS, Counter, MULTI_LIMIT, NODE, NODES, READY,
    READY_MAGIC, RECEIVE_BUFFER_COUNT, RING, RING_END, ROUTE_LIMIT, ROUTE_WORDS, SEND_SLOT_COUNT,
    SLOT_CONTROL, SLOT_HEADER, SLOT_LIST, SLOT_MORE, SLOT_PAYLOAD, SLOTS_DONE, more_word, route,
    send_slot,
};
use defs::fm::packet::{CREDIT, DATA, HEADER_BYTES, MTU, target_word};
use defs::fm::ring::{ARRIVED, RETURNED, SLOT_BYTES, SLOT_FLAG};
use fm::Fm;
use fm::nic::Event;

use nic::Fake;

/// The ring in host memory.
const RING_AT: u32 = 0x1000;
const RING_SLOTS: u32 = 12;
/// The words of credits.
const CREDITS_AT: u32 = 0x800;
const OWN: u8 = 3;

/// Node 3 of 16. The route to node n is n bytes of 0x80 + n, for n up to 16.
fn started() -> Fm<Fake> {
    let mut fm = Fm::new(Fake::new());
    assert_eq!(fm.nic().word(READY), READY_MAGIC);
    assert!(!fm.begin(), "the host has not started it");
    let fake = fm.nic_mut();
    for (address, value) in [
        (NODE, u32::from(OWN)),
        (NODES, 16),
        (RING, RING_AT),
        (RING_END, RING_AT + RING_SLOTS * SLOT_BYTES),
        (CREDITS, CREDITS_AT),
        (COMMAND, COMMAND_START),
    ] {
        fake.set_word(address, value);
    }
    for node in 0..16_u8 {
        let length = u32::from(node).min(ROUTE_LIMIT);
        fake.set_word(route(node), length);
        let end = (route(node) + ROUTE_WORDS + ROUTE_LIMIT) as usize;
        fake.sram[end - length as usize..end].fill(0x80 + node);
    }
    assert!(fm.begin());
    assert_eq!(fm.nic().word(COMMAND), 0);
    fm
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A data packet without route.
fn packet(target: u8, sender: u8, credits: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[DATA, target_word(target, sender, credits), 7 << 16 | 9, 99]);
    bytes.extend(payload);
    bytes
}

/// The host writes a packet for node 1, and further destinations as logical node, physical node, credits.
fn post(fm: &mut Fm<Fake>, slot: u32, payload: &[u8], more: &[(u8, u8, u16)]) {
    let at = send_slot(slot);
    let fake = fm.nic_mut();
    let bytes = packet(1, OWN, 0x55, payload);
    let header = (at + SLOT_HEADER) as usize;
    fake.sram[header - 1] = 0x81;
    fake.sram[header..header + bytes.len()].copy_from_slice(&bytes);
    if !more.is_empty() {
        fake.set_word(at + SLOT_MORE, more.len() as u32);
        for (place, &(logical, physical, credits)) in (at + SLOT_LIST..).step_by(4).zip(more) {
            fake.set_word(place, more_word(logical, physical, credits));
        }
    }
    let end = at + SLOT_HEADER + bytes.len() as u32;
    fake.set_word(at + SLOT_CONTROL, 1 << 24 | end);
}

fn sent(target: u8, route: &[u8], credits: u16, payload: &[u8]) -> Vec<u8> {
    [route, &packet(target, OWN, credits, payload)[..]].concat()
}

#[test]
fn a_packet_leaves_before_anything_else_is_looked_at() {
    let mut fm = started();
    assert!(!fm.step());
    let before = send_slot(0) + SLOT_CONTROL;
    post(&mut fm, 0, &[1, 2, 3, 4], &[]);
    fm.nic_mut().loads.set(0);
    assert!(fm.step());
    // The two words of the mark, the number of further destinations: all of them behind the start of the DMA.
    assert_eq!(fm.nic().loads.get(), 3);
    assert_ne!(fm.nic().word(before), 0, "the slot is in use");
    assert_eq!(
        fm.nic_mut().leave(),
        Some(sent(1, &[0x81], 0x55, &[1, 2, 3, 4]))
    );
    assert!(fm.step());
    assert_eq!((fm.nic().word(before), fm.nic().word(SLOTS_DONE)), (0, 1));
    assert!(!fm.step());
}

#[test]
fn slots_are_sent_in_order_round_the_ring() {
    let mut fm = started();
    for number in 0..3 * SEND_SLOT_COUNT {
        let payload = number.to_be_bytes();
        post(&mut fm, number % SEND_SLOT_COUNT, &payload, &[]);
        fm.step();
        assert_eq!(fm.nic_mut().leave(), Some(sent(1, &[0x81], 0x55, &payload)));
        fm.step();
    }
    assert_eq!(fm.nic().word(SLOTS_DONE), 3 * SEND_SLOT_COUNT);
}

/// Sends to nodes 1, 2, 6 and 15, with the sender reading `step` bytes between two steps of the firmware, `steps` times.
fn multi(step: u32, steps: u32) -> Fm<Fake> {
    let mut fm = started();
    let payload: Vec<u8> = (0..MTU).map(|at| at as u8).collect();
    post(
        &mut fm,
        0,
        &payload,
        &[(2, 2, 11), (6, 6, 12), (9, 15, 0xFFFF)],
    );
    post(&mut fm, 1, &[5; 8], &[]);
    let mut packets = Vec::new();
    for _ in 0..5 {
        fm.step();
        for _ in 0..steps {
            fm.nic_mut().read(step);
            fm.step();
        }
        packets.push(fm.nic_mut().leave().unwrap());
        if packets.len() < 4 {
            assert_eq!(fm.nic().word(SLOTS_DONE), 0);
        }
    }
    assert_eq!(packets[0], sent(1, &[0x81], 0x55, &payload));
    assert_eq!(packets[1], sent(2, &[0x82; 2], 11, &payload));
    assert_eq!(packets[2], sent(6, &[0x86; 6], 12, &payload));
    assert_eq!(packets[3], sent(9, &[0x8F; 15], 0xFFFF, &payload));
    assert_eq!(packets[4], sent(1, &[0x81], 0x55, &[5; 8]));
    fm.step();
    assert_eq!(fm.nic().word(SLOTS_DONE), 2);
    assert_eq!(fm.nic().word(send_slot(0) + SLOT_MORE), 0);
    fm
}

#[test]
fn copies_differ_in_node_credits_and_route_only() {
    // In all orders of the sender's reads and the firmware's steps: the header is not rewritten too early.
    for (step, steps) in [
        (0, 0),
        (4, 3),
        (4, 400),
        (16, 100),
        (64, 25),
        (512, 4),
        (1600, 1),
    ] {
        let fm = multi(step, steps);
        let copies = fm
            .nic()
            .marks
            .iter()
            .filter(|&&mark| mark == Event::CopySent);
        assert_eq!(copies.count(), 3, "reads of {step} bytes");
    }
}

#[test]
fn a_list_that_is_too_long_is_counted() {
    let mut fm = started();
    post(&mut fm, 0, &[0; 4], &[(2, 2, 0)]);
    fm.nic_mut().set_word(send_slot(0) + SLOT_MORE, MULTI_LIMIT);
    fm.step();
    assert!(fm.nic_mut().leave().is_some());
    fm.step();
    assert_eq!(fm.nic_mut().leave(), None);
    assert_eq!(counter(&fm, Counter::BadLists), 1);
    assert_eq!(fm.nic().word(SLOTS_DONE), 1);
}

fn counter(fm: &Fm<Fake>, counter: Counter) -> u32 {
    fm.nic().word(COUNTERS + 4 * counter as u32)
}

/// Slot of the ring: flag and packet.
fn slot(fm: &Fm<Fake>, number: u32) -> (u32, Vec<u8>) {
    let flag_at = RING_AT + (number % RING_SLOTS) * SLOT_BYTES + SLOT_FLAG;
    let flag = fm.nic().host_word(flag_at);
    let start = flag_at - (flag & 0xFFFF);
    let bytes = fm.nic().host[start as usize..flag_at as usize].to_vec();
    (flag, bytes)
}

#[test]
fn packets_come_into_the_ring_in_order() {
    let mut fm = started();
    for number in 0..2 * RING_SLOTS + 5 {
        let payload = vec![number as u8; if number % 3 == 0 { MTU as usize } else { 8 }];
        let packet = packet(OWN, 5, 0, &payload);
        fm.nic_mut().come(&packet, true);
        fm.step();
        assert!(fm.nic_mut().write());
        fm.step();
        let (flag, bytes) = slot(&fm, number);
        assert_eq!(flag, ARRIVED | packet.len() as u32);
        assert_eq!(bytes, packet);
    }
}

#[test]
fn without_a_dma_no_more_packets_are_taken_than_buffers() {
    let mut fm = started();
    let mut came = 0;
    while fm.nic().has_room() {
        fm.nic_mut().come(&packet(OWN, 5, 0, &[came; 4]), true);
        fm.step();
        came += 1;
    }
    assert_eq!(u32::from(came), RECEIVE_BUFFER_COUNT);
    assert!(fm.nic_mut().write());
    fm.step();
    assert!(fm.nic().has_room());
}

#[test]
fn explicit_credits_take_no_slot() {
    let mut fm = started();
    for sum in [0x1234, 0x1238_u16] {
        let packet = words(&[CREDIT, target_word(OWN, 5, sum), 0, 0]);
        fm.nic_mut().come(&packet, true);
        fm.step();
        assert!(fm.nic_mut().write());
        fm.step();
        let word = fm.nic().host_word(CREDITS_AT + 4 * 5);
        assert_eq!(word, RETURNED | u32::from(sum));
    }
    assert_eq!(slot(&fm, 0).0, 0);
    fm.nic_mut().come(&packet(OWN, 5, 0, &[]), true);
    fm.step();
    assert!(fm.nic_mut().write());
    assert_eq!(slot(&fm, 0).0, ARRIVED | HEADER_BYTES);
}

#[test]
fn bad_packets_are_counted_and_dropped() {
    let check = |packet: &[u8], intact, expected| {
        let mut fm = started();
        fm.nic_mut().come(packet, intact);
        fm.step();
        assert!(!fm.nic_mut().write(), "nothing for the host");
        let counters = [Counter::BadPackets, Counter::BadType, Counter::BadAddress];
        for one in counters {
            assert_eq!(counter(&fm, one), u32::from(one == expected), "{one:?}");
        }
        assert_eq!(fm.nic().marks, [Event::PacketDropped]);
        // Its buffer is free again.
        for _ in 0..RECEIVE_BUFFER_COUNT {
            assert!(fm.nic().has_room());
            fm.nic_mut().come(&[], false);
        }
    };
    let good = packet(OWN, 5, 0, &[1; 4]);
    check(&good, false, Counter::BadPackets);
    check(&good[..12], true, Counter::BadPackets);
    check(&packet(OWN, 5, 0, &[0; 1600]), true, Counter::BadPackets);
    check(&packet(4, 5, 0, &[]), true, Counter::BadAddress);
    check(&packet(OWN, 16, 0, &[]), true, Counter::BadAddress);
    check(
        &words(&[0x0008_0001, target_word(OWN, 5, 0), 0, 0]),
        true,
        Counter::BadType,
    );
    check(
        &words(&[DATA + 2, target_word(OWN, 5, 0), 0, 0]),
        true,
        Counter::BadType,
    );
}

#[test]
fn a_payload_ends_where_the_list_begins() {
    assert_eq!(SLOT_PAYLOAD + MTU, SLOT_MORE);
}
