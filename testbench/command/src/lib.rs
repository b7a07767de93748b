//! The `lanigon` command and its benchmarks.

pub mod bench;
pub mod cli;
pub mod commands;
pub mod interrupt;
pub mod logging;
pub mod output;
pub mod progress;
