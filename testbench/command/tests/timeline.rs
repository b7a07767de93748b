//! `--timeline` for its users.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{decoded, pair, stream};

fn lanigon(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments).env_remove("RUST_LOG");
    command.output().unwrap()
}

/// A path for a test's file. Names are unique per test, because tests run in parallel.
fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Runs a scenario with these options.
fn run(name: &str, text: &str, options: &[&str]) -> Output {
    let file = path(name);
    std::fs::write(&file, text).unwrap();
    let mut arguments = vec!["run", file.to_str().unwrap()];
    arguments.extend(options);
    lanigon(&arguments)
}

#[track_caller]
fn check(output: &Output, code: i32, error: &str) {
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{shown}");
    assert!(shown.contains(error), "{shown}");
    assert!(error.is_empty() <= shown.is_empty(), "{shown}");
}

#[test]
fn a_run_that_ends_early_leaves_a_whole_timeline() {
    let file = path("early.pftrace");
    let options = ["--timeline", file.to_str().unwrap(), "--max-time", "333"];
    let output = run("timeline-early.toml", &pair(&stream(100, 9000)), &options);
    check(&output, 0, "");
    let timeline = decoded::read(&std::fs::read(file).unwrap());
    assert!(timeline.slices.len() > 100);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_or_told_of() {
    let text = pair(&stream(3, 3000));
    let output = run(
        "timeline-nowhere.toml",
        &text,
        &["--timeline", "/nowhere/x"],
    );
    check(&output, 2, "/nowhere/x: No such file");
    assert!(output.stdout.is_empty());
    let full = Path::new("/dev/full");
    if full.exists() {
        let output = run("timeline-full.toml", &text, &["--timeline", "/dev/full"]);
        check(&output, 1, "/dev/full: No space left");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(shown.contains("3 posted, 3 delivered"), "{shown}");
    }
    let output = run(
        "timeline-same.toml",
        &text,
        &["--timeline", "x", "--trace", "x"],
    );
    check(&output, 2, "--trace and --timeline name the same file");
    let scenario = path("timeline-same.toml");
    let output = run(
        "timeline-same.toml",
        &text,
        &["--timeline", scenario.to_str().unwrap()],
    );
    check(&output, 2, "the scenario and --timeline name the same file");
    assert_eq!(std::fs::read_to_string(scenario).unwrap(), text);
}

#[test]
fn an_empty_window_is_told_of() {
    let file = path("empty.pftrace");
    let options = [
        "--timeline",
        file.to_str().unwrap(),
        "--timeline-from",
        "+1s",
    ];
    let output = run("timeline-empty.toml", &pair(&stream(3, 3000)), &options);
    check(&output, 0, "warning: the timeline is empty: ");
}

#[test]
fn a_limit_is_told_of() {
    let file = path("limit.pftrace");
    let options = [
        "--timeline",
        file.to_str().unwrap(),
        "--timeline-limit",
        "1",
    ];
    let output = run("timeline-limit.toml", &pair(&stream(300, 9000)), &options);
    check(&output, 0, "warning: the timeline ends at ");
    let bytes = std::fs::read(file).unwrap();
    assert!(
        (990_000..=1_000_000).contains(&bytes.len()),
        "{}",
        bytes.len()
    );
    decoded::read(&bytes);
}
