//! Timelines: contents, completeness, and absence of side effects.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod decoded;
mod kit;
#[cfg(feature = "perfetto")]
mod official;
mod shown;

/// Two nodes on a cable, followed by more text.
fn pair(more: &str) -> String {
    format!("[network]\ntopology = \"pair\"\n{more}")
}

/// A program with this many messages from node 0 to node 1.
fn stream(messages: u32, bytes: u32) -> String {
    format!(
        "[[program]]\nrun = \"stream\"\nfrom = 0\nto = 1\nmessages = {messages}\nbytes = {bytes}\n"
    )
}
