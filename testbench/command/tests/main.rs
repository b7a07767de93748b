//! The `lanigon` command, end to end, and the project's rules.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod acenic;
mod browser;
mod cases;
mod cli;
mod debug;
#[allow(
    dead_code,
    reason = "shared with the tests of lanigon-timeline, which use more of it"
)]
#[path = "../../timeline/tests/decoded.rs"]
mod decoded;
mod failed;
mod figures;
mod files;
mod gdb;
mod gm;
mod hostile;
mod installed;
mod lanai;
mod limits;
mod linux;
#[cfg(feature = "mpi")]
mod mpi;
mod mpi_programs;
mod myrinet;
mod names;
mod optional_tools;
mod ranks;
mod reproduce;
mod room;
mod rules;
mod run;
mod schema;
mod shown;
mod socket_programs;
mod start;
mod stripped;
mod sweep;
mod timeline;
mod tools;
mod trace;
mod tutorial;

/// A scenario of two connected nodes, followed by `more`.
fn pair(more: &str) -> String {
    format!("[network]\ntopology = \"pair\"\n{more}")
}

/// A program that sends `messages` messages from node 0 to node 1.
fn stream(messages: u32, bytes: u32) -> String {
    format!(
        "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = {messages}\nbytes = {bytes}\n"
    )
}

/// Standard output of the program.
#[track_caller]
fn command_output(arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lanigon"));
    let output = command
        .args(arguments)
        .env_remove("RUST_LOG")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}
