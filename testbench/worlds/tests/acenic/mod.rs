//! The project's own Ethernet firmware, driven as an AceNIC driver drives it, and firmware that is none.
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
