//! Project rules that the compiler does not check. Each test lists the violations.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Limit of a Rust file's length. Aim at 600 lines.
const LONGEST_FILE_LINES: usize = 700;

/// The only package that may contain `unsafe`.
const UNSAFE_PACKAGE: &str = "firmware/tigon2-hal";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files of the project (path from the root, text) whose names end with one of `suffixes`.
fn files(suffixes: &[&str]) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(root().join(&folder)).expect("a readable folder");
        for entry in entries.map(|entry| entry.expect("a readable entry")) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{folder}{name}");
            let kind = entry.file_type().expect("a file type");
            if kind.is_dir() && !matches!(name.as_str(), ".git" | "target" | "out") {
                folders.push(format!("{path}/"));
            } else if kind.is_file() && suffixes.iter().any(|suffix| name.ends_with(suffix)) {
                found.push((path.clone(), read(&path)));
            }
        }
    }
    assert!(!found.is_empty(), "no {suffixes:?} below {:?}", root());
    found.sort();
    found
}

#[track_caller]
fn check(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// The text from each occurrence of `start` up to the first character that `inside` rejects.
fn words_after<'a>(text: &'a str, start: &str, inside: fn(char) -> bool) -> Vec<&'a str> {
    text.match_indices(start)
        .map(|(at, _)| &text[at + start.len()..])
        .map(|rest| &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())])
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn files_are_short() {
    let broken: Vec<String> = files(&[".rs"])
        .iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE_LINES)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    check("no Rust file is longer than 700 lines", &broken);
}

/// The compiler refuses unsafe code where its lint is on: no package may turn it off.
#[test]
fn unsafe_stays_in_the_hardware_abstraction() {
    let lint = concat!("unsafe", "_code");
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let text = text.replace(&format!("forbid({lint})"), "");
        if !path.starts_with(UNSAFE_PACKAGE) && text.contains(lint) {
            broken.push(format!("{path}: relaxes the lint {lint}"));
        }
    }
    for (path, text) in files(&["Cargo.toml"]) {
        let on = |level| text.contains(&format!("{lint} = \"{level}\""));
        if text.contains("[workspace]") && !on("forbid") && !on("deny") {
            broken.push(format!("{path}: the workspace does not turn {lint} on"));
        }
        if text.contains("[package]") && !text.contains("[lints]\nworkspace = true") {
            broken.push(format!("{path}: does not take the workspace's lints"));
        }
    }
    check("unsafe code stays in firmware/tigon2-hal", &broken);
}

#[test]
fn registers_are_documented_with_their_offsets() {
    let reference = read("docs/tigon2.md");
    let registers = read("firmware/defs/src/tigon2/regs.rs");
    let offsets: Vec<(&str, &str)> = registers
        .lines()
        .filter_map(|line| line.strip_prefix("pub const ")?.split_once(": u32 = "))
        .map(|(name, value)| (name, value.trim_end_matches(';')))
        .filter(|(_, value)| value.starts_with("0x"))
        .collect();
    assert!(offsets.len() > 50, "regs.rs is read wrongly");
    let broken: Vec<String> = offsets
        .iter()
        .map(|(name, offset)| format!("| {offset} | `{name}` |"))
        .filter(|row| !reference.contains(row))
        .collect();
    check("docs/tigon2.md has a row for each register", &broken);
}

#[test]
fn bits_are_documented() {
    let reference = read("docs/tigon2.md");
    let registers = read("firmware/defs/src/tigon2/regs.rs");
    let events = read("firmware/defs/src/tigon2/event.rs");
    let flags = registers.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("        const ")?.split_once(" = ")?;
        Some(name)
    });
    let events = events.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(": u32 = ")?;
        value
            .trim_end_matches(';')
            .parse::<u32>()
            .ok()
            .map(|_| name)
    });
    let names: Vec<&str> = flags.chain(events).collect();
    assert!(names.len() > 50, "regs.rs or event.rs is read wrongly");
    let broken: Vec<String> = names
        .iter()
        .map(|name| format!("| `{name}` |"))
        .filter(|cell| !reference.contains(cell))
        .collect();
    check("docs/tigon2.md has a row for each bit", &broken);
}

/// Ids of data/published-emp.csv; checks the shape of each line.
fn published_ids() -> BTreeSet<String> {
    let table = read("data/published-emp.csv");
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let value = columns.iter().position(|name| *name == "value");
    let value = value.expect("a column `value`");
    let mut ids = BTreeSet::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), columns.len(), "{line}");
        assert!(
            !line.contains('"') && fields.iter().all(|field| !field.is_empty()),
            "{line}"
        );
        assert!(
            fields[value].parse::<f64>().is_ok_and(f64::is_finite),
            "{line}"
        );
        assert!(ids.insert(fields[0].to_owned()), "twice: {line}");
    }
    ids
}

#[test]
fn cited_numbers_are_published() {
    let mut ids = published_ids();
    // Published claims have ids too.
    let claims = read("data/published-emp-claims.csv");
    ids.extend(
        claims
            .lines()
            .filter_map(|line| Some(line.split_once(',')?.0.to_owned())),
    );
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs", ".md", ".toml"]) {
        for number in words_after(&text, "emp-", |c| c.is_ascii_digit()) {
            let id = format!("emp-{number}");
            if !ids.contains(&id) {
                broken.push(format!("{path}: {id}"));
            }
        }
    }
    check(
        "every cited id stands in data/published-emp.csv or its claims",
        &broken,
    );
}

#[test]
fn cited_sections_exist() {
    let reference = read("docs/tigon2.md");
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs", ".toml"]) {
        for section in words_after(&text, "docs/tigon2.md, section ", |c| c.is_ascii_digit()) {
            if !reference.contains(&format!("\n## {section}. ")) {
                broken.push(format!("{path}: section {section}"));
            }
        }
    }
    check("every cited section of docs/tigon2.md exists", &broken);
}

#[test]
fn paths_in_the_documents_exist() {
    let folders = [
        "emulator/",
        "firmware/",
        "host-lib/",
        "testbench/",
        "docs/",
        "data/",
        "scenarios/",
        "scripts/",
    ];
    let mut broken = Vec::new();
    for (document, text) in files(&[".md"]) {
        for span in text.split('`').skip(1).step_by(2) {
            let ours = folders.iter().any(|folder| span.starts_with(folder));
            let literal = !span.contains(['*', '<', ' ', '{', '\n']) && !span.contains("/target/");
            if ours && literal && !root().join(span).exists() {
                broken.push(format!("{document}: `{span}`"));
            }
        }
    }
    check("every path that a document names exists", &broken);
}

#[test]
fn the_device_model_takes_register_offsets_from_defs() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        // These have address spaces of their own.
        let other = ["eeprom.rs", "timing.rs"]
            .iter()
            .any(|name| path.ends_with(name));
        if !path.starts_with("emulator/src/tigon2/") || other {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in (1..).zip(code.lines()) {
            let line = line.split("//").next().unwrap_or_default();
            for digits in words_after(line, "0x", |c| c.is_ascii_hexdigit() || c == '_') {
                let value = u32::from_str_radix(&digits.replace('_', ""), 16);
                if value.is_ok_and(|value| (0x40..0x400).contains(&value) && value % 4 == 0) {
                    broken.push(format!("{path}:{number}: 0x{digits}"));
                }
            }
        }
    }
    check(
        "no literal of a register offset in the Tigon2's model",
        &broken,
    );
}

/// Folders of the emulator that serve every board; so does each crate of the testbench.
const FOR_EVERY_BOARD: [&str; 8] = [
    "board", "debug", "host", "image", "observe", "sim", "state", "wire",
];

/// Files there that know the Tigon2, beside the registration of boards. The list may only become shorter.
const KNOW_THE_TIGON2: &[&str] = &[
    "emulator/src/image/handlers.rs",
    "emulator/src/image/mod.rs",
    "emulator/src/observe/instructions/steps.rs",
    "emulator/src/observe/names.rs",
    "emulator/src/observe/words.rs",
    "testbench/analysis/src/ledger/mod.rs",
    "testbench/analysis/src/messages/mod.rs",
    "testbench/analysis/src/messages/tracker.rs",
    "testbench/analysis/src/profiler/collect.rs",
    "testbench/command/src/bench/boards.rs",
    "testbench/command/src/bench/busy.rs",
    "testbench/command/src/bench/debug.rs",
    "testbench/command/src/bench/emp.rs",
    "testbench/command/src/bench/instructions.rs",
    "testbench/command/src/cli/mod.rs",
    "testbench/command/src/commands/acenic/report.rs",
    "testbench/command/src/commands/bench.rs",
    "testbench/command/src/commands/exec/mod.rs",
    "testbench/command/src/commands/image.rs",
    "testbench/command/src/commands/ledger.rs",
    "testbench/command/src/commands/list.rs",
    "testbench/command/src/commands/new/mod.rs",
    "testbench/command/src/commands/new/skeleton/main.rs",
    "testbench/command/src/commands/new/skeleton/test.rs",
    "testbench/command/src/commands/reproduce.rs",
    "testbench/debugger/src/debug/command/stops.rs",
    "testbench/debugger/src/debug/complete.rs",
    "testbench/debugger/src/debug/place.rs",
    "testbench/debugger/src/debug/session.rs",
    "testbench/debugger/src/debug/show/address.rs",
    "testbench/debugger/src/debug/show/chip.rs",
    "testbench/debugger/src/debug/show/event.rs",
    "testbench/debugger/src/debug/show/rings.rs",
    "testbench/debugger/src/debug/show/standing.rs",
    "testbench/debugger/src/debug/stop.rs",
    "testbench/debugger/src/gdb/points.rs",
    "testbench/kit/src/builder.rs",
    "testbench/kit/src/host.rs",
    "testbench/kit/src/lib.rs",
    "testbench/papers/src/experiments/activity.rs",
    "testbench/papers/src/experiments/goodput.rs",
    "testbench/papers/src/experiments/ledger.rs",
    "testbench/papers/src/experiments/mod.rs",
    "testbench/papers/src/experiments/testbed.rs",
    "testbench/papers/src/experiments/usage.rs",
    "testbench/papers/src/reproduce/answers.rs",
    "testbench/papers/src/reproduce/mod.rs",
    "testbench/papers/src/reproduce/results.rs",
    "testbench/papers/src/reproduce/summary.rs",
    "testbench/timeline/src/gauges.rs",
    "testbench/timeline/src/place.rs",
    "testbench/worlds/src/acenic/mod.rs",
    "testbench/worlds/src/calibrate.rs",
    "testbench/worlds/src/images.rs",
    "testbench/worlds/src/kernel.rs",
    "testbench/worlds/src/nodes.rs",
    "testbench/worlds/src/pairs.rs",
    "testbench/worlds/src/profile.rs",
    "testbench/worlds/src/programs/start.rs",
    "testbench/worlds/src/scenario/faults.rs",
    "testbench/worlds/src/scenario/nodes.rs",
    "testbench/worlds/src/simulation/build.rs",
    "testbench/worlds/src/simulation/result.rs",
    "testbench/worlds/src/simulation/snapshot.rs",
    "testbench/worlds/src/wire.rs",
];

#[test]
fn one_place_registers_the_boards() {
    let general = |path: &str| {
        let emulator = FOR_EVERY_BOARD
            .iter()
            .any(|folder| path.starts_with(&format!("emulator/src/{folder}/")));
        let testbench = path.starts_with("testbench/") && path.contains("/src/");
        let tests = path.ends_with("tests.rs") || path.contains("/tests/");
        (emulator || testbench) && !tests && path != "testbench/worlds/src/boards.rs"
    };
    let knows = |text: &str| {
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let mut lines = code.lines().map(str::trim_start);
        lines.any(|line| !line.starts_with("//") && line.to_ascii_lowercase().contains("tigon2"))
    };
    let found: BTreeSet<String> = files(&[".rs"])
        .into_iter()
        .filter(|(path, text)| general(path) && knows(text))
        .map(|(path, _)| path)
        .collect();
    let listed: BTreeSet<String> = KNOW_THE_TIGON2.iter().map(|&path| path.into()).collect();
    let new = found.difference(&listed).cloned();
    let gone = listed.difference(&found);
    let broken: Vec<_> = new
        .chain(gone.map(|path| format!("{path}: listed, and knows no board any more")))
        .collect();
    check("what serves every board names none", &broken);
}
