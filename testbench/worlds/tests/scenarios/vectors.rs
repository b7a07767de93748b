//! Reductions of vectors, by hosts, by boards, and by boards whose hosts compute in light interrupts.

use emulator::sim::world::RunEnd;
use lanigon_workloads::collective::CollectiveUse;
use lanigon_worlds::simulation::RunOptions;

use super::gm::built;

/// Nodes whose boards reduce vectors.
fn text(nodes: u32, program: &str) -> String {
    format!(
        "board = \"lanai9.1-133\"\nimage = \"gm-vectors\"\n[network]\ntopology = \"star\"\nnodes = {nodes}\n[[program]]\nrun = \"reduction\"\nnodes = \"all\"\n{program}\n"
    )
}

/// Runs a scenario, whose results are checked by the program, and gives its figures.
#[track_caller]
fn run(text: &str) -> CollectiveUse {
    let outcome = super::run(text, &RunOptions::default());
    assert_eq!(outcome.end, RunEnd::Completed, "{text}");
    assert!(outcome.is_good(), "{text}: {:?}", outcome.problems);
    let result = outcome.result::<CollectiveUse>();
    result.expect("a reduction has figures").clone()
}

/// Sums of doubles are rounded: their order is that of the tree, on hosts and in light interrupts.
#[test]
fn vectors_are_reduced_everywhere() {
    if !built() {
        return;
    }
    let places = [
        "",
        "on = \"nic\"\n",
        "on = \"nic\"\narithmetic = \"fast-trap\"\n",
    ];
    let kinds = [
        "elements = 1\ntype = \"float\"",
        "elements = 7\ntype = \"float\"\nalgorithm = \"tree\"\ndegree = 9\nroot = 2",
        "elements = 32\ntype = \"float\"\nalgorithm = \"tree\"\ndegree = 3",
        "elements = 32\noperation = \"max\"\nroot = 3",
        "elements = 5\ntype = \"float\"\noperation = \"min\"\nskew_us = 30",
    ];
    for place in places {
        for kind in kinds {
            let all = if kind.contains("root") || place.is_empty() {
                ""
            } else {
                "all = true\n"
            };
            for more in ["", all] {
                let result = run(&text(12, &format!("rounds = 15\n{place}{more}{kind}")));
                assert_eq!((result.members, result.rounds), (12, 15), "{place}{kind}");
                let traps = result.traps.map_or(0, |traps| traps.count);
                assert_eq!(traps > 0, place.contains("fast-trap"), "{place}{kind}");
            }
        }
    }
}

/// An image with vectors reduces single values too.
#[test]
fn single_values_have_the_image_too() {
    if !built() {
        return;
    }
    for kind in [
        "",
        "type = \"float\"\nall = true",
        "skew_us = 50\nper_node = 2",
    ] {
        let result = run(&text(6, &format!("on = \"nic\"\nrounds = 20\n{kind}")));
        assert_eq!((result.rounds, result.traps), (20, None), "{kind}");
    }
}

/// Lost and damaged packets are sent again, with the vectors that they had.
#[test]
fn vectors_survive_losses() {
    if !built() {
        return;
    }
    for arithmetic in ["nic", "fast-trap"] {
        for all in ["true", "false"] {
            let program = format!(
                "on = \"nic\"\ntype = \"float\"\nelements = 20\nrounds = 60\narithmetic = \"{arithmetic}\"\nall = {all}\n[gm]\nresend_us = 1000\n[faults]\nloss = 0.05\ncorruption = 0.02"
            );
            let result = run(&text(9, &program));
            assert_eq!(result.rounds, 60);
        }
    }
}

/// The processor of a host computes for its board in the place of its own program, which does so much less.
#[test]
fn a_light_interrupt_takes_the_time_of_the_program() {
    if !built() {
        return;
    }
    // All rounds of the root's child with a child overlap: its computation of 1 ms is longer by the traps in it.
    let with_cost = |cost: u32| {
        let program = format!(
            "on = \"nic\"\narithmetic = \"fast-trap\"\nelements = 4\nrounds = 20\ncompute_us = 300\n[costs.host]\nfast_trap = {cost}"
        );
        run(&text(4, &program))
    };
    let (short, long) = (with_cost(1_000), with_cost(21_000));
    let share = |result: &CollectiveUse| result.traps.clone().unwrap_or_default();
    let (brief, slow) = (share(&short), share(&long));
    assert_eq!(brief.count, slow.count);
    let traps = slow.count as f64 / (20.0 * 4.0);
    let more = slow.cpu_us - brief.cpu_us;
    assert!((more - 20.0 * traps).abs() < 1.0, "{more} of {traps}");
    assert!(
        long.period_us > short.period_us + 15.0,
        "{short:?} {long:?}"
    );
}

#[test]
fn what_boards_cannot_reduce_is_refused() {
    let check = |text: &str, expected: &str| {
        let error = lanigon_workloads::parse("test.toml", text).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(
        &text(4, "elements = 3\narithmetic = \"fast-trap\""),
        "without on = \"nic\" the hosts compute",
    );
    check(&text(4, "elements = 33\non = \"nic\""), "33");
    check(
        &text(4, "elements = 3\non = \"nic\"\nper_node = 2"),
        "per_node = 1",
    );
    let other = text(4, "elements = 3\non = \"nic\"").replace("gm-vectors", "gm");
    check(
        &other,
        "vectors need a LANai 7 or 9 with image = \"gm-vectors\"",
    );
    let small = text(4, "elements = 3\non = \"nic\"")
        .replace("[network]", "board_memory_kb = 1024\n[network]");
    check(&small, "image = \"gm-vectors\" and 2 MB");
}
