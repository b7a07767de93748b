//! Collective operations of programs over GM: groups, the schedules of messages, and operations that hosts execute
//! (docs/collectives.md).
//!
//! * [`Group`] is an ordered list of endpoints. The place of an endpoint is its *rank*;
//! * [`schedule`] gives the messages of one rank for each algorithm. It does no communication.

mod board;
mod group;
pub mod schedule;
#[cfg(test)]
mod tests;

pub(in crate::gm) use board::Operations;
pub use board::{BoardOperation, Completed, PostError, Reduction};
pub use group::{Endpoint, Group, GroupError, MOST_MEMBERS};
pub use schedule::ScheduleError;
