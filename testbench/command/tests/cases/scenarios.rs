//! Scenarios in which something goes wrong, as `lanigon run` runs them: what is said, and the exit code.

use std::path::Path;
use std::process::Command;

use super::rows::Board;
use super::{missing, program, text};

struct Row {
    /// Topology of the two nodes.
    topology: &'static str,
    /// Interval in which the cable of node 1 is cut.
    cut: &'static str,
    code: i32,
    says: &'static [&'static str],
}

const ROWS: [Row; 3] = [
    Row {
        topology: "pair",
        cut: "for_us = 3000",
        code: 0,
        says: &["no others lost", "wire_link_cut 185", "all is done"],
    },
    Row {
        topology: "star",
        cut: "for_us = 3000",
        code: 0,
        says: &["no others lost", "wire_link_cut 244", "all is done"],
    },
    Row {
        topology: "pair",
        cut: "",
        code: 1,
        says: &[
            "128 under way",
            "node 0: frames waits for an interrupt",
            "NOTHING BUT TIMERS happened in the last 10 s",
        ],
    },
];

/// Runs a scenario and checks the exit code and what is said.
#[track_caller]
fn check(file: &Path, scenario: &str, code: i32, says: &[&'static str]) {
    check_with(&[], file, scenario, code, says);
}

/// [`check`] with these options.
#[track_caller]
fn check_with(options: &[&str], file: &Path, scenario: &str, code: i32, says: &[&'static str]) {
    std::fs::write(file, scenario).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    let output = command
        .arg("run")
        .args(options)
        .arg(file)
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let printed = text(&output);
    assert_eq!(missing(says, &printed), <[&str; 0]>::default(), "{printed}");
    assert_eq!(output.status.code(), Some(code), "{printed}");
}

#[test]
fn frames_over_a_cut_cable() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cut-frames.toml");
    for Row {
        topology,
        cut,
        code,
        says,
    } in ROWS
    {
        let scenario = format!(
            "[network]\ntopology = \"{topology}\"\nnodes = 2\n\
             [[program]]\nrun = \"frames\"\nfrom = [0]\nto = 1\nframes = 2000\nbytes = 1514\n\
             [[fault]]\ndo = \"cut\"\nnodes = [1]\nat_us = 2000\n{cut}\n"
        );
        check(&file, &scenario, code, says);
    }
}

/// Programs that a host only starts, and what is said of them within a millisecond.
const STARTED: [(&str, i32, &[&str]); 4] = [
    (
        "abort",
        1,
        &[
            "node 0: CPU A has stopped: abort at pc 0x",
            "(main at cases/src/bin/abort.rs:14)",
            "abort::start at",
        ],
    ),
    (
        "own_break",
        1,
        &["node 0: CPU A has stopped: break 9 at pc 0x"],
    ),
    (
        "infinite",
        0,
        &[
            "node 0: CPU A still runs after 1000.0 us: in main at cases/src/bin/infinite.rs:12, called by infinite::start at",
            "the time is over",
        ],
    ),
    (
        "recursion",
        0,
        &["node 0: CPU A rests at a jump to itself after 1000.0 us: in rest at cases/src/lib.rs:"],
    ),
];

#[test]
fn programs_that_are_only_started() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("started.toml");
    for (name, code, says) in STARTED {
        let image = program(Board::Tigon2, name);
        let scenario = format!(
            "image = \"{image}\"\nmax_time_us = 1000\n[network]\ntopology = \"none\"\nnodes = 1\n\
             [[program]]\nrun = \"start\"\nnodes = \"all\"\n"
        );
        check(&file, &scenario, code, says);
    }
}

/// Lines of the scenario in which two CPUs of a board use the bit instructions, if it has them; the exit code, and what is said.
const BITS: [(&str, i32, &[&str]); 3] = [
    (
        "core.cpus = 2\ncore.bit_instructions = 1",
        0,
        &[
            "CPU A rests at a jump to itself after 2000.0 us",
            "races     none",
        ],
    ),
    (
        "core.cpus = 2\ncore.bit_instructions = 1\nsram.banks = 4",
        0,
        &["races     none"],
    ),
    (
        "core.cpus = 2",
        1,
        &[
            "the chip has no instruction 0x00430028",
            "bits::main_b at cases/src/bin/bits.rs:",
        ],
    ),
];

#[test]
fn bit_instructions_are_an_option() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bits.toml");
    let image = program(Board::Tigon2, "bits");
    for (costs, code, says) in BITS {
        let scenario = format!(
            "board = \"tigon-n\"\nimage = \"{image}\"\nmax_time_us = 2000\n[costs]\n{costs}\n\
             [network]\ntopology = \"none\"\nnodes = 1\n[[program]]\nrun = \"start\"\nnodes = \"all\"\n"
        );
        check_with(&["--races"], &file, &scenario, code, says);
        if code == 0 {
            let trace = file.with_extension("trace").display().to_string();
            check_with(&["--trace", &trace], &file, &scenario, code, &[]);
            let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
            let output = command.args(["trace", "grep", "log:", &trace]).output();
            let printed = text(&output.unwrap());
            assert!(
                printed.contains("log: sum 374250 of 500 pieces"),
                "{printed}"
            );
        }
    }
}

const FAILED: &[&str] = &[
    "PROBLEM   3 messages failed, and no fault of the scenario explains it; the first one from node 0 to 1: transmit",
    "A CHECK FAILED",
];
const EXPLAINED: &[&str] = &["3 failed with a status", "all is done"];

/// Faults of a scenario whose messages fail since their timeout is too short; the exit code, and what is said.
const FAILURES: [(&str, i32, &[&str]); 4] = [
    ("", 1, FAILED),
    ("do = \"random\"\nduplication = 0.5", 1, FAILED),
    // The run is over before: it explains nothing.
    (
        "do = \"cut\"\nnodes = 0\nat_us = 9e3\nfor_us = 1",
        1,
        FAILED,
    ),
    (
        "do = \"cut\"\nnodes = 0\nat_us = 400\nfor_us = 1",
        0,
        EXPLAINED,
    ),
];

#[test]
fn messages_that_fail_need_a_cause() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("failed-messages.toml");
    for (fault, code, says) in FAILURES {
        let head = if fault.is_empty() { "" } else { "[[fault]]\n" };
        let scenario = format!(
            "[network]\ntopology = \"pair\"\n[emp]\ntimeout_us = 32\nretry_limit = 0\n\
             [[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = 3\nbytes = 20000\n{head}{fault}\n"
        );
        check(&file, &scenario, code, says);
    }
}
