//! Errors of collective operations.

use thiserror::Error;

use super::board::PostError;
use super::group::Endpoint;
use super::schedule::ScheduleError;
use super::value::ValueError;
use super::vector::VectorError;
use crate::gm::channel::ChannelError;
use crate::gm::{MemoryError, PortError, ReceiveError, SendError, Status};

/// A collective operation failed. The members do not agree any more on what comes next: none of them should go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CollectiveError {
    /// The schedule cannot be made.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The values of a reduction.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// An operation is not posted to the board.
    #[error(transparent)]
    Post(#[from] PostError),
    /// Memory of vectors.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// The board has ended an operation.
    #[error("the board has ended an operation: {}", status.name())]
    Board {
        /// Status with which the operation ended.
        status: Status,
    },
    /// There was no event of the board in time.
    #[error("no operation ended for {} us", waited_ns / 1000)]
    Silent {
        /// The limit, in ns.
        waited_ns: u64,
    },
    /// The own port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Memory for buffers.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A send was refused.
    #[error(transparent)]
    Send(#[from] SendError),
    /// A receive was refused.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// There was no event in time.
    #[error("no message came from rank {from} for {} us", waited_ns / 1000)]
    TimedOut {
        /// The rank whose message was waited for.
        from: usize,
        /// The limit, in ns.
        waited_ns: u64,
    },
    /// The sends of an operation were not complete in time.
    #[error("sends were not complete after {} us", waited_ns / 1000)]
    Unsent {
        /// The limit, in ns.
        waited_ns: u64,
    },
    /// A send failed.
    #[error("a message to rank {to} failed: {}", status.name())]
    Failed {
        /// The rank.
        to: usize,
        /// The status of the send.
        status: Status,
    },
    /// The board has refused something (`Event::Violation`), or reports an alarm that was not set.
    #[error("the port has an event that no collective operation causes")]
    Unexpected,
    /// A message from an endpoint that is no member.
    #[error("a message from {0}, which is no member")]
    Stranger(Endpoint),
    /// A message that none of these operations sends.
    #[error("rank {from} sent a message that belongs to no operation")]
    Damaged {
        /// The sender.
        from: usize,
    },
    /// The other member executes another operation.
    #[error("rank {from} executes another operation")]
    Different {
        /// The sender.
        from: usize,
    },
    /// The blocks of the members have different lengths.
    #[error("rank {from} sent {bytes} bytes, not {expected}: all blocks have one length")]
    Length {
        /// The sender.
        from: usize,
        /// Bytes of the message.
        bytes: usize,
        /// Bytes that were expected.
        expected: usize,
    },
    /// The message is longer than the buffers.
    #[error("a message of {bytes} bytes is longer than the buffers of {room}")]
    TooLong {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes of a buffer.
        room: u32,
    },
}

impl From<ChannelError> for CollectiveError {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Port(error) => Self::Port(error),
            ChannelError::Memory(error) => Self::Memory(error),
            ChannelError::Send(error) => Self::Send(error),
            ChannelError::Receive(error) => Self::Receive(error),
            ChannelError::TooLong { bytes, room } => Self::TooLong { bytes, room },
        }
    }
}
