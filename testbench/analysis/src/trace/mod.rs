//! Traces: recording, reading, display, search, statistics and comparison.

pub mod diff;
pub mod filter;
pub mod grep;
pub mod instructions;
pub mod message;
pub mod names;
pub mod open;
pub mod record;
pub mod rows;
pub mod select;
pub mod stats;
pub mod time;

#[cfg(test)]
mod testing;
