//! Dependencies go one way: between packages, and between the folders of the emulator.

use std::collections::{BTreeMap, BTreeSet};

use toml::Table;

use super::{check, files, words_after};

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

/// The folders of the emulator in their order: each may name those before it, not those beside it.
const EMULATOR: &[&[&str]] = &[
    &["state"],
    &["base"],
    &["cpu", "profile"],
    &["image"],
    &["observe"],
    &["wire"],
    &["board"],
    &["host"],
    &["lanai", "sim", "tigon2"],
    &["debug"],
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

#[test]
fn folders_of_the_emulator_use_lower_ones() {
    let place = |folder: &str| EMULATOR.iter().position(|beside| beside.contains(&folder));
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let Some((folder, _)) = path
            .strip_prefix("emulator/src/")
            .and_then(|inside| inside.split_once('/'))
        else {
            continue;
        };
        let Some(own) = place(folder) else {
            broken.push(format!("{path}: its folder is not in the list"));
            continue;
        };
        let code = text.lines().map(str::trim_start);
        let code: Vec<&str> = code.filter(|line| !line.starts_with("//")).collect();
        for used in words_after(&code.join("\n"), "crate::", inside) {
            // Macros are at the top of the crate.
            let is_macro = used.starts_with("value_") || used == "state";
            let is_lower = place(used).is_some_and(|place| place < own);
            if used != folder && !is_macro && !is_lower {
                broken.push(format!("{path}: crate::{used}"));
            }
        }
    }
    check("folders of the emulator use lower ones", &broken);
}

#[test]
fn only_the_building_of_networks_names_a_medium() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let inside = path.strip_prefix("emulator/src/");
        let Some(inside) = inside.filter(|inside| !inside.starts_with("sim/topology/")) else {
            continue;
        };
        let general = ["board/", "host/", "observe/", "sim/"];
        let general = general.iter().any(|folder| inside.starts_with(folder));
        let media = ["wire::ethernet", "wire::myrinet"];
        if general && media.iter().any(|medium| text.contains(medium)) {
            broken.push(path);
        }
    }
    check("boards, hosts and nodes name no medium", &broken);
}
