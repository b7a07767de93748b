//! Collective operations of programs over GM: groups, the schedules of messages, and operations that hosts execute
//! (docs/collectives.md).
//!
//! * [`Group`] is an ordered list of endpoints. The place of an endpoint is its *rank*;
//! * [`schedule`] gives the messages of one rank for each algorithm. It does no communication;
//! * [`Host`] executes barriers, reductions and all-to-all broadcasts on the host, with plain sends and receives.

mod error;
mod group;
mod host;
mod messages;
pub mod schedule;
#[cfg(test)]
mod tests;
mod value;

pub use error::CollectiveError;
pub use group::{Endpoint, Group, GroupError, MOST_MEMBERS};
pub use host::{AllToAll, Barrier, Host, Settings, Shape};
pub use messages::buffer_bytes;
pub use schedule::ScheduleError;
pub use value::{Operation, Value, ValueError};
