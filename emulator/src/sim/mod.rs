//! Simulated time.

pub mod time;
