//! Mapping packets: answers, the outbox and inbox of a mapper, routes that it gives, and packets that make no sense.

use defs::gm::map::{
    Counter, NODE, NODES, PEER_ROUTE, ROUTE_LIMIT, ROUTE_VALID, ROUTE_WORDS, peer,
};
use defs::gm::mapping::{
    ENTRY_BYTES, ENTRY_VALID, HEADER_BYTES, INBOX, INBOX_SLOT_BYTES, INBOX_SLOTS, LOOP,
    MAP_VERSION, NO_NODE, OUT, OUT_HEADER, OUT_LOCAL, OUT_SEND, OWN_HIGH, OWN_LOW, REPLY, ROUTES,
    ROUTES_VERSION, SCOUT, SIZES_COMPLETE, SIZES_COUNT, first_word, out_word,
};
use defs::gm::packet::first_word as message_word;

use crate::nic::Wire;
use crate::node::Node;
use crate::world::{Random, World, message};

const ID: [u32; 2] = [0x0060_0000, 0xDD12_3456];
const MAPPER: [u32; 2] = [0x0060_0000, 0xDD00_0001];

fn node() -> Node {
    let node = Node::new(3, 8, 1);
    node.gm.set_word(OWN_HIGH, ID[0]);
    node.gm.set_word(OWN_LOW, ID[1]);
    node
}

fn packet(words: &[u32]) -> Wire {
    Wire {
        route: Vec::new(),
        bytes: words.iter().flat_map(|word| word.to_be_bytes()).collect(),
        intact: true,
    }
}

fn come(node: &mut Node, packet: &Wire) {
    node.gm.nic_mut().come(packet);
    while node.gm.step() {}
}

fn leave(node: &mut Node) -> Option<Wire> {
    let packet = node.gm.nic_mut().leave();
    while node.gm.step() {}
    packet
}

fn scout(nonce: u32, back: [u8; 3]) -> Wire {
    let [a, b, c] = back.map(u32::from);
    let route = [0, 0, 0, a << 16 | b << 8 | c];
    let mut words = vec![
        first_word(SCOUT),
        nonce,
        MAPPER[0] | NO_NODE,
        MAPPER[1],
        0,
        3,
    ];
    words.extend(route);
    packet(&words)
}

fn reply(nonce: u32, version: u32) -> Vec<u32> {
    vec![first_word(REPLY), nonce, ID[0] | 3, ID[1], version, 8]
}

/// Routes for node 3 of 8: to each of these nodes, a route of one byte.
fn routes(version: u32, mapper: [u32; 2], node: u32, flags: u32, targets: &[u32]) -> Vec<u32> {
    let count = u32::try_from(targets.len()).expect("in range");
    let sizes = flags | count << SIZES_COUNT | 1;
    let mut words = vec![
        first_word(ROUTES),
        77,
        mapper[0] | 1,
        mapper[1],
        version,
        sizes,
    ];
    words.extend([0, 0, 0, 0x81, node << 16 | 8]);
    for target in targets {
        words.extend([target << 16 | ENTRY_VALID | 1, 0, 0, 0, 0x90 | target]);
    }
    words
}

fn words(packet: &Wire) -> Vec<u32> {
    let chunks = packet.bytes.chunks_exact(4);
    chunks
        .map(|bytes| u32::from_be_bytes(bytes.try_into().expect("four")))
        .collect()
}

#[test]
fn a_scout_is_answered_over_the_route_that_it_carries() {
    let mut node = node();
    come(&mut node, &scout(5, [0x81, 0x82, 0x83]));
    let answer = leave(&mut node).expect("an answer");
    assert_eq!(answer.route, [0x81, 0x82, 0x83]);
    assert_eq!(words(&answer), reply(5, 0));
    assert_eq!(leave(&mut node), None);
    assert_eq!(node.bad(), 0);
}

#[test]
fn a_later_scout_replaces_an_answer_that_waits_and_acks_keep_their_turn() {
    let mut world = World::new(4, 1);
    world.nodes[3].open(2);
    world.nodes[3].provide(2, message(2, 8).size, 0, 0);
    // A message whose ack leaves at once, and keeps the sender busy.
    let mut data = [
        message_word(defs::gm::packet::DATA + 4),
        3,
        1 << 16,
        8 << 16 | 4 << 8 | 4,
        0,
        6 << 16,
    ];
    data[5] = 6;
    let mut bytes = packet(&data);
    bytes.bytes.extend([0; 8]);
    let node = &mut world.nodes[3];
    come(node, &bytes);
    assert_eq!(node.bad(), 0);
    node.gm.nic_mut().ack_tick();
    while node.gm.step() {}
    come(node, &scout(1, [0x81, 0x82, 0x83]));
    come(node, &scout(2, [0x84, 0x85, 0x86]));
    let first = leave(node).expect("the ack");
    assert_eq!(words(&first)[0] >> 16, defs::gm::packet::TYPE);
    let second = leave(node).expect("the answer");
    assert_eq!(
        (words(&second)[1], &*second.route),
        (2, &[0x84, 0x85, 0x86][..])
    );
    assert_eq!(leave(node), None);
}

#[test]
fn the_outbox_is_sent_and_cleared() {
    let mut node = node();
    let out = [first_word(LOOP), 9, ID[0] | 3, ID[1], 0, 0];
    for (at, word) in (OUT_HEADER..).step_by(4).zip(out) {
        node.gm.set_word(at, word);
    }
    for at in 1..=8 {
        node.gm.set_word(OUT_HEADER - 4 * at, 0x8080_8080 | at);
    }
    for length in [0, 1, 7, 31, 32] {
        node.gm
            .nic_mut()
            .set_word(OUT, out_word(OUT_SEND, length, HEADER_BYTES));
        while node.gm.step() {}
        let packet = leave(&mut node).expect("the packet");
        assert_eq!(
            (packet.route.len(), words(&packet)),
            (length as usize, out.to_vec())
        );
        assert_eq!(node.gm.nic().word(OUT), 0);
    }
    for wrong in [
        out_word(OUT_SEND, 33, HEADER_BYTES),
        out_word(OUT_SEND, 1, HEADER_BYTES - 4),
        out_word(OUT_SEND, 1, HEADER_BYTES + 2),
        out_word(OUT_SEND, 1, 0xFFFC),
        out_word(9, 1, HEADER_BYTES),
        out_word(OUT_LOCAL, 0, HEADER_BYTES),
    ] {
        node.gm.nic_mut().set_word(OUT, wrong);
        while node.gm.step() {}
        assert_eq!(
            (leave(&mut node), node.gm.nic().word(OUT)),
            (None, 0),
            "{wrong:#x}"
        );
    }
    assert_eq!(node.counter(Counter::BadPosts), 6);
}

#[test]
fn answers_and_own_loops_come_into_the_inbox() {
    let mut node = node();
    let own = vec![first_word(LOOP), 1, ID[0], ID[1], 0, 0];
    let answer = vec![first_word(REPLY), 2, MAPPER[0], MAPPER[1], 6, 7];
    let other = vec![first_word(LOOP), 3, MAPPER[0], MAPPER[1], 0, 0];
    for packet_words in [&own, &other, &answer] {
        come(&mut node, &packet(packet_words));
    }
    let slot = |node: &Node, slot: u32| -> Vec<u32> {
        let at = INBOX + slot * INBOX_SLOT_BYTES;
        (0..6)
            .map(|word| node.gm.nic().word(at + 4 * word))
            .collect()
    };
    assert_eq!((slot(&node, 0), slot(&node, 1)), (own.clone(), answer));
    assert_eq!(node.bad(), 1);
    // A full inbox loses what comes, and goes on where the host has read.
    for _ in 2..INBOX_SLOTS + 3 {
        come(&mut node, &packet(&own));
    }
    assert_eq!(node.bad(), 4);
    node.gm.nic_mut().set_word(INBOX, 0);
    come(&mut node, &packet(&own));
    assert_eq!(slot(&node, 0), own);
}

fn route(node: &Node, target: u32) -> (u32, u32) {
    (
        node.gm.nic().word(peer(target) + PEER_ROUTE),
        node.gm.nic().word(peer(target) + ROUTE_WORDS[0]),
    )
}

#[test]
fn routes_are_taken_from_the_latest_mapper() {
    let mut node = node();
    node.gm.nic_mut().set_word(NODE, NO_NODE);
    let mut check = |packet_words: &[u32], taken: bool, version: u32| {
        let before = route(&node, 5);
        come(&mut node, &packet(packet_words));
        let answer = words(&leave(&mut node).expect("an answer"));
        assert_eq!((answer[1], answer[4]), (77, version));
        assert_eq!(route(&node, 5) != before, taken, "{packet_words:x?}");
        node.gm.nic_mut().set_word(peer(5) + PEER_ROUTE, 0);
    };
    let later = [MAPPER[0], MAPPER[1] + 1];
    check(&routes(0, MAPPER, 3, 0, &[5]), false, 0);
    check(&routes(7, MAPPER, 3, 0, &[0, 5]), true, 7);
    check(&routes(7, MAPPER, 3, 0, &[5]), true, 7);
    check(&routes(7, later, 3, 0, &[5]), false, 7);
    check(&routes(6, MAPPER, 3, 0, &[5]), false, 7);
    // The number is given once.
    check(&routes(8, later, 4, 0, &[5]), false, 8);
    check(&routes(8, later, 3, 0, &[5]), true, 8);
    check(&routes(0x8000_0007, later, 3, 0, &[5]), true, 0x8000_0007);
    check(&routes(8, later, 3, 0, &[5]), false, 0x8000_0007);
    assert_eq!(node.gm.nic().word(MAP_VERSION), 0);
    let complete = routes(0x8000_0007, later, 3, SIZES_COMPLETE, &[]);
    come(&mut node, &packet(&complete));
    let fake = node.gm.nic();
    assert_eq!((fake.word(MAP_VERSION), fake.word(NODE)), (0x8000_0007, 3));
    assert_eq!(route(&node, 0), (ROUTE_VALID | 1, 0x90));
}

#[test]
fn a_node_that_got_its_number_exchanges_messages() {
    let mut world = World::new(2, 1);
    let text = routes(1, MAPPER, 0, SIZES_COMPLETE, &[]);
    let mut late = Node::new(NO_NODE, 2, 1);
    late.gm.nic_mut().set_word(NODES, 0);
    come(&mut late, &packet(&text));
    leave(&mut late).expect("an answer");
    late.number = 0;
    world.nodes[0] = late;
    for node in &mut world.nodes {
        node.open(2);
    }
    let one = message(2, 100);
    world.nodes[1].provide(2, one.size, 0, 7);
    world.send(&one);
    world.run(30);
    world.receive();
    assert_eq!(world.nodes[1].received.pop(), Some(one));
    assert_eq!(world.nodes[0].gm.nic().word(NODES), 8);
}

#[test]
fn the_own_host_gives_routes_without_an_answer() {
    let mut node = node();
    let own = routes(4, ID, 3, SIZES_COMPLETE, &[5]);
    for (at, &word) in (OUT_HEADER..).step_by(4).zip(&own) {
        node.gm.set_word(at, word);
    }
    let length = u32::try_from(4 * own.len()).expect("in range");
    node.gm.set_word(OUT, out_word(OUT_LOCAL, 0, length));
    while node.gm.step() {}
    assert_eq!(leave(&mut node), None);
    assert_eq!((node.gm.word(OUT), node.gm.word(MAP_VERSION)), (0, 4));
    assert_eq!(route(&node, 5), (ROUTE_VALID | 1, 0x95));
}

/// Any words, lengths and damage: nothing outside of the tables changes, and the node still answers.
#[test]
fn packets_that_make_no_sense_change_nothing() {
    let mut random = Random(11);
    let mut node = node();
    let mut refused = 0;
    for _ in 0..20_000 {
        let sound = match random.next(3) {
            0 => words(&scout(1, [0x81, 0x82, 0x83])),
            1 => routes(1 + random.next(3), MAPPER, 3, 0, &[1, 2, 4]),
            _ => vec![first_word(LOOP), 1, ID[0], ID[1], 0, 0],
        };
        let mut wrong = sound;
        for _ in 0..random.next(3) {
            let at = random.next(u32::try_from(wrong.len()).expect("in range")) as usize;
            let bits = match random.next(3) {
                0 => 1 << random.next(32),
                1 => random.next(0x1_0000) << 16,
                _ => random.next(0x1_0000),
            };
            // Type and subtype stay most of the time.
            wrong[at] ^= if at == 0 { bits & 0xF } else { bits };
        }
        let length = wrong.len() + random.next(3) as usize - random.next(3) as usize;
        wrong.resize(length, 0x8181_8181);
        let mut wire = packet(&wrong);
        wire.intact = random.next(10) != 0;
        let before = node.bad();
        come(&mut node, &wire);
        refused += node.bad() - before;
        if let Some(answer) = leave(&mut node) {
            assert!(answer.route.len() <= ROUTE_LIMIT as usize);
            assert_eq!(answer.bytes.len(), HEADER_BYTES as usize);
        }
        node.gm
            .nic_mut()
            .set_word(INBOX + random.next(INBOX_SLOTS) * INBOX_SLOT_BYTES, 0);
        let fake = node.gm.nic();
        assert!(fake.word(NODES) <= 256 && fake.word(NODE) == 3);
        for target in 0..256 {
            assert!(fake.word(peer(target) + PEER_ROUTE) & 0xFF <= ROUTE_LIMIT || target >= 8);
        }
    }
    assert!(refused > 2_000, "{refused}");
    assert!(node.gm.nic().word(ROUTES_VERSION) != 0);
    const { assert!(ENTRY_BYTES == 20) }
}
