//! Errors of the library.

use std::fmt;

use thiserror::Error;

use super::datatype::Operation;
use super::layout::LayoutError;
use super::transport::TransportError;

/// A call failed. Unless it was refused before anything was sent ([`MpiError::is_refusal`]), the processes do not agree any more on
/// what comes next: none of them should go on.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MpiError {
    /// The network.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// There is no such rank.
    #[error("there is no rank {rank} in a communicator of {size}")]
    #[doc(alias = "MPI_ERR_RANK")]
    Rank {
        /// The rank outside of the communicator.
        rank: usize,
        /// Ranks of the communicator.
        size: usize,
    },
    /// Tags of a program are not negative.
    #[error("tag {0} is negative")]
    #[doc(alias = "MPI_ERR_TAG")]
    Tag(i32),
    /// The message is longer than what the receive allows; the rest is lost.
    #[error("a message of {bytes} bytes does not fit a receive of {room}")]
    #[doc(alias = "MPI_ERR_TRUNCATE")]
    Truncated {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes of the receive.
        room: usize,
    },
    /// The message is no whole number of elements.
    #[error("a message of {bytes} bytes is no whole number of elements of {element}")]
    #[doc(alias = "MPI_ERR_TYPE")]
    Partial {
        /// Bytes of the message.
        bytes: usize,
        /// Bytes of an element.
        element: usize,
    },
    /// The members of a collective operation pass different numbers of elements.
    #[error("{call}: rank {from} sent {bytes} bytes, not {expected}")]
    #[doc(alias = "MPI_ERR_COUNT")]
    Count {
        /// The call.
        call: &'static str,
        /// The other rank.
        from: usize,
        /// Bytes of its message.
        bytes: usize,
        /// Bytes that were expected.
        expected: usize,
    },
    /// A collective call gets data of a wrong length.
    #[error("{call}: {elements} elements for {ranks} ranks")]
    Blocks {
        /// The call.
        call: &'static str,
        /// Elements of the call.
        elements: usize,
        /// Ranks of the communicator.
        ranks: usize,
    },
    /// The members execute different collective operations, or the same ones in different orders.
    #[error("{call}: rank {from} is in another collective operation")]
    Different {
        /// The call.
        call: &'static str,
        /// The other rank.
        from: usize,
    },
    /// The element type does not have the operation.
    #[error("the type of the elements has no operation {0:?}")]
    #[doc(alias = "MPI_ERR_OP")]
    Operation(Operation),
    /// A layout does not fit its array.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A message is longer than the library can send.
    #[error("a message of {0} bytes is longer than 2^31 - 1")]
    TooLong(usize),
    /// The other process has no memory for a long message that its board can use.
    #[error(
        "rank {rank} has no memory for a message of {bytes} bytes, or no place for it in its page table"
    )]
    NoMemory {
        /// Rank of the other process in the communicator.
        rank: usize,
        /// Bytes of the message.
        bytes: usize,
    },
    /// The library has no such request any more.
    #[error("the request has ended already")]
    #[doc(alias = "MPI_ERR_REQUEST")]
    Request,
    /// No arrival came in time: a process has ended, or the program has a deadlock.
    #[error("rank {rank} waits for {waited_us} us in {wait}")]
    TimedOut {
        /// The own rank.
        rank: usize,
        /// The awaited action of another process.
        wait: Wait,
        /// For so long, in us.
        waited_us: u64,
    },
    /// A process cannot be reached any more.
    #[error("rank {rank} cannot be reached: {why}")]
    Lost {
        /// Rank of the process among all processes.
        rank: usize,
        /// The reason, as text.
        why: String,
    },
    /// A packet cannot be read.
    #[error("rank {from} sent a packet that cannot be read")]
    Damaged {
        /// The sender.
        from: usize,
    },
    /// The library is in use: a handler called it in the midst of a call.
    #[error("the library is in use")]
    Busy,
}

impl MpiError {
    /// Whether the call was refused before anything was sent: the program can go on.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Rank { .. }
                | Self::Tag(_)
                | Self::Blocks { .. }
                | Self::Operation(_)
                | Self::Layout(_)
                | Self::TooLong(_)
                | Self::Request
                | Self::Busy
        )
    }
}

/// A call in which a process waits, and its partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The call.
    pub call: &'static str,
    /// The other process.
    pub partner: Partner,
    /// The tag; `None`: any. Collective operations have none either.
    pub tag: Option<i32>,
}

/// The process that must act before another one can go on. Ranks are those of the communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partner {
    /// The sender of a message; `None`: any.
    Sender(Option<usize>),
    /// The receiver of a message.
    Receiver(usize),
    /// One of several: the call says which.
    Several,
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.call)?;
        match self.partner {
            Partner::Sender(Some(rank)) => write!(f, " for rank {rank}")?,
            Partner::Sender(None) => write!(f, " for any rank")?,
            Partner::Receiver(rank) => write!(f, " to rank {rank}")?,
            Partner::Several => {}
        }
        match self.tag {
            Some(tag) if tag >= 0 => write!(f, ", tag {tag}"),
            _ => Ok(()),
        }
    }
}
