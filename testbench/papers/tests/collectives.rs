//! Measurements of collective operations: what they must show on any board.

use std::sync::Arc;

use host_lib::gm::collective::{AllToAll, Barrier, Shape};
use lanigon_papers::collectives::{CollectiveError, On, Setup};
use lanigon_worlds::boards;
use lanigon_worlds::profile::built_in;
use lanigon_worlds::programs::collective::Type;

/// Executes a check on a profile's boards, if GM's image is built.
fn with(on: On, check: impl FnOnce(&Setup<'_>)) {
    let profile = built_in("gm-paper-lanai9.1-133").unwrap();
    let board = boards::of(&profile);
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
    with(On::Host, |setup| {
        let barrier = |nodes| {
            setup
                .barrier(nodes, Barrier::PairwiseExchange, ROUNDS)
                .unwrap()
        };
        let (two, seven, eight) = (barrier(2), barrier(7), barrier(8));
        // Seven nodes take two steps more than four, eight one.
        assert!(two < eight && eight < seven, "{two} {eight} {seven}");
        let (best, degree) = setup.best_gather_broadcast(4, ROUNDS).unwrap();
        assert!(
            (1..4).contains(&degree) && best > barrier(4),
            "{best} {degree}"
        );
        let whole = setup.computing_loop(2, 50_000, 0, ROUNDS).unwrap();
        assert!(whole > 50.0 && whole < 50.0 + 2.0 * two, "{whole}");
        let steps = setup.synthetic(2, 3, 10).unwrap();
        assert!(steps > 60.0 && steps < 60.0 + 6.0 * two, "{steps}");
        let half = setup.least_computation(2, 0.5, ROUNDS).unwrap();
        assert!(half > 0.5 * two && half < 1.5 * two, "{half} {two}");
    });
}

#[test]
fn reductions_take_longer_with_depth_and_skew() {
    with(On::Host, |setup| {
        let chain = |nodes| {
            let shape = Shape::Fixed { degree: 1 };
            setup
                .reduction(nodes, shape, Type::Integer, ROUNDS)
                .unwrap()
        };
        assert!(chain(2) < chain(4));
        let cpu = |skew_ns| {
            setup
                .reduction_cpu(4, Type::Float, skew_ns, ROUNDS)
                .unwrap()
        };
        assert!(cpu(0) < cpu(200_000));
    });
}

#[test]
fn longer_blocks_take_longer() {
    with(On::Host, |setup| {
        for algorithm in [AllToAll::RecursiveDoubling, AllToAll::Ring] {
            let time = |bytes| setup.all_to_all(4, algorithm, bytes, ROUNDS).unwrap();
            assert!(time(4) < time(4096), "{algorithm:?}");
        }
    });
}

#[test]
fn there_are_no_operations_on_the_nic_yet() {
    with(On::Nic, |setup| {
        let error = setup.barrier(2, Barrier::PairwiseExchange, ROUNDS);
        assert!(matches!(error, Err(CollectiveError::NoNic)));
    });
}
