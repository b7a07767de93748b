//! Measurements of shared memory: what the profile is calibrated on, and what a run must show.

use std::sync::Arc;

use lanigon_experiments::grid::Grid;
use lanigon_experiments::key;
use lanigon_experiments::paper::{Amount, ResultRequest};
use lanigon_papers::ardmar::primitives::Primitives;
use lanigon_papers::ardmar::{FILE, PROFILE, TABLE};
use lanigon_worlds::profile::built_in;

/// Whether GM's image is built: it is where LLVM's tools are; other tests say so.
fn is_built() -> bool {
    let profile = built_in(PROFILE).unwrap();
    let board = lanigon_worlds::boards::for_profile(&profile);
    let gm = board.gm.unwrap();
    board.own_image(gm.image, gm.sram_bytes).is_ok()
}

#[test]
fn the_profile_is_calibrated_on_table_1() {
    if !is_built() {
        return;
    }
    let profile = built_in(PROFILE).unwrap();
    let found = Primitives::measure(&profile, 20, &Arc::default()).unwrap();
    for (id, measured) in [
        ("ardmar-003", found.message_us),
        ("ardmar-012", found.remote_atomic_us),
        ("ardmar-014", found.read_us),
        ("ardmar-015", found.page_post_us),
        ("ardmar-016", found.short_post_us),
        ("ardmar-017", found.immediate_post_us),
        ("ardmar-022", found.receive_us),
    ] {
        let published = TABLE.get(id).unwrap().value;
        let error = measured / published - 1.0;
        assert!(
            error.abs() < 0.02,
            "{id}: {measured} instead of {published}"
        );
    }
}

#[test]
fn page_fetches_without_handlers_need_no_home() {
    if !is_built() {
        return;
    }
    let request = ResultRequest {
        amount: Amount::Quick,
        ..ResultRequest::default()
    };
    let grid = Grid::new(FILE, &request).unwrap();
    let means = |testbed, nodes: u16, ardmar| {
        let key = key![testbed, "Pages", "Reduced", nodes, ardmar];
        grid.measure(&key).unwrap()
    };
    // In the order of the file's measures: waits for pages, and their number.
    let fetches = |means: &[Vec<f64>]| means[8][0];
    let fetch = |testbed, nodes, ardmar| {
        let means = means(testbed, nodes, ardmar);
        means[2][0] / fetches(&means)
    };
    // Each of three nodes waits for the handler of the first one, unless there is none.
    let (paper, cheap_handler) = ("Paper", "CheapHandler");
    assert!(fetch(paper, 4, false) > fetch(cheap_handler, 4, false) + 10.0);
    let (same, cheap) = (fetch(paper, 2, true), fetch(cheap_handler, 2, true));
    assert!((same - cheap).abs() < 1.0, "{same} {cheap}");
    assert!(fetches(&means(paper, 2, true)) > 100.0);
}
