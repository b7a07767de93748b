//! Media, which join nodes, the units that travel on them, and faults.
//!
//! [`medium`] explains how media, boards and the simulation work together. [`ethernet`] is the first medium, [`myrinet`] the second.
#![deny(missing_docs)]

pub use emulator_base::{loss, unit};

pub mod ethernet;
pub mod fault;
pub mod lane;
pub mod medium;
pub mod myrinet;
pub mod network;
pub mod part;
pub mod port;
pub mod strikes;
