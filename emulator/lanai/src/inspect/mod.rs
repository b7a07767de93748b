//! The board as tools see it.

mod debugger;
pub mod instruction_log;
pub mod names;
