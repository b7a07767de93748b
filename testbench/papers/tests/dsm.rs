//! Measurements of shared memory: what the profile is calibrated on, and what a run must show.

use std::sync::Arc;

use lanigon_papers::dsm::key::{Key, Program, Size, Testbed};
use lanigon_papers::dsm::primitives::Primitives;
use lanigon_papers::dsm::{PROFILE, TABLE};
use lanigon_worlds::profile::built_in;

/// Whether GM's image is built: it is where LLVM's tools are; other tests say so.
fn is_built() -> bool {
    let profile = built_in(PROFILE).unwrap();
    let board = lanigon_worlds::boards::of(&profile);
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
    let times = |testbed, nodes, ardmar| {
        let key = Key {
            testbed,
            program: Program::Pages,
            size: Size::Reduced,
            nodes,
            ardmar,
        };
        key.measure(&Arc::default()).unwrap()
    };
    let fetch = |testbed, nodes, ardmar| times(testbed, nodes, ardmar).page_fetch_us();
    // Each of three nodes waits for the handler of the first one, unless there is none.
    let paper = Testbed::Paper;
    assert!(fetch(paper, 4, false) > fetch(Testbed::CheapHandler, 4, false) + 10.0);
    let (same, cheap) = (fetch(paper, 2, true), fetch(Testbed::CheapHandler, 2, true));
    assert!((same - cheap).abs() < 1.0, "{same} {cheap}");
    assert!(times(paper, 2, true).fetches > 100.0);
}
