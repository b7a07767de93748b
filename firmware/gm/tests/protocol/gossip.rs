//! All-to-all broadcasts.

use defs::gm::collective::endpoint;
use defs::gm::event::Status;
use defs::gm::gossip::{
    BLOCK_BYTES, DOUBLING, GOSSIP, GROUP, GROUP_CHANNELS, GROUP_MEMBERS, GROUP_NUMBER,
    WIDE_GROUP_LAST, group_descriptor,
};

use crate::board::Cpus;
use crate::node::{COLLECTIVE, PROGRAM};
use crate::world::{Faults, World};

const SUCCESS: u32 = Status::Success as u32;
const PORT: u32 = 2;
/// Number of the operations of the port's first group in events.
const OPERATION: u32 = 9;

/// A group over all nodes of a world.
struct Group {
    size: u32,
    /// Node and port of each member.
    members: Vec<(u32, u32)>,
    /// Addresses of the channels, for each member.
    channels: Vec<[u32; 2]>,
    operation: u32,
}

impl Group {
    fn new(world: &mut World) -> Self {
        let nodes = u32::try_from(world.nodes.len()).expect("few");
        Self::of(world, (0..nodes).map(|node| (node, PORT)).collect())
    }

    fn of(world: &mut World, members: Vec<(u32, u32)>) -> Self {
        let size = u32::try_from(members.len()).expect("few");
        let mut group = Self {
            size,
            members,
            channels: Vec::new(),
            operation: 0,
        };
        let named = world.named(&group.members);
        let member = |rank: u32| named[rank as usize];
        let mut all = Vec::new();
        for rank in 0..size {
            let (node, port) = group.members[rank as usize];
            let node = &mut world.nodes[node as usize];
            let channels = [(); 2].map(|()| node.buffer(size * BLOCK_BYTES));
            let at = group_descriptor(port, 0);
            let layout = node.cpus.layout();
            let first = match layout.has_wide_groups() {
                true => rank,
                false => rank << 8 | (size - 1),
            };
            let mut words = vec![
                (GROUP_NUMBER, 0x1234 << 16 | first),
                (GROUP_CHANNELS, PROGRAM),
                (GROUP_CHANNELS + 4, channels[0]),
                (GROUP_CHANNELS + 8, PROGRAM),
                (GROUP_CHANNELS + 12, channels[1]),
            ];
            for level in 0..layout.levels {
                let distance = (1 << level) % size;
                let further = member((rank + distance) % size);
                let further = endpoint(further.0, further.1);
                let back = member((rank + size - distance) % size);
                let back = endpoint(back.0, back.1);
                words.push((GROUP_MEMBERS + 4 * level, further));
                words.push((GROUP_MEMBERS + 4 * (layout.levels + level), back));
            }
            if layout.has_wide_groups() {
                words.push((WIDE_GROUP_LAST, size - 1));
            }
            for (offset, word) in words {
                node.gm.set_word(at + offset, word);
            }
            node.control(port, GROUP, 0);
            all.push(channels);
        }
        group.channels = all;
        world.settle();
        group
    }

    fn block(&self, rank: u32, length: u32) -> Vec<u8> {
        let seed = rank * 131 + self.operation * 17;
        (0..length).map(|at| (at * 7 + seed) as u8).collect()
    }

    /// Address of the block of `of` in the channel of a member.
    fn place(&self, rank: u32, of: u32, length: u32, doubling: bool) -> u32 {
        match doubling {
            true => (of + self.size - rank) % self.size * length,
            false => of * BLOCK_BYTES,
        }
    }

    fn post(&self, world: &mut World, rank: u32, length: u32, doubling: bool) {
        let channel = self.channels[rank as usize][(self.operation & 1) as usize];
        let own = channel + self.place(rank, rank, length, doubling);
        let bytes = self.block(rank, length);
        let (node, port) = self.members[rank as usize];
        let node = &mut world.nodes[node as usize];
        node.set_memory(own, &bytes);
        node.control(port, GOSSIP | (u32::from(doubling) * DOUBLING), length);
    }

    fn check(&self, world: &World, rank: u32, length: u32, doubling: bool) {
        let channel = self.channels[rank as usize][(self.operation & 1) as usize];
        let (node, _) = self.members[rank as usize];
        for of in 0..self.size {
            let at = channel + self.place(rank, of, length, doubling);
            let bytes = world.nodes[node as usize].memory(at, length);
            assert_eq!(bytes, self.block(of, length), "block {of} at {rank}");
        }
    }

    fn ended(world: &mut World, rank: u32) -> Vec<(u32, u32, u32, u64)> {
        let node = &mut world.nodes[rank as usize];
        while node.receive(PORT) {}
        std::mem::take(&mut node.ended)
    }
}

fn opened(cpus: Cpus, nodes: u32, seed: u64) -> World {
    let mut world = World::of(cpus, nodes, seed);
    for node in &mut world.nodes {
        node.open(PORT);
    }
    world
}

fn both_cpus(check: impl FnMut(Cpus)) {
    Cpus::EVERY_LAYOUT.into_iter().for_each(check);
}

/// All members get all blocks, with any number of members and any length, early packets included.
#[test]
fn all_get_all_blocks() {
    both_cpus(|cpus| {
        for size in [1, 2, 3, 5, 8] {
            let mut world = opened(cpus, size, 1);
            let mut group = Group::new(&mut world);
            for (length, doubling) in [
                (4, false),
                (4, true),
                (64, true),
                (1000, false),
                (1000, true),
                (4096, true),
                (4096, false),
                (2048, true),
            ] {
                group.operation += 1;
                for rank in 0..size {
                    group.post(&mut world, rank, length, doubling);
                    if rank % 2 == 0 {
                        world.settle();
                    }
                }
                world.settle();
                for rank in 0..size {
                    let end = (PORT, OPERATION, SUCCESS, 0);
                    assert_eq!(Group::ended(&mut world, rank), [end], "{size} {length}");
                    group.check(&world, rank, length, doubling);
                }
            }
            world.run(10);
        }
    });
}

/// Members on one node need no route to it: alone there, several beside members on other nodes, with early packets, in any order.
#[test]
fn members_on_one_node_need_no_route() {
    both_cpus(|cpus| {
        let lists: [&[(u32, u32)]; 4] = [
            &[(0, 2), (0, 4)],
            &[(0, 2), (0, 4), (0, 5)],
            &[(0, 2), (1, 2), (0, 4), (1, 4), (0, 5)],
            &[
                (1, 2),
                (0, 2),
                (0, 4),
                (0, 5),
                (1, 4),
                (1, 5),
                (0, 6),
                (1, 6),
            ],
        ];
        for (seed, members) in (0..40).map(|seed| (seed, lists[seed as usize % 4])) {
            let nodes = 1 + members
                .iter()
                .map(|(node, _)| *node)
                .max()
                .expect("members");
            let mut world = World::of(cpus, nodes, seed);
            for (node, port) in members {
                world.nodes[*node as usize].open(*port);
            }
            let mut group = Group::of(&mut world, members.to_vec());
            for (length, doubling) in [
                (4, true),
                (4, false),
                (256, true),
                (1500, true),
                (4096, false),
                (4096, true),
            ] {
                group.operation += 1;
                for rank in 0..group.size {
                    group.post(&mut world, rank, length, doubling);
                    let count = world.random.next(40);
                    world.stir(count);
                }
                // The other CPU may act within an action of one that does nothing: a round without any is not always the last.
                for _ in 0..5 {
                    world.settle();
                }
                let mut ends = Vec::new();
                for (node, port) in members {
                    let node = &mut world.nodes[*node as usize];
                    while node.receive(*port) {}
                    ends.append(&mut node.ended);
                }
                ends.sort_unstable();
                let mut expected: Vec<_> = members
                    .iter()
                    .map(|(_, port)| (*port, OPERATION, SUCCESS, 0))
                    .collect();
                expected.sort_unstable();
                assert_eq!(ends, expected, "{members:?} {length} {doubling} {seed}");
                for rank in 0..group.size {
                    group.check(&world, rank, length, doubling);
                }
            }
        }
    });
}

/// Lost packets are asked for.
#[test]
fn blocks_survive_bad_links() {
    both_cpus(|cpus| {
        for seed in 0..100 {
            let size = 2 + u32::try_from(seed % 8).expect("small");
            let mut world = opened(cpus, size, seed);
            let mut group = Group::new(&mut world);
            world.faults = Faults {
                lost: 20,
                damaged: 8,
                doubled: 8,
            };
            for _ in 0..10 {
                group.operation += 1;
                let length = 4 << world.random.next(11);
                let doubling = world.random.next(2) == 1;
                let mut waits: Vec<u32> = (0..size).collect();
                while !waits.is_empty() {
                    let at = world.random.next(waits.len() as u32) as usize;
                    group.post(&mut world, waits.swap_remove(at), length, doubling);
                    let count = world.random.next(200);
                    world.stir(count);
                }
                world.pass(300);
                for rank in 0..size {
                    let end = (PORT, OPERATION, SUCCESS, 0);
                    assert_eq!(Group::ended(&mut world, rank), [end], "{seed} {rank}");
                    group.check(&world, rank, length, doubling);
                }
            }
        }
    });
}

/// A member that never joins: the others get a status. Posts and groups that make no sense do, too.
#[test]
fn what_cannot_complete_fails() {
    both_cpus(|cpus| {
        let late = Status::TimedOut as u32;
        let invalid = Status::InvalidParameter as u32;
        let mut world = opened(cpus, 3, 1);
        let mut group = Group::new(&mut world);
        group.operation += 1;
        group.post(&mut world, 0, 64, false);
        world.pass(COLLECTIVE + 2);
        assert_eq!(Group::ended(&mut world, 0), [(PORT, OPERATION, late, 0)]);
        for (word, length) in [
            (GOSSIP, 0),
            (GOSSIP, 3),
            (GOSSIP, 5000),
            (GOSSIP | 1 << 8, 4),
        ] {
            world.nodes[1].control(PORT, word, length);
            world.settle();
            let operation = OPERATION + (word >> 8 & 1);
            let end = (PORT, operation, invalid, 0);
            assert_eq!(Group::ended(&mut world, 1), [end], "{word:#x} {length}");
        }
        world.nodes[1].control(PORT, GOSSIP | 7 << 8, 4);
        world.nodes[1].control(PORT, GROUP | 7 << 8, 4);
        world.settle();
        assert_eq!(Group::ended(&mut world, 1), []);
    });
}
