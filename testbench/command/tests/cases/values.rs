//! Texts of panics of firmware that formats them (feature `panic-values`).

use std::path::Path;
use std::process::Command;

use super::rows::Board;
use super::{program, text};

/// Texts of the panics, by the program's `KIND`. Paths of the sources of `core` depend on the compiler.
const TEXTS: [&str; 16] = [
    "index out of bounds: the len is 3 but the index is 5",
    "range end index 9 out of range for slice of length 4",
    "slice index starts at 3 but ends at 2",
    "called `Option::unwrap()` on a `None` value",
    "called `Result::unwrap()` on an `Err` value: Full { free: 3, name: \"tx\" }",
    "no descriptor: Full { free: 3, name: \"tx\" }",
    "count 3",
    "assertion `left == right` failed, left: 3, right: -3",
    "assertion `left != right` failed: ring b, left: 3, right: 3",
    "RefCell already mutably borrowed",
    "attempt to add with overflow",
    "attempt to multiply with overflow",
    "attempt to subtract with overflow",
    "attempt to divide by zero",
    "attempt to shift left with overflow",
    "ring 7 \"tx\" at 0x4100: true",
];

/// The text of a panic of the program, from its last line.
fn panic_of(scenario: &Path, kind: usize) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.arg("debug").arg(scenario);
    let choice = format!("set KIND {kind}");
    for line in ["break panic_values::main", "continue", &choice, "continue"] {
        command.args(["-e", line]);
    }
    let output = command.env_remove("RUST_LOG").output().unwrap();
    text(&output)
}

#[test]
fn panics_show_their_values() {
    let mut wrong = Vec::new();
    for (board, profile) in [(Board::Tigon2, "tigon2"), (Board::Lanai, "lanai9")] {
        if !board.has_tools() {
            continue;
        }
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("values-{profile}.toml"));
        let scenario = format!(
            "board = \"{profile}\"\nimage = \"{}\"\nmax_time_us = 10000\n[network]\ntopology = \"none\"\nnodes = 1\n\
             [[program]]\nrun = \"start\"\nnodes = \"all\"\n",
            program(board, "panic_values")
        );
        std::fs::write(&file, scenario).unwrap();
        for (kind, expected) in TEXTS.iter().enumerate() {
            let printed = panic_of(&file, kind);
            let place = "panic at cases/src/bin/panic_values.rs:";
            let shown = printed.lines().filter(|line| line.contains(place));
            // The line ends behind the text, or behind the bracket around it.
            let ends = |line: &str| {
                line.trim_end_matches(')')
                    .ends_with(&format!(": {expected}"))
            };
            if !shown.clone().any(ends) {
                wrong.push(format!("{profile}: lacks {expected:?} in\n{printed}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
