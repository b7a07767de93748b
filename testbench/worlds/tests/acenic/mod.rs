//! The project's Ethernet firmware with an AceNIC driver, and invalid firmware.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod commands;
mod exchange;
mod filter;
mod link;
mod offload;
mod rings;
mod support;
