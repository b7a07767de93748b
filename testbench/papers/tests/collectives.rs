//! Measurements of collective operations: what they must show on any board.

use std::ops::RangeInclusive;
use std::sync::Arc;

use host_lib::gm::collective::{Barrier, Operation, Shape};
use lanigon_experiments::grid::PointKey;
use lanigon_experiments::{Error, key};
use lanigon_papers::collectives::measure::rounds_of;
use lanigon_papers::gm::bench::Setup;
use lanigon_workloads::collective::{Broadcast, CollectiveWork, ExecutedOn, Settings, Type};
use lanigon_worlds::boards;
use lanigon_worlds::profile::built_in;

/// Executes a check on a profile's boards, if GM's image is built.
fn with(check: impl FnOnce(&Setup<'_>)) {
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
        interrupt: &Arc::default(),
    });
}

/// A measurement with these axes behind the name of the boards.
fn measured(setup: &Setup<'_>, measure: &str, axes: PointKey) -> Result<f64, Error> {
    let key = [key![measure, "boards"], axes].concat();
    setup.measure(&key, 20).map(|mean| mean.value)
}

#[test]
fn barriers_take_longer_with_more_nodes_and_computation() {
    with(|setup| {
        let us = |measure, axes| measured(setup, measure, axes).unwrap();
        let barrier = |nodes: u32| us("exchange", key!["host", nodes]);
        let (two, seven, eight) = (barrier(2), barrier(7), barrier(8));
        // Seven nodes take two steps more than four, eight one.
        assert!(two < eight && eight < seven, "{two} {eight} {seven}");
        for degree in 1_u32..4 {
            let us = us("tree", key!["host", 4_u32, degree]);
            assert!(us > barrier(4), "{us} {degree}");
        }
        let whole = us("loop", key!["host", 2_u32, 50_000_u32, 0_u32]);
        assert!(whole > 50.0 && whole < 50.0 + 2.0 * two, "{whole}");
        let steps = us("synthetic", key!["host", 2_u32, 3_u32]);
        assert!(steps > 60.0 && steps < 60.0 + 6.0 * two, "{steps}");
        let half = us("least", key!["host", 2_u32, 50_u32]);
        assert!(half > 0.5 * two && half < 1.5 * two, "{half} {two}");
    });
}

#[test]
fn operations_take_longer_with_depth_skew_and_longer_blocks() {
    with(|setup| {
        let us = |measure, axes| measured(setup, measure, axes).unwrap();
        let chain = |nodes: u32| us("reduction", key!["host", nodes, "chain", "integer"]);
        assert!(chain(2) < chain(4));
        let cpu = |skew_us: u32| us("processor", key!["host", 4_u32, "float", skew_us]);
        assert!(cpu(0) < cpu(200));
        for algorithm in ["doubling", "ring"] {
            let time = |bytes: u32| us("all_to_all", key!["host", 4_u32, algorithm, bytes]);
            assert!(time(4) < time(4096), "{algorithm}");
        }
    });
}

#[test]
fn boards_execute_every_operation_too() {
    with(|setup| {
        let us = |measure, axes| measured(setup, measure, axes).unwrap();
        let barrier = |nodes: u32| us("exchange", key!["nic", nodes]);
        assert!(barrier(2) < barrier(8));
        let sum = |of| us("reduction", key!["nic", 4_u32, "binomial", of]);
        // The board has no unit for floating-point numbers.
        assert!(sum("integer") < sum("float"));
        for algorithm in ["doubling", "concurrent"] {
            let time = |bytes: u32| us("all_to_all", key!["nic", 4_u32, algorithm, bytes]);
            assert!(time(4) < time(4096), "{algorithm}");
        }
        let ring = measured(setup, "all_to_all", key!["nic", 4_u32, "ring", 4_u32]);
        let error = ring.unwrap_err().to_string();
        assert!(error.contains("Ring is no algorithm of boards"), "{error}");
    });
}

/// The legs of a path follow each other and add up, and the path takes this many hops.
#[track_caller]
fn check_path(
    (setup, on): (&Setup<'_>, ExecutedOn),
    work: CollectiveWork,
    hops: RangeInclusive<usize>,
) {
    let settings = Settings {
        last_late_ns: match work {
            CollectiveWork::Reduction { .. } => 100_000,
            _ => 0,
        },
        ..rounds_of(work, on, 3)
    };
    let found = setup.explain_operation(8, &settings).unwrap();
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
        with(|setup| {
            check_path(
                (setup, on),
                CollectiveWork::Barrier(Barrier::PairwiseExchange),
                3..=3,
            );
            // Ranks 3 to 6 are in the second level of the tree below the root, rank 7 in the third: up and down again.
            let tree = Barrier::GatherBroadcast { root: 0, degree: 2 };
            check_path((setup, on), CollectiveWork::Barrier(tree), 4..=6);
            let reduction = CollectiveWork::Reduction {
                operation: Operation::Sum,
                of: Type::Integer,
                shape: Shape::Binomial,
                root: 0,
                all: false,
                vector: None,
            };
            check_path((setup, on), reduction, 3..=3);
            let algorithm = Broadcast::RecursiveDoubling;
            check_path(
                (setup, on),
                CollectiveWork::AllToAll {
                    algorithm,
                    bytes: 64,
                },
                3..=3,
            );
        });
    }
}
