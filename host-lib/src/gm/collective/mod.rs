//! Collective operations of programs over GM: groups, the schedules of messages, operations that hosts execute and operations
//! that boards execute (docs/collectives.md).
//!
//! * [`Group`] is an ordered list of endpoints. The place of an endpoint is its *rank*;
//! * [`schedule`] gives the messages of one rank for each algorithm. It does no communication;
//! * [`Host`] executes barriers, reductions and all-to-all broadcasts on the host, with plain sends and receives;
//! * [`Nic`] lets the board execute them, in the same way;
//! * [`Gm::post_vector`](super::Gm::post_vector) is a reduction of a vector, for which the host may compute in a light interrupt;
//! * [`Gm::post_exchange`](super::Gm::post_exchange), [`post_gather_broadcast`](super::Gm::post_gather_broadcast) and
//!   [`post_reduction`](super::Gm::post_reduction), [`post_all_to_all`](super::Gm::post_all_to_all) are its operations, which end with
//!   one event each.

mod board;
mod error;
mod gossip;
mod group;
mod host;
mod messages;
mod nic;
pub mod schedule;
#[cfg(test)]
mod tests;
mod value;
mod vector;

pub(in crate::gm) use board::Operations;
pub use board::{BoardOperation, Completed, PostError, Reduction};
pub use error::CollectiveError;
pub use gossip::{
    BoardGroup, Gossip, LARGE_GOSSIP_MEMBERS, LONGEST_BLOCK_BYTES, MOST_GOSSIP_MEMBERS,
    channel_bytes,
};
pub use group::{Endpoint, Group, GroupError, MOST_MEMBERS};
pub use host::{AllToAll, Barrier, Host, Settings, Shape, most_children};
pub use messages::buffer_bytes;
pub use nic::Nic;
pub use schedule::ScheduleError;
pub use value::{Operation, Value, ValueError};
pub use vector::{Arithmetic, TrapUse, Vector, VectorError};
