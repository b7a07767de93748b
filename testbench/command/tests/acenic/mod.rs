//! The command `lanigon acenic`.

mod bad;
mod exchange;
mod good;
