//! The first commands of a newcomer: `lanigon` alone, and `lanigon doctor`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The command with only this folder in its search path.
fn lanigon(arguments: &[&str], path: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
    command.args(arguments).env("PATH", path).current_dir(path);
    let output = command.env_remove("LANIGON_LLVM").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Commands of the short start exist, and so do the scenarios that they name.
#[test]
fn the_short_start_shows_commands_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let text = lanigon(&[], folder.path());
    let shown: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("  lanigon "))
        .map(|line| line.split("  ").next().unwrap().split(' ').collect())
        .collect();
    assert_eq!(shown.len(), 3, "{text}");
    let known = lanigon(&["list"], folder.path());
    for words in shown {
        lanigon(&[words[0], "--help"], folder.path());
        let named = words[0] == "new" || known.contains(&format!("  {} ", words[1]));
        assert!(named, "{words:?}");
    }
}

#[test]
fn doctor_names_what_is_missing_and_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let findings = || -> Vec<Value> {
        let text = lanigon(&["doctor", "--json"], folder.path());
        serde_json::from_str(&text).unwrap()
    };
    let missing = |findings: &[Value]| {
        findings
            .iter()
            .filter(|part| part["path"].is_null())
            .count()
    };
    let before = findings();
    assert_eq!(missing(&before), before.len());
    for part in &before {
        assert!(
            part["remedy"].as_str().is_some_and(|text| !text.is_empty()),
            "{part}"
        );
    }
    // A program that is there, and LLVM in the folder in which `make setup` puts it.
    std::fs::write(folder.path().join("tshark"), "").unwrap();
    std::fs::create_dir_all(folder.path().join("target/llvm/bin")).unwrap();
    std::fs::write(folder.path().join("target/llvm/bin/llc"), "").unwrap();
    assert_eq!(missing(&findings()), before.len() - 2);
    let text = lanigon(&["doctor"], folder.path());
    let (here, gone) = text.split_once("optional, and missing\n").unwrap();
    assert!(
        here.contains("tshark") && gone.contains("gdb-multiarch"),
        "{text}"
    );
}
