//! The EMP protocol on a small network of NICs without hardware: exchanges, faults, and the guarantees that
//! hold under any faults.
//!
//! `emulator/tests/lanai/emp.rs` runs the tests as code for the LANai too (`target_os = "none"`), without those of `proptest`, which needs
//! atomic operations and a host.

mod common;
mod control;
mod exchange;
mod faults;
mod flow;
mod found;
mod hosts;
mod network;
#[cfg(not(target_os = "none"))]
mod schedule;
mod schemes;
mod service;
mod timeouts;
