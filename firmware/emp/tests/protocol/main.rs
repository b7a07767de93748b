//! The EMP protocol on a small network of NICs without hardware: exchanges, what goes wrong, and what
//! holds whatever goes wrong.

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
