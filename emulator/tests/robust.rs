//! Robustness of a board against any host, firmware and wire: time advances, nothing panics, no queue grows
//! without bound, and after a reset it works.
//!
//! Random acts and instructions, and seeds: past and likely defects (`corpus/board/`). A longer run:
//! `PROPTEST_CASES=20000 cargo test --release -p lanigon-emulator --test robust`.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

#[path = "robust/act.rs"]
mod act;
#[path = "robust/acts.rs"]
mod acts;
#[path = "robust/bench.rs"]
mod bench;
#[path = "robust/firmware.rs"]
mod firmware;
#[path = "robust/logs.rs"]
mod logs;
#[path = "robust/many.rs"]
mod many;
#[path = "robust/options.rs"]
mod options;
#[path = "robust/order.rs"]
mod order;
#[path = "robust/polls.rs"]
mod polls;
#[path = "robust/race_detector.rs"]
mod race_detector;
#[path = "robust/races.rs"]
mod races;
#[path = "robust/streams.rs"]
mod streams;

use std::fs;
use std::path::Path;

use act::{Act, play};
use acts::{acts, sram_size};
use bench::{Bench, finishes};
use cases::cases;
use emulator::sim::time::SimTime;
use emulator::tigon2::sram::SramSize;
use polls::{Manner, Polling, poll};
use proptest::collection::vec;
use proptest::prelude::*;
use streams::{execute, instruction};

/// Performs acts on a board, which must then still work.
fn perform(sram: SramSize, acts: &[Act]) {
    let mut bench = Bench::new(sram);
    play(&mut bench, acts);
    bench.run(SimTime::from_us(200));
    bench.recovers();
}

/// Performs a seed on boards of every size.
fn check(text: &str) {
    let acts = Act::parse_all(text);
    for sram in [SramSize::K512, SramSize::M1, SramSize::M2] {
        let acts = acts.clone();
        finishes(move || perform(sram, &acts));
    }
}

/// The texts of a folder's seeds.
fn seeds(folder: &str) -> Vec<String> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(corpus.join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    let read = |path| {
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with("# "),
            "{path:?}: a seed says what it covers"
        );
        text
    };
    paths.into_iter().map(read).collect()
}

#[test]
fn seeds_of_boards() {
    for text in seeds("board") {
        println!("{}", text.lines().next().unwrap());
        check(&text);
    }
}

/// Skipping and stepping idle loops must give equal results, in time slices of any length.
fn check_polling(programs: [Polling; 2], acts: Vec<Act>, slice_ns: u64) {
    finishes(move || {
        let run = |skip_idle, slice_ns| {
            let manner = Manner {
                skip_idle,
                slice_ns,
            };
            poll(&programs, &acts, manner)
        };
        let skipped = run(true, None);
        assert_eq!(run(false, None), skipped, "stepped and skipped");
        let sliced = run(true, Some(slice_ns));
        if skipped.ordered && sliced.ordered {
            assert_eq!(sliced, skipped, "sliced and whole");
        }
    });
}

#[test]
fn seeds_of_polling() {
    for text in seeds("polls") {
        println!("{}", text.lines().next().unwrap());
        for slice_ns in [777, 144, 20] {
            let (programs, acts) = polls::parse(&text);
            check_polling(programs, acts, slice_ns);
        }
    }
}

#[test]
fn acts_have_a_text() {
    let text = "write 0x40 0x8\nread 0x144\nrun 500\nframes 3 64 0xff damaged\nsram 0x4000 0x1 0x2\n\
        code 0x4000 nop; nop\nscratchpad 1 0xc00000 nop\nmemory 0x100000 0x1\nstart 1 0x4000\n\
        bits 0x600 0xff 0x1\nwords 0x0 0x1 0x2\nhears 0x100000 0x1\ncore 0 halted at";
    let again: Vec<String> = Act::parse_all(text).iter().map(Act::to_string).collect();
    assert_eq!(again.join("\n"), text);
}

proptest! {
    #![proptest_config(cases(256))]

    #[test]
    fn any_accesses_of_the_host(sram in sram_size(), acts in acts()) {
        finishes(move || perform(sram, &acts));
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn any_instructions(body in vec(instruction(), 8..200), scratchpad: bool) {
        finishes(move || {
            execute(&body, scratchpad, true);
        });
    }

    #[test]
    fn any_polling_stepped_skipped_or_sliced(
        a in polls::polling(),
        b in polls::polling(),
        acts in polls::acts(),
        slice_ns in 20..5000u64,
    ) {
        check_polling([a, b], acts, slice_ns);
    }

    #[test]
    fn any_instructions_stepped_or_skipped(body in vec(instruction(), 8..100), scratchpad: bool) {
        finishes(move || {
            let [stepped, skipped] = [false, true].map(|skip| execute(&body, scratchpad, skip));
            assert_eq!(stepped, skipped);
        });
    }
}

proptest! {
    #![proptest_config(cases(1024))]

    #[test]
    fn any_race_whole_or_sliced(a in races::racer(), b in races::racer(), slice_ns in 1..200u64) {
        finishes(move || {
            let racers = [a, b];
            let slice = SimTime::from_ns(slice_ns);
            assert_eq!(races::race(&racers, None), races::race(&racers, Some(slice)));
        });
    }
}
