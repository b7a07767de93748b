//! Errors of sockets.

use thiserror::Error;

use super::Address;
use crate::mpi::TransportError;

/// Reasons for which a call on a socket fails.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SocketError {
    /// No socket listens there.
    #[error("{0} refuses the connection")]
    Refused(Address),
    /// The other side has closed the connection with data unread, or sends what is no part of it.
    #[error("the connection was reset by {0}")]
    Reset(Address),
    /// The connection is closed for writing.
    #[error("the connection to {0} is closed for writing")]
    Broken(Address),
    /// The other side does not answer any more.
    #[error("{0} does not answer: {1}")]
    Unreachable(Address, String),
    /// No packet has come for the longest time that a wait takes.
    #[error("nothing has come for {:?}", std::time::Duration::from_nanos(*.0))]
    TimedOut(u64),
    /// The port has another owner.
    #[error("port {0} is in use")]
    PortInUse(u16),
    /// No port is free.
    #[error("no port is free")]
    NoPort,
    /// No process has this rank.
    #[error("there is no rank {0}")]
    NoRank(usize),
    /// The connection is not set up yet.
    #[error("the connection to {0} is not set up")]
    NotConnected(Address),
    /// The socket was closed, or never existed.
    #[error("no such socket")]
    NoSocket,
    /// The stream ends before so many bytes.
    #[error("the stream has ended {missing} bytes early")]
    Ended {
        /// Number of the missing bytes.
        missing: usize,
    },
    /// The network below. No call will succeed after that.
    #[error(transparent)]
    Network(#[from] TransportError),
}
