//! `lanigon gdb`: packets, the server, and the real gdb where it is installed.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod packets;
mod real;
mod robust;
mod server;
mod steps;
mod support;
