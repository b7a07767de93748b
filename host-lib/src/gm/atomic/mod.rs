//! Atomic operations on words of other processes' memory, and locks on them (docs/gm-atomics.md): executed by the target's board
//! ([`Atomics`]), or by a process there ([`Requests`] to a [`Server`]).
//!
//! ```no_run
//! use host_lib::gm::atomic::{AtomicOperation, Atomics, Executor, Word};
//! # use host_lib::gm::Gm;
//! # use host_lib::window::VirtualAddress;
//! # async fn example(mut gm: Gm) -> Result<(), Box<dyn std::error::Error>> {
//! let counter = Word { node: 0, port: 2, address: VirtualAddress(0x7000_0000) };
//! let mut atomics = Atomics::new(2);
//! let before = atomics.execute(&mut gm, counter, AtomicOperation::FetchAdd(1)).await?;
//! # let _ = before; Ok(())
//! # }
//! ```

mod guard;
mod lock;
mod memory;
mod message;
mod requests;
mod server;

use std::collections::VecDeque;
use std::future::Future;

use defs::gm::atomic::{ATOMIC, ATOMIC_COUNT, Atomic, DIRECT_DONE};
use defs::gm::port::{SEND_SLOTS, send_slot};
use thiserror::Error;

pub use guard::Guard;
pub use lock::{Lock, LockError, Member};
pub use requests::{RequestError, Requests};
pub use server::{Server, Wait};

use super::call::Call;
use super::collective::{BoardOperation, PostError};
use super::{Buffer, Event, Gm, MemoryError, ReceiveError, SendError, Status};
use crate::window::{MemoryWatch, System, VirtualAddress};

/// A word of 32 bits of a process's memory, big-endian.
///
/// The process must have [registered](Gm::register) it and must [allow](Gm::allow_remote_memory_access) others to use its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Word {
    /// Node whose memory has the word.
    pub node: u16,
    /// A port of the process.
    pub port: u8,
    /// Address of the word in the process's memory, a multiple of 4.
    pub address: VirtualAddress,
}

impl Word {
    /// The word so many words behind.
    #[must_use]
    pub const fn after(self, words: u64) -> Self {
        Self {
            address: VirtualAddress(self.address.0 + 4 * words),
            ..self
        }
    }
}

/// Effect of an operation on its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtomicOperation {
    /// A number is added, modulo 2^32.
    FetchAdd(u32),
    /// A value takes its place.
    FetchWrite(u32),
    /// A value takes its place if the word has another one.
    CompareSwap {
        /// The value that it must have.
        expected: u32,
        /// The value that it gets.
        new: u32,
    },
}

impl AtomicOperation {
    /// Number of the operation, operand, compared value: the words of the post.
    const fn words(self) -> (Atomic, u32, u32) {
        match self {
            Self::FetchAdd(operand) => (Atomic::FetchAdd, operand, 0),
            Self::FetchWrite(operand) => (Atomic::FetchWrite, operand, 0),
            Self::CompareSwap { expected, new } => (Atomic::CompareSwap, new, expected),
        }
    }

    /// The word after the operation, from the one before.
    #[must_use]
    pub const fn apply(self, before: u32) -> u32 {
        let (operation, operand, compared) = self.words();
        Atomic::apply(operation as u32, before, operand, compared)
    }
}

/// An operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AtomicError {
    /// The operation was not posted.
    #[error(transparent)]
    Post(#[from] PostError),
    /// The events of the port.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
    /// A request was not sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// Memory for messages, or a word of the own node.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A request or an answer is not as it should be.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The board, or the server, ended it. After [`Status::TimedOut`] and [`Status::NodeUnreachable`] the word may have been changed.
    #[error("an atomic operation on {:#x} of node {}, port {}: {}", word.address.0, word.node, word.port, status.name())]
    Failed {
        /// The word of the operation.
        word: Word,
        /// The end of the operation.
        status: Status,
    },
}

impl Gm {
    /// Begins an atomic operation. At its end there is an [`Event::Completed`] whose value is the word before it, or whose status is
    /// [`Status::TryAgain`] if the board has too many operations at this node that are not answered: then nothing has happened.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    #[doc(alias = "gm_atomic_send_with_callback")]
    pub async fn post_atomic(
        &mut self,
        port: u8,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<BoardOperation, PostError> {
        let call = Call::Atomic(port);
        self.system.call_begins(&call);
        let posted = self.write_atomic(port, word, operation, None).await;
        self.system.call_returns(&call);
        posted
    }

    /// Begins an atomic operation whose result goes to `reply`, 8 bytes of registered memory at a multiple of 8: the word before it and,
    /// behind it, a word that is not 0 then. There is no event. [`end_direct`](Self::end_direct) tells how it ended.
    ///
    /// # Errors
    /// [`PostError`]; then nothing is posted.
    #[doc(alias = "gm_atomic_send_with_callback_direct")]
    pub async fn post_atomic_direct(
        &mut self,
        port: u8,
        word: Word,
        operation: AtomicOperation,
        reply: VirtualAddress,
    ) -> Result<BoardOperation, PostError> {
        if !reply.0.is_multiple_of(8) {
            return Err(PostError::Misaligned { address: reply });
        }
        self.regions.check(Buffer {
            address: reply,
            length: REPLY_BYTES,
        })?;
        let cleared = self.system.write_memory(reply, &[0; REPLY_BYTES as usize]);
        cleared.map_err(MemoryError::NotMapped)?;
        let call = Call::Atomic(port);
        self.system.call_begins(&call);
        let posted = self.write_atomic(port, word, operation, Some(reply)).await;
        self.system.call_returns(&call);
        posted
    }

    /// Status and word of an operation whose result went to `reply`, once it is there; its place is free then.
    ///
    /// # Errors
    /// [`AtomicError`].
    pub fn end_direct(
        &mut self,
        port: u8,
        posted: BoardOperation,
        reply: VirtualAddress,
    ) -> Result<Option<(Status, u32)>, AtomicError> {
        let flag = VirtualAddress(reply.0 + 4);
        let done = memory::read(self, flag).map_err(MemoryError::NotMapped)?;
        if done & DIRECT_DONE == 0 {
            return Ok(None);
        }
        let before = memory::read(self, reply).map_err(MemoryError::NotMapped)?;
        let port = self.port(port).map_err(PostError::Port)?;
        let token = port.operations.end(posted);
        port.free_sends.extend(token);
        let status = Status::from_code(done & 0xFF).unwrap_or(Status::InvalidParameter);
        Ok(Some((status, before)))
    }

    async fn write_atomic(
        &mut self,
        own: u8,
        word: Word,
        operation: AtomicOperation,
        reply: Option<VirtualAddress>,
    ) -> Result<BoardOperation, PostError> {
        let Word {
            node,
            port: target,
            address,
        } = word;
        if !address.0.is_multiple_of(4) {
            return Err(PostError::Misaligned { address });
        }
        if !self.has_collectives {
            return Err(PostError::Unsupported);
        }
        let mut free = (0..ATOMIC_COUNT as u8).map(BoardOperation::Atomic);
        let port = self.port(own)?;
        let posted = free.find(|operation| port.operations.is_free(*operation));
        let posted = posted.ok_or(PostError::Busy { port: own })?;
        self.take_token(own, posted)?;
        let port = self.port(own)?;
        let place = port.next_send_slot;
        port.next_send_slot = (place + 1) % SEND_SLOTS;
        let (kind, operand, compared) = operation.words();
        let number = match posted {
            BoardOperation::Atomic(number) => u32::from(number),
            _ => 0,
        };
        let target = u32::from(target).min(0x7F);
        let reply = reply.map_or(0, |reply| reply.0);
        let words = [
            (address.0 >> 32) as u32,
            address.0 as u32,
            operand,
            compared,
            (reply >> 32) as u32,
            reply as u32,
            number << 8 | kind as u32,
            u32::from(node) << 16 | target << 9 | ATOMIC,
        ];
        self.system.compute(self.overhead_ns).await;
        let slot = send_slot(own.into(), place);
        self.board.write_sram_burst(slot, &words).await;
        Ok(posted)
    }
}

/// Executes atomic operations, one after the other.
pub trait Executor: Send {
    /// Executes an operation; the word before it.
    ///
    /// # Errors
    /// [`AtomicError`].
    fn execute(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> impl Future<Output = Result<u32, AtomicError>> + Send;
}

/// Executes atomic operations of a port on the targets' boards. Other events of the port are kept for the program.
#[derive(Debug)]
pub struct Atomics {
    port: u8,
    others: VecDeque<Event>,
    /// Memory for the results of operations that bring no event.
    reply: Option<VirtualAddress>,
}

/// Bytes of a result that goes into memory: the word before the operation, and whether it is there.
pub const REPLY_BYTES: u32 = 8;
/// Description of the polls for such a result.
const NO_RESULT: &str = "the result of an atomic operation";

/// Pause before an operation is posted again for which the board had no place, in ns.
const AGAIN_NS: u64 = 2_000;

impl Atomics {
    /// For an open port.
    #[must_use]
    pub const fn new(port: u8) -> Self {
        Self {
            port,
            others: VecDeque::new(),
            reply: None,
        }
    }

    /// For an open port; results go into memory, without events.
    ///
    /// # Errors
    /// [`MemoryError`].
    pub fn direct(gm: &mut Gm, port: u8) -> Result<Self, MemoryError> {
        let reply = gm.allocate_dma(REPLY_BYTES)?;
        Ok(Self {
            reply: Some(reply.address),
            ..Self::new(port)
        })
    }

    /// Executes an operation; its status and the word before it.
    async fn once(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<(Status, u32), AtomicError> {
        let Some(reply) = self.reply else {
            let posted = gm.post_atomic(self.port, word, operation).await?;
            return self.wait(gm, posted).await;
        };
        let posted = gm
            .post_atomic_direct(self.port, word, operation, reply)
            .await?;
        let done = MemoryWatch {
            address: VirtualAddress(reply.0 + 4),
            // In the host's order.
            mask: DIRECT_DONE.swap_bytes(),
            expected: DIRECT_DONE.swap_bytes(),
        };
        loop {
            if let Some(end) = gm.end_direct(self.port, posted, reply)? {
                return Ok(end);
            }
            let polled = gm.system_mut().poll_memory(done, None, NO_RESULT).await;
            polled.map_err(|_| MemoryError::NotMapped(reply))?;
        }
    }

    async fn wait(
        &mut self,
        gm: &mut Gm,
        posted: BoardOperation,
    ) -> Result<(Status, u32), AtomicError> {
        loop {
            match gm.receive(self.port).await? {
                Event::Completed(end) if end.operation == posted => {
                    return Ok((end.status, end.value as u32));
                }
                other => self.others.push_back(other),
            }
        }
    }

    /// The oldest other event of the port that came meanwhile.
    pub fn other(&mut self) -> Option<Event> {
        self.others.pop_front()
    }
}

impl Executor for Atomics {
    async fn execute(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<u32, AtomicError> {
        loop {
            let (status, before) = self.once(gm, word, operation).await?;
            match status {
                Status::Success => return Ok(before),
                Status::TryAgain => gm.system_mut().compute(AGAIN_NS).await,
                _ => return Err(AtomicError::Failed { word, status }),
            }
        }
    }
}
