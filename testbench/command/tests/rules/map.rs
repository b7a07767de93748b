//! The code map of ARCHITECTURE.md is that of the tree.

use std::collections::BTreeSet;
use std::fs;

use super::{check, files, read, root};

/// Paths of the code map: the words at the beginnings of its lines, up to two spaces or a comma apart.
fn mapped() -> BTreeSet<String> {
    let text = read("ARCHITECTURE.md");
    let (_, rest) = text.split_once("\n## Code map\n").expect("a code map");
    let section = rest.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    let entries = lines.filter(|line| !line.starts_with(' '));
    let mut paths = BTreeSet::new();
    for entry in entries {
        let mut words = entry.split(' ');
        for word in words.by_ref() {
            paths.insert(word.trim_end_matches(',').to_owned());
            if !word.ends_with(',') {
                break;
            }
        }
    }
    assert!(paths.len() > 15, "the code map is read wrongly: {paths:?}");
    paths
}

/// Folders that the map must show: packages and folders at the top.
fn wanted() -> BTreeSet<String> {
    let folders_in = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).expect("a folder");
        let entries = entries.map(|entry| entry.expect("an entry"));
        let folders = entries.filter(|entry| entry.path().is_dir());
        folders.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    let mut wanted = BTreeSet::new();
    for (path, _) in files(&["Cargo.toml"]) {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        match folder {
            // The map shows its parts.
            "firmware" => {}
            _ if folder.starts_with("examples/") => {}
            _ if folder.starts_with("firmware/lanai/images/") => {
                wanted.insert("firmware/lanai/images".to_owned());
            }
            _ if folder.starts_with("firmware/images/") => {
                wanted.insert("firmware/images".to_owned());
            }
            _ => {
                wanted.insert(folder.to_owned());
            }
        }
    }
    let parts = ["firmware", "testbench", "out", "target"];
    let top = folders_in("").filter(|name| !name.starts_with('.'));
    wanted.extend(top.filter(|name| !parts.contains(&name.as_str())));
    wanted
}

#[test]
fn the_code_map_is_that_of_the_tree() {
    let mapped = mapped();
    let mut broken = Vec::new();
    for path in &mapped {
        if !root().join(path).is_dir() {
            broken.push(format!("{path} is mapped and is no folder"));
        }
    }
    for path in wanted().difference(&mapped) {
        broken.push(format!("{path} is not mapped"));
    }
    check(
        "the code map of ARCHITECTURE.md is that of the tree",
        &broken,
    );
}
