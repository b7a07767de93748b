//! Tests of traces, captures, messages, ledgers and profiles.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod capture;
mod instructions;
mod messages;
#[path = "../../command/tests/tools.rs"]
mod tools;
