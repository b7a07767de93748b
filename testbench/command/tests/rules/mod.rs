//! Project rules that the compiler does not check. Each test lists the violations.

mod boards;
mod documents;
mod layers;
mod map;
mod size;

use std::fs;
use std::path::{Path, PathBuf};

/// The only packages that may contain `unsafe`: what firmware touches hardware with, and what C calls.
const UNSAFE_PACKAGES: [&str; 7] = [
    // MPI libraries and programs call them, with pointers.
    "testbench/line/",
    "testbench/preload/",
    "testbench/provider/",
    // These programs break rules on purpose.
    "firmware/cases/",
    "firmware/tigon2-hal/",
    "firmware/lanai/hal/",
    "firmware/lanai/rt/",
];

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

/// The compiler refuses unsafe code where its lint is on: no package may turn it off.
#[test]
fn unsafe_stays_in_the_hardware_abstraction() {
    let lint = concat!("unsafe", "_code");
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let text = text.replace(&format!("forbid({lint})"), "");
        let may = UNSAFE_PACKAGES.iter().any(|start| path.starts_with(start));
        if !may && text.contains(lint) {
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
    let rule = format!("unsafe code stays in {}", UNSAFE_PACKAGES.join(", "));
    check(&rule, &broken);
}

#[test]
fn the_device_model_takes_register_offsets_from_defs() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        // These have address spaces or words of their own: the EEPROM, the profile, frames, negotiation.
        let other = ["eeprom.rs", "timing.rs", "mac.rs", "serdes.rs"]
            .iter()
            .any(|name| path.ends_with(name));
        if !path.starts_with("emulator/tigon2/src/") || other {
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

/// A workload is a folder and a line of the list; papers measure with some, and tests run them.
#[test]
fn workloads_stand_in_one_place() {
    let folders = fs::read_dir(root().join("testbench/workloads/src")).expect("workloads");
    let folders = folders.map(|entry| entry.expect("an entry").path());
    let names = folders.filter(|path| path.is_dir()).map(|path| {
        let name = path.file_name().expect("a name");
        format!("workloads::{}", name.to_string_lossy())
    });
    let names: Vec<_> = names.collect();
    assert!(names.len() >= 5, "{names:?}");
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let may = ["testbench/workloads/", "testbench/papers/"];
        if may.iter().any(|start| path.starts_with(start)) || path.contains("/tests/") {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            if names.iter().any(|name| line.contains(name.as_str())) {
                broken.push(format!("{path}:{number}: {}", line.trim()));
            }
        }
    }
    check("no file but a workload's own names it", &broken);
}
