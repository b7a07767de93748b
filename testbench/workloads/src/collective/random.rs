//! The random choice of a round's operation, the same at all members.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use host_lib::gm::collective::{Barrier, Operation, Shape};

use super::{Broadcast, CollectiveWork, ExecutedOn, Type};

/// Most children of a node in random trees.
const MOST_CHILDREN: usize = 8;

const OPERATIONS: [(Operation, Type); 8] = [
    (Operation::And, Type::Integer),
    (Operation::Or, Type::Integer),
    (Operation::Sum, Type::Integer),
    (Operation::Min, Type::Integer),
    (Operation::Max, Type::Integer),
    (Operation::Sum, Type::Float),
    (Operation::Min, Type::Float),
    (Operation::Max, Type::Float),
];

/// Random numbers below a limit.
struct Below(ChaCha8Rng);

impl Below {
    fn get(&mut self, limit: usize) -> usize {
        (self.0.next_u64() % limit.max(1) as u64) as usize
    }

    fn pick<T: Copy, const COUNT: usize>(&mut self, all: &[T; COUNT]) -> T {
        all[self.get(COUNT)]
    }
}

/// A barrier, a reduction or an all-to-all broadcast with blocks of 1 to `bytes` bytes.
pub(super) fn work(on: ExecutedOn, bytes: usize, members: usize, seed: u64) -> CollectiveWork {
    let mut random = Below(ChaCha8Rng::seed_from_u64(seed));
    match random.get(5) {
        0 => CollectiveWork::Barrier(Barrier::PairwiseExchange),
        1 => CollectiveWork::Barrier(Barrier::GatherBroadcast {
            root: random.get(members),
            degree: 1 + random.get(MOST_CHILDREN),
        }),
        2 | 3 => {
            let (operation, of) = random.pick(&OPERATIONS);
            let shape = match random.get(2) {
                0 => Shape::Binomial,
                _ => Shape::Fixed {
                    degree: 1 + random.get(MOST_CHILDREN),
                },
            };
            let all = on == ExecutedOn::Nic && random.get(2) == 0;
            let root = if all { 0 } else { random.get(members) };
            CollectiveWork::Reduction {
                operation,
                of,
                shape,
                root,
                all,
                vector: None,
            }
        }
        _ => {
            let other = match on {
                ExecutedOn::Host => Broadcast::Ring,
                ExecutedOn::Nic => Broadcast::ConcurrentBroadcasting,
            };
            CollectiveWork::AllToAll {
                algorithm: random.pick(&[Broadcast::RecursiveDoubling, other]),
                bytes: 1 + random.get(bytes),
            }
        }
    }
}
