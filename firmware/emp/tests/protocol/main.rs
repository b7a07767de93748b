//! The EMP protocol on a small network of NICs without hardware: exchanges, and what goes wrong.

mod common;
mod control;
mod exchange;
mod faults;
