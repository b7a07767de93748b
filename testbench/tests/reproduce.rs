//! `lanigon reproduce` as a user runs it.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

use std::process::{Command, Output};

use serde_json::Value;

fn lanigon(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(args)
        .output()
        .unwrap()
}

fn json(args: &[&str]) -> Value {
    let output = lanigon(args);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["rows"].as_array().unwrap()
}

#[test]
fn rows_have_the_agreed_form() {
    let document = json(&["reproduce", "emp", "--quick", "--json"]);
    for row in rows(&document) {
        assert!(
            matches!(row["metric"].as_str(), Some("latency" | "bandwidth")),
            "{row}"
        );
        assert!(
            matches!(row["experiment"].as_str(), Some("latency" | "one-way")),
            "{row}"
        );
        assert!(matches!(row["unit"].as_str(), Some("us" | "Mb/s")), "{row}");
        assert_eq!(row["scheme"], "base");
        assert_eq!(row["role"], "predicted");
        assert!(row["value"].as_f64().unwrap() > 0.0, "{row}");
        assert_eq!(row["id"].is_null(), row["published"].is_null(), "{row}");
        assert_eq!(row["id"].is_null(), row["error_percent"].is_null(), "{row}");
    }
    for profile in ["tigon2-88mhz", "emp-thesis"] {
        for id in ["emp-001", "emp-002", "emp-004", "emp-005"] {
            let found = rows(&document)
                .iter()
                .filter(|row| row["id"] == id && row["profile"] == profile);
            assert_eq!(found.count(), 1, "{id} {profile}");
        }
    }
    assert_eq!(document["partial"], false);
}

/// What the project promises about the thesis's two headline numbers.
#[test]
fn the_thesis_profile_comes_near_the_thesis() {
    let document = json(&[
        "reproduce",
        "emp",
        "--quick",
        "--json",
        "--profile",
        "emp-thesis",
    ]);
    let value = |id: &str| {
        let row = rows(&document).iter().find(|row| row["id"] == id).unwrap();
        row["value"].as_f64().unwrap()
    };
    let latency = value("emp-004");
    assert!((latency / 24.31 - 1.0).abs() < 0.15, "{latency} us");
    // One frame's receive work of 10.50 + 2.75 + 2.50 / 3 us bounds the bandwidth at 844 Mb/s.
    let bandwidth = value("emp-005");
    assert!((bandwidth / 844.0 - 1.0).abs() < 0.05, "{bandwidth} Mb/s");
}

/// The spans of a ledger add up to the whole, exactly.
#[test]
fn the_ledger_adds_up() {
    let document = json(&["reproduce", "emp", "--figure", "emp-004", "--json"]);
    for ledger in document["ledgers"].as_array().unwrap() {
        let spans = ledger["spans"].as_array().unwrap();
        let picoseconds = |us: &Value| (us.as_f64().unwrap() * 1e6).round() as u64;
        let sum: u64 = spans.iter().map(|span| picoseconds(&span[2])).sum();
        assert_eq!(sum, picoseconds(&ledger["total_us"]));
        assert!(spans.len() > 10);
    }
    assert_eq!(document["ledgers"].as_array().unwrap().len(), 2);
}

#[test]
fn one_figure_and_one_size() {
    let document = json(&["reproduce", "emp", "--figure", "emp-004", "--json"]);
    assert_eq!(rows(&document).len(), 2);
    let document = json(&["reproduce", "emp", "--size", "77", "--quick", "--json"]);
    assert_eq!(rows(&document).len(), 4);
    assert!(rows(&document).iter().all(|row| row["message_bytes"] == 77));
}

#[test]
fn files_are_written() {
    let folder = std::env::temp_dir().join(format!("lanigon-reproduce-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let output = lanigon(&["reproduce", "emp", "--size", "10", "--quick", "--out", path]);
    assert!(output.status.success(), "{output:?}");
    let csv = std::fs::read_to_string(folder.join("emp.csv")).unwrap();
    assert!(
        csv.lines().any(|line| line.starts_with("emp-004,latency,")),
        "{csv}"
    );
    let document = std::fs::read_to_string(folder.join("emp.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&document).is_ok());
    assert!(folder.join("emp.txt").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn wrong_requests_are_refused() {
    let check = |args: &[&str], expected: &str| {
        let output = lanigon(&[&["reproduce"], args].concat());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(output.stdout.is_empty());
    };
    check(&["gm"], "invalid value 'gm'");
    check(
        &["emp", "--size", "0"],
        "--size 0: a message has between 1 and",
    );
    check(&["emp", "--size", "2097153"], "--size 2097153");
    check(&["emp", "--size", "ten"], "ten");
    check(
        &["emp", "--figure", "emp-012"],
        "not reproduced by this version",
    );
    check(
        &["emp", "--figure", "figure-9"],
        "there is no such published number",
    );
    check(&["emp", "--profile", "nothing"], "nothing");
    check(
        &["emp", "--out", "/proc/nowhere/at/all"],
        "/proc/nowhere/at/all",
    );
    check(&["emp", "--quik"], "--quick");
    check(
        &["emp", "--max-time", "10", "--size", "10"],
        "the limit of simulated time",
    );
}
