//! Hosts: waits on memory and window, CPUs that several programs share, interrupts, and their snapshots. The board is a
//! script that writes host memory and raises the interrupt at exact times.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bench;
mod saved;
mod scheduling;
mod script;
mod signals;
mod stepped;
mod tapes;
mod waits;
