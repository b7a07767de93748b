//! The command `lanigon acenic`: successful runs.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use lanigon_worlds::images::image_folder;
use serde_json::Value;

use super::bad::acenic;

#[test]
fn a_good_run_is_one_document() {
    let output = acenic(
        &image_folder().join("acenic"),
        &[
            "--frames",
            "20",
            "--sram",
            "512",
            "--assist",
            "hw",
            "--negotiate",
            "--json",
        ],
    );
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document.as_object().unwrap().len(), 1);
    let nodes = document["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        for key in ["sent", "received"] {
            assert_eq!(node[key], 20, "{key}");
        }
        for key in ["corrupted", "dropped"] {
            assert_eq!(node[key], 0, "{key}");
        }
        assert_eq!(node["fw_version"], Value::Null, "ELF");
        let running = node["fw_running_us"].as_f64().unwrap();
        assert!(node["link_up_us"].as_f64().unwrap() > running);
        let names: Vec<_> = node["events"]
            .as_array()
            .unwrap()
            .iter()
            .map(|event| event["event"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["firmware_running", "link_up", "statistics_updated"]);
        assert!(node["interrupts"].as_u64().unwrap() > 2);
        assert_eq!(node["stats"]["if_hc_in_ucast_pkts"], 20);
    }
}

#[test]
fn a_built_in_image_has_a_name() {
    let output = acenic(Path::new("acenic"), &["--frames", "2"]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
}

#[test]
fn the_trace_of_a_run_is_written() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("acenic-trace.txt");
    let options = ["--frames", "5", "--trace", path.to_str().unwrap()];
    let output = acenic(&image_folder().join("acenic"), &options);
    assert_eq!(output.status.code(), Some(0));
    let trace = std::fs::read_to_string(&path).unwrap();
    for line in [
        "n0 cpu_a     started at",
        "n1 cpu_a     started at",
        "interrupt 1",
        "interrupt taken",
    ] {
        assert!(trace.contains(line), "{line}");
    }
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(
        report.ends_with("all frames arrived as they were sent\n"),
        "{report}"
    );
}

#[test]
fn a_trace_that_cannot_be_written_is_named() {
    let output = acenic(
        &image_folder().join("acenic"),
        &["--frames", "5", "--trace", "/dev/full"],
    );
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with("error: /dev/full: No space"),
        "{message}"
    );
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("all frames arrived"), "{report}");
}

#[test]
fn an_interrupt_leaves_what_there_is() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(["acenic", "--frames", "1000000", "--firmware"])
        .arg(image_folder().join("acenic"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.ends_with("node 0: the firmware runs"), "{first}");
    let id = child.id().to_string();
    // Two signals in quick succession count as one.
    let killed = Command::new("kill").args(["-INT", &id, &id]).status();
    assert!(killed.expect("kill runs").success());
    let rest: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let status = child.wait().expect("the binary ends");
    assert_eq!(status.code(), Some(130));
    assert!(
        rest.iter().any(|line| line.starts_with("node 1: ")),
        "{rest:?}"
    );
    assert_eq!(
        rest.last().map(String::as_str),
        Some("not finished: interrupted")
    );
}
