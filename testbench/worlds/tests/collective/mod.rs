//! Collective operations over GM that hosts execute, on boards with a LANai around one crossbar.

mod lives;
mod refused;

use host_lib::gm::Gm;
use std::future::Future;

use emulator::sim::time::SimTime;
use emulator::sim::world::{RunEnd, RunLimits};
use host_lib::gm::collective::{
    AllToAll, Barrier, CollectiveError, Endpoint, Group, Host, Operation, ScheduleError, Settings,
    Shape, Value, ValueError,
};
use host_lib::window::System;
use lanigon_worlds::boards;
use lanigon_worlds::emp::text;
use lanigon_worlds::gm::GmWorld;
use lanigon_worlds::profile::built_in;

use super::scenarios::gm::built;

const PORT: u8 = 2;
/// Programs begin so long after they have opened their ports.
const LEAD_NS: u64 = 500_000;

fn members(count: u16) -> Vec<Endpoint> {
    (0..count)
        .map(|node| Endpoint { node, port: PORT })
        .collect()
}

/// Opens the port and makes the engine of a node.
async fn start(gm: &mut Gm, count: u16, settings: Settings) -> Result<Host, String> {
    gm.open(PORT).await.map_err(text)?;
    let own = Endpoint {
        node: gm.node(),
        port: PORT,
    };
    let group = Group::new(&members(count), own).map_err(text)?;
    let host = Host::new(gm, group, settings).await.map_err(text)?;
    gm.system_mut().compute(LEAD_NS).await;
    Ok(host)
}

/// Runs a program on each of `count` nodes; their results, by node.
#[track_caller]
fn run<T, P, F>(count: u16, program: P) -> Vec<T>
where
    T: Send + 'static,
    P: Fn(Gm) -> F + Clone + Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let board = boards::board_type("lanai9").unwrap();
    let gm = board.gm.unwrap();
    let image = board.own_image(gm.image, gm.sram_bytes).unwrap();
    let profile = built_in("lanai9.1-133").unwrap();
    let mut world = GmWorld::new(count, &image, &profile).unwrap();
    let ends: Vec<_> = (0..usize::from(count))
        .map(|node| world.spawn(node, "collective", program.clone()))
        .collect();
    let limits = RunLimits {
        max_time: Some(SimTime::from_us(10_000_000)),
        ..RunLimits::default()
    };
    assert_eq!(world.world.run(&limits), RunEnd::Completed);
    let results = ends.into_iter().map(|end| end.take().unwrap());
    results.map(Result::unwrap).collect()
}

/// Times at which each node came to each barrier and left it: 5 barriers, to which the nodes come at other times.
fn barriers(count: u16, algorithm: Barrier) -> Vec<Vec<(u64, u64)>> {
    run(count, move |mut gm| async move {
        let mut host = start(&mut gm, count, Settings::default()).await?;
        let mut times = Vec::new();
        for round in 0..5 {
            let late = (u64::from(gm.node()) * 7 + round * 3) % 11;
            gm.system_mut().compute(late * 5000).await;
            let came = gm.system().now_ps();
            host.barrier(&mut gm, algorithm).await.map_err(text)?;
            times.push((came, gm.system().now_ps()));
        }
        host.flush(&mut gm).await.map_err(text)?;
        Ok(times)
    })
}

#[test]
fn no_node_leaves_a_barrier_before_the_last_one_comes() {
    if !built() {
        return;
    }
    let trees = [(0, 1), (0, 2), (2, 3), (1, 9)];
    let trees = trees.map(|(root, degree)| Barrier::GatherBroadcast { root, degree });
    for count in [1, 2, 3, 5, 8] {
        for algorithm in [Barrier::PairwiseExchange].into_iter().chain(trees) {
            if let Barrier::GatherBroadcast { root, .. } = algorithm
                && root >= usize::from(count)
            {
                continue;
            }
            let times = barriers(count, algorithm);
            for round in 0..5 {
                let last = times.iter().map(|node| node[round].0).max();
                let first = times.iter().map(|node| node[round].1).min();
                assert!(last <= first, "{count} nodes, {algorithm:?}, round {round}");
            }
        }
    }
}

#[test]
fn reductions_give_the_root_what_it_computes_itself() {
    if !built() {
        return;
    }
    let count = 6;
    let integer = |node: u16, round: u64| Value::Integer(u64::from(node) * 0x1_0001 + round);
    let float = |node: u16, round: u64| Value::Float(f64::from(node) / 4.0 - round as f64);
    let cases = [
        (Operation::And, Shape::Binomial, 0, true),
        (Operation::Or, Shape::Fixed { degree: 2 }, 3, true),
        (Operation::Sum, Shape::Binomial, 5, true),
        (Operation::Sum, Shape::Fixed { degree: 1 }, 0, false),
        (Operation::Min, Shape::Binomial, 1, false),
        (Operation::Max, Shape::Fixed { degree: 5 }, 0, false),
    ];
    let results = run(count, move |mut gm| async move {
        let mut host = start(&mut gm, count, Settings::default()).await?;
        let mut results = Vec::new();
        for (round, (operation, shape, root, integers)) in (0..).zip(cases) {
            let value = if integers { integer } else { float };
            let own = value(gm.node(), round);
            let reduced = host.reduce(&mut gm, operation, shape, root, own).await;
            results.push(reduced.map_err(text)?);
        }
        host.flush(&mut gm).await.map_err(text)?;
        Ok(results)
    });
    for (round, (operation, _, root, integers)) in cases.into_iter().enumerate() {
        let value = if integers { integer } else { float };
        let values = (0..count).map(|node| value(node, round as u64));
        let expected = values.reduce(|a, b| operation.apply(a, b).unwrap());
        for (node, results) in results.iter().enumerate() {
            let expected = expected.filter(|_| node == root);
            assert_eq!(results[round], expected, "{operation:?}, node {node}");
        }
    }
}

#[test]
fn every_node_gets_all_blocks() {
    if !built() {
        return;
    }
    for algorithm in [AllToAll::RecursiveDoubling, AllToAll::Ring] {
        for (count, bytes) in [(2, 0), (4, 4), (5, 4), (3, 5000), (7, 1), (1, 9)] {
            let block = move |node: u16, round: u16| {
                let byte = move |at: usize| (at as u16 ^ node << 4 ^ round) as u8;
                (0..bytes).map(byte).collect::<Vec<u8>>()
            };
            let results = run(count, move |mut gm| async move {
                let settings = Settings {
                    longest_bytes: algorithm.longest_bytes(count.into(), bytes),
                    ..Settings::default()
                };
                let mut host = start(&mut gm, count, settings).await?;
                let mut results = Vec::new();
                for round in 0..3 {
                    let own = block(gm.node(), round);
                    let all = host.all_to_all(&mut gm, algorithm, &own).await;
                    results.push(all.map_err(text)?);
                }
                host.flush(&mut gm).await.map_err(text)?;
                Ok(results)
            });
            for round in 0..3 {
                let blocks = (0..count).map(|node| block(node, round));
                let expected = blocks.collect::<Vec<_>>().concat();
                let right = |all: &Vec<Vec<u8>>| all[usize::from(round)] == expected;
                assert!(
                    results.iter().all(right),
                    "{algorithm:?}, {count} nodes, {bytes} bytes"
                );
            }
        }
    }
}

/// The error of node 0, if node 1 executes the second operation while it executes the first one.
fn error<F, G>(first: F, second: G) -> CollectiveError
where
    F: AsyncOperation,
    G: AsyncOperation,
{
    let settings = Settings {
        longest_bytes: 16,
        limit_ns: 2_000_000,
    };
    let results = run(2, move |mut gm| async move {
        let mut host = start(&mut gm, 2, settings).await?;
        Ok(match gm.node() {
            0 => first.run(&mut host, &mut gm).await.err(),
            _ => second.run(&mut host, &mut gm).await.err(),
        })
    });
    results[0].expect("node 0 fails")
}

/// An operation of the tests of errors.
trait AsyncOperation: Copy + Send + Sync + 'static {
    fn run(
        self,
        host: &mut Host,
        gm: &mut Gm,
    ) -> impl Future<Output = Result<(), CollectiveError>> + Send;
}

#[derive(Debug, Clone, Copy)]
enum Try {
    Nothing,
    Barrier(Barrier),
    Reduce(Value),
    Float(Operation),
    Blocks(usize),
}

impl AsyncOperation for Try {
    async fn run(self, host: &mut Host, gm: &mut Gm) -> Result<(), CollectiveError> {
        let root = 0;
        match self {
            Self::Nothing => Ok(()),
            Self::Barrier(algorithm) => host.barrier(gm, algorithm).await,
            Self::Reduce(value) => {
                let shape = Shape::Binomial;
                host.reduce(gm, Operation::Sum, shape, root, value)
                    .await
                    .map(drop)
            }
            Self::Float(operation) => {
                let value = Value::Float(1.0);
                host.reduce(gm, operation, Shape::Binomial, root, value)
                    .await
                    .map(drop)
            }
            Self::Blocks(bytes) => {
                let block = vec![1; bytes];
                let all = host.all_to_all(gm, AllToAll::Ring, &block);
                all.await.map(drop)
            }
        }
    }
}

#[test]
fn members_that_do_not_agree_get_an_error() {
    if !built() {
        return;
    }
    let exchange = Try::Barrier(Barrier::PairwiseExchange);
    let integer = Try::Reduce(Value::Integer(1));
    let check = |first, second, expected| assert_eq!(error(first, second), expected);
    let late = CollectiveError::TimedOut {
        from: 1,
        waited_ns: 2_000_000,
    };
    check(exchange, Try::Nothing, late);
    check(integer, exchange, CollectiveError::Different { from: 1 });
    let types = CollectiveError::Value(ValueError::Types);
    check(integer, Try::Reduce(Value::Float(1.0)), types);
    let bits = CollectiveError::Value(ValueError::Float(Operation::And));
    check(Try::Float(Operation::And), Try::Nothing, bits);
    let length = CollectiveError::Length {
        from: 1,
        bytes: 9,
        expected: 8,
    };
    check(Try::Blocks(8), Try::Blocks(9), length);
    let tree = Try::Barrier(Barrier::GatherBroadcast { root: 2, degree: 1 });
    let rank = ScheduleError::Rank {
        rank: 2,
        members: 2,
    };
    check(tree, Try::Nothing, rank.into());
    let degree = Try::Barrier(Barrier::GatherBroadcast { root: 0, degree: 0 });
    check(degree, Try::Nothing, ScheduleError::Degree.into());
    let room = CollectiveError::TooLong {
        bytes: 200,
        room: host_lib::gm::capacity(host_lib::gm::size_for(24)),
    };
    check(Try::Blocks(200), Try::Nothing, room);
}

#[test]
fn a_message_of_another_endpoint_is_refused() {
    if !built() {
        return;
    }
    let results = run(3, |mut gm| async move {
        // Node 2 has its own idea of the group.
        let count = if gm.node() == 2 { 3 } else { 2 };
        let settings = Settings {
            limit_ns: 2_000_000,
            ..Settings::default()
        };
        let mut host = start(&mut gm, count, settings).await?;
        let barrier = match gm.node() {
            1 => Ok(()),
            _ => host.barrier(&mut gm, Barrier::PairwiseExchange).await,
        };
        Ok(barrier.err())
    });
    let stranger = Endpoint {
        node: 2,
        port: PORT,
    };
    assert_eq!(results[0], Some(CollectiveError::Stranger(stranger)));
}
