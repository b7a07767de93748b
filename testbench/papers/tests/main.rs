//! Experiments.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod collectives;
mod determinism;
mod dsm;
mod multicast;
mod verdicts;
