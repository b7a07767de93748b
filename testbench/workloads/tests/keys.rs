//! The keys of workloads: what is documented is asked for, and examples with them are read.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::path::{Path, PathBuf};

use lanigon_worlds::scenario::reference;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).into()
}

/// Every key of `keys!` is asked for by its constant.
#[test]
fn documented_keys_are_read() {
    let folders = std::fs::read_dir(root().join("src")).unwrap();
    let folders = folders.map(|entry| entry.unwrap().path());
    let folders = folders.chain([root().join("../processes/src")]);
    let mut found = 0;
    for folder in folders.filter(|path| path.is_dir()) {
        let text = std::fs::read_to_string(folder.join("keys.rs")).unwrap();
        let (_, text) = text.split_once("keys! {").unwrap();
        let (declared, reader) = text.split_once("\n}\n").unwrap();
        for line in declared.lines() {
            let Some((name, what)) = line.trim().split_once(" = ") else {
                continue;
            };
            assert!(
                what.starts_with("key(") || what.starts_with("need("),
                "{line}"
            );
            let asks = |end: &str| reader.contains(&format!("&{name}{end}"));
            assert!(asks(")") || asks(","), "{}: {name}", folder.display());
            found += 1;
        }
    }
    let documented = lanigon_workloads::ALL.0.iter().map(|kind| kind.keys.len());
    assert_eq!(found, documented.sum::<usize>());
}

/// No two keys of a kind have one name, and no kind's `run` is that of another one.
#[test]
fn names_are_unambiguous() {
    let kinds = lanigon_workloads::ALL.0;
    let mut runs: Vec<_> = kinds.iter().flat_map(|kind| kind.names).collect();
    let count = runs.len();
    runs.sort_unstable();
    runs.dedup();
    assert_eq!(runs.len(), count);
    for kind in kinds {
        let mut names: Vec<_> = kind.keys.iter().map(|key| key.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), kind.keys.len(), "{}", kind.names[0]);
    }
}

/// Whole numbers have defaults in their ranges.
#[test]
fn defaults_fit_their_ranges() {
    for key in lanigon_workloads::ALL.0.iter().flat_map(|kind| kind.keys) {
        let number = key.default.and_then(|text| text.parse::<u64>().ok());
        if let (Some(number), reference::Values::Integer(..)) = (number, key.values) {
            assert!(key.range().contains(&number), "{key:?}");
        }
    }
}

/// All example scenarios are read.
#[test]
fn examples_are_read() {
    let mut read = 0;
    for entry in std::fs::read_dir(root().join("../../scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            lanigon_workloads::load(&path).unwrap();
            read += 1;
        }
    }
    assert!(read > 10);
}

#[test]
fn messages_of_processes_fit_into_the_frames_of_emp() {
    let check = |frame_bytes, size, reason: Option<&str>| {
        let text = format!(
            "[network]\ntopology = \"pair\"\n[emp]\nframe_bytes = {frame_bytes}\n\
             [[program]]\nrun = \"mpi\"\nbenchmark = \"latency\"\nnodes = \"all\"\nbytes = [8, {size}]\n"
        );
        let error = lanigon_workloads::parse("file.toml", &text).err();
        let shown = error.map(|error| error.to_string());
        let shown = shown.as_deref();
        match reason {
            Some(reason) => assert!(
                shown.is_some_and(|shown| shown.contains(reason)),
                "{shown:?}"
            ),
            None => assert_eq!(shown, None),
        }
    };
    check(
        46,
        60000,
        Some("file.toml:9: program.bytes: 60000 bytes are more"),
    );
    check(1500, 4_000_000, Some("at most 2097152"));
    check(1500, 60000, None);
}
