//! EMP end to end: host library, window, firmware as machine code, DMA, MAC, wire, and back.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bad_posts;
mod boundaries;
mod determinism;
mod ends;
#[path = "../../examples/emp_messages.rs"]
mod example;
mod exchange;
mod golden;
mod host_calls;
mod resets;
mod ring_order;
mod schemes;
mod situations;
mod streams;
mod support;
mod wire;
mod worlds;
