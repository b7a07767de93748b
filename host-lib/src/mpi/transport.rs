//! The interface to networks that carry packets between processes.

use std::future::Future;

use defs::gm::collective::Operation;
use thiserror::Error;

use crate::gm::ChannelError;
use crate::window::{Computation, SignalHandler};

/// The network below failed. No process should go on with the library after that.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TransportError {
    /// GM refused something.
    #[error(transparent)]
    Gm(#[from] ChannelError),
    /// EMP refused a transfer.
    #[error(transparent)]
    Emp(#[from] crate::emp::PostError),
    /// The list of processes.
    #[error("{0}")]
    Ranks(String),
    /// A packet that the library has not sent.
    #[error("a packet from {0}, which the library has not sent")]
    Stranger(String),
    /// An event that the library has not asked for.
    #[error("the port has an event that the library has not asked for")]
    Unexpected,
    /// Boards of this network execute no collective operations.
    #[error("the boards of this network execute no collective operations")]
    NoCollectives,
    /// The boards or hosts of the network raise no signals.
    #[error("the boards or the hosts of this network have no signals")]
    NoSignals,
    /// A collective operation of the boards.
    #[error(transparent)]
    Collective(#[from] crate::gm::collective::CollectiveError),
    /// No more memory for buffers.
    #[error("there is no contiguous memory of {bytes} bytes for a message")]
    NoMemory {
        /// Bytes of the missing memory.
        bytes: usize,
    },
}

/// Event on the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A packet has come in. Packets of one sender and one delivery come in the order in which they were posted. It is in the network's
    /// buffer: its copy is charged by the library ([`Transport::charge_arrival`]).
    Packet {
        /// Rank of its sender.
        from: usize,
        /// Header and content.
        bytes: Vec<u8>,
    },
    /// A transfer into memory that was prepared for it is complete.
    Landed {
        /// Name of the memory.
        landing: u64,
        /// Bytes of the message.
        bytes: Vec<u8>,
    },
    /// An own transfer is complete.
    Transferred {
        /// Name of the transfer.
        transfer: u64,
    },
    /// Something sent to a rank did not arrive, and nothing sent to it will.
    Failed {
        /// The rank.
        to: usize,
        /// The reason, as text.
        why: String,
    },
    /// A collective operation that was [begun](Transport::begin_collective) has ended.
    CollectiveEnded {
        /// Name of the operation.
        name: u64,
        /// Result of the operation.
        result: BoardResult,
    },
    /// Something else, for instance a buffer that can be used again.
    Progress,
}

/// Result of a collective operation of boards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardResult {
    /// Bits of a reduced value, where the rank gets it; else 0.
    Value(u64),
    /// The blocks of all ranks, in their order.
    Blocks(Vec<u8>),
}

/// Collective operation of all ranks that boards execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardCollective {
    /// Ends when all ranks have begun it.
    Barrier,
    /// Gives all ranks the result of the values of all.
    AllReduce {
        /// Operation on the values.
        operation: Operation,
        /// Bits of the own value.
        value: u64,
    },
    /// Gives one rank the result of the values of all. For the others it ends when they need not take part any more.
    Reduce {
        /// Rank that gets the result.
        root: usize,
        /// Operation on the values.
        operation: Operation,
        /// Bits of the own value.
        value: u64,
    },
    /// Gives all ranks the blocks of all, which have one length, up to [`board_block_bytes`](Transport::board_block_bytes).
    AllGather {
        /// The own block.
        block: Vec<u8>,
    },
}

/// Way in which the target of a packet learns of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivery {
    /// When it looks.
    Quiet,
    /// By a signal, if it has signals now.
    Signal,
}

/// A network between processes, which are named by their ranks.
///
/// Short messages are packets, which are copied on both sides. A long message goes from memory to memory: the receiver prepares memory for it
/// ([`land`](Self::land)) and tells its name to the sender, which then [transfers](Self::transfer) the bytes.
pub trait Transport: Send {
    /// Number of processes.
    fn size(&self) -> usize;

    /// The own rank.
    fn rank(&self) -> usize;

    /// Messages up to so many bytes are packets; longer ones are transferred when their receive has begun.
    fn eager_bytes(&self) -> usize;

    /// Posts a packet of up to [`eager_bytes`](Self::eager_bytes) behind the header, to another rank. `false` if there is no room for it
    /// now: then arrivals have to be taken.
    fn post(
        &mut self,
        to: usize,
        delivery: Delivery,
        header: &[u8],
        content: &[u8],
    ) -> impl Future<Output = Result<bool, TransportError>> + Send;

    /// Waits for the next arrival for `limit_ns` at most; `None` if there is none in time.
    fn next(
        &mut self,
        limit_ns: u64,
    ) -> impl Future<Output = Result<Option<Arrival>, TransportError>> + Send;

    /// Takes the next arrival if there is one now.
    fn poll(&mut self) -> impl Future<Output = Result<Option<Arrival>, TransportError>> + Send;

    /// Prepares memory for a transfer of `length` bytes from a rank; gives its name.
    fn land(
        &mut self,
        from: usize,
        length: usize,
    ) -> impl Future<Output = Result<u64, TransportError>> + Send;

    /// Begins a transfer into memory of another rank; gives its own name. `None` if there is no room for it now.
    fn transfer(
        &mut self,
        to: usize,
        landing: u64,
        bytes: &[u8],
    ) -> impl Future<Output = Result<Option<u64>, TransportError>> + Send;

    /// Waits in a barrier of these ranks that the boards execute, for `limit_ns` at most; `false` if it has not ended. All members call it.
    ///
    /// # Errors
    /// [`TransportError::NoCollectives`] where boards execute none.
    fn barrier(
        &mut self,
        _members: &[usize],
        _limit_ns: u64,
    ) -> impl Future<Output = Result<bool, TransportError>> + Send {
        std::future::ready(Err(TransportError::NoCollectives))
    }

    /// Begins a barrier of these ranks that the boards execute, as [`begin_collective`](Self::begin_collective) does.
    ///
    /// # Errors
    /// [`TransportError::NoCollectives`] where boards execute none.
    fn begin_barrier(
        &mut self,
        _members: &[usize],
    ) -> impl Future<Output = Result<Option<u64>, TransportError>> + Send {
        std::future::ready(Err(TransportError::NoCollectives))
    }

    /// Begins an operation of all ranks that the boards execute, and gives its name; [`Arrival::CollectiveEnded`] tells its end. `None` if there is
    /// no room for it now: then arrivals have to be taken. All ranks begin the same operations in the same order.
    ///
    /// # Errors
    /// [`TransportError::NoCollectives`] where boards execute none.
    fn begin_collective(
        &mut self,
        _collective: &BoardCollective,
    ) -> impl Future<Output = Result<Option<u64>, TransportError>> + Send {
        std::future::ready(Err(TransportError::NoCollectives))
    }

    /// Longest block that boards gather, in bytes; 0 where they gather none.
    fn board_block_bytes(&self) -> usize {
        0
    }

    /// Lets packets of [`Delivery::Signal`] call a handler while signals are enabled. Gives a way to compute that leaves the transport to
    /// the handler.
    ///
    /// # Errors
    /// [`TransportError::NoSignals`] where there are none.
    fn on_signal(
        &mut self,
        _handler: SignalHandler,
    ) -> impl Future<Output = Result<Computation, TransportError>> + Send {
        std::future::ready(Err(TransportError::NoSignals))
    }

    /// Enables or disables signals. When they are enabled, a packet that comes after the return of this call is a signal; an earlier one
    /// may be none.
    ///
    /// # Errors
    /// [`TransportError::NoSignals`] where there are none.
    fn enable_signals(
        &mut self,
        _enabled: bool,
    ) -> impl Future<Output = Result<(), TransportError>> + Send {
        std::future::ready(Err(TransportError::NoSignals))
    }

    /// Takes a signal back: packets that come after the return of this call raise a new one.
    fn end_signal(&mut self) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Whether everything that was posted has left.
    fn is_flushed(&mut self) -> bool;

    /// Spends processor time.
    fn compute(&mut self, nanoseconds: u64) -> impl Future<Output = ()> + Send;

    /// Spends the processor time of a copy.
    fn charge_copy(&mut self, bytes: usize) -> impl Future<Output = ()> + Send;

    /// Spends the processor time that takes a packet with so many bytes out of the network's buffer.
    fn charge_arrival(&mut self, bytes: usize) -> impl Future<Output = ()> + Send;

    /// Time so far of the copies that the transport makes itself, in picoseconds.
    fn copied_ps(&self) -> u64;

    /// The time in picoseconds.
    fn now_ps(&self) -> u64;
}
