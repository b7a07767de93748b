//! `lanigon sweep` for its users.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const SWEEP: &str = r#"
description = "size and loss"
scenario = "base.toml"

[[axis]]
name = "size"
unit = "bytes"
key = "program[0].bytes"
values = [100, 3000]

[[axis]]
name = "loss"
key = "faults.loss"
values = [0, 0.1]

[repeat]
seeds = 3

[measure]
latency = { path = "latency_us.p50", unit = "us" }

[[plot]]
name = "curve"
x = "size"
y = "latency"
curves = "loss"
"#;

/// A folder with a sweep and its scenario, and the command run there.
struct Place(PathBuf);

impl Place {
    fn new(name: &str, messages: u32) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("sweeps")
            .join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let place = Self(folder);
        place.write("s.toml", SWEEP);
        place.write("base.toml", &super::pair(&super::stream(messages, 1000)));
        place
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
        command.arg("sweep").args(arguments).current_dir(&self.0);
        command.env_remove("RUST_LOG").stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Exit code and standard output.
    fn text(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.run(arguments);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    }
}

#[test]
fn a_sweep_makes_tables_and_plots_and_goes_on() {
    let place = Place::new("whole", 3);
    let (status, text) = place.text(&["s.toml", "--dry-run"]);
    assert_eq!(status, Some(0));
    assert!(
        text.contains("size = 3000 bytes, loss = 0.1, seed 3"),
        "{text}"
    );
    assert!(text.ends_with("12 runs, 12 without a result\n"), "{text}");
    let (status, text) = place.text(&["s.toml"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.starts_with("sweep     12 runs, 0 had results, 12 made now\n"),
        "{text}"
    );
    let results = place.read("s-results/results.csv");
    let header = "run,size_bytes,loss,seed,latency_us,status,reason,trace_hash\n";
    assert!(results.starts_with(header), "{results}");
    assert_eq!(results.lines().count(), 13);
    let summary = place.read("s-results/summary.csv");
    assert_eq!(summary.lines().count(), 5);
    for plot in ["curve.svg", "curve.pdf"] {
        assert!(place.0.join("s-results").join(plot).exists(), "{plot}");
    }
    let output = place.run(&["s.toml", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&document["runs"], &document["done"]),
        (&12.into(), &12.into())
    );
    let point = &document["points"][3];
    assert_eq!(
        (&point["axes"]["loss"], &point["runs"]),
        (&0.1.into(), &3.into())
    );
    assert!(
        point["measures"]["latency_us"]["ci95"].as_f64() > Some(0.0),
        "{point}"
    );
    let (_, text) = place.text(&["s.toml", "--dry-run"]);
    assert!(text.ends_with("12 runs, 0 without a result\n"), "{text}");
    let (_, text) = place.text(&["s.toml", "--fresh"]);
    assert!(
        text.starts_with("sweep     12 runs, 0 had results, 12 made now\n"),
        "{text}"
    );
    assert_eq!(place.read("s-results/results.csv"), results);
}

#[test]
fn a_printed_run_is_the_run() {
    let place = Place::new("print", 3);
    assert_eq!(place.text(&["s.toml"]).0, Some(0));
    let (status, text) = place.text(&["s.toml", "--print", "12"]);
    assert_eq!(status, Some(0));
    assert!(
        text.starts_with("# Run 12: size = 3000 bytes, loss = 0.1, seed 3\n"),
        "{text}"
    );
    place.write("run-12.toml", &text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    let run = command
        .args(["run", "run-12.toml", "--json"])
        .current_dir(&place.0);
    let document: Value = serde_json::from_slice(&run.output().unwrap().stdout).unwrap();
    let results = place.read("s-results/results.csv");
    let last = results.lines().last().unwrap();
    let latency = document["latency_us"]["p50"].as_f64().unwrap();
    let hash = document["trace_hash"].as_str().unwrap();
    assert_eq!(last, format!("12,3000,0.1,3,{latency},done,,{hash}"));
}

#[test]
fn parts_are_merged() {
    let place = Place::new("parts", 3);
    assert_eq!(place.text(&["s.toml"]).0, Some(0));
    for part in ["1/2", "2/2"] {
        let out = &part[..1];
        let (status, text) = place.text(&["s.toml", "--shard", part, "--out", out]);
        assert_eq!(status, Some(0));
        assert!(
            text.contains("`lanigon sweep merge` makes tables of all parts"),
            "{text}"
        );
    }
    let output = place.run(&["merge", "2", "--out", "half"]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("missing: run 1 (size = 100 bytes, loss = 0, seed 1)\n"),
        "{error}"
    );
    let (status, text) = place.text(&["merge", "1", "2", "--out", "all"]);
    assert_eq!(status, Some(0), "{text}");
    for file in ["results.csv", "summary.csv", "curve.svg"] {
        let (all, whole) = (format!("all/{file}"), format!("s-results/{file}"));
        assert_eq!(place.read(&all), place.read(&whole), "{file}");
    }
    place.write("s.toml", &SWEEP.replace("3000", "2000"));
    assert_eq!(
        place.text(&["s.toml", "--shard", "2/2", "--out", "2"]).0,
        Some(0)
    );
    let output = place.run(&["merge", "1", "2", "--out", "all"]);
    assert_eq!(output.status.code(), Some(2));
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        error,
        "error: 1 and 2 are of different sweeps: axis size has other values\n"
    );
}

#[test]
fn wrong_requests_are_refused() {
    let place = Place::new("wrong", 3);
    let check = |arguments: &[&str], expected: &str| {
        let output = place.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(expected), "{arguments:?}: {error}");
    };
    check(&[], "Usage: lanigon sweep");
    check(&["none.toml"], "error: none.toml: No such file");
    check(
        &["s.toml", "--shard", "3/2"],
        "expected I/N, with I from 1 to N",
    );
    check(
        &["s.toml", "--print", "13"],
        "error: --print 13: the runs are 1 to 12",
    );
    check(&["s.toml", "--threads", "0"], "expected a number between");
    check(
        &["merge", "nowhere", "--out", "x"],
        "no sweep has been run in this folder",
    );
    check(
        &["base.toml"],
        "error: base.toml: this is a scenario: lanigon run base.toml",
    );
}

/// Ctrl-C keeps what is complete, and the same command goes on.
#[cfg(unix)]
#[test]
fn an_interrupted_sweep_says_how_to_go_on() {
    let place = Place::new("interrupted", 20_000);
    let mut child = place
        .command(&["s.toml", "--threads", "1"])
        .spawn()
        .unwrap();
    let file = place.0.join("s-results/results.jsonl");
    let begin = Instant::now();
    let lines = || {
        std::fs::read_to_string(&file)
            .unwrap_or_default()
            .lines()
            .count()
    };
    while lines() < 1 && begin.elapsed() < Duration::from_secs(120) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    let signalled = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(signalled.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut error = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut error).unwrap();
    let done = lines();
    let expected = format!(
        "interrupted: {done} of 12 runs are done; the same command goes on with the others\n"
    );
    assert!(error.ends_with(&expected), "{error}");
    assert!((1..12).contains(&done), "{done}");
    // Shorter runs are other runs; those of the file stay.
    place.write("base.toml", &super::pair(&super::stream(3, 1000)));
    let (_, text) = place.text(&["s.toml"]);
    assert!(
        text.starts_with("sweep     12 runs, 0 had results, 12 made now\n"),
        "{text}"
    );
    assert_eq!(lines(), done + 12);
}

/// The example sweeps can be planned; the whole of them takes minutes.
#[test]
fn examples_are_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sweeps");
    let place = Place::new("examples", 3);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (status, text) = place.text(&[path.to_str().unwrap(), "--dry-run"]);
        assert_eq!(status, Some(0), "{}", path.display());
        let runs = text
            .lines()
            .last()
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .to_owned();
        names.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), runs));
    }
    names.sort();
    let expected = [
        ("cpus", "180"),
        ("dsm-nic", "150"),
        ("dynamic", "180"),
        ("ethernet-locks", "30"),
        ("ethernet-n", "480"),
        ("fast-trap", "54"),
        ("fast-trap-costs", "36"),
        ("file-server", "36"),
        ("flow-control", "48"),
        ("gm-tigon2", "75"),
        ("goodput", "7"),
        ("large-all-to-all", "12"),
        ("large-barriers", "12"),
        ("large-doubling", "4"),
        ("large-processes", "6"),
        ("large-skew", "8"),
        ("linux-loss", "8"),
        ("loss", "150"),
        ("nic-design", "648"),
        ("one-fast-cpu", "240"),
        ("skew-models", "24"),
        ("split-phase", "90"),
        ("split-phase-skew", "12"),
        ("when-two-pay", "440"),
    ];
    let expected = expected.map(|(name, runs)| (name.to_owned(), runs.to_owned()));
    assert_eq!(names, expected);
}

/// The Slurm script of docs/sweep.md, with the variables that Slurm sets, all tasks at once.
#[test]
fn the_slurm_script_makes_what_one_run_makes() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sweep.md");
    let document = std::fs::read_to_string(document).unwrap();
    let lines = document.lines().skip_while(|line| *line != "    #!/bin/sh");
    let script: String = lines
        .map_while(|line| line.strip_prefix("    "))
        .map(|line| format!("{line}\n"))
        .collect();
    let place = Place::new("slurm", 3);
    place.write("my-sweep.toml", SWEEP);
    place.write("job.sh", &script);
    let program = Path::new(env!("CARGO_BIN_EXE_lanigon")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let task = |task: u32| {
        let mut shell = Command::new("sh");
        shell.arg("job.sh").current_dir(&place.0).env("PATH", &path);
        shell.env("SLURM_ARRAY_TASK_ID", task.to_string());
        shell.env("SLURM_ARRAY_TASK_COUNT", "3");
        shell.env("SLURM_CPUS_PER_TASK", "1");
        shell.stdout(Stdio::null()).spawn().unwrap()
    };
    let tasks: Vec<_> = (1..=3).map(task).collect();
    for mut task in tasks {
        assert!(task.wait().unwrap().success());
    }
    let (status, text) = place.text(&["merge", "results", "--out", "results"]);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.starts_with("sweep     12 runs, 12 with results\n"),
        "{text}"
    );
    place.text(&["s.toml", "--out", "one"]);
    assert_eq!(
        place.read("results/results.csv"),
        place.read("one/results.csv")
    );
}
