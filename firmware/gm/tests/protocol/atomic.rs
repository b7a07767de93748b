//! Atomic operations.

use defs::gm::atomic::{
    ANSWER_BYTES, ANSWERS, ATOMIC, ATOMIC_COUNT, ATOMIC_OPERATIONS, Atomic, DIRECT_DONE,
    GUARD_HIGH, GUARD_INTERESTED, GUARD_LOW, GUARD_NIC, GUARD_TURN, SEND_COMPARED,
    SEND_DIRECT_HIGH, SEND_DIRECT_LOW, SEND_OPERAND,
};
use defs::gm::event::Status;
use defs::gm::map::Counter;
use defs::gm::port::{SEND_REMOTE_HIGH, SEND_REMOTE_LOW, control_block, send_slot};

use crate::board::Cpus;
use crate::node::PROGRAM;
use crate::world::{Faults, World};

const SUCCESS: u32 = Status::Success as u32;
/// A word of each node's registered memory.
const WORD: u32 = 0x40_0100;
const PORT: u32 = 2;

/// An operation of a port.
#[derive(Clone, Copy)]
struct Post {
    number: u32,
    target: (u32, u32),
    operation: u32,
    address: u32,
    operand: u32,
    compared: u32,
    /// Address to which the result goes; 0: into an event.
    direct: u32,
}

impl Post {
    const fn add(operand: u32) -> Self {
        Self {
            number: 0,
            target: (0, PORT),
            operation: Atomic::FetchAdd as u32,
            address: WORD,
            operand,
            compared: 0,
            direct: 0,
        }
    }

    fn write(self, world: &mut World, node: u32, port: u32) {
        let node = &mut world.nodes[node as usize];
        let slot = send_slot(port, node.ports[port as usize].next_slot);
        for (word, value) in [
            (SEND_REMOTE_HIGH, PROGRAM),
            (SEND_REMOTE_LOW, self.address),
            (SEND_OPERAND, self.operand),
            (SEND_COMPARED, self.compared),
            (SEND_DIRECT_HIGH, if self.direct == 0 { 0 } else { PROGRAM }),
            (SEND_DIRECT_LOW, self.direct),
        ] {
            node.gm.set_word(slot + word, value);
        }
        let (target, its_port) = self.target;
        let what = self.number << 8 | self.operation;
        node.control(port, target << 16 | its_port << 9 | ATOMIC, what);
    }
}

fn opened(cpus: Cpus, nodes: u32, seed: u64) -> World {
    let mut world = World::of(cpus, nodes, seed);
    for node in &mut world.nodes {
        node.open(PORT);
        node.open(PORT + 1);
        node.allow(PORT, true);
    }
    world
}

fn word(world: &World, node: u32) -> u32 {
    let bytes = world.nodes[node as usize].memory(WORD, 4);
    u32::from_be_bytes(bytes.try_into().expect("four bytes"))
}

fn set_word(world: &mut World, node: u32, value: u32) {
    world.nodes[node as usize].set_memory(WORD, &value.to_be_bytes());
}

/// The ends of a port's operations since the last call: number, status, word before the operation.
fn ends(world: &mut World, node: u32, port: u32) -> Vec<(u32, u32, u32)> {
    let node = &mut world.nodes[node as usize];
    while node.receive(port) {}
    let (mine, others): (Vec<_>, Vec<_>) = node.ended.drain(..).partition(|end| end.0 == port);
    node.ended = others;
    let end = |(_, number, status, value): (u32, u32, u32, u64)| {
        (number - ATOMIC_OPERATIONS, status, value as u32)
    };
    mine.into_iter().map(end).collect()
}

fn both_cpus(check: impl FnMut(Cpus)) {
    Cpus::EVERY.into_iter().for_each(check);
}

/// Each operation, on another node's memory and on the own one.
#[test]
fn a_word_is_changed_and_its_value_before_comes_back() {
    both_cpus(|cpus| {
        for target in [0, 1] {
            let mut world = opened(cpus, 2, 1);
            set_word(&mut world, target, 40);
            let cases = [
                (Atomic::FetchAdd, 2, 0, 40, 42),
                (Atomic::FetchAdd, u32::MAX, 0, 42, 41),
                (Atomic::FetchWrite, 7, 0, 41, 7),
                (Atomic::CompareSwap, 9, 8, 7, 7),
                (Atomic::CompareSwap, 9, 7, 7, 9),
                (Atomic::FetchAdd, 0, 0, 9, 9),
            ];
            for (operation, operand, compared, before, after) in cases {
                let post = Post {
                    target: (target, PORT),
                    operation: operation as u32,
                    operand,
                    compared,
                    ..Post::add(0)
                };
                post.write(&mut world, 1, PORT);
                world.settle();
                assert_eq!(ends(&mut world, 1, PORT), [(0, SUCCESS, before)]);
                assert_eq!(word(&world, target), after, "{operation:?}");
            }
            assert_eq!(world.nodes[1].counter(Counter::Atomics), 6);
            assert_eq!(world.packets > 0, target == 0);
        }
    });
}

/// An operation that is not allowed ends with a status and changes nothing.
#[test]
fn refusals() {
    let denied = Status::PermissionDenied as u32;
    let closed = Status::TargetPortClosed as u32;
    let invalid = Status::InvalidParameter as u32;
    let unreachable = Status::NodeUnreachable as u32;
    let add = Atomic::FetchAdd as u32;
    // Target, operation, address.
    let cases = [
        ((0, PORT), add, WORD + 2, denied),
        ((0, PORT), add, 0x50_0000, denied),
        ((0, PORT + 1), add, WORD, denied),
        ((0, 5), add, WORD, closed),
        ((0, 8), add, WORD, invalid),
        ((9, PORT), add, WORD, unreachable),
        ((0, PORT), 3, WORD, invalid),
        ((0, PORT), add, WORD, SUCCESS),
    ];
    both_cpus(|cpus| {
        for from in [0, 1] {
            let mut world = opened(cpus, 2, 1);
            set_word(&mut world, 0, 5);
            for (number, (target, operation, address, status)) in (0..).zip(cases) {
                let post = Post {
                    number,
                    target,
                    operation,
                    address,
                    ..Post::add(1)
                };
                post.write(&mut world, from, PORT);
                world.run(40);
                let ended = ends(&mut world, from, PORT);
                let ended: Vec<_> = ended.iter().map(|end| (end.0, end.1)).collect();
                assert_eq!(ended, [(number, status)]);
            }
            assert_eq!(word(&world, 0), 6);
        }
    });
}

/// A number that a port has not, or that is under way, is a mistake of the process.
#[test]
fn numbers_of_operations_are_checked() {
    both_cpus(|cpus| {
        let mut world = opened(cpus, 2, 1);
        set_word(&mut world, 0, 0);
        for number in [ATOMIC_COUNT, 3, 3] {
            let post = Post {
                number,
                ..Post::add(1)
            };
            post.write(&mut world, 1, PORT);
        }
        world.settle();
        assert_eq!(world.nodes[1].counter(Counter::BadPosts), 2);
        assert_eq!(ends(&mut world, 1, PORT), [(3, SUCCESS, 0)]);
    });
}

/// More operations at once than places for answers: the board says so.
#[test]
fn operations_at_once_are_limited() {
    both_cpus(|cpus| {
        let mut world = opened(cpus, 2, 1);
        set_word(&mut world, 0, 0);
        for number in 0..ATOMIC_COUNT {
            Post {
                number,
                ..Post::add(1)
            }
            .write(&mut world, 1, PORT);
        }
        // No packet comes before all are posted.
        while world.nodes[1].gm.step() {}
        world.settle();
        let ended = ends(&mut world, 1, PORT);
        let again = Status::TryAgain as u32;
        let refused = ended.iter().filter(|end| end.1 == again).count() as u32;
        assert_eq!(ended.len() as u32, ATOMIC_COUNT);
        assert_eq!(word(&world, 0), ATOMIC_COUNT - refused);
    });
}

/// All processes of all nodes count with the word of node 0, over bad cables. Returns the word and the values before, sorted.
fn count(world: &mut World, each: u32, mut between: impl FnMut(&mut World)) -> (u32, Vec<u32>) {
    set_word(world, 0, 0);
    let nodes = world.nodes.len() as u32;
    let mut values = Vec::new();
    let members = (0..nodes).flat_map(|node| [(node, PORT), (node, PORT + 1)]);
    let mut left: Vec<_> = members.map(|(node, port)| (node, port, each)).collect();
    for &(node, port, _) in &left {
        Post::add(1).write(world, node, port);
    }
    for _ in 0..100_000 {
        world.stir(20);
        between(world);
        for (node, port, left) in &mut left {
            for (_, status, value) in ends(world, *node, *port) {
                let again = status == Status::TryAgain as u32;
                assert!(again || status == SUCCESS, "status {status}");
                if !again {
                    values.push(value);
                    *left -= 1;
                }
                if *left != 0 {
                    Post::add(1).write(world, *node, *port);
                }
            }
        }
        if left.iter().all(|(_, _, left)| *left == 0) {
            break;
        }
        if world.links.iter().all(|link| link.is_empty()) {
            world.run(1);
        }
    }
    values.sort_unstable();
    (word(world, 0), values)
}

const BAD_CABLES: Faults = Faults {
    lost: 25,
    damaged: 10,
    doubled: 15,
};

/// No operation is executed twice, none is lost, and each has a moment at which it happened.
#[test]
fn bad_cables_do_not_repeat_operations() {
    both_cpus(|cpus| {
        for seed in 1..6 {
            let mut world = opened(cpus, 4, seed);
            world.faults = BAD_CABLES;
            let (word, values) = count(&mut world, 20, |_| ());
            assert_eq!(word, 160);
            assert_eq!(values, (0..160).collect::<Vec<_>>(), "seed {seed}");
        }
    });
}

/// The test before finds a board that forgets its answers.
#[test]
fn without_answers_operations_are_repeated() {
    both_cpus(|cpus| {
        let mut world = opened(cpus, 4, 1);
        world.faults = BAD_CABLES;
        let (word, values) = count(&mut world, 20, |world| {
            for at in (0..4 * ANSWER_BYTES).step_by(8) {
                world.nodes[0].gm.set_word(ANSWERS + at, 0);
            }
        });
        assert!(word > 160, "{word}");
        assert_ne!(values, (0..160).collect::<Vec<_>>());
    });
}

/// A process that is closed hears nothing, and the next one of its port nothing of it.
#[test]
fn a_closed_port_has_no_operations() {
    both_cpus(|cpus| {
        for lost in [false, true] {
            let mut world = opened(cpus, 2, 1);
            set_word(&mut world, 0, 0);
            if lost {
                // The question, or its answer.
                world.lose = vec![world.packets, world.packets + 1];
            }
            Post::add(1).write(&mut world, 1, PORT);
            while world.nodes[1].gm.step() {}
            world.nodes[1].close(PORT);
            world.nodes[1].reopen(PORT);
            world.run(60);
            assert_eq!(ends(&mut world, 1, PORT), []);
            Post::add(1).write(&mut world, 1, PORT);
            world.run(60);
            let ended = ends(&mut world, 1, PORT);
            assert_eq!(ended, [(0, SUCCESS, word(&world, 0) - 1)]);
        }
    });
}

/// Addresses to which results go.
const REPLY: u32 = 0x40_0200;

#[test]
fn a_result_goes_straight_into_memory() {
    both_cpus(|cpus| {
        for target in [0, 1] {
            let mut world = opened(cpus, 2, 1);
            set_word(&mut world, target, 40);
            let reply = |world: &World| world.nodes[1].memory(REPLY, 8);
            world.nodes[1].set_memory(REPLY, &[0; 8]);
            let post = Post {
                target: (target, PORT),
                direct: REPLY,
                ..Post::add(2)
            };
            post.write(&mut world, 1, PORT);
            world.settle();
            let expected = [40_u32.to_be_bytes(), DIRECT_DONE.to_be_bytes()].concat();
            assert_eq!((reply(&world), word(&world, target)), (expected, 42));
            // A status too.
            let denied = Post {
                address: WORD + 2,
                ..post
            };
            denied.write(&mut world, 1, PORT);
            world.run(40);
            let status = (DIRECT_DONE | Status::PermissionDenied as u32).to_be_bytes();
            assert_eq!(reply(&world)[4..], status);
            assert_eq!(ends(&mut world, 1, PORT), []);
            // Memory that is not the process's, or not aligned: an event.
            for direct in [0x50_0000, REPLY + 4] {
                Post { direct, ..post }.write(&mut world, 1, PORT);
                world.run(40);
                let before = word(&world, target) - 2;
                assert_eq!(ends(&mut world, 1, PORT), [(0, SUCCESS, before)]);
            }
        }
    });
}

/// The word that says whether the board is interested.
const INTERESTED: u32 = 0x40_0300;

#[test]
fn a_board_waits_while_its_host_uses_the_words() {
    both_cpus(|cpus| {
        for from in [0, 1] {
            let mut world = opened(cpus, 2, 1);
            set_word(&mut world, 0, 5);
            let block = control_block(PORT);
            for (word, value) in [
                (GUARD_INTERESTED, 1),
                (GUARD_TURN, 0),
                (GUARD_HIGH, PROGRAM),
                (GUARD_LOW, INTERESTED),
            ] {
                world.nodes[0].gm.set_word(block + word, value);
            }
            Post::add(1).write(&mut world, from, PORT);
            world.run(10);
            assert_eq!(word(&world, 0), 5);
            assert!(world.nodes[0].counter(Counter::GuardBusy) > 0);
            assert_eq!(world.nodes[0].memory(INTERESTED, 4), [0; 4]);
            if from == 0 {
                // The own process tries again.
                let again = Status::TryAgain as u32;
                assert_eq!(ends(&mut world, from, PORT), [(0, again, 0)]);
                Post::add(1).write(&mut world, from, PORT);
            }
            world.nodes[0].gm.set_word(block + GUARD_INTERESTED, 0);
            world.run(60);
            let ended = ends(&mut world, from, PORT);
            assert_eq!((ended, word(&world, 0)), (vec![(0, SUCCESS, 5)], 6));
            assert_eq!(world.nodes[0].gm.word(block + GUARD_TURN), GUARD_NIC);
            assert_eq!(world.nodes[0].memory(INTERESTED, 4), [0; 4]);
        }
    });
}
