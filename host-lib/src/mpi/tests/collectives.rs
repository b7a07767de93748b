//! Collective operations against what one program computes, and communicators.

use proptest::prelude::*;

use super::net::{self, Net, Process};
use super::{EAGER_BYTES, check, mpi};
use crate::mpi::{Bypass, MpiError, Operation};

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
    #![proptest_config(cases::remembered(120))]

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

/// A collective operation of a random program.
#[derive(Debug, Clone)]
enum Step {
    Broadcast { root: usize, count: usize },
    Reduce { root: usize, count: usize },
    Twin,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let count = || {
        prop_oneof![
            Just(1usize),
            Just(4),
            Just(EAGER_BYTES / 8),
            Just(EAGER_BYTES)
        ]
    };
    let step = prop_oneof![
        4 => (0usize..12, count()).prop_map(|(root, count)| Step::Broadcast { root, count }),
        4 => (0usize..12, count()).prop_map(|(root, count)| Step::Reduce { root, count }),
        1 => Just(Step::Twin),
    ];
    prop::collection::vec(step, 1..24)
}

/// Runs the steps with computations of random lengths between them; returns how many handlers have run.
fn check_bypass(size: usize, steps: &[Step], bypass: Bypass, seed: u64) -> usize {
    let net = Net::new(size, seed);
    let results = net::run_on(&net, async |process: Process| {
        let rank = process.rank;
        let mut mpi = mpi(process);
        mpi.bypass(bypass).await?;
        let mut world = mpi.world();
        let mut speed = seed ^ rank as u64;
        for (number, step) in steps.iter().enumerate() {
            speed = speed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            mpi.compute((speed >> 40) % 12).await?;
            match *step {
                Step::Broadcast { root, count } => {
                    let root = root % size;
                    let wanted = own(root + number, count);
                    let mut data = match rank == root {
                        true => wanted.clone(),
                        false => vec![0; count],
                    };
                    mpi.broadcast(&world, root, &mut data).await?;
                    assert_eq!(data, wanted, "step {number}");
                }
                Step::Reduce { root, count } => {
                    let root = root % size;
                    let data = own(rank + number, count);
                    let sum = |at: usize| (0..size).map(|rank| own(rank + number, count)[at]).sum();
                    let wanted = (rank == root).then(|| (0..count).map(sum).collect());
                    let reduced = mpi.reduce(&world, root, Operation::Sum, &data).await?;
                    assert_eq!(reduced, wanted, "step {number}");
                }
                Step::Twin => world = mpi.duplicate(&world).await?,
            }
        }
        assert_eq!(mpi.finalize().await?, 0, "messages without a receive");
        Ok::<(), MpiError>(())
    });
    assert_eq!(results, vec![Ok(()); size]);
    net.lock().expect("no panic").handled
}

proptest! {
    #![proptest_config(cases::remembered(200))]

    #[test]
    fn operations_that_go_on_while_programs_compute_have_the_same_results(
        size in 1usize..12,
        steps in steps(),
        broadcast in any::<bool>(),
        reduce in any::<bool>(),
        exit_delay_ns in prop_oneof![Just(0u64), Just(1_000)],
        seed in any::<u64>(),
    ) {
        check_bypass(size, &steps, Bypass { broadcast, reduce, exit_delay_ns, immediate: false }, seed);
    }
}

#[test]
fn handlers_pass_on_what_comes_while_a_program_computes() {
    let steps: Vec<Step> = (0..20)
        .flat_map(|root| {
            [
                Step::Broadcast { root, count: 2 },
                Step::Reduce { root, count: 2 },
            ]
        })
        .collect();
    let exit_delay_ns = 0;
    for (broadcast, reduce) in [(false, false), (true, false), (false, true)] {
        let bypass = Bypass {
            broadcast,
            reduce,
            exit_delay_ns,
            immediate: false,
        };
        let handled = check_bypass(8, &steps, bypass, 77);
        assert_eq!(handled > 5, broadcast || reduce, "{bypass:?}: {handled}");
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
