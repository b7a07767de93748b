//! A copy of the program elsewhere needs no other file: images, scenarios and profiles are in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A folder with a copy of the program. Names are unique per test.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("lanigon-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_lanigon"), folder.join("lanigon")).unwrap();
    folder
}

#[track_caller]
fn lanigon(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(folder.join("lanigon"));
    let command = command.args(arguments).current_dir(folder);
    command
        .env_remove("RUST_LOG")
        .env_remove("LANIGON_DATA")
        .output()
        .unwrap()
}

#[track_caller]
fn text(folder: &Path, arguments: &[&str]) -> String {
    let output = lanigon(folder, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

fn list(folder: &Path, options: &[&str]) -> Value {
    let arguments = [options, &["list", "--json"]].concat();
    serde_json::from_str(&text(folder, &arguments)).unwrap()
}

/// File of an entry; `None` if it is in the program.
fn file_of<'a>(list: &'a Value, kind: &str, name: &str) -> Option<&'a str> {
    let all = list[kind].as_array().unwrap();
    let entry = all.iter().find(|entry| entry["name"] == name);
    entry.unwrap_or_else(|| panic!("{kind}: {name}"))["file"].as_str()
}

#[test]
fn a_copied_program_needs_nothing_else() {
    let folder = folder("copied");
    let known = list(&folder, &[]);
    for (kind, least) in [
        ("images", 10),
        ("scenarios", 10),
        ("sweeps", 3),
        ("profiles", 8),
    ] {
        assert!(known[kind].as_array().unwrap().len() >= least, "{kind}");
    }
    assert_eq!(file_of(&known, "images", "emp-base"), None);
    assert_eq!(file_of(&known, "scenarios", "pair"), None);
    assert!(
        known["images"]
            .as_array()
            .unwrap()
            .iter()
            .all(|image| image["error"].is_null())
    );
    let own: Value = serde_json::from_str(&text(&folder, &["run", "pair", "--json"])).unwrap();
    let here = super::command_output(&["run", "pair", "--json"]);
    let here: Value = serde_json::from_str(&here).unwrap();
    assert_eq!(own["trace_hash"], here["trace_hash"]);
    for name in ["hello", "gm", "emp-dsr"] {
        assert!(
            text(&folder, &["image", name]).contains("instruction set: ok"),
            "{name}"
        );
    }
    assert_eq!(file_of(&known, "sweeps", "loss"), None);
    for name in ["loss", "examples/sweeps/loss.toml"] {
        let runs = text(&folder, &["sweep", name, "--dry-run"]);
        assert!(runs.ends_with("150 runs, 150 without a result\n"), "{runs}");
    }
    for command in ["run", "sweep"] {
        let refused = lanigon(&folder, &[command, "no-such-name"]);
        assert_eq!(refused.status.code(), Some(2), "{command}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_replaces_what_is_in_the_program() {
    let folder = folder("data");
    text(&folder, &["unpack", "data"]);
    let refused = lanigon(&folder, &["unpack", "data"]);
    assert_eq!(refused.status.code(), Some(2));
    let pair = folder.join("data/scenarios/pair.toml");
    let changed = std::fs::read_to_string(&pair).unwrap();
    let own = changed.replacen("description = \"", "description = \"changed: ", 1);
    assert_ne!(own, changed);
    std::fs::write(&pair, own).unwrap();
    std::fs::remove_file(folder.join("data/images/tigon2/emp-so")).unwrap();
    let loss = folder.join("data/sweeps/loss.toml");
    let shorter = std::fs::read_to_string(&loss).unwrap();
    std::fs::write(&loss, shorter.replace("seeds = 10", "seeds = 2")).unwrap();
    let runs = text(&folder, &["--data", "data", "sweep", "loss", "--dry-run"]);
    assert!(runs.ends_with("30 runs, 30 without a result\n"), "{runs}");
    let known = list(&folder, &["--data", "data"]);
    assert_eq!(
        file_of(&known, "scenarios", "pair"),
        Some("data/scenarios/pair.toml")
    );
    assert_eq!(
        file_of(&known, "images", "emp-base"),
        Some("data/images/tigon2/emp-base")
    );
    assert_eq!(file_of(&known, "images", "emp-so"), None);
    assert!(text(&folder, &["--data", "data", "list"]).contains("changed: "));
    // Half the clock: latency follows.
    let profile = folder.join("data/profiles/tigon2-88mhz.toml");
    let latency = |options: &[&str]| {
        let output = text(&folder, &[options, &["run", "pair", "--json"]].concat());
        let document: Value = serde_json::from_str(&output).unwrap();
        document["latency_us"]["p50"].as_f64().unwrap()
    };
    let usual = latency(&["--data", "data"]);
    let slow = std::fs::read_to_string(&profile).unwrap();
    let slow = slow.replacen("value = 88_000_000", "value = 44_000_000", 1);
    std::fs::write(&profile, slow).unwrap();
    assert!(latency(&["--data", "data"]) > 1.2 * usual);
    let table = folder.join("data/published/published-gm.csv");
    let text = std::fs::read_to_string(&table).unwrap();
    std::fs::write(&table, text + "gm-999,no line\n").unwrap();
    let refused = lanigon(&folder, &["--data", "data", "reproduce", "gm", "--quick"]);
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(
        error.contains("published-gm.csv:") && error.contains("gm-999"),
        "{error}"
    );
    assert_eq!(refused.status.code(), Some(2));
    let refused = lanigon(&folder, &["--data", "nowhere", "list"]);
    assert_eq!(refused.status.code(), Some(2));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn completions_and_manual_pages_have_all_commands() {
    let folder = folder("man");
    text(&folder, &["man", "pages"]);
    let help = text(&folder, &["--help"]);
    let commands = help
        .split("Commands:")
        .nth(1)
        .unwrap()
        .split("Options:")
        .next()
        .unwrap();
    let commands: Vec<_> = commands
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    let bash = text(&folder, &["completions", "bash"]);
    for name in commands {
        assert!(bash.contains(&format!("lanigon,{name}")), "{name}");
        let page = folder.join(format!("pages/lanigon-{name}.1"));
        let page = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".TH"), "{name}");
    }
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(
            text(&folder, &["completions", shell]).contains("reproduce"),
            "{shell}"
        );
    }
    std::fs::remove_dir_all(folder).unwrap();
}
