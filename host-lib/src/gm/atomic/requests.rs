//! Atomic operations that [`Server`](super::Server)s execute.

use defs::gm::event::Status;
use defs::gm::port::SEND_TOKENS;
use thiserror::Error;

use super::message::{Answer, Ask};
use super::server::{ANSWER_SIZE, buffers, content, send};
use super::{AtomicError, AtomicOperation, Executor, Word, memory};
use crate::gm::collective::PostError;
use crate::gm::{Buffer, Event, Gm, MemoryError, Priority, ReceivedMessage, SendId};
use crate::window::System;

/// Receive buffers: an answer comes into one of them while others are provided again.
const ANSWERS: u32 = 4;
/// Send buffers: one for each send token, since requests are acknowledged late.
const ASKS: u32 = SEND_TOKENS;

/// A request of an atomic operation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RequestError {
    /// A message is no request, or no answer.
    #[error("a message of node {node} is no request of an atomic operation and no answer to one")]
    Damaged {
        /// Node that sent the message.
        node: u16,
    },
    /// An event of something else that uses the port.
    #[error(
        "an event of the port belongs neither to a request of an atomic operation nor to an answer"
    )]
    Unexpected,
}

/// Asks servers for atomic operations, one after the other. The port is used for nothing else.
#[derive(Debug)]
pub struct Requests {
    port: u8,
    number: u32,
    free: Vec<Buffer>,
    under_way: Vec<(SendId, Buffer)>,
    /// Answers whose buffers the board does not have.
    taken: Vec<ReceivedMessage>,
}

impl Requests {
    /// Prepares an open port.
    ///
    /// # Errors
    /// [`AtomicError`].
    pub async fn new(gm: &mut Gm, port: u8) -> Result<Self, AtomicError> {
        let mut all = buffers(gm, ANSWERS + ASKS)?;
        let free = all.split_off(ANSWERS as usize);
        for buffer in all {
            gm.provide_receive_buffer(port, buffer, ANSWER_SIZE, Priority::Low, 0)
                .await?;
        }
        Ok(Self {
            port,
            number: 0,
            free,
            under_way: Vec::new(),
            taken: Vec::new(),
        })
    }

    /// Waits until all requests have been acknowledged.
    ///
    /// # Errors
    /// [`AtomicError`].
    pub async fn flush(&mut self, gm: &mut Gm) -> Result<(), AtomicError> {
        while !self.under_way.is_empty() {
            if self.event(gm, None).await?.is_some() {
                return Err(RequestError::Unexpected.into());
            }
        }
        Ok(())
    }

    /// Takes the next event; the answer that it brings. A request to `word` that fails is an error.
    async fn event(
        &mut self,
        gm: &mut Gm,
        asked: Option<(SendId, Word)>,
    ) -> Result<Option<Answer>, AtomicError> {
        match gm.receive(self.port).await? {
            Event::Received(message) => {
                let bytes = content(gm, &message)?;
                let node = message.node;
                gm.system_mut().charge_copy(bytes.len()).await;
                self.taken.push(message);
                let answer = Answer::from_bytes(&bytes).ok_or(RequestError::Damaged { node })?;
                Ok(Some(answer))
            }
            Event::Sent(all) => {
                for (id, status) in all {
                    if let Some(at) = self.under_way.iter().position(|(known, _)| *known == id) {
                        self.free.push(self.under_way.swap_remove(at).1);
                    }
                    match asked {
                        Some((own, word)) if own == id && status != Status::Success => {
                            return Err(AtomicError::Failed { word, status });
                        }
                        _ => {}
                    }
                }
                Ok(None)
            }
            Event::Alarm(_) => Ok(None),
            Event::Completed(_) | Event::Violation(_) => Err(RequestError::Unexpected.into()),
        }
    }

    async fn ask(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<u32, AtomicError> {
        let buffer = loop {
            match self.free.pop() {
                Some(buffer) => break buffer,
                None => match self.event(gm, None).await? {
                    None => {}
                    Some(_) => return Err(RequestError::Unexpected.into()),
                },
            }
        };
        self.number = self.number.wrapping_add(1);
        let ask = Ask {
            number: self.number,
            operation,
            address: word.address,
        };
        let to = (word.node, word.port);
        let id = send(
            gm,
            self.port,
            buffer,
            &ask.bytes(),
            super::server::ASK_SIZE,
            to,
        )
        .await?;
        self.under_way.push((id, buffer));
        // While the request is on its way.
        for message in self.taken.drain(..) {
            gm.unknown(self.port, Event::Received(message)).await?;
        }
        loop {
            match self.event(gm, Some((id, word))).await? {
                None => {}
                Some(answer) if answer.number != self.number => {
                    return Err(RequestError::Unexpected.into());
                }
                Some(answer) if answer.status == Status::Success => return Ok(answer.before),
                Some(Answer { status, .. }) => return Err(AtomicError::Failed { word, status }),
            }
        }
    }
}

impl Executor for Requests {
    /// Words of the own node are memory that this process shares with its server: a locked instruction of the processor changes them.
    async fn execute(
        &mut self,
        gm: &mut Gm,
        word: Word,
        operation: AtomicOperation,
    ) -> Result<u32, AtomicError> {
        let Word { node, address, .. } = word;
        if !address.0.is_multiple_of(4) {
            return Err(PostError::Misaligned { address }.into());
        }
        if node != gm.node() {
            return self.ask(gm, word, operation).await;
        }
        let done = memory::execute(gm, address, operation);
        Ok(done.map_err(MemoryError::NotMapped)?)
    }
}
