//! `lanigon gdb`: packets, the server, and gdb itself if installed.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

#[allow(
    dead_code,
    reason = "shared with the tests of lanigon-command, which use more of it"
)]
mod client;
mod packets;
mod robust;
mod steps;
mod support;
