//! The EMP protocol on a small network of NICs without hardware: exchanges, faults, and the guarantees that
//! hold under any faults.

mod common;
mod control;
mod exchange;
mod faults;
mod flow;
mod found;
mod hosts;
mod network;
mod schedule;
mod schemes;
mod service;
mod timeouts;
