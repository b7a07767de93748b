//! Runs of control programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::mailbox;

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).expect("a writable folder");
    path
}

/// Runs the command to its end.
fn myrinet(file: &Path, board: &str, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lanigon"))
        .args(["myrinet", "--board", board, "--firmware"])
        .arg(file)
        .args(options)
        .env_remove("RUST_LOG")
        .output()
        .expect("the binary runs")
}

fn names(document: &Value) -> Vec<&str> {
    let milestones = document["milestones"].as_array().unwrap().iter();
    milestones
        .map(|milestone| milestone["milestone"].as_str().unwrap())
        .collect()
}

#[test]
fn a_mailbox_program_reaches_all_milestones() {
    let image = mailbox::image(mailbox::Fault::Nothing);
    let check = |prefix: &[u8], options: &[&str]| {
        let file = file("mailbox.bin", &[prefix, &image].concat());
        let output = myrinet(&file, "lanai4.3-33", options);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{text}");
        assert!(output.stderr.is_empty());
        text
    };
    let text = check(&[], &[]);
    assert!(text.ends_with("all milestones were reached\n"), "{text}");
    check(&[0x4F, 0xF8], &[]);
    let text = check(&[0; 8], &["--skip", "8", "--json"]);
    let document: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["identification"], "mcp-l4v3 test");
    let found = names(&document);
    for name in host_lib::myrinet::mailbox::MILESTONES {
        assert!(found.contains(name), "{name}");
    }
    assert_eq!(document["values"]["received_messages"], 2);
    assert_eq!(document["cpu"], Value::Null);
}
