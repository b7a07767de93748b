//! The board as tools see it.

mod debugger;
pub mod names;
