//! Collective operations that return at once against what one program computes: several under way, waited for in any order.

use proptest::prelude::*;

use super::net::{self, BLOCK_BYTES, Net, Process};
use super::{EAGER_BYTES, Node};
use crate::mpi::{
    BarrierRequest, Bypass, CollectiveRequest, Communicator, Config, Executor, MpiError, Operation,
    Progress,
};

/// An operation of a random program.
#[derive(Debug, Clone, Copy)]
enum Step {
    Sum(usize),
    /// Maximum of doubles, which is the same in any order.
    Largest(usize),
    Product(usize),
    Gather(usize),
    Broadcast(usize, usize),
    Barrier,
    /// Waits for the request at this place of those under way.
    Wait(usize),
    /// Tests it.
    Test(usize),
    Compute(u64),
    /// Calls that return at the end.
    Blocking,
    /// Later operations are on a communicator of the same members, and back.
    Other,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let count = || prop_oneof![0usize..4, 7usize..10, Just(EAGER_BYTES)];
    let step = prop_oneof![
        3 => count().prop_map(Step::Sum),
        2 => count().prop_map(Step::Largest),
        1 => count().prop_map(Step::Product),
        3 => prop_oneof![0usize..4, Just(BLOCK_BYTES / 8), Just(BLOCK_BYTES)].prop_map(Step::Gather),
        1 => (0usize..12, count()).prop_map(|(root, count)| Step::Broadcast(root, count)),
        1 => Just(Step::Barrier),
        3 => (0usize..9).prop_map(Step::Wait),
        2 => (0usize..9).prop_map(Step::Test),
        2 => (0u64..12).prop_map(Step::Compute),
        1 => Just(Step::Blocking),
        1 => Just(Step::Other),
    ];
    prop::collection::vec(step, 1..40)
}

/// A request and its right result.
enum UnderWay {
    Integers(CollectiveRequest<u64>, Vec<u64>),
    Doubles(CollectiveRequest<f64>, Vec<f64>),
    Barrier(BarrierRequest),
}

fn own(rank: usize, number: usize, count: usize) -> Vec<u64> {
    (0..count)
        .map(|at| (rank * 1000 + number * 17 + at * at) as u64)
        .collect()
}

fn doubles(rank: usize, number: usize, count: usize) -> Vec<f64> {
    let values = own(rank, number, count).into_iter();
    values.map(|value| 50_000.0 - value as f64 / 3.0).collect()
}

/// Begins an operation; `None` for steps that are none.
async fn begin(
    mpi: &mut Node,
    world: &Communicator,
    (step, number): (Step, usize),
) -> Result<Option<UnderWay>, MpiError> {
    let (rank, size) = (world.rank(), world.size());
    let fold = |count: usize, with: fn(u64, u64) -> u64| -> Vec<u64> {
        let all = (0..size).map(|rank| own(rank, number, count));
        let both = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| with(*a, *b)).collect();
        all.reduce(both).expect("a rank")
    };
    Ok(Some(match step {
        Step::Sum(count) => {
            let data = own(rank, number, count);
            let request = mpi.immediate_all_reduce(world, Operation::Sum, &data);
            UnderWay::Integers(request.await?, fold(count, u64::wrapping_add))
        }
        Step::Product(count) => {
            let data = own(rank, number, count);
            let request = mpi.immediate_all_reduce(world, Operation::Product, &data);
            UnderWay::Integers(request.await?, fold(count, u64::wrapping_mul))
        }
        Step::Largest(count) => {
            let data = doubles(rank, number, count);
            let request = mpi.immediate_all_reduce(world, Operation::Max, &data);
            UnderWay::Doubles(request.await?, doubles(0, number, count))
        }
        Step::Gather(count) => {
            let data = own(rank, number, count);
            let all = (0..size).flat_map(|rank| own(rank, number, count));
            let request = mpi.immediate_all_gather(world, &data).await?;
            UnderWay::Integers(request, all.collect())
        }
        Step::Broadcast(root, count) => {
            let root = root % size;
            let wanted = own(root, number, count);
            let data = match rank == root {
                true => wanted.clone(),
                false => vec![0; count],
            };
            let request = mpi.immediate_broadcast(world, root, &data).await?;
            UnderWay::Integers(request, wanted)
        }
        Step::Barrier => UnderWay::Barrier(mpi.immediate_barrier(world).await?),
        _ => return Ok(None),
    }))
}

async fn wait(mpi: &mut Node, one: UnderWay) -> Result<(), MpiError> {
    match one {
        UnderWay::Integers(request, wanted) => assert_eq!(mpi.wait(request).await?, wanted),
        UnderWay::Doubles(request, wanted) => assert_eq!(mpi.wait(request).await?, wanted),
        UnderWay::Barrier(request) => mpi.wait(request).await?,
    }
    Ok(())
}

/// The request, if it has not ended.
async fn test(mpi: &mut Node, one: UnderWay) -> Result<Option<UnderWay>, MpiError> {
    Ok(match one {
        UnderWay::Integers(request, wanted) => match mpi.test(request).await? {
            Progress::Pending(request) => Some(UnderWay::Integers(request, wanted)),
            Progress::Complete(result) => {
                assert_eq!(result, wanted);
                None
            }
        },
        UnderWay::Doubles(request, wanted) => match mpi.test(request).await? {
            Progress::Pending(request) => Some(UnderWay::Doubles(request, wanted)),
            Progress::Complete(result) => {
                assert_eq!(result, wanted);
                None
            }
        },
        UnderWay::Barrier(request) => match mpi.test(request).await? {
            Progress::Pending(request) => Some(UnderWay::Barrier(request)),
            Progress::Complete(()) => None,
        },
    })
}

/// Calls that return at the end, whose results have to be right between operations that return at once.
async fn blocking(mpi: &mut Node, world: &Communicator, number: usize) -> Result<(), MpiError> {
    let (rank, size) = (world.rank(), world.size());
    let data = [rank as u64, number as u64];
    let sum = [(size * (size - 1) / 2) as u64, (size * number) as u64];
    assert_eq!(mpi.all_reduce(world, Operation::Sum, &data).await?, sum);
    let root = number % size;
    let reduced = mpi.reduce(world, root, Operation::Sum, &data).await?;
    assert_eq!(reduced, (rank == root).then(|| sum.to_vec()));
    let all: Vec<u64> = (0..size as u64)
        .flat_map(|rank| [rank, number as u64])
        .collect();
    assert_eq!(mpi.all_gather(world, &data).await?, all);
    mpi.barrier(world).await
}

/// Runs the steps. Ranks wait in orders of their own. Returns how many handlers have run, and how many operations a board had under way.
fn check(size: usize, steps: &[Step], on: Executor, bypass: bool, seed: u64) -> (usize, usize) {
    let net = Net::new(size, seed);
    let results = net::run_on(&net, async |process: Process| {
        let rank = process.rank;
        let config = Config {
            collectives: on,
            ..Config::default()
        };
        let mut mpi = Node::with(process, config)?;
        if bypass {
            let immediate = true;
            let usual = Bypass::default();
            mpi.bypass(Bypass { immediate, ..usual }).await?;
        }
        let mut worlds = [mpi.world(), mpi.duplicate(&mpi.world()).await?];
        let mut under_way: Vec<UnderWay> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            // Another request in each rank.
            let place = |at: usize, most: usize| (at + rank * 5) % most.max(1);
            match *step {
                Step::Wait(at) if !under_way.is_empty() => {
                    let one = under_way.remove(place(at, under_way.len()));
                    wait(&mut mpi, one).await?;
                }
                Step::Test(at) if !under_way.is_empty() => {
                    let one = under_way.remove(place(at, under_way.len()));
                    under_way.extend(test(&mut mpi, one).await?);
                }
                Step::Compute(rounds) => mpi.compute(rounds * (1 + rank as u64 % 3)).await?,
                Step::Blocking => blocking(&mut mpi, &worlds[0], number).await?,
                Step::Other => worlds.swap(0, 1),
                step => under_way.extend(begin(&mut mpi, &worlds[0], (step, number)).await?),
            }
        }
        while !under_way.is_empty() {
            let one = under_way.remove(rank % under_way.len());
            wait(&mut mpi, one).await?;
        }
        assert_eq!(mpi.finalize().await?, 0, "messages without a receive");
        Ok::<(), MpiError>(())
    });
    assert_eq!(results, vec![Ok(()); size]);
    let net = net.lock().expect("no panic");
    (net.handled, net.most_collectives)
}

proptest! {
    #![proptest_config(cases::remembered(300))]

    #[test]
    fn operations_that_return_at_once_compute_what_one_program_computes(
        size in 1usize..12,
        steps in steps(),
        on in prop_oneof![Just(Executor::Host), Just(Executor::Nic)],
        bypass in any::<bool>(),
        seed in any::<u64>(),
    ) {
        check(size, &steps, on, bypass, seed);
    }
}

#[test]
fn boards_have_several_operations_under_way_and_handlers_go_on_with_those_of_hosts() {
    let steps: Vec<Step> = (0..12)
        .flat_map(|_| [Step::Sum(2), Step::Gather(3), Step::Compute(9)])
        .collect();
    assert_eq!(check(8, &steps, Executor::Host, false, 5), (0, 0));
    let (handled, _) = check(8, &steps, Executor::Host, true, 5);
    assert!(handled > 5, "{handled}");
    let most = net::MOST_COLLECTIVES;
    assert_eq!(check(8, &steps, Executor::Nic, false, 5), (0, most));
}

#[test]
fn members_that_differ_are_found() {
    let run = |which: usize| {
        net::run(2, 9, async |process| {
            let mut mpi = super::mpi(process);
            let world = mpi.world();
            let rank = world.rank();
            let request = match which {
                0 => {
                    let data = vec![1u64; 1 + rank];
                    mpi.immediate_all_reduce(&world, Operation::Sum, &data)
                        .await
                }
                1 if rank == 0 => mpi.immediate_all_gather(&world, &[1u64]).await,
                1 => {
                    mpi.immediate_all_reduce(&world, Operation::Sum, &[1u64])
                        .await
                }
                _ => {
                    let refused = mpi.immediate_all_reduce(&world, Operation::Xor, &[1.0f64]);
                    refused
                        .await
                        .map(|_| unreachable!("doubles have no such operation"))
                }
            };
            mpi.wait(request?).await.map(|_| ())
        })
    };
    let call = "immediate_all_reduce";
    let count = MpiError::Count {
        call,
        from: 1,
        bytes: 16,
        expected: 8,
    };
    assert_eq!(run(0)[0], Err(count));
    assert_eq!(run(1)[1], Err(MpiError::Different { call, from: 0 }));
    assert_eq!(run(2), vec![Err(MpiError::Operation(Operation::Xor)); 2]);
}
