//! The project's AceNIC firmware with the host library's AceNIC driver. The test is the other end of the
//! wire; `lanigon acenic` connects two boards.
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
