//! Programs of `firmware/cases` on the board for which they were built, as `lanigon exec` runs them: values that must be right, and what is
//! said where a program goes wrong. `make test` builds the programs; here is one row for each of them.

#[path = "../../../../firmware/cases/src/operands.rs"]
mod operands;
mod rows;
mod scenarios;
mod values;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rows::{Board, CASES, Case, REFUSED, Refused};

impl Board {
    /// Name of the folder below `firmware/target`.
    fn folder(self) -> &'static str {
        match self {
            Self::Tigon2 => "tigon2",
            Self::Lanai => "lanai",
        }
    }

    /// Script that builds the programs.
    fn script(self) -> &'static str {
        match self {
            Self::Tigon2 => "firmware/build.sh",
            Self::Lanai => "firmware/lanai/build.sh",
        }
    }

    /// Can its firmware be built here?
    fn has_tools(self) -> bool {
        match self {
            Self::Tigon2 => true,
            Self::Lanai => crate::tutorial::has_lanai_tools("the cases for the LANai"),
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn program(board: Board, name: &str) -> String {
    let folder = root().join("firmware/target").join(board.folder());
    folder.join("cases").join(name).display().to_string()
}

/// Text that a command printed on both streams, one behind the other.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Every text of `says` that `printed` lacks.
fn missing<'a>(says: &[&'a str], printed: &str) -> Vec<&'a str> {
    let is_missing = |text: &&&str| !printed.contains(**text);
    says.iter().filter(is_missing).copied().collect()
}

/// A complaint for each way in which the program does not do what its row says.
fn check(board: Board, case: &Case) -> Option<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(["exec", "-v", "--max-instructions", "200000"]);
    let output = command
        .arg(program(board, case.program))
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    let printed = text(&output);
    let missing = missing(case.says, &printed);
    let is_right = output.status.code() == Some(case.code) && missing.is_empty();
    (!is_right).then(|| {
        let name = case.program;
        let board = board.folder();
        let ended = output.status;
        format!("{name} on {board}: {ended}, lacks {missing:?} in\n{printed}")
    })
}

#[track_caller]
fn check_all(board: Board) {
    if !board.has_tools() {
        return;
    }
    let hint = "`make -C firmware cases` builds the programs";
    let built = Path::new(&program(board, "recursion")).exists();
    assert!(built, "{hint}");
    let rows = CASES.iter().filter(|case| case.boards.contains(&board));
    let wrong: Vec<String> = rows.filter_map(|case| check(board, case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_on_the_tigon2() {
    check_all(Board::Tigon2);
}

#[test]
fn programs_on_the_lanai() {
    check_all(Board::Lanai);
}

/// Inside code that the linker moved, in the slot of its call of a routine, and in the routine.
#[test]
fn backtraces_go_on_behind_arithmetic_in_software() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("software.toml");
    let scenario = format!(
        "image = \"{}\"\nmax_time_us = 1000\n[network]\ntopology = \"none\"\nnodes = 1\n[[program]]\nrun = \"start\"\nnodes = \"all\"\n",
        program(Board::Tigon2, "divide_by_zero")
    );
    std::fs::write(&file, scenario).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(["debug", &file.display().to_string()]);
    let look = [
        "backtrace",
        "expect divide_by_zero::share at cases/src/bin/divide_by_zero.rs:",
        "backtrace",
        "expect divide_by_zero::main at cases/src/bin/divide_by_zero.rs:22",
    ];
    let mut script = vec!["break divide_by_zero::share", "continue"];
    // All of the moved code, and the routine up to its end.
    for _ in 0..23 {
        script.push("step");
        script.extend(look);
    }
    script.extend(["backtrace", "expect __software_divu"]);
    for line in script {
        command.args(["-e", line]);
    }
    let output = command.env_remove("RUST_LOG").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn arithmetic_is_that_of_the_host() {
    let sums = (1..).zip(operands::sums(1, 30)).zip(operands::KINDS);
    let sums: Vec<_> = sums
        .map(|((kind, sum), name): ((u32, _), _)| (format!("log: sum {kind} {sum:#x}\n"), name))
        .collect();
    for board in [Board::Tigon2, Board::Lanai] {
        if !board.has_tools() {
            continue;
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
        command.args(["exec", "-v", "--max-instructions", "4000000"]);
        let output = command
            .arg(program(board, "operands"))
            .env_remove("RUST_LOG")
            .output();
        let printed = text(&output.unwrap());
        for (line, kind) in &sums {
            assert!(
                printed.contains(line),
                "{kind} on {}: lacks {line:?} in\n{printed}",
                board.folder()
            );
        }
    }
}

/// Builds a program that cannot be built; the difference between the printed and the expected text, if there is one.
fn build(board: Board, row: &Refused) -> Option<String> {
    let mut command = Command::new(root().join(board.script()));
    command.args(["-p", "cases", "--features", "refused", "--bin", row.program]);
    let output = command.env("PROFILE", "cases").output().unwrap();
    let printed = text(&output);
    let missing = missing(row.says, &printed);
    let is_right = !output.status.success() && missing.is_empty();
    (!is_right).then(|| format!("{}: lacks {missing:?} in\n{printed}", row.program))
}

#[test]
fn programs_that_cannot_be_built() {
    let mut wrong = Vec::new();
    for board in [Board::Tigon2, Board::Lanai] {
        if board.has_tools() {
            let rows = REFUSED.iter().filter(|row| row.boards.contains(&board));
            wrong.extend(rows.filter_map(|row| build(board, row)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
