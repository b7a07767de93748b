//! Hostile inputs for every parser: none panics, hangs or takes much memory. Inputs are changed files of the project, found again by their number.
//!
//! `LANIGON_HOSTILE=1000000 cargo test -p lanigon-command --test main hostile -- --nocapture` tries so many, shared among the parsers, and prints the
//! slowest one of each and the memory that all took (CONTRIBUTING.md).

mod mutate;

use std::fmt::Write as _;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use emulator::image::{Image, stack};
use emulator::observe::file::TraceReader;
use host_lib::firmware::linux::LinuxFirmware;
use lanigon_analysis::trace::filter;
use lanigon_sweep::file::Sweep;
use lanigon_worlds::boards::{self, BOARDS, KB};
use lanigon_worlds::faults::{EmpFrame, GmPacket};
use lanigon_worlds::myrinet::program::ControlProgram;
use lanigon_worlds::scenario::Scenario;
use lanigon_worlds::simulation::Simulation;

use mutate::Mutator;

/// A parser with valid inputs.
struct Parser {
    name: &'static str,
    is_text: bool,
    /// Of so many shares of all inputs: slow parsers get fewer.
    shares: u64,
    seeds: fn() -> Vec<Vec<u8>>,
    parse: fn(&[u8]),
}

const PARSERS: &[Parser] = &[
    Parser {
        name: "scenario",
        is_text: true,
        shares: 30,
        seeds: || files("scenarios", ".toml"),
        parse: |bytes| drop(Scenario::parse("hostile.toml", &text(bytes))),
    },
    Parser {
        name: "profile",
        is_text: true,
        shares: 15,
        seeds: || {
            let profiles = boards::profiles();
            let texts = profiles.texts().map(|(_, text)| text.as_bytes().to_vec());
            texts.collect()
        },
        parse: |bytes| drop(boards::profiles().parse(&text(bytes))),
    },
    Parser {
        name: "sweep",
        is_text: true,
        shares: 15,
        seeds: || files("examples/sweeps", ".toml"),
        parse: |bytes| {
            let folder = root().join("examples/sweeps");
            drop(Sweep::parse("hostile.toml", &text(bytes), &folder));
        },
    },
    Parser {
        name: "filter",
        is_text: true,
        shares: 10,
        seeds: || {
            let examples = [
                "kind=probe",
                "node=0 cpu=a",
                "probe=retransmit,frame dropped time=1..2",
            ];
            examples.map(|text| text.as_bytes().to_vec()).to_vec()
        },
        parse: |bytes| drop(filter::parse(&text(bytes))),
    },
    Parser {
        name: "image",
        is_text: false,
        shares: 8,
        seeds: images,
        parse: image,
    },
    Parser {
        name: "linux form",
        is_text: false,
        shares: 10,
        seeds: linux_forms,
        parse: |bytes| drop(LinuxFirmware::parse(bytes, 512 * KB)),
    },
    Parser {
        name: "control program",
        is_text: false,
        shares: 5,
        seeds: images,
        parse: |bytes| drop(ControlProgram::parse(bytes, None, None, 512 * KB)),
    },
    Parser {
        name: "frame",
        is_text: false,
        shares: 5,
        seeds: || vec![vec![0; 64], (0..=255).collect()],
        parse: |bytes| {
            let _ = (EmpFrame::parse(bytes), GmPacket::parse(bytes));
        },
    },
    Parser {
        name: "trace",
        is_text: false,
        shares: 1,
        seeds: || vec![MADE[0].clone()],
        parse: |bytes| {
            if let Ok(reader) = TraceReader::new(BufReader::new(bytes)) {
                let _ = reader.into_events().take_while(Result::is_ok).count();
            }
        },
    },
    Parser {
        name: "snapshot",
        is_text: false,
        shares: 1,
        seeds: || vec![MADE[1].clone()],
        parse: |bytes| drop(Simulation::load(bytes, Path::new(""))),
    },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn files(folder: &str, end: &str) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(end));
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect()
}

/// Small images of each family that is built.
fn images() -> Vec<Vec<u8>> {
    let paths = BOARDS.iter().flat_map(|board| {
        let names = ["hello", "timer-tick", "race-two-cpus"];
        names.map(|name| board.image_folder().join(name))
    });
    paths.filter_map(|path| std::fs::read(path).ok()).collect()
}

fn linux_forms() -> Vec<Vec<u8>> {
    let path = boards::DEFAULT.image_folder().join("hello");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile.fw");
    let out = out.to_str().unwrap();
    super::command_output(&["image", path.to_str().unwrap(), "--linux-form", out]);
    vec![std::fs::read(out).unwrap()]
}

/// A trace and a snapshot of a short run.
static MADE: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let [trace, snapshot] = ["hostile.trace", "hostile.snap"]
        .map(|name| Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
    let [trace, snapshot] = [&trace, &snapshot].map(|path| path.to_str().unwrap());
    let pair = root().join("scenarios/pair.toml");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command
        .arg("run")
        .arg(pair)
        .args(["--max-time", "200", "--trace", trace]);
    // The run ends before its messages have: exit code 1.
    command
        .args(["--snapshot-at", "100", snapshot])
        .output()
        .unwrap();
    [trace, snapshot].map(|path| std::fs::read(path).unwrap())
});

/// An image, and what tools read from it.
fn image(bytes: &[u8]) {
    for board in [boards::DEFAULT, boards::board_type("lanai9").unwrap()] {
        if let Ok(image) = Image::parse(bytes, &board.image_limits(1024 * KB)) {
            if let Ok(lines) = image.lines() {
                let _ = lines.at(image.entry);
            }
            for cpu in 0..2 {
                let _ = stack::worst_case(&image, cpu);
            }
        }
    }
}

/// Largest memory of this process so far, in MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1024
}

/// Gives a parser `count` inputs; returns the slowest one's number and time.
fn feed(parser: &Parser, count: u64) -> (u64, Duration) {
    let seeds = (parser.seeds)();
    assert!(!seeds.is_empty(), "{}", parser.name);
    for seed in &seeds {
        (parser.parse)(seed);
    }
    let mut slowest = (0, Duration::ZERO);
    for number in 0..count {
        let input = Mutator::new(&seeds, parser.is_text, number).input();
        let begin = Instant::now();
        let result = std::panic::catch_unwind(|| (parser.parse)(&input));
        assert!(result.is_ok(), "{}: input {number} panics", parser.name);
        let time = begin.elapsed();
        if time > slowest.1 {
            slowest = (number, time);
        }
    }
    slowest
}

#[test]
fn no_input_does_harm() {
    let long = std::env::var("LANIGON_HOSTILE")
        .ok()
        .and_then(|text| text.parse().ok());
    let all: u64 = long.unwrap_or(4000);
    let shares: u64 = PARSERS.iter().map(|parser| parser.shares).sum();
    let mut report = String::new();
    for parser in PARSERS {
        let count = (all * parser.shares).div_ceil(shares);
        let (number, time) = feed(parser, count);
        let _ = writeln!(
            report,
            "{:16} {count:8} inputs, slowest {time:?} ({number})",
            parser.name
        );
    }
    if long.is_some() {
        let _ = writeln!(std::io::stderr(), "{report}peak memory {} MB", peak_mb());
        assert!(peak_mb() <= 512, "{} MB", peak_mb());
    }
}
