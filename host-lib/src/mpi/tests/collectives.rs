//! Collective operations against what one program computes, and communicators.

use proptest::prelude::*;

use super::net;
use super::{EAGER_BYTES, check, mpi};
use crate::mpi::{MpiError, Operation};

/// The elements of a rank.
fn own(rank: usize, count: usize) -> Vec<u64> {
    (0..count)
        .map(|at| (rank * 1000 + at * at) as u64)
        .collect()
}

fn all(size: usize, count: usize) -> Vec<u64> {
    (0..size).flat_map(|rank| own(rank, count)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    #[test]
    fn collectives_compute_what_one_program_computes(
        size in 1usize..14,
        root in 0usize..14,
        count in prop_oneof![0usize..5, Just(EAGER_BYTES)],
        seed in any::<u64>(),
    ) {
        let root = root % size;
        check(size, seed, async |mut mpi| {
            let world = mpi.world();
            let rank = world.rank();
            let data = own(rank, count);
            mpi.barrier(&world).await?;
            let mut copy = data.clone();
            mpi.broadcast(&world, root, &mut copy).await?;
            assert_eq!(copy, own(root, count));
            let sum = |at: usize| (0..size).map(|rank| own(rank, count)[at]).sum::<u64>();
            let sums: Vec<u64> = (0..count).map(sum).collect();
            let reduced = mpi.reduce(&world, root, Operation::Sum, &data).await?;
            assert_eq!(reduced, (rank == root).then(|| sums.clone()));
            assert_eq!(mpi.all_reduce(&world, Operation::Sum, &data).await?, sums);
            let gathered = mpi.gather(&world, root, &data).await?;
            assert_eq!(gathered, (rank == root).then(|| all(size, count)));
            let scattered = mpi.scatter(&world, root, gathered.as_deref(), count).await?;
            assert_eq!(scattered, data);
            assert_eq!(mpi.all_gather(&world, &data).await?, all(size, count));
            let blocks: Vec<u64> = (0..size).flat_map(|to| own(rank * 50 + to, count)).collect();
            let turned: Vec<u64> = (0..size).flat_map(|from| own(from * 50 + rank, count)).collect();
            assert_eq!(mpi.all_to_all(&world, &blocks).await?, turned);
            Ok((mpi, ()))
        });
    }

    #[test]
    fn communicators_keep_messages_apart(size in 1usize..10, colors in 1u32..4, seed in any::<u64>()) {
        check(size, seed, async |mut mpi| {
            let world = mpi.world();
            let rank = world.rank();
            let twin = mpi.duplicate(&world).await?;
            let color = rank as u32 % colors;
            // The last rank takes no part; keys turn the order around.
            let color = (rank + 1 < size).then_some(color);
            let part = mpi.split(&twin, color, -i32::try_from(rank).expect("few ranks")).await?;
            let next = (rank + 1) % size;
            let before = (rank + size - 1) % size;
            mpi.send(&twin, next, 1, &[2u8]).await?;
            mpi.send(&world, next, 1, &[1u8]).await?;
            if let Some(part) = &part {
                let members: Vec<u64> = mpi.all_gather(part, &[rank as u64]).await?;
                let wanted = (0..size as u64 - 1).rev().filter(|one| one % u64::from(colors) == rank as u64 % u64::from(colors));
                assert_eq!(members, wanted.collect::<Vec<_>>());
                assert_eq!(part.world_rank(part.rank()), Some(rank));
            }
            assert_eq!(part.is_some(), color.is_some());
            assert_eq!(mpi.receive::<u8>(&world, before, 1, 1).await?.0, [1]);
            assert_eq!(mpi.receive::<u8>(&twin, before, 1, 1).await?.0, [2]);
            Ok((mpi, ()))
        });
    }
}

#[test]
fn members_that_differ_are_found() {
    let run = |which: usize| {
        net::run(2, 9, async |process| {
            let mut mpi = mpi(process);
            let world = mpi.world();
            let rank = world.rank();
            match which {
                0 => {
                    let mut data = vec![0u32; 3 + rank];
                    mpi.broadcast(&world, 0, &mut data).await
                }
                1 if rank == 0 => mpi.broadcast(&world, 0, &mut [1u32]).await,
                1 => mpi.gather(&world, 1, &[1u32]).await.map(|_| ()),
                2 => {
                    let ended = mpi.reduce(&world, 0, Operation::Xor, &[1.0f64]).await;
                    ended.map(|_| ())
                }
                _ => mpi.all_to_all(&world, &[1u8; 3]).await.map(|_| ()),
            }
        })
    };
    let count = MpiError::Count {
        call: "broadcast",
        from: 0,
        bytes: 12,
        expected: 16,
    };
    assert_eq!(run(0), [Ok(()), Err(count)]);
    let different = MpiError::Different {
        call: "gather",
        from: 0,
    };
    assert_eq!(run(1)[1], Err(different));
    assert_eq!(run(2)[0], Err(MpiError::Operation(Operation::Xor)));
    let blocks = MpiError::Blocks {
        call: "all_to_all",
        elements: 3,
        ranks: 2,
    };
    assert_eq!(run(3)[1], Err(blocks));
}
