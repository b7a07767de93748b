//! Code for every board names none.

use super::{check, files};

/// Crates of the emulator that serve every board; so does each crate of the testbench.
const FOR_EVERY_BOARD: [&str; 10] = [
    "base", "board", "debug", "host", "image", "observe", "profile", "sim", "state", "wire",
];

/// Folders that are about one board, and why.
const OF_ONE_BOARD: [(&str, &str); 5] = [
    ("testbench/worlds/src/boards/", "registers the boards"),
    (
        "testbench/command/src/commands/new/skeleton/",
        "the first firmware of a new project, which is for one chip",
    ),
    (
        "testbench/worlds/src/acenic/",
        "drives AceNIC firmware, which only this chip runs",
    ),
    (
        "testbench/papers/src/emp/",
        "reproduces a thesis about this chip",
    ),
    (
        "testbench/command/src/commands/acenic/",
        "the command for that driver",
    ),
];

#[test]
fn one_place_registers_the_boards() {
    let general = |path: &str| {
        let emulator = FOR_EVERY_BOARD
            .iter()
            .any(|folder| path.starts_with(&format!("emulator/{folder}/src/")));
        let testbench = path.starts_with("testbench/") && path.contains("/src/");
        let tests = path.ends_with("tests.rs") || path.contains("/tests/");
        let mut special = OF_ONE_BOARD.iter();
        let special = special.any(|(folder, _)| path.starts_with(folder));
        (emulator || testbench) && !tests && !special
    };
    let knows = |text: &str| {
        let code = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        let mut lines = code.lines().map(str::trim_start);
        lines.any(|line| !line.starts_with("//") && line.to_ascii_lowercase().contains("tigon2"))
    };
    let files = files(&[".rs"]).into_iter();
    let broken: Vec<_> = files
        .filter(|(path, text)| general(path) && knows(text))
        .map(|(path, _)| path)
        .collect();
    check("what serves every board names none", &broken);
}

/// Files that build nodes and worlds for the testbench.
const BUILDERS: [&str; 4] = [
    "testbench/worlds/src/boards/lanai/mod.rs",
    "testbench/worlds/src/boards/tigon2/mod.rs",
    "testbench/worlds/src/builder.rs",
    // A chip with its own pipeline, which boards of scenarios do not have.
    "testbench/worlds/src/myrinet/mod.rs",
];

/// Whether code has a call that begins so, not at the end of a longer name.
fn calls(code: &str, call: &str) -> bool {
    let mut found = code.match_indices(call);
    found.any(|(at, _)| {
        let before = code[..at].chars().next_back();
        call.starts_with('.') || !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

#[test]
fn worlds_are_built_in_one_place() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if !path.starts_with("testbench/") || path.contains("/tests/") {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in [
            "World::new(",
            "Node::new(",
            "Tigon2::new(",
            "Lanai::new(",
            ".into_node(",
            ".add_switch(",
            ".add_crossbar(",
        ] {
            if calls(code, call) && !BUILDERS.contains(&&*path) {
                broken.push(format!("{path}: {call}..)"));
            }
        }
    }
    check("worlds of the testbench are built in one place", &broken);
}
