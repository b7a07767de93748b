//! Resets of nodes that exchange frames: what was under way is cut off, everything else arrives.

use std::path::Path;

use cases::cases;
use emulator::sim::time::SimTime;
use emulator::sim::world::RunEnd;
use lanigon_worlds::simulation::result::RunSummary;
use lanigon_worlds::simulation::{RunOptions, Simulation};
use proptest::prelude::*;

const NODES: u64 = 4;
const FRAMES: u64 = 40;
/// Frames of all nodes in one life.
const ALL: u64 = NODES * (NODES - 1) * FRAMES;

/// A star whose nodes send to each other, with resets: node, time, pause in us.
fn text(resets: &[(u64, u64, Option<u64>)], more: &str) -> String {
    let mut text = format!(
        "[network]\ntopology = \"star\"\nnodes = {NODES}\n[[program]]\nrun = \"frames\"\nnodes = \"all\"\n\
         frames = {FRAMES}\nbytes = [60, 1514, 300]\ngap_us = 20\n{more}"
    );
    for (node, at, pause) in resets {
        text += &format!("[[fault]]\ndo = \"reset\"\nnode = {node}\nat_us = {at}\n");
        if let Some(pause) = pause {
            text += &format!("pause_us = {pause}\n");
        }
    }
    text
}

/// Runs it: every frame must have arrived, been dropped by a fault or been cut off.
#[track_caller]
fn good(text: &str) -> RunSummary {
    let outcome = super::run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}\n{outcome:?}");
    assert!(outcome.is_good(), "{text}\n{outcome:?}");
    let messages = outcome.verdict.messages;
    let known = messages.delivered + messages.dropped + messages.cut_off;
    assert_eq!(known, messages.posted, "{text}\n{messages:?}");
    outcome
}

#[test]
fn what_a_reset_cuts_off_is_counted() {
    let check = |resets: &[(u64, u64, Option<u64>)],
                 posted: std::ops::RangeInclusive<u64>,
                 cut: std::ops::RangeInclusive<u64>| {
        let messages = good(&text(resets, "")).verdict.messages;
        assert!(
            posted.contains(&messages.posted),
            "{resets:?}: {messages:?}"
        );
        assert!(cut.contains(&messages.cut_off), "{resets:?}: {messages:?}");
    };
    let own = (NODES - 1) * FRAMES;
    // Within the exchange: others do not notice, and the node sends everything again.
    check(&[(3, 4000, Some(3000))], ALL + 1..=ALL + own, 10..=own);
    // Before anything was sent, and for ever.
    check(&[(3, 0, None)], ALL - own..=ALL - own, own..=own);
    // When all frames have arrived, but the receivers still wait.
    check(&[(1, 40_000, Some(100))], ALL + own..=ALL + own, 0..=0);
    // Again within the boot.
    check(
        &[(2, 3000, Some(500)), (2, 3600, Some(500))],
        ALL..=ALL + own,
        1..=own,
    );
}

/// Three nodes take the fourth for gone, though each is ready to greet it at another time: no receiver ends before the last sender has sent.
#[test]
fn nodes_that_wait_for_one_that_is_gone_do_not_lose_each_other() {
    let resets = [
        (1, 5014, None),
        (2, 668, Some(19_552)),
        (0, 12, Some(24_239)),
    ];
    good(&text(&resets, "[faults]\nloss = 0.02\n"));
    let gone = [(1, 5014, None), (2, 6000, None)];
    good(&text(&gone, "[faults]\nloss = 0.02\n"));
}

/// The sender's program has given all frames to the board, and is over.
#[test]
fn frames_on_a_board_that_is_reset_are_cut_off() {
    for more in ["", "pause_us = 1000\n"] {
        let outcome = good(&format!(
            "[network]\ntopology = \"pair\"\n\
             [[program]]\nrun = \"frames\"\nfrom = 1\nto = 0\nframes = 60\nbytes = 1514\n\
             [[fault]]\ndo = \"reset\"\nnode = 1\nat_us = 800\n{more}"
        ));
        let messages = outcome.verdict.messages;
        assert!(messages.cut_off > 10, "{messages:?}");
        assert_eq!(messages.delivered + messages.cut_off, messages.posted);
    }
}

/// A loss elsewhere is not hidden by a reset.
#[test]
fn a_reset_excuses_nothing_else() {
    let text = text(&[(3, 2000, Some(500))], "");
    let text = format!(
        "[acenic]\nmtu = 9018\n{}",
        text.replace("300]", "300, 1600]")
    );
    let mut scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    // The receiver's firmware drops what is longer.
    scenario.nodes[1].settings.acenic.mtu = 1518;
    let mut simulation = Simulation::new(&scenario).unwrap();
    let outcome = simulation.run(&RunOptions::default(), |_| {});
    assert!(
        outcome.verdict.messages.lost > 10,
        "{:?}",
        outcome.verdict.messages
    );
}

#[test]
fn a_snapshot_between_lives_goes_on_with_equal_results() {
    let text = text(
        &[(1, 3000, Some(2000)), (2, 5000, None)],
        "[faults]\nloss = 0.02\n",
    );
    let scenario = lanigon_workloads::parse("test.toml", &text).unwrap();
    let options = RunOptions::default();
    let result = |simulation: &mut Simulation| {
        let mut outcome = simulation.run(&options, |_| {});
        outcome.boards.clear();
        format!("{outcome:?}")
    };
    let whole = result(&mut Simulation::new(&scenario).unwrap());
    for us in [24_000, 40_000] {
        let mut simulation = Simulation::new(&scenario).unwrap();
        simulation.keep_logs();
        simulation
            .run_to(SimTime::from_us(us), &options, |_| {})
            .unwrap();
        let file = simulation.save("test.toml", &text, &scenario).unwrap();
        let (mut loaded, ..) =
            Simulation::load(lanigon_workloads::ALL, &file, Path::new("")).unwrap();
        assert_eq!(result(&mut loaded), whole, "{us} us");
    }
}

proptest! {
    #![proptest_config(cases(12))]

    #[test]
    fn resets_at_any_time_lose_nothing_else(
        resets in prop::collection::vec((0..NODES, 0_u64..12_000, prop::option::weighted(0.8, 0_u64..30_000)), 1..5),
        loss in prop::bool::ANY,
    ) {
        let loss = if loss { "[faults]\nloss = 0.02\n" } else { "" };
        good(&text(&resets, loss));
    }
}
