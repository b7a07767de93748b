//! Code for every board names none.

use std::collections::BTreeSet;

use super::{check, files};

/// Folders of the emulator that serve every board; so does each crate of the testbench.
const FOR_EVERY_BOARD: [&str; 8] = [
    "board", "debug", "host", "image", "observe", "sim", "state", "wire",
];

/// Files there that know the Tigon2, beside the registration of boards. The list may only become shorter.
const KNOW_THE_TIGON2: &[&str] = &[
    "testbench/analysis/src/ledger/mod.rs",
    "testbench/analysis/src/messages/mod.rs",
    "testbench/analysis/src/messages/tracker.rs",
    "testbench/command/src/bench/boards.rs",
    "testbench/command/src/bench/busy.rs",
    "testbench/command/src/bench/debug.rs",
    "testbench/command/src/bench/emp.rs",
    "testbench/command/src/bench/instructions.rs",
    "testbench/command/src/cli/mod.rs",
    "testbench/command/src/commands/acenic/report.rs",
    "testbench/command/src/commands/bench.rs",
    "testbench/command/src/commands/image.rs",
    "testbench/command/src/commands/ledger.rs",
    "testbench/command/src/commands/list.rs",
    "testbench/command/src/commands/new/mod.rs",
    "testbench/command/src/commands/new/skeleton/main.rs",
    "testbench/command/src/commands/new/skeleton/test.rs",
    "testbench/command/src/commands/reproduce.rs",
    "testbench/kit/src/builder.rs",
    "testbench/kit/src/host.rs",
    "testbench/kit/src/lib.rs",
    "testbench/papers/src/experiments/activity.rs",
    "testbench/papers/src/experiments/goodput.rs",
    "testbench/papers/src/experiments/mod.rs",
    "testbench/papers/src/experiments/testbed.rs",
    "testbench/papers/src/experiments/usage.rs",
    "testbench/papers/src/reproduce/answers.rs",
    "testbench/papers/src/reproduce/explain.rs",
    "testbench/papers/src/reproduce/mod.rs",
    "testbench/papers/src/reproduce/results.rs",
    "testbench/papers/src/reproduce/summary.rs",
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

/// Files that build nodes and worlds for the testbench.
const BUILDERS: [&str; 2] = [
    "testbench/worlds/src/boards.rs",
    "testbench/worlds/src/builder.rs",
];

#[test]
fn worlds_are_built_in_one_place() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if !path.starts_with("testbench/") || path.contains("/tests/") {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in [" Node::new(", "(Node::new(", "Tigon2::new(", ".add_switch("] {
            if code.contains(call) && !BUILDERS.contains(&&*path) {
                broken.push(format!("{path}: {call}..)"));
            }
        }
    }
    check("worlds of the testbench are built in one place", &broken);
}
