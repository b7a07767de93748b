//! Tests of debugger sessions and of the gdb server.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod debug;
mod gdb;
