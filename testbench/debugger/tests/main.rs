//! Sessions of the debugger, and what gdb sees of them.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod debug;
mod gdb;
