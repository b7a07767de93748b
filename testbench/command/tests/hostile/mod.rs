//! Hostile inputs for every parser: none panics, hangs or takes much memory. Inputs are changed files of the project, found again by their number.
//!
//! `LANIGON_HOSTILE=1000000 cargo test -p lanigon-command --test main hostile -- --nocapture` tries so many, shared among the parsers, and prints the
//! slowest one of each and the memory that all took (CONTRIBUTING.md). `corpus/` holds one small input for each reason for which a parser refuses
//! inputs, and those that once did harm; `LANIGON_HOSTILE_FOUND=DIR` makes the long run write the smallest input of each reason there.

mod files;
mod mutate;
mod parsers;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mutate::Mutator;
use parsers::{PARSERS, Parser};

/// Largest memory of this process so far, in MB.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() / 1024
}

/// Inputs by the reason for which they are refused, the smallest of each.
type Reasons = BTreeMap<String, Vec<u8>>;

/// A reason without what differs from input to input: numbers, quoted names and texts after a colon's position.
fn kind_of(reason: &str) -> String {
    let reason = reason.lines().last().unwrap_or_default();
    let mut kind = String::new();
    for (index, part) in reason.split(['"', '`']).enumerate() {
        match index % 2 {
            0 => kind.extend(part.chars().filter(|letter| letter.is_ascii_lowercase())),
            _ => kind.push('_'),
        }
    }
    kind
}

/// Gives a parser `count` inputs; returns the slowest one's number and time.
fn feed(parser: &Parser, count: u64, reasons: &mut Reasons) -> (u64, Duration) {
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
        let Ok(reason) = result else {
            panic!("{}: input {number} panics", parser.name);
        };
        let time = begin.elapsed();
        if time > slowest.1 {
            slowest = (number, time);
        }
        if let Some(reason) = reason {
            let kept = reasons.entry(kind_of(&reason));
            let kept = kept.or_insert_with(|| input.clone());
            if input.len() < kept.len() {
                *kept = input;
            }
        }
    }
    slowest
}

#[test]
fn no_input_does_harm() {
    let long = std::env::var("LANIGON_HOSTILE")
        .ok()
        .and_then(|text| text.parse().ok());
    let found = std::env::var_os("LANIGON_HOSTILE_FOUND").map(PathBuf::from);
    let all: u64 = long.unwrap_or(4000);
    let shares: u64 = PARSERS.iter().map(|parser| parser.shares).sum();
    let mut report = String::new();
    for parser in PARSERS {
        let count = (all * parser.shares).div_ceil(shares);
        let mut reasons = Reasons::new();
        let begin = Instant::now();
        let (number, time) = feed(parser, count, &mut reasons);
        let _ = writeln!(
            report,
            "{:16} {count:8} inputs in {:5.1} s, {:3} reasons, slowest {time:?} ({number})",
            parser.name,
            begin.elapsed().as_secs_f64(),
            reasons.len(),
        );
        if let Some(found) = &found {
            keep(&found.join(parser.name), &reasons);
        }
    }
    if long.is_some() {
        let _ = writeln!(std::io::stderr(), "{report}peak memory {} MB", peak_mb());
        assert!(peak_mb() <= 512, "{} MB", peak_mb());
    }
}

/// Writes inputs as numbered files.
fn keep(folder: &Path, reasons: &Reasons) {
    std::fs::create_dir_all(folder).unwrap();
    for (number, input) in reasons.values().enumerate() {
        std::fs::write(folder.join(format!("{number:03}")), input).unwrap();
    }
}

/// Each input of the corpus is still refused for its reason, which `reasons.txt` beside it has; `LANIGON_HOSTILE_UPDATE=1` writes that file.
#[test]
fn the_corpus_is_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/corpus");
    for parser in PARSERS {
        let folder = corpus.join(parser.name);
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != "reasons.txt");
        names.sort();
        let mut reasons = String::new();
        for name in names {
            let bytes = std::fs::read(folder.join(&name)).unwrap();
            let reason = (parser.parse)(&bytes);
            let reason = reason.unwrap_or_else(|| "taken".into());
            let name = name.to_string_lossy();
            let last = reason.lines().last().unwrap_or_default();
            let _ = writeln!(reasons, "{name}  {last}");
        }
        let root = parsers::root().display().to_string();
        let reasons = reasons.replace(&root, "PROJECT");
        let file = folder.join("reasons.txt");
        if std::env::var_os("LANIGON_HOSTILE_UPDATE").is_some() {
            std::fs::write(&file, &reasons).unwrap();
        }
        let expected = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(reasons, expected, "{}", parser.name);
    }
}
