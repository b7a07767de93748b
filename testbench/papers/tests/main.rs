//! Experiments.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod ardmar;
mod collectives;
mod determinism;
mod multicast;
mod verdicts;
