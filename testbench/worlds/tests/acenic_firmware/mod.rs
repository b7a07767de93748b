//! The project's AceNIC firmware, driven by the host library's AceNIC driver. The wire's other end is
//! the test; `lanigon acenic` joins two boards.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod boot;
mod command;
mod link;
mod rates;
mod receive;
mod robust;
mod send;
mod support;
