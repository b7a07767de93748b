//! Dependencies go one way: between packages, and between the folders of the emulator.

use std::collections::{BTreeMap, BTreeSet};

use toml::Table;

use super::{check, files};

/// Packages of the project that each package may use; those of tests are free.
const PACKAGES: &[(&str, &[&str])] = &[
    ("lanigon-defs", &[]),
    ("lanigon-rings", &[]),
    ("lanigon-emp", &["defs"]),
    ("lanigon-acenic", &["defs"]),
    ("lanigon-fm", &["defs"]),
    ("lanigon-gm", &["defs"]),
    ("lanigon-tigon2-hal", &["defs", "rings"]),
    ("lanigon-lanai-hal", &["defs", "lanai-rt"]),
    ("lanigon-lanai-link", &[]),
    ("lanigon-tigon2-link", &["defs"]),
    ("lanigon-lanai-rt", &["defs"]),
    ("lanigon-window", &[]),
    ("lanigon-cases", &[]),
    ("lanigon-figures", &[]),
    ("lanigon-report", &["figures"]),
    ("lanigon-host", &["defs", "window"]),
    ("lanigon-emulator", &["defs", "window"]),
    ("lanigon-worlds", &["defs", "emulator", "host"]),
    ("lanigon-guests", &["emulator"]),
    (
        "lanigon-workloads",
        &["defs", "emulator", "guests", "host", "worlds"],
    ),
    ("lanigon-analysis", &["defs", "emulator", "worlds"]),
    (
        "lanigon-timeline",
        &["analysis", "defs", "emulator", "worlds"],
    ),
    (
        "lanigon-debugger",
        &["analysis", "defs", "emulator", "worlds"],
    ),
    ("lanigon-mpi", &["emulator"]),
    ("lanigon-requests", &[]),
    ("lanigon-line", &["requests"]),
    ("lanigon-preload", &["line", "requests"]),
    ("lanigon-provider", &["line", "requests"]),
    (
        "lanigon-processes",
        &["emulator", "host", "requests", "worlds"],
    ),
    (
        "lanigon-experiments",
        &["emulator", "figures", "report", "workloads", "worlds"],
    ),
    (
        "lanigon-kit",
        &["analysis", "defs", "emulator", "host", "worlds"],
    ),
    (
        "lanigon-papers",
        &[
            "analysis",
            "defs",
            "emulator",
            "experiments",
            "figures",
            "host",
            "report",
            "workloads",
            "worlds",
        ],
    ),
    (
        "lanigon-sweep",
        &["emulator", "experiments", "figures", "workloads", "worlds"],
    ),
    (
        "lanigon-command",
        &[
            "analysis",
            "debugger",
            "defs",
            "emulator",
            "experiments",
            "figures",
            "host",
            "mpi",
            "papers",
            "preload",
            "processes",
            "provider",
            "sweep",
            "timeline",
            "workloads",
            "worlds",
        ],
    ),
];

/// Packages that tests of users' firmware must not have to build.
const NOT_IN_THE_KIT: &[&str] = &[
    "clap",
    "ctrlc",
    "env_logger",
    "gdbstub",
    "indicatif",
    "lanigon-workloads",
    "pdf-writer",
    "prost",
    "regex",
    "rustyline",
];

/// Paths that the files of each folder of the emulator may name, beside their own. The boards may name all.
const EMULATOR: &[(&str, &[&str])] = &[
    ("state", &[]),
    ("cpu", &["state"]),
    ("image", &["cpu", "observe::digest", "sim::initiator"]),
    (
        "observe",
        &[
            "boards",
            "cpu::architecture",
            "image",
            "sim::initiator",
            "sim::time",
            "state",
            "wire",
        ],
    ),
    ("profile", &["host::costs", "sim::time"]),
    ("wire", &["observe", "profile", "sim", "state"]),
    (
        "host",
        &[
            "board",
            "observe::event",
            "sim::initiator",
            "sim::time",
            "state",
        ],
    ),
    (
        "board",
        &[
            "cpu",
            "host",
            "image",
            "observe",
            "sim::initiator",
            "sim::queue",
            "sim::time",
            "state",
            "wire",
        ],
    ),
    ("sim", &["board", "host", "observe", "state", "wire"]),
    ("debug", &["board", "observe", "sim", "state"]),
];

/// Dependencies of each package of the project.
fn packages() -> BTreeMap<String, Vec<String>> {
    let mut packages = BTreeMap::new();
    for (path, text) in files(&["Cargo.toml"]) {
        let manifest: Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let Some(name) = manifest
            .get("package")
            .and_then(|package| package["name"].as_str())
        else {
            continue;
        };
        let table = manifest
            .get("dependencies")
            .and_then(|table| table.as_table());
        let keys = table.into_iter().flatten().map(|(key, _)| key.clone());
        packages.insert(name.to_owned(), keys.collect());
    }
    packages
}

#[test]
fn packages_depend_on_lower_ones() {
    let packages = packages();
    let mut broken = Vec::new();
    for (name, dependencies) in &packages {
        let Some((_, allowed)) = PACKAGES.iter().find(|(known, _)| known == name) else {
            if name.starts_with("lanigon-") {
                broken.push(format!("{name} is not in the table"));
            }
            continue;
        };
        for dependency in dependencies {
            if let Some(ours) = dependency.strip_prefix("lanigon-")
                && !allowed.contains(&ours)
            {
                broken.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    for (name, _) in PACKAGES {
        if !packages.contains_key(*name) {
            broken.push(format!("{name} is in the table and does not exist"));
        }
    }
    check("packages depend on lower ones", &broken);
}

#[test]
fn the_kit_is_small() {
    let packages = packages();
    let mut known = BTreeSet::from(["lanigon-kit"]);
    let mut open = vec!["lanigon-kit"];
    while let Some(name) = open.pop() {
        for dependency in packages.get(name).into_iter().flatten() {
            if known.insert(dependency) {
                open.push(dependency);
            }
        }
    }
    assert!(known.contains("lanigon-emulator"));
    let unwanted = NOT_IN_THE_KIT.iter().filter(|name| known.contains(**name));
    let broken: Vec<String> = unwanted.map(|name| (*name).to_owned()).collect();
    check("the kit needs no tools", &broken);
}

/// Paths after `crate::`, of one or two parts each.
fn paths(code: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        let inside = |c: &char| c.is_alphanumeric() || *c == '_';
        text.chars().take_while(inside).collect()
    };
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        let first = word(rest);
        let rest = &rest[first.len()..];
        if first.is_empty() || rest.starts_with('!') {
            continue;
        }
        match rest.strip_prefix("::").map(word) {
            Some(second) if !second.is_empty() => found.push(format!("{first}::{second}")),
            _ => found.push(first),
        }
    }
    found
}

#[test]
fn folders_of_the_emulator_use_lower_ones() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let Some(inside) = path.strip_prefix("emulator/src/") else {
            continue;
        };
        let Some((folder, file)) = inside.split_once('/') else {
            continue;
        };
        if ["lanai", "tigon2"].contains(&folder) || file.contains("tests") {
            continue;
        }
        let Some((_, allowed)) = EMULATOR.iter().find(|(known, _)| *known == folder) else {
            broken.push(format!("{path}: its folder is not in the table"));
            continue;
        };
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = code
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        for used in paths(&code.join("\n")) {
            let fits =
                |allowed: &&str| used == **allowed || used.starts_with(&format!("{allowed}::"));
            // Macros are at the top of the crate.
            let is_macro = used.starts_with("value_") || used == "state";
            if is_macro || fits(&folder) || allowed.iter().any(fits) {
                continue;
            }
            broken.push(format!("{path}: crate::{used}"));
        }
    }
    check("folders of the emulator use lower ones", &broken);
}
