//! Several ranks share a world: results are those of one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use emulator::sim::ranks::{RankError, Ranks, Transport, channels};
use emulator::sim::time::SimTime;
use emulator::sim::world::{RunLimits, World};
use emulator::wire::ethernet::switch::Forwarding::{CutThrough, StoreAndForward};
use emulator::wire::fault::FaultKind;

use crate::backpressure::blocked;
use crate::rounds::chatting;
use crate::station::{
    GIGABIT, Manner, Received, Station, address, frame, run_us, send_at, stations,
};
use crate::wormhole::nic::Nic;

/// What the ranks of a run do: each in a thread of its own.
fn each_rank<T: Send>(ranks: usize, act: impl Fn(Box<dyn Transport>) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads = channels(ranks).into_iter().map(|transport| {
            let act = &act;
            scope.spawn(move || act(Box::new(transport)))
        });
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results
            .map(|result| result.expect("a thread that ends"))
            .collect()
    })
}

fn limits(us: u64, threads: usize) -> RunLimits {
    RunLimits {
        max_time: Some(SimTime::from_us(us)),
        threads: threads.try_into().expect("a thread"),
        ..RunLimits::default()
    }
}

/// Hash and state of the network after the run, and what this rank's nodes give.
type Outcome<T> = (u64, u64, Vec<(usize, T)>);

/// Runs a world in parts that end at these times.
fn shared<T>(
    transport: Box<dyn Transport>,
    mut world: World,
    (threads, parts_us): (usize, &[u64]),
    of_node: impl Fn(&World, usize) -> T,
) -> Outcome<T> {
    let mut ranks = Ranks::new(transport, &mut world);
    for &us in parts_us {
        let passed = world.pass_time_shared(&mut ranks, &limits(us, threads));
        assert_eq!(passed, Ok(true));
    }
    world.complete_shared(&mut ranks).expect("all ranks live");
    assert_eq!(
        world.now(),
        SimTime::from_us(*parts_us.last().expect("a part"))
    );
    let mine = (0..world.nodes.len()).filter(|&node| ranks.owns(node));
    let mine = mine.map(|node| (node, of_node(&world, node))).collect();
    (world.trace_hash(), faults(&world), mine)
}

fn faults(world: &World) -> u64 {
    let nodes = (0..world.nodes.len()).filter_map(|node| world.fault_counts(node).ok());
    let kinds = FaultKind::ALL;
    nodes
        .flatten()
        .map(|counts| kinds.map(|kind| counts.of(kind)).iter().sum::<u64>())
        .sum()
}

/// Compares a world that ranks share with the same world in one process.
#[track_caller]
fn check<T: PartialEq + Send>(
    build: impl Fn() -> World + Sync,
    us: u64,
    of_node: impl Fn(&World, usize) -> T + Sync,
) {
    let mut world = build();
    run_us(&mut world, us, 1);
    let expected: Vec<_> = (0..world.nodes.len())
        .map(|node| (node, of_node(&world, node)))
        .collect();
    let parts = [1, us / 3, us / 2, us];
    for (ranks, threads, parts) in [
        (1, 1, &[us][..]),
        (2, 1, &[us][..]),
        (2, 2, &parts[..]),
        (3, 1, &parts[..]),
        (7, 1, &[us][..]),
    ] {
        let outcomes = each_rank(ranks, |transport| {
            shared(transport, build(), (threads, parts), &of_node)
        });
        let mut nodes = Vec::new();
        for (hash, faults_here, mine) in outcomes {
            assert_eq!(hash, world.trace_hash(), "{ranks} ranks");
            assert_eq!(faults_here, faults(&world), "{ranks} ranks");
            nodes.extend(mine);
        }
        nodes.sort_by_key(|(node, _)| *node);
        assert!(nodes == expected, "{ranks} ranks");
    }
}

fn received(world: &World, node: usize) -> Vec<Received> {
    world.nodes[node].board::<Station>().received.clone()
}

#[test]
fn switches_with_faults_and_a_cut() {
    for forwarding in [StoreAndForward, CutThrough] {
        check(|| chatting(forwarding), 3000, received);
    }
}

/// Five pairs, of which one has a faulty cable and so runs in rounds.
fn pairs() -> World {
    let mut world = stations(10);
    for node in 0..10 {
        let times = 200;
        let manner = Manner::Chat {
            stations: 10,
            times,
        };
        world.nodes[usize::from(node)].board_mut::<Station>().manner = manner;
        if node % 2 == 0 {
            let ends = (usize::from(node), usize::from(node) + 1);
            world.connect(ends.0, ends.1, GIGABIT).expect("a free port");
        }
        let data = frame(address(node ^ 1), node, 1, 64 + 40 * usize::from(node));
        send_at(&mut world, node.into(), 300 * u64::from(node), data);
    }
    world
}

#[test]
fn pairs_stay_together() {
    check(pairs, 2000, received);
    let mut world = pairs();
    for transport in channels(3) {
        let ranks = Ranks::new(Box::new(transport), &mut world);
        let owners: Vec<_> = (0..10).map(|node| ranks.owner(node)).collect();
        assert_eq!(owners, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1]);
    }
}

#[test]
fn a_medium_with_a_reverse_direction() {
    check(blocked, 200, |world, node| {
        world.nodes[node].board::<Nic>().received.clone()
    });
}

#[test]
fn a_rank_that_ends_ends_all() {
    let errors = each_rank(3, |transport| {
        let me = transport.rank();
        let mut world = chatting(CutThrough);
        let mut ranks = Ranks::new(transport, &mut world);
        let us = if me == 1 { 500 } else { 3000 };
        world.pass_time_shared(&mut ranks, &limits(us, 1)).err()
    });
    assert_eq!(errors[1], None);
    for rank in [0, 2] {
        assert!(
            matches!(errors[rank], Some(RankError::Gone(_))),
            "{errors:?}"
        );
    }
}

#[test]
fn an_interrupt_of_one_rank_ends_all_at_the_same_time() {
    let ends = each_rank(3, |transport| {
        let me = transport.rank();
        let mut world = chatting(CutThrough);
        let mut ranks = Ranks::new(transport, &mut world);
        let interrupt = Arc::new(AtomicBool::new(false));
        let limits = RunLimits {
            interrupt: Some(Arc::clone(&interrupt)),
            ..limits(1000, 1)
        };
        let first = world.pass_time_shared(&mut ranks, &limits);
        interrupt.store(me == 2, Ordering::Relaxed);
        let limits = RunLimits {
            max_time: Some(SimTime::from_us(3000)),
            ..limits
        };
        let second = world.pass_time_shared(&mut ranks, &limits);
        (first, second, world.now())
    });
    for end in ends {
        assert_eq!(end, (Ok(true), Ok(false), SimTime::from_us(1000)));
    }
}
