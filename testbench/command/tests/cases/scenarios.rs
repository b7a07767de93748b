//! Scenarios in which something goes wrong, as `lanigon run` runs them: what is said, and the exit code.

use std::path::Path;
use std::process::Command;

use super::{missing, text};

struct Row {
    /// Of two nodes.
    topology: &'static str,
    /// How long the cable of node 1 is cut.
    cut: &'static str,
    code: i32,
    says: &'static [&'static str],
}

const ROWS: [Row; 3] = [
    Row {
        topology: "pair",
        cut: "for_us = 3000",
        code: 0,
        says: &["no others lost", "wire_link_cut 185", "all is done"],
    },
    Row {
        topology: "star",
        cut: "for_us = 3000",
        code: 0,
        says: &["no others lost", "wire_link_cut 244", "all is done"],
    },
    Row {
        topology: "pair",
        cut: "",
        code: 1,
        says: &[
            "128 under way",
            "node 0: frames waits for an interrupt",
            "NOTHING BUT TIMERS happened in the last 10 s",
        ],
    },
];

#[test]
fn frames_over_a_cut_cable() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cut-frames.toml");
    for Row {
        topology,
        cut,
        code,
        says,
    } in ROWS
    {
        let scenario = format!(
            "[network]\ntopology = \"{topology}\"\nnodes = 2\n\
             [[program]]\nrun = \"frames\"\nfrom = [0]\nto = 1\nframes = 2000\nbytes = 1514\n\
             [[fault]]\ndo = \"cut\"\nnodes = [1]\nat_us = 2000\n{cut}\n"
        );
        std::fs::write(&file, scenario).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_lanigon"));
        let output = command
            .arg("run")
            .arg(&file)
            .env_remove("RUST_LOG")
            .output()
            .unwrap();
        let printed = text(&output);
        assert_eq!(missing(says, &printed), <[&str; 0]>::default(), "{printed}");
        assert_eq!(output.status.code(), Some(code), "{printed}");
    }
}
