//! Barriers and reductions.

use defs::gm::collective::{
    BARRIER, DESCRIPTOR_CHILDREN, DESCRIPTOR_KIND, DESCRIPTOR_PARENT, DESCRIPTOR_TAG,
    DESCRIPTOR_VALUE, EXCHANGE, Operation, REDUCE, REDUCE_ALL, REDUCE_PARENT, STEP_SEND, STEP_WAIT,
    TREE_PARENT, TREE_ROOT, UNEXPECTED_VALUES, descriptor, endpoint,
};
use defs::gm::event::Status;

use crate::board::Cpus;
use crate::node::COLLECTIVE;
use crate::world::{Faults, World};

const SUCCESS: u32 = Status::Success as u32;
const BOTH: u32 = STEP_SEND | STEP_WAIT;

/// A member: node and port.
type Member = (u32, u32);

const fn word((node, port): Member) -> u32 {
    endpoint(node, port)
}

/// The steps of a member in a pairwise exchange.
fn steps(members: &[Member], rank: usize) -> Vec<u32> {
    let power = 1 << members.len().ilog2();
    let extra = members.len() - power;
    if rank >= power {
        return vec![word(members[rank - power]) | BOTH];
    }
    let mut steps = Vec::new();
    if rank < extra {
        steps.push(word(members[rank + power]) | STEP_WAIT);
    }
    let mut distance = 1;
    while distance < power {
        steps.push(word(members[rank ^ distance]) | BOTH);
        distance *= 2;
    }
    if rank < extra {
        steps.push(word(members[rank + power]) | STEP_SEND);
    }
    steps
}

/// Parent and children of a member in a tree of a degree.
fn tree(members: &[Member], rank: usize, degree: usize) -> (Option<u32>, Vec<u32>) {
    let parent = (rank > 0).then(|| word(members[(rank - 1) / degree]));
    let children = (rank * degree + 1..=rank * degree + degree).filter(|&at| at < members.len());
    (parent, children.map(|at| word(members[at])).collect())
}

/// Writes a slot of a collective operation.
fn post(world: &mut World, (node, port): Member, slot: u32) {
    world.nodes[node as usize].control(port, slot, 0);
}

fn exchange(world: &mut World, members: &[Member], rank: usize) {
    let (node, port) = members[rank];
    let steps = steps(&world.named(members), rank);
    for (at, step) in (0..).zip(&steps) {
        let node = &world.nodes[node as usize];
        let place = node.cpus.layout().peer_list(port, 0) + 4 * at;
        node.gm.set_word(place, *step);
    }
    post(
        world,
        members[rank],
        (steps.len() as u32) << 16 | EXCHANGE << 8 | BARRIER,
    );
}

fn gather(world: &mut World, members: &[Member], rank: usize, degree: usize) {
    let (node, port) = members[rank];
    let (parent, children) = tree(&world.named(members), rank, degree);
    let algorithm = if parent.is_some() {
        TREE_PARENT
    } else {
        TREE_ROOT
    };
    let list: Vec<u32> = parent.into_iter().chain(children).collect();
    for (at, entry) in (0..).zip(&list) {
        let node = &world.nodes[node as usize];
        let place = node.cpus.layout().peer_list(port, 0) + 4 * at;
        node.gm.set_word(place, *entry);
    }
    post(
        world,
        members[rank],
        (list.len() as u32) << 16 | algorithm << 8 | BARRIER,
    );
}

/// A reduction as all members call it.
#[derive(Clone, Copy)]
struct Reduction {
    operation: Operation,
    tag: u32,
    slot: u32,
    all: bool,
    degree: usize,
}

impl Reduction {
    const fn sum(tag: u32, slot: u32) -> Self {
        Self {
            operation: Operation::Sum,
            tag,
            slot,
            all: false,
            degree: 3,
        }
    }

    fn post(&self, world: &mut World, members: &[Member], rank: usize, value: u64) {
        let (node, port) = members[rank];
        let (parent, children) = tree(&world.named(members), rank, self.degree);
        let mut flags = if self.all { REDUCE_ALL } else { 0 };
        flags |= if parent.is_some() { REDUCE_PARENT } else { 0 };
        let kind = (children.len() as u32) << 16 | flags << 8 | self.operation as u32;
        let at = descriptor(port, self.slot);
        let mut words = vec![
            (DESCRIPTOR_VALUE, (value >> 32) as u32),
            (DESCRIPTOR_VALUE + 4, value as u32),
            (DESCRIPTOR_TAG, self.tag),
            (DESCRIPTOR_KIND, kind),
            (DESCRIPTOR_PARENT, parent.unwrap_or(0)),
        ];
        words.extend((DESCRIPTOR_CHILDREN..).step_by(4).zip(children));
        for (offset, word) in words {
            world.nodes[node as usize].gm.set_word(at + offset, word);
        }
        post(world, members[rank], self.slot << 8 | REDUCE);
    }
}

fn opened(cpus: Cpus, nodes: u32, seed: u64, ports: &[u32]) -> World {
    let mut world = World::of(cpus, nodes, seed);
    for node in &mut world.nodes {
        for &port in ports {
            node.open(port);
        }
    }
    world
}

/// The ends of a port's operations since the last call.
fn ends(world: &mut World, (node, port): Member) -> Vec<(u32, u32, u64)> {
    let node = &mut world.nodes[node as usize];
    while node.receive(port) {}
    let (mine, others) = node
        .ended
        .drain(..)
        .partition::<Vec<_>, _>(|end| end.0 == port);
    node.ended = others;
    mine.into_iter()
        .map(|(_, number, status, value)| (number, status, value))
        .collect()
}

const BARRIER_ENDED: [(u32, u32, u64); 1] = [(0, SUCCESS, 0)];

fn both_cpus(check: impl FnMut(Cpus)) {
    Cpus::EVERY_LAYOUT.into_iter().for_each(check);
}

/// No member leaves before the last one has come, whichever that is.
#[test]
fn a_barrier_ends_when_the_last_member_has_come() {
    both_cpus(|cpus| {
        for count in [2, 3, 4, 5, 7, 8] {
            let members: Vec<Member> = (0..count).map(|node| (node, 2)).collect();
            let mut world = opened(cpus, count, 1, &[2]);
            for (late, degree) in
                (0..members.len()).flat_map(|late| [(late, 0), (late, 1), (late, 3)])
            {
                let come = |world: &mut World, rank| match degree {
                    0 => exchange(world, &members, rank),
                    degree => gather(world, &members, rank, degree),
                };
                for rank in (0..members.len()).filter(|&rank| rank != late) {
                    come(&mut world, rank);
                    world.settle();
                }
                for &member in &members {
                    assert_eq!(ends(&mut world, member), [], "{count} {late} {degree}");
                }
                come(&mut world, late);
                world.settle();
                for &member in &members {
                    assert_eq!(
                        ends(&mut world, member),
                        BARRIER_ENDED,
                        "{count} {late} {degree}"
                    );
                }
            }
            world.run(100);
        }
    });
}

/// Ports of one board are members like others: no packet leaves it for them.
#[test]
fn ports_of_one_board_meet_without_packets() {
    both_cpus(|cpus| {
        let members: Vec<Member> = (0..6).map(|port| (0, port)).collect();
        let mut world = opened(cpus, 2, 1, &[0, 1, 2, 3, 4, 5]);
        for round in 0..3 {
            for rank in 0..members.len() {
                exchange(&mut world, &members, rank);
            }
            world.settle();
            for &member in &members {
                assert_eq!(ends(&mut world, member), BARRIER_ENDED);
            }
            let sum = Reduction {
                all: true,
                ..Reduction::sum(round, 0)
            };
            for rank in 0..members.len() {
                sum.post(&mut world, &members, rank, rank as u64 + 1);
            }
            world.settle();
            for &member in &members {
                assert_eq!(ends(&mut world, member), [(1, SUCCESS, 21)]);
            }
        }
        assert_eq!(world.packets, 0);
    });
}

/// Values go up a tree, and down if all want the result; several reductions are under way at once.
#[test]
fn reductions_combine_each_value_once() {
    both_cpus(|cpus| {
        let members: Vec<Member> = (0..9).map(|node| (node, 3)).collect();
        let mut world = opened(cpus, 9, 1, &[3]);
        let all = Reduction {
            all: true,
            ..Reduction::sum(77, 5)
        };
        let plain = Reduction::sum(78, 2);
        for rank in 0..9 {
            all.post(&mut world, &members, rank, 1 << (4 * rank));
            plain.post(&mut world, &members, rank, 3);
            world.settle();
        }
        for (rank, &member) in members.iter().enumerate() {
            let mut ended = ends(&mut world, member);
            ended.sort_unstable();
            let sum = if rank == 0 { 27 } else { 0 };
            assert_eq!(
                ended,
                [(3, SUCCESS, sum), (6, SUCCESS, 0x1_1111_1111)],
                "{rank}"
            );
        }
    });
}

/// Children go ahead of their parent: what its buffers cannot hold waits at its senders, and nothing is lost.
#[test]
fn early_values_wait() {
    both_cpus(|cpus| {
        let nodes = 10;
        let members: Vec<Member> = (0..nodes).map(|node| (node, 1)).collect();
        let mut world = opened(cpus, nodes, 1, &[1]);
        let rounds = UNEXPECTED_VALUES / (nodes - 1) + 12;
        let reduction = |round: u32| Reduction {
            degree: 9,
            ..Reduction::sum(round, round % 8)
        };
        for round in 0..rounds {
            for rank in 1..members.len() {
                reduction(round).post(&mut world, &members, rank, u64::from(round) + rank as u64);
            }
            world.settle();
            for &member in &members[1..] {
                assert_eq!(ends(&mut world, member).len(), 1);
            }
        }
        for round in 0..rounds {
            reduction(round).post(&mut world, &members, 0, 0);
            for _ in 0..4 {
                world.pass(1);
            }
            let sum = u64::from(round) * 9 + 45;
            assert_eq!(
                ends(&mut world, members[0]),
                [(round % 8 + 1, SUCCESS, sum)]
            );
        }
        world.run(100);
    });
}

/// All places are taken by values of members that are ahead: the value of the last one is used all the same.
#[test]
fn a_value_that_is_awaited_needs_no_place() {
    both_cpus(|cpus| {
        let nodes = 10;
        let members: Vec<Member> = (0..nodes).map(|node| (node, 2)).collect();
        let mut world = opened(cpus, nodes, 1, &[2]);
        let rounds = UNEXPECTED_VALUES / (nodes - 2) + 8;
        let reduction = |round: u32| Reduction {
            degree: 9,
            ..Reduction::sum(round, round % 8)
        };
        for (round, rank) in (0..rounds).flat_map(|round| (1..9).map(move |rank| (round, rank))) {
            reduction(round).post(&mut world, &members, rank, 1);
            world.settle();
            let _ = ends(&mut world, members[rank]);
        }
        for round in 0..rounds {
            reduction(round).post(&mut world, &members, 0, 1);
            world.run(20);
            assert_eq!(ends(&mut world, members[0]), []);
            reduction(round).post(&mut world, &members, 9, 1);
            world.run(20);
            let end = (round % 8 + 1, SUCCESS, 10);
            assert_eq!(ends(&mut world, members[0]), [end], "{round}");
            let _ = ends(&mut world, members[9]);
        }
    });
}

/// All permutations of the ranks below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    let shorter = orders(last).into_iter();
    let longer = |order: Vec<usize>| {
        (0..=last).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    };
    shorter.flat_map(longer).collect()
}

/// Members open their ports as late as they join, in any order: packets that came to a closed port are sent again.
#[test]
fn members_that_open_their_ports_late_get_all_packets() {
    Cpus::EVERY.into_iter().for_each(|cpus| {
        for (count, degree) in (2..=5).flat_map(|count| [(count, 0), (count, 1), (count, 3)]) {
            let members: Vec<Member> = (0..count).map(|node| (node, 2)).collect();
            for order in orders(members.len()) {
                let mut world = opened(cpus, count, 1, &[]);
                for &rank in &order {
                    world.nodes[rank].open(2);
                    match degree {
                        0 => exchange(&mut world, &members, rank),
                        degree => gather(&mut world, &members, rank, degree),
                    }
                    world.settle();
                }
                for &member in &members {
                    let ended = ends(&mut world, member);
                    assert_eq!(ended, BARRIER_ENDED, "{order:?} {degree} {member:?}");
                }
            }
        }
    });
}

/// Packets that a process was sent do not count for the next one on its port. What came before a port was opened does.
#[test]
fn packets_for_closed_ports_are_sent_again() {
    both_cpus(|cpus| {
        let members: Vec<Member> = (0..3).map(|node| (node, 4)).collect();
        let mut world = opened(cpus, 3, 1, &[]);
        for node in [1, 2] {
            world.nodes[node].open(4);
        }
        let sum = Reduction {
            all: true,
            ..Reduction::sum(9, 0)
        };
        for rank in [1, 2] {
            exchange(&mut world, &members, rank);
            sum.post(&mut world, &members, rank, 10);
            world.settle();
        }
        // The packet of a process that has gone.
        world.nodes[2].close(4);
        world.nodes[2].reopen(4);
        world.nodes[0].open(4);
        world.settle();
        exchange(&mut world, &members, 0);
        sum.post(&mut world, &members, 0, 1);
        world.settle();
        for &member in &members {
            assert_eq!(ends(&mut world, member), []);
        }
        exchange(&mut world, &members, 2);
        sum.post(&mut world, &members, 2, 100);
        world.settle();
        for &member in &members {
            let mut ended = ends(&mut world, member);
            ended.sort_unstable();
            assert_eq!(ended, [(0, SUCCESS, 0), (1, SUCCESS, 111)]);
        }
    });
}

/// An operation that a member never joins ends with a status, and so do further ones until the port is opened again.
#[test]
fn an_operation_that_takes_too_long_fails() {
    both_cpus(|cpus| {
        let members: Vec<Member> = (0..3).map(|node| (node, 2)).collect();
        let mut world = opened(cpus, 3, 1, &[2]);
        let late = Status::TimedOut as u32;
        let sum = Reduction {
            all: true,
            degree: 2,
            ..Reduction::sum(1, 3)
        };
        exchange(&mut world, &members, 0);
        sum.post(&mut world, &members, 0, 1);
        world.pass(COLLECTIVE - 2);
        assert_eq!(ends(&mut world, members[0]), []);
        world.pass(4);
        let mut ended = ends(&mut world, members[0]);
        ended.sort_unstable();
        assert_eq!(ended, [(0, late, 0), (4, late, 0)]);
        exchange(&mut world, &members, 0);
        world.settle();
        assert_eq!(ends(&mut world, members[0]), [(0, late, 0)]);
        for node in 0..3 {
            world.nodes[node].close(2);
            world.nodes[node].reopen(2);
        }
        for rank in 0..3 {
            exchange(&mut world, &members, rank);
        }
        world.settle();
        for &member in &members {
            assert_eq!(ends(&mut world, member), BARRIER_ENDED);
        }
    });
}

/// A member that cannot be reached: the others get a status.
#[test]
fn an_unreachable_member_fails_the_operation() {
    both_cpus(|cpus| {
        let members: Vec<Member> = (0..2).map(|node| (node, 2)).collect();
        let mut world = opened(cpus, 2, 1, &[2]);
        let (layout, other) = (cpus.layout(), cpus.node(1));
        let route = layout.peer(other) + defs::gm::map::PEER_ROUTE;
        world.nodes[0].gm.set_word(route, 0);
        exchange(&mut world, &members, 0);
        world.settle();
        let unreachable = Status::NodeUnreachable as u32;
        assert_eq!(ends(&mut world, members[0]), [(0, unreachable, 0)]);
        let mut world = opened(cpus, 2, 1, &[2]);
        let slot = 1 << 16 | EXCHANGE << 8 | BARRIER;
        for bad in [
            endpoint(cpus.node(0).max(1) + 1, 2),
            endpoint(other, 9),
            endpoint(0xFFFF, 0xFF),
        ] {
            let list = layout.peer_list(2, 0);
            world.nodes[0].gm.set_word(list, bad | BOTH);
            post(&mut world, (0, 2), slot);
            world.settle();
            let invalid = Status::InvalidParameter as u32;
            assert_eq!(ends(&mut world, members[0]), [(0, invalid, 0)]);
        }
        for slot in [
            5 << 16 | 77 << 8 | BARRIER,
            (layout.nodes() + 1) << 16 | BARRIER,
            TREE_PARENT << 8 | BARRIER,
        ] {
            world.nodes[0].close(2);
            world.nodes[0].reopen(2);
            post(&mut world, (0, 2), slot);
            world.settle();
            let invalid = Status::InvalidParameter as u32;
            assert_eq!(ends(&mut world, members[0]), [(0, invalid, 0)]);
        }
    });
}

/// Many operations of random kinds with lost, damaged and doubled packets: each ends once with the right value.
#[test]
fn operations_survive_bad_links() {
    both_cpus(|cpus| {
        for seed in 0..12 {
            let nodes = 2 + u32::try_from(seed).expect("small") % 6;
            // Two ports of each node are members.
            let members: Vec<Member> = (0..2 * nodes)
                .map(|at| (at % nodes, 2 + at / nodes))
                .collect();
            let mut world = opened(cpus, nodes, seed, &[2, 3]);
            world.faults = Faults {
                lost: 20,
                damaged: 8,
                doubled: 8,
            };
            for round in 0..12 {
                let kind = world.random.next(3);
                let degree = 1 + world.random.next(4) as usize;
                let all = Reduction {
                    all: true,
                    degree,
                    ..Reduction::sum(round, round % 8)
                };
                let mut order: Vec<usize> = (0..members.len()).collect();
                for at in (1..order.len()).rev() {
                    order.swap(at, world.random.next(at as u32 + 1) as usize);
                }
                for rank in order {
                    match kind {
                        0 => exchange(&mut world, &members, rank),
                        1 => gather(&mut world, &members, rank, degree),
                        _ => all.post(&mut world, &members, rank, rank as u64),
                    }
                    let count = world.random.next(60);
                    world.stir(count);
                }
                world.pass(120);
                let count = members.len() as u64;
                let end = match kind {
                    2 => (round % 8 + 1, SUCCESS, count * (count - 1) / 2),
                    _ => BARRIER_ENDED[0],
                };
                for &member in &members {
                    assert_eq!(
                        ends(&mut world, member),
                        [end],
                        "{seed} {round} {kind} {member:?}"
                    );
                }
            }
        }
    });
}
