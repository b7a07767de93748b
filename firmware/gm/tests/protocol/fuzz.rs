//! Any words in the queues of a process and from the wire. A case is text, a line for each action;
//! `../corpus` has some.

use std::fmt::Write as _;
use std::path::Path;

use defs::gm::event::QUEUE_BYTES;
use defs::gm::map::{BUFFER_BYTES, COUNTER_COUNT, COUNTERS, FATAL_TICKS, RECEIVE_BUFFERS};
use defs::gm::packet::{
    BODY, DATA, GET, GOT, HEAD, HEADER_BYTES, NACK_OPEN, NULL, PUT, TAIL, capacity, first_word,
};
use defs::gm::port::{RECEIVE_READY, RECEIVE_SLOTS, SEND, SEND_SLOTS, receive_slot, send_slot};
use proptest::prelude::*;

use crate::nic::Wire;
use crate::node::{Message, PROGRAM, TABLE, queue};
use crate::world::{World, message};
use cases::cases;

/// The process that writes anything: its port on node 0, its number, its memory.
const PORT: u32 = 1;
const NUMBER: u32 = 1;
const OWN: u32 = 0x50_0000;
const OWN_BYTES: u32 = 0x2_0000;
/// The others: ports of both nodes, their processes.
const OTHERS: [(u32, u32); 2] = [(2, 2), (5, 3)];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    Slot(u32, [u32; 8]),
    Token(u32, [u32; 4]),
    Step(u32),
    /// Words of a header, bytes of payload.
    Wire([u32; 6], u32),
}

/// The text of a case.
fn text(acts: &[Act]) -> String {
    let mut text = String::new();
    for act in acts {
        let (name, words) = match act {
            Act::Slot(at, words) => ("slot", [&[*at][..], words].concat()),
            Act::Token(at, words) => ("token", [&[*at][..], words].concat()),
            Act::Step(count) => ("step", vec![*count]),
            Act::Wire(words, bytes) => ("wire", [&words[..], &[*bytes]].concat()),
        };
        let _ = write!(text, "{name}");
        for word in words {
            let _ = write!(text, " {word:x}");
        }
        text.push('\n');
    }
    text
}

fn parse(text: &str) -> Vec<Act> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter(|line| !line.is_empty())
        .map(|line| {
            let mut parts = line.split(' ');
            let name = parts.next().expect("a name");
            let words: Vec<u32> = parts
                .map(|part| u32::from_str_radix(part, 16).expect("a number"))
                .collect();
            let rest = |from: usize| words[from..].to_vec();
            match name {
                "slot" => Act::Slot(words[0], rest(1).try_into().expect("8 words")),
                "token" => Act::Token(words[0], rest(1).try_into().expect("4 words")),
                "step" => Act::Step(words[0]),
                "wire" => Act::Wire(words[..6].try_into().expect("6 words"), words[6]),
                _ => panic!("{line}"),
            }
        })
        .collect()
}

fn value() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        0..0x200_u32,
        prop::sample::select(vec![
            0,
            1,
            0x7F,
            0x80,
            0xFFF,
            0x1000,
            0x7FFF_FFFF,
            0x8000_0000,
            u32::MAX,
            OWN,
            OWN + OWN_BYTES - 4,
            OWN + OWN_BYTES,
            0x10_0000,
            0x4F_0000,
            0x1_8000,
        ]),
        Just(OWN + 100),
    ]
}

/// A send slot that makes sense but for some words.
fn slot() -> impl Strategy<Value = Act> {
    let kind = prop_oneof![
        4 => SEND..SEND + 16,
        1 => prop::sample::select(vec![1, 5, 102, 103, 104, 105]),
        1 => 0..256_u32,
    ];
    let valid = (
        kind,
        0..3_u32,
        0..17_u32,
        0..OWN_BYTES,
        0..9000_u32,
        0..64_u32,
    )
        .prop_map(|(kind, node, subport, at, length, token)| {
            let word = node << 16 | subport << 8 | kind;
            let address = OWN + at;
            [PROGRAM, OWN, 0, token, PROGRAM, address, length, word]
        });
    let changes = prop::collection::vec((0..8_usize, value()), 0..3);
    (0..SEND_SLOTS + 2, valid, changes).prop_map(|(at, mut words, changes)| {
        for (word, value) in changes {
            words[word] = value;
        }
        Act::Slot(at, words)
    })
}

fn token() -> impl Strategy<Value = Act> {
    let changes = prop::collection::vec((0..4_usize, value()), 0..2);
    (
        0..RECEIVE_SLOTS + 2,
        0..OWN_BYTES,
        0..32_u32,
        0..2_u32,
        changes,
    )
        .prop_map(|(at, place, size, priority, changes)| {
            let ready = RECEIVE_READY | priority << 8 | size;
            let mut words = [PROGRAM, OWN + place, 7, ready];
            for (word, value) in changes {
                words[word] = value;
            }
            Act::Token(at, words)
        })
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![4 => slot(), 3 => token(), 2 => (1..40_u32).prop_map(Act::Step)];
    prop::collection::vec(act, 1..60)
}

struct Case {
    world: World,
    sent: [Vec<Message>; 2],
    next_slot: u32,
    next_token: u32,
}

impl Case {
    fn new() -> Self {
        let mut world = World::new(2, 1);
        for node in &mut world.nodes {
            node.register(0x10_0000, 0x40_0000, OTHERS[0].1);
            for (port, process) in OTHERS {
                node.open_for(port, process);
                node.accept(port, 0x3FF0, 0x3FF0);
            }
            node.gm.nic_mut().set_word(FATAL_TICKS, 60);
        }
        world.nodes[0].register(OWN, OWN_BYTES, NUMBER);
        world.nodes[0].open_for(PORT, NUMBER);
        world.nodes[1].open(6);
        world.nodes[0].gm.nic_mut().watch = true;
        Self {
            world,
            sent: [Vec::new(), Vec::new()],
            next_slot: 0,
            next_token: 0,
        }
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Slot(at, words) => {
                // Two numbers stand for the slot that comes next.
                let slot = if at < SEND_SLOTS { at } else { self.next_slot };
                self.next_slot = (slot + 1) % SEND_SLOTS;
                let at = send_slot(PORT, slot);
                let mut fake = self.world.nodes[0].gm.nic_mut();
                (0..)
                    .zip(words)
                    .for_each(|(word, value)| fake.set_word(at + 4 * word, value));
            }
            Act::Token(at, words) => {
                let slot = if at < RECEIVE_SLOTS {
                    at
                } else {
                    self.next_token
                };
                self.next_token = (slot + 1) % RECEIVE_SLOTS;
                let at = receive_slot(PORT, slot);
                let mut fake = self.world.nodes[0].gm.nic_mut();
                (0..)
                    .zip(words)
                    .for_each(|(word, value)| fake.set_word(at + 4 * word, value));
            }
            Act::Step(count) => {
                self.traffic(count);
                self.world.stir(4 * count);
            }
            Act::Wire(words, bytes) => {
                let bytes = packet(words, bytes);
                self.world.links[0].push_back(bytes);
            }
        }
    }

    /// Messages among the others, both ways, and one for the process.
    fn traffic(&mut self, seed: u32) {
        for node in 0..2 {
            let (port, _) = OTHERS[(seed % 2) as usize];
            let one = Message {
                node,
                target_node: 1 - node,
                priority: seed >> 1 & 1,
                ..message(port, 4 + (seed as usize * 97) % 4000)
            };
            let at = &mut self.world.nodes;
            if at[node as usize].can_send(port) && at[1 - node as usize].can_provide(port) {
                at[1 - node as usize].provide(port, one.size, one.priority, 3);
                self.world.send(&one);
                self.sent[node as usize].push(one);
            }
        }
        if self.world.nodes[1].can_send(6) {
            let one = Message {
                node: 1,
                target_node: 0,
                target_port: PORT,
                priority: seed & 1,
                ..message(6, (seed as usize * 331) % 9000)
            };
            self.world.send(&one);
        }
    }

    /// All of the others' messages arrive, and nothing else has changed.
    fn finish(&mut self) {
        for _ in 0..400 {
            self.world.pass(20);
            for node in 0..2 {
                for (port, _) in OTHERS {
                    while self.world.nodes[node].receive(port) {}
                }
                self.refill(node);
            }
            self.world.nodes[1].receive(6);
            if self.world.nodes.iter().all(|node| {
                OTHERS
                    .iter()
                    .all(|&(port, _)| node.ports[port as usize].is_idle())
            }) {
                break;
            }
        }
        for node in 0..2 {
            let others = self.world.nodes[1 - node].received.iter();
            let got: Vec<&Message> = others.filter(|one| one.port != PORT).collect();
            for (port, _) in OTHERS {
                for priority in 0..2 {
                    let of = |one: &&Message| one.port == port && one.priority == priority;
                    let sent: Vec<&Message> = self.sent[node].iter().filter(of).collect();
                    let got: Vec<&Message> = got.iter().copied().filter(of).collect();
                    assert!(sent == got, "{} of {} messages", got.len(), sent.len());
                }
            }
            let failed = |sent: &&(u32, u32, u32)| sent.0 != 6 && sent.2 != 0;
            let failed: Vec<_> = self.world.nodes[node].sent.iter().filter(failed).collect();
            assert!(failed.is_empty(), "{failed:?}");
            // Violations are told to their port alone.
            assert!(self.world.nodes[node].notices.is_empty());
        }
        let own = OWN as usize..(OWN + OWN_BYTES) as usize;
        // A word that the driver does not use: writes to it end commands and reports.
        let scratch = TABLE as usize - 64..TABLE as usize - 60;
        let queues = [PORT, OTHERS[0].0, OTHERS[1].0].map(|port| {
            let at = queue(port) as usize;
            at..at + QUEUE_BYTES as usize
        });
        let buffers = 0x10_0000..self.world.nodes[0].next_buffer() as usize + 0x1000;
        for (at, end) in &self.world.nodes[0].gm.nic().written {
            let inside = |range: &std::ops::Range<usize>| range.start <= *at && *end <= range.end;
            let fits =
                inside(&own) || inside(&scratch) || inside(&buffers) || queues.iter().any(inside);
            assert!(fits, "a write to {at:#x}");
        }
    }

    /// The process's messages have taken receive tokens: others come.
    fn refill(&mut self, node: usize) {
        let missing: Vec<(u32, u32, u32)> = self.sent[1 - node]
            .iter()
            .filter(|one| !self.world.nodes[node].received.contains(one))
            .map(|one| (one.target_port, one.size, one.priority))
            .collect();
        for (port, size, priority) in missing {
            let at = &mut self.world.nodes[node];
            let free = at.tokens(port) < 100;
            if free && at.next_buffer() < 0x4E_0000 {
                at.provide(port, size, priority, 3);
            }
        }
    }
}

fn packet(words: [u32; 6], payload: u32) -> Wire {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    bytes.resize((HEADER_BYTES + payload.min(4096)) as usize, 0x66);
    Wire {
        route: Vec::new(),
        bytes,
        intact: true,
    }
}

fn replay(acts: &[Act]) {
    let mut case = Case::new();
    for act in acts {
        case.act(act);
    }
    case.finish();
}

#[test]
fn the_corpus_is_harmless() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut count = 0;
    for file in std::fs::read_dir(folder).expect("a folder") {
        let case = std::fs::read_to_string(file.expect("a file").path()).expect("text");
        assert!(case.starts_with("# "), "a purpose");
        let acts = parse(&case);
        assert_eq!(parse(&text(&acts)), acts);
        replay(&acts);
        count += 1;
    }
    assert!(count >= 4, "{count} cases");
}

/// A field of a packet and the bit patterns that make it wrong.
fn wrong_packet() -> impl Strategy<Value = ([u32; 6], u32)> {
    let subtypes = prop::sample::select(vec![DATA + 8, HEAD + 13, BODY, TAIL, PUT, NULL]);
    (subtypes, 0..8_u32, any::<u32>(), 1..4080_u32).prop_map(|(subtype, field, value, bytes)| {
        // From node 0 to node 1, connection 0 of node 1, session 1.
        let mut words = [first_word(subtype), 1, 0x1_0000, 0x404, 0, 0];
        let mut payload = 0;
        match field {
            0 => {
                words[0] = first_word(match value % 4 {
                    0 => NACK_OPEN + 1 + value % 0x1000,
                    1 => 0,
                    2 => GOT + 1 + value % 3,
                    _ => 0x7FFF,
                })
            }
            1 => words[0] = (value | 0x10_0000) & !0x7000_0000 | 0x8000_0000,
            2 => words[1] = if value == 1 { 0 } else { value },
            3 => words[4] = value.max(2),
            4 => words[5] = value.max(2 << 16),
            // Another length than that of the packet.
            5 => {
                words[3] |= bytes << 16;
                payload = bytes.next_multiple_of(4) + 4;
            }
            6 => {
                words[0] = first_word(GET);
                payload = if value % 20 == 16 { 12 } else { value % 20 };
            }
            _ => {
                words[0] = first_word(GOT);
                payload = value % 8;
            }
        }
        (words, payload)
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn nothing_that_a_process_writes_harms_others(acts in acts()) {
        let acts = parse(&text(&acts));
        if std::panic::catch_unwind(|| replay(&acts)).is_err() {
            panic!("a case:\n{}", text(&acts));
        }
    }

    #[test]
    fn a_wrong_packet_is_counted_and_nothing_else_happens((words, payload) in wrong_packet()) {
        let mut world = World::new(2, 1);
        world.nodes[1].open(2);
        world.nodes[1].provide(2, 8, 0, 1);
        world.nodes[1].provide(2, 13, 0, 1);
        world.settle();
        let bad = world.nodes[1].bad();
        let (mut before, host) = (world.nodes[1].gm.nic().sram.clone(), world.nodes[1].gm.nic().host.clone());
        world.links[1].push_back(packet(words, payload));
        world.settle();
        prop_assert_eq!(world.nodes[1].bad(), bad + 1);
        let mut after = world.nodes[1].gm.nic().sram.clone();
        for sram in [&mut before, &mut after] {
            let counters = COUNTERS as usize;
            sram[counters..counters + 4 * COUNTER_COUNT as usize].fill(0);
            let buffers = RECEIVE_BUFFERS as usize;
            sram[buffers..buffers + 2 * BUFFER_BYTES as usize].fill(0);
        }
        prop_assert!(before == after && world.nodes[1].gm.nic().host == host);
        prop_assert_eq!(world.packets, 0);
        prop_assert!(capacity(13) > 0);
    }

    /// Packets that make sense but for some words: nothing is written outside of the memory of processes.
    #[test]
    fn any_packets_are_survived(
        packets in prop::collection::vec(
            (0x100..0x190_u32, 0..4_u32, 0..80_u32, 0..18_u32, prop::collection::vec((0..6_usize, value()), 0..2), 0..4097_u32),
            1..40,
        ),
    ) {
        let mut world = World::new(2, 1);
        for node in &mut world.nodes {
            node.open(2);
            node.allow(2, true);
            for size in 4..16 {
                node.provide(2, size, 0, 1);
                node.provide(2, size, 1, 1);
            }
        }
        world.nodes[0].gm.nic_mut().watch = true;
        for (subtype, session, sequence, subport, changes, bytes) in packets {
            let number = 2 | subport & 1;
            let lengths = bytes << 16 | subport << 8 | 4;
            let mut words = [first_word(subtype), 0, (session << 16) | (sequence % 9), lengths, 1, number << 16];
            for (word, value) in changes {
                words[word] = value;
            }
            let one = message(2, 300);
            if world.nodes[0].can_send(2) {
                world.send(&one);
            }
            world.links[0].push_back(packet(words, bytes.next_multiple_of(4)));
            world.stir(60);
        }
        world.pass(40);
        let inside = |at: usize, end: usize| {
            at >= 0x10_0000 && end <= 0x50_0000 || at >= queue(2) as usize && end <= (queue(2) + QUEUE_BYTES) as usize
        };
        prop_assert!(world.nodes[0].gm.nic().written.iter().all(|&(at, end)| inside(at, end)));
    }
}
