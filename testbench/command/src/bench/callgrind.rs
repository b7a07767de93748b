//! Host instructions by cause: each [`Work`] runs under valgrind's callgrind, and its instructions are divided by the source file
//! that they come from. Counts depend on the build, hardly on the machine.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde::Serialize;

use super::work::{self, Work, WorkDone};

/// Causes, and parts of the paths of the source files that belong to them. The first one that fits counts.
const CAUSES: [(&str, &[&str]); 14] = [
    (
        "programs",
        &[
            "emulator/host/",
            "board/src/memory.rs",
            "board/src/pci.rs",
            "board/src/poller.rs",
            "host-lib/",
            "testbench/",
        ],
    ),
    ("trace", &["emulator/observe/"]),
    ("network", &["emulator/wire/"]),
    ("events", &["base/src/queue.rs"]),
    ("returns", &["sim/src/slot.rs", "sim/src/node.rs"]),
    ("rounds", &["emulator/sim/"]),
    (
        "fetch",
        &[
            "/fetch.rs",
            "/icache.rs",
            "/op.rs",
            "/decode.rs",
            "/packed.rs",
        ],
    ),
    ("execute", &["emulator/cpu/"]),
    (
        "SRAM",
        &[
            "/sram.rs",
            "/sram_bus.rs",
            "/scratchpad.rs",
            "/private_memory.rs",
            "/arbitration.rs",
        ],
    ),
    (
        "registers",
        &[
            "/registers.rs",
            "/access.rs",
            "/event.rs",
            "/special.rs",
            "/isr.rs",
            "/timers.rs",
            "/timer.rs",
        ],
    ),
    ("idle loops", &["/idle.rs", "/period.rs"]),
    ("probes", &["/probes.rs"]),
    ("returns", &["/run/", "/run.rs", "/board.rs"]),
    ("bursts", &["emulator/", "firmware/"]),
];

/// Cause of instructions that come from no file of the project: allocation, copies of memory, other libraries.
const LIBRARIES: &str = "libraries";

/// The files of the project have such a part in their paths.
const PROJECT: [&str; 4] = ["emulator/", "host-lib/", "testbench/", "firmware/"];

/// The host instructions of a work.
#[derive(Debug, Serialize)]
pub struct Count {
    /// Name of the work.
    pub name: &'static str,
    /// Description of the work.
    #[serde(skip)]
    pub what: &'static str,
    /// All instructions.
    pub instructions: u64,
    /// Instructions by cause, the most first.
    pub causes: Vec<(&'static str, u64)>,
    /// Simulated time, cycles and trace hash of the work.
    pub done: WorkDone,
}

/// Whether valgrind is installed.
#[must_use]
pub fn is_installed() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Counts the host instructions of a work, which `program`, this one, carries out as a process of its own.
///
/// # Errors
/// If valgrind or the work fails.
pub fn count(program: &Path, work: &Work) -> anyhow::Result<Count> {
    let name = format!("lanigon-{}-{}.callgrind", work.name, std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut out = std::ffi::OsString::from("--callgrind-out-file=");
    out.push(&file);
    let options = ["--tool=callgrind", "--toggle-collect=*work*measured*"].map(OsStr::new);
    let output = Command::new("valgrind")
        .args(options)
        .arg(out)
        .arg(program)
        .args(["bench", "--work", work.name])
        .output()
        .context("valgrind")?;
    let profile = std::fs::read_to_string(&file);
    // An unfinished run has no profile.
    let _ = std::fs::remove_file(&file);
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("{} under valgrind: {}", work.name, text.trim());
    }
    let profile = profile.with_context(|| file.display().to_string())?;
    let done = serde_json::from_slice(&output.stdout).context(work.name)?;
    let causes = causes(&profile)?;
    Ok(Count {
        name: work.name,
        what: work.what,
        instructions: causes.iter().map(|cause| cause.1).sum(),
        causes,
        done,
    })
}

/// Counts the host instructions of all works.
///
/// # Errors
/// If valgrind or a work fails.
pub fn count_all(program: &Path) -> anyhow::Result<Vec<Count>> {
    work::ALL.iter().map(|work| count(program, work)).collect()
}

/// The cause of what comes from a source file of the project.
fn cause(file: &str) -> &'static str {
    let fits = |(_, parts): &&(&str, &[&str])| parts.iter().any(|part| file.contains(part));
    CAUSES.iter().find(fits).map_or(LIBRARIES, |cause| cause.0)
}

fn is_of_project(file: &str) -> bool {
    PROJECT.iter().any(|part| file.contains(part))
}

/// The file that an entry of a profile names: `(7) path`, later `(7)` alone.
fn file_of<'a>(entry: &'a str, files: &mut HashMap<&'a str, &'a str>) -> &'a str {
    match entry.split_once(' ') {
        Some((number, path)) => {
            files.insert(number, path);
            path
        }
        None => files.get(entry).copied().unwrap_or(""),
    }
}

/// The instructions of a profile by cause, the most first. Those of functions of libraries that were compiled into one of the project
/// count as that function's own.
fn causes(profile: &str) -> anyhow::Result<Vec<(&'static str, u64)>> {
    ensure!(
        profile.lines().any(|line| line == "events: Ir"),
        "the profile does not count instructions"
    );
    let mut files = HashMap::new();
    let (mut function, mut file) = ("", "");
    let mut causes: HashMap<&str, u64> = HashMap::new();
    let mut lines = profile.lines();
    while let Some(line) = lines.next() {
        if let Some((key, entry)) = line.split_once('=') {
            match key {
                "fl" => {
                    function = file_of(entry, &mut files);
                    file = function;
                }
                "fi" | "fe" => file = file_of(entry, &mut files),
                "cfi" | "cfl" => _ = file_of(entry, &mut files),
                "fn" => file = function,
                // The next line has what the called function takes, which is counted there.
                "calls" => _ = lines.next(),
                _ => {}
            }
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_whitespace().nth(1).unwrap_or("0");
            let cost: u64 = cost.parse().with_context(|| format!("line \"{line}\""))?;
            let own = [file, function]
                .into_iter()
                .find(|file| is_of_project(file));
            *causes.entry(own.map_or(LIBRARIES, cause)).or_default() += cost;
        }
    }
    let mut causes: Vec<_> = causes.into_iter().collect();
    // The name decides among equals: the order of a hash table changes with each run.
    causes.sort_unstable_by_key(|&(cause, count)| (std::cmp::Reverse(count), cause));
    Ok(causes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "\
version: 1
positions: line
events: Ir

fl=(1) /x/emulator/sim/src/slot.rs
fn=(1) run_to
10 100
fi=(2) /rustc/library/core/src/option.rs
20 7
fe=(1)
+3 5
cfi=(3) /x/emulator/cpu/src/mips/exec.rs
cfn=(2) execute
calls=4 30
* 999

fl=(3)
fn=(2)
30 40

fl=(4) /build/malloc.c
fn=(3) malloc
-2 9
";

    #[test]
    fn instructions_have_causes() {
        let causes = causes(PROFILE).expect("a profile");
        assert_eq!(causes, [("returns", 112), ("execute", 40), (LIBRARIES, 9)]);
    }

    #[test]
    fn profiles_of_something_else_are_refused() {
        assert!(causes("events: Dr\n").is_err());
        assert!(causes("events: Ir\nfl=(1) a\n1 x\n").is_err());
    }

    #[test]
    fn files_have_causes() {
        for (file, expected) in [
            ("emulator/x/src/run/bus/fetch.rs", "fetch"),
            ("emulator/x/src/run/bus/probes.rs", "probes"),
            ("emulator/x/src/run/turns.rs", "returns"),
            ("emulator/x/src/dma/transfer.rs", "bursts"),
            ("emulator/x/src/idle.rs", "idle loops"),
            ("emulator/x/src/event.rs", "registers"),
            ("emulator/observe/src/event.rs", "trace"),
            ("emulator/base/src/queue.rs", "events"),
            ("emulator/sim/src/rounds.rs", "rounds"),
            ("host-lib/src/emp/mod.rs", "programs"),
            ("emulator/wire/src/lane.rs", "network"),
            ("/build/malloc.c", LIBRARIES),
        ] {
            assert_eq!(cause(file), expected, "{file}");
        }
    }
}
