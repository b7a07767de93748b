//! Cycle-approximate emulation of programmable NICs.
//!
//! ARCHITECTURE.md tells how the parts fit together; [`tigon2`] is the first board.
#![deny(missing_docs)]

pub mod cpu;
pub mod sim;
