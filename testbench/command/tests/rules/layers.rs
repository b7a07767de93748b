//! Dependencies go one way: between packages, and between the folders of a crate of the emulator.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::{check, files, words_after};

/// Packages of the project that each package may use; those of tests are free. [`EMULATOR`] has those of the emulator.
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
    ("lanigon-worlds", &["defs", "emulator", "host"]),
    ("lanigon-guests", &["emulator"]),
    (
        "lanigon-workloads",
        &["defs", "emulator", "guests", "host", "processes", "worlds"],
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
        &["defs", "emulator", "host", "requests", "worlds"],
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
            "processes",
            "report",
            "workloads",
            "worlds",
        ],
    ),
    (
        "lanigon-sweep",
        &[
            "emulator",
            "experiments",
            "figures",
            "processes",
            "workloads",
            "worlds",
        ],
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

/// The crates of the emulator (`lanigon-emulator-*`) in their order: each may use those before it, not those beside it.
/// `lanigon-emulator` joins them.
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

/// Other packages that the crates of the emulator may use.
const BELOW_THE_EMULATOR: &[&str] = &["defs", "window"];

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
        let targets = manifest.get("target").and_then(Value::as_table);
        let targets = targets.into_iter().flatten();
        let tables = targets.filter_map(|(_, target)| target.get("dependencies"));
        let tables = tables.chain(manifest.get("dependencies"));
        let entries = tables.filter_map(Value::as_table).flatten();
        // A dependency may have another name here than its package.
        let used = entries.map(|(key, value)| {
            let package = value.get("package").and_then(Value::as_str);
            package.unwrap_or(key).to_owned()
        });
        packages.insert(name.to_owned(), used.collect());
    }
    packages
}

/// Packages that a package may use; `None` for one that no table has.
fn allowed(package: &str) -> Option<Vec<String>> {
    let lower = match package.strip_prefix("lanigon-emulator") {
        None => {
            let (_, allowed) = PACKAGES.iter().find(|(known, _)| *known == package)?;
            return Some(allowed.iter().map(|&name| name.to_owned()).collect());
        }
        Some("") => EMULATOR,
        Some(name) => {
            let name = name.strip_prefix('-')?;
            let place = EMULATOR.iter().position(|beside| beside.contains(&name))?;
            &EMULATOR[..place]
        }
    };
    let lower = lower.iter().copied().flatten();
    let lower = lower.map(|name| format!("emulator-{name}"));
    let below = BELOW_THE_EMULATOR.iter().map(|&name| name.to_owned());
    Some(lower.chain(below).collect())
}

#[test]
fn packages_depend_on_lower_ones() {
    let packages = packages();
    let mut broken = Vec::new();
    for (name, dependencies) in &packages {
        let Some(allowed) = allowed(name) else {
            if name.starts_with("lanigon-") {
                broken.push(format!("{name} is not in the table"));
            }
            continue;
        };
        for dependency in dependencies {
            if let Some(ours) = dependency.strip_prefix("lanigon-")
                && !allowed.iter().any(|allowed| allowed == ours)
            {
                broken.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    let crates = EMULATOR.iter().copied().flatten();
    let crates = crates.map(|name| format!("lanigon-emulator-{name}"));
    let others = PACKAGES.iter().map(|(name, _)| (*name).to_owned());
    for name in others.chain(crates) {
        if !packages.contains_key(&name) {
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

/// Crate and path within `src` of a file of the emulator's crates.
fn in_a_crate(path: &str) -> Option<(&str, &str)> {
    let (name, rest) = path.strip_prefix("emulator/")?.split_once('/')?;
    Some((name, rest.strip_prefix("src/")?))
}

/// Folders within a crate of the emulator form no circle: whatever a folder uses does not use it, directly or by others.
#[test]
fn folders_of_a_crate_form_no_circle() {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    let mut uses: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files(&[".rs"]) {
        let Some((name, (folder, _))) =
            in_a_crate(&path).and_then(|(name, inside)| Some((name, inside.split_once('/')?)))
        else {
            continue;
        };
        let code = text.lines().map(str::trim_start);
        let code: Vec<&str> = code.filter(|line| !line.starts_with("//")).collect();
        let code = code.join("\n");
        let used = ["crate::", "super::"].map(|start| words_after(&code, start, inside));
        let used = used.into_iter().flatten().map(str::to_owned);
        let key = (name.to_owned(), folder.to_owned());
        uses.entry(key)
            .or_default()
            .extend(used.filter(|used| used != folder));
    }
    assert!(uses.len() > 8, "{uses:?}");
    let mut broken = Vec::new();
    for (name, folder) in uses.keys() {
        let (mut known, mut open) = (BTreeSet::new(), vec![folder]);
        while let Some(next) = open.pop() {
            let used = uses.get(&(name.clone(), next.clone()));
            open.extend(
                used.into_iter()
                    .flatten()
                    .filter(|used| known.insert(*used)),
            );
        }
        if known.contains(folder) {
            broken.push(format!("emulator/{name}/src/{folder}"));
        }
    }
    check("no folder uses one that uses it", &broken);
}

#[test]
fn only_the_building_of_networks_names_a_medium() {
    let mut broken = Vec::new();
    for (path, text) in files(&[".rs"]) {
        let Some((name, inside)) = in_a_crate(&path) else {
            continue;
        };
        let general =
            ["board", "host", "observe", "sim"].contains(&name) && !inside.starts_with("topology/");
        let media = ["emulator_wire::ethernet", "emulator_wire::myrinet"];
        if general && media.iter().any(|medium| text.contains(medium)) {
            broken.push(path);
        }
    }
    check("boards, hosts and nodes name no medium", &broken);
}
