//! Plans of multicasts against runs of the same plans.

use std::sync::Arc;

use host_lib::fm::predict::deliveries;
use lanigon_experiments::grid::Grid;
use lanigon_experiments::paper::{Amount, ResultRequest};
use lanigon_papers::multicast::FILE;
use lanigon_papers::multicast::points::{measured_costs, method, tree};
use lanigon_workloads::multicast::TreeKind;
use lanigon_worlds::boards;

/// Largest difference between a planned time and that of a run, as a share: a line through packets of 0 to 1,536 bytes is some 10 %
/// off for short ones, whose headers are rewritten after the DMA, and a plan knows nothing of credits that are returned.
const TOLERANCE: f64 = 0.12;

#[test]
fn a_run_has_the_planned_times() {
    let (board, _) = boards::named("fm-paper-lanai4.3-33").unwrap();
    let fm = board.fm.unwrap();
    // Built where LLVM's tools are; other tests say so.
    if board.own_image(fm.image, fm.sram_bytes).is_err() {
        return;
    }
    let interrupt = Arc::default();
    let costs = measured_costs(&interrupt).unwrap();
    // Two rounds.
    let request = ResultRequest {
        amount: Amount::Quick,
        ..ResultRequest::default()
    };
    let grid = Grid::new(FILE, &request).unwrap();
    for (nodes, lambda, (multi_send, pipelined), bytes) in [
        (8, Some(2), (true, false), 1536),
        (16, Some(3), (true, false), 16_384),
        (16, Some(2), (true, true), 16_384),
        (16, None, (false, false), 16_384),
        (8, None, (false, true), 16_384),
        (8, Some(8), (true, false), 8192),
    ] {
        let way = method(multi_send, pipelined);
        let key = tree(nodes, lambda, way, bytes);
        let kind = match lambda {
            Some(lambda) => TreeKind::Optimal { lambda },
            None => TreeKind::Binomial,
        };
        let built = kind.build(usize::from(nodes)).unwrap();
        let planned = deliveries(&built, bytes, way, &costs);
        let point = grid.measure(&key).unwrap();
        let delivered_us = &point[2];
        assert_eq!(delivered_us.len() + 1, planned.len());
        for (rank, (planned, us)) in planned[1..].iter().zip(delivered_us).enumerate() {
            let planned_us = *planned.last().unwrap() as f64 / 1e6;
            let error = planned_us / us - 1.0;
            assert!(
                error.abs() < TOLERANCE,
                "{key:?}, rank {}: planned {planned_us:.2} us, run {us:.2} us",
                rank + 1
            );
        }
    }
}
