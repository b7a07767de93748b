//! Measurements of collective operations: what they must show on any board.

use std::ops::RangeInclusive;
use std::sync::Arc;

use host_lib::gm::collective::{Barrier, Operation, Shape};
use lanigon_papers::collectives::{self, ExecutedOn, Setup};
use lanigon_workloads::collective::{Broadcast, CollectiveWork, Settings, Type};
use lanigon_worlds::boards;
use lanigon_worlds::profile::built_in;

/// Executes a check on a profile's boards, if GM's image is built.
fn with(on: ExecutedOn, check: impl FnOnce(&Setup<'_>)) {
    let profile = built_in("gm-paper-lanai9.1-133").unwrap();
    let board = boards::for_profile(&profile);
    let gm = board.gm.unwrap();
    // Built where LLVM's tools are; other tests say so.
    let Ok(image) = board.own_image(gm.image, gm.sram_bytes) else {
        return;
    };
    check(&Setup {
        image: &image,
        profile: &profile,
        on,
        interrupt: &Arc::default(),
    });
}

const ROUNDS: u64 = 20;

#[test]
fn barriers_take_longer_with_more_nodes_and_computation() {
    with(ExecutedOn::Host, |setup| {
        let barrier = |nodes| {
            setup
                .barrier(nodes, Barrier::PairwiseExchange, ROUNDS)
                .unwrap()
                .value
        };
        let (two, seven, eight) = (barrier(2), barrier(7), barrier(8));
        // Seven nodes take two steps more than four, eight one.
        assert!(two < eight && eight < seven, "{two} {eight} {seven}");
        for degree in 1..4 {
            let tree = Barrier::GatherBroadcast { root: 0, degree };
            let us = setup.barrier(4, tree, ROUNDS).unwrap().value;
            assert!(us > barrier(4), "{us} {degree}");
        }
        let whole = setup.computing_loop(2, 50_000, 0, ROUNDS).unwrap().value;
        assert!(whole > 50.0 && whole < 50.0 + 2.0 * two, "{whole}");
        let steps = setup.synthetic(2, 3, 10).unwrap().value;
        assert!(steps > 60.0 && steps < 60.0 + 6.0 * two, "{steps}");
        let half = setup.least_computation(2, 0.5, ROUNDS).unwrap();
        assert!(half > 0.5 * two && half < 1.5 * two, "{half} {two}");
    });
}

#[test]
fn reductions_take_longer_with_depth_and_skew() {
    with(ExecutedOn::Host, |setup| {
        let chain = |nodes| {
            let shape = Shape::Fixed { degree: 1 };
            setup
                .reduction(nodes, shape, Type::Integer, ROUNDS)
                .unwrap()
                .value
        };
        assert!(chain(2) < chain(4));
        let cpu = |skew_ns| {
            setup
                .reduction_cpu(4, Type::Float, skew_ns, ROUNDS)
                .unwrap()
                .value
        };
        assert!(cpu(0) < cpu(200_000));
    });
}

#[test]
fn longer_blocks_take_longer() {
    with(ExecutedOn::Host, |setup| {
        for algorithm in [Broadcast::RecursiveDoubling, Broadcast::Ring] {
            let time = |bytes| setup.all_to_all(4, algorithm, bytes, ROUNDS).unwrap().value;
            assert!(time(4) < time(4096), "{algorithm:?}");
        }
    });
}

#[test]
fn boards_execute_every_operation_too() {
    with(ExecutedOn::Nic, |setup| {
        let barrier = |nodes| {
            let barrier = setup.barrier(nodes, Barrier::PairwiseExchange, ROUNDS);
            barrier.unwrap().value
        };
        assert!(barrier(2) < barrier(8));
        let sum = |of| {
            setup
                .reduction(4, Shape::Binomial, of, ROUNDS)
                .unwrap()
                .value
        };
        // The board has no unit for floating-point numbers.
        assert!(sum(Type::Integer) < sum(Type::Float));
        for algorithm in [
            Broadcast::RecursiveDoubling,
            Broadcast::ConcurrentBroadcasting,
        ] {
            let time = |bytes| setup.all_to_all(4, algorithm, bytes, ROUNDS).unwrap().value;
            assert!(time(4) < time(4096), "{algorithm:?}");
        }
        let ring = setup.all_to_all(4, Broadcast::Ring, 4, ROUNDS);
        let error = ring.unwrap_err().to_string();
        assert!(error.contains("Ring is no algorithm of boards"), "{error}");
    });
}

/// The legs of a path follow each other and add up, and the path takes this many hops.
#[track_caller]
fn check_path(setup: &Setup<'_>, work: CollectiveWork, hops: RangeInclusive<usize>) {
    let settings = Settings {
        last_late_ns: match work {
            CollectiveWork::Reduction { .. } => 100_000,
            _ => 0,
        },
        ..collectives::measure::rounds_of(work, 3)
    };
    let found = setup.explain(8, &settings).unwrap();
    assert!(hops.contains(&found.hops), "{found:?}");
    let mut at = 0;
    for leg in &found.legs {
        assert_eq!(leg.from_ps, at, "{found:?}");
        assert!(leg.to_ps > at && leg.rank < 8, "{found:?}");
        at = leg.to_ps;
    }
    assert_eq!(at, found.whole_ps);
    let [first, last] = [found.legs.first(), found.legs.last()].map(Option::unwrap);
    assert_eq!((first.place, last.place), ("host", "host"), "{found:?}");
    assert_eq!(last.rank, found.last_rank);
    // No packet takes as long as the last leaf is late.
    let late = settings.last_late_ns;
    assert!(late == 0 || found.whole_ps < late * 1_000, "{found:?}");
    assert!(late == 0 || (first.rank, found.last_call_ps) == (7, 0));
}

#[test]
fn paths_lead_from_the_call_on_which_an_operation_depends_to_its_end() {
    for on in [ExecutedOn::Host, ExecutedOn::Nic] {
        with(on, |setup| {
            check_path(
                setup,
                CollectiveWork::Barrier(Barrier::PairwiseExchange),
                3..=3,
            );
            // Ranks 3 to 6 are in the second level of the tree below the root, rank 7 in the third: up and down again.
            let tree = Barrier::GatherBroadcast { root: 0, degree: 2 };
            check_path(setup, CollectiveWork::Barrier(tree), 4..=6);
            let reduction = CollectiveWork::Reduction {
                operation: Operation::Sum,
                of: Type::Integer,
                shape: Shape::Binomial,
                root: 0,
                all: false,
            };
            check_path(setup, reduction, 3..=3);
            let algorithm = Broadcast::RecursiveDoubling;
            check_path(
                setup,
                CollectiveWork::AllToAll {
                    algorithm,
                    bytes: 64,
                },
                3..=3,
            );
        });
    }
}
