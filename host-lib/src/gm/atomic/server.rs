//! A process that executes atomic operations on memory of its own host, asked for by messages: what a program does on a board that
//! executes none.

use std::collections::{BTreeMap, VecDeque};

use defs::gm::event::Status;
use defs::gm::port::SEND_TOKENS;

use super::memory;
use super::message::{ANSWER_BYTES, ASK_BYTES, Answer, Ask};
use super::{AtomicError, RequestError};
use crate::gm::{
    Buffer, Event, Gm, MemoryError, Priority, ReceiveError, ReceivedMessage, SendId, SendRequest,
    capacity, size_for,
};
use crate::window::System;

/// Method by which a server waits for requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wait {
    /// The process polls (`gm_receive`).
    Poll,
    /// The process polls for a time, then sleeps until the board interrupts (`gm_blocking_receive`).
    SpinBlock,
    /// The process sleeps until the board interrupts (`gm_blocking_receive_no_spin`).
    Block,
}

impl Wait {
    /// Waits for the next event of a port.
    ///
    /// # Errors
    /// [`ReceiveError`].
    pub async fn next(self, gm: &mut Gm, port: u8) -> Result<Event, ReceiveError> {
        match self {
            Self::Poll => gm.receive(port).await,
            Self::SpinBlock => gm.blocking_receive(port).await,
            Self::Block => gm.blocking_receive_no_spin(port).await,
        }
    }
}

/// Receive buffers of a server: as many requests wait in them.
const ASKS: u32 = 32;
/// Send buffers of a server: one for each send token.
const ANSWERS: u32 = SEND_TOKENS;
/// Bytes of a buffer.
const ROOM: u32 = 64;
/// Size of requests for GM.
pub(super) const ASK_SIZE: u8 = size_for(ASK_BYTES as u32);
/// Size of answers for GM.
pub(super) const ANSWER_SIZE: u8 = size_for(ANSWER_BYTES as u32);

/// Executes the requests that come to a port.
#[derive(Debug)]
pub struct Server {
    port: u8,
    wait: Wait,
    /// The memory whose words it changes.
    words: Buffer,
    /// Buffers for further answers, and those of answers under way.
    free: Vec<Buffer>,
    under_way: BTreeMap<SendId, Buffer>,
    /// Requests that are not answered yet.
    asked: VecDeque<ReceivedMessage>,
}

impl Server {
    /// Prepares an open port for requests on words of `words`, the memory of this process or memory that it shares with others.
    ///
    /// # Errors
    /// [`AtomicError`].
    pub async fn new(
        gm: &mut Gm,
        port: u8,
        wait: Wait,
        words: Buffer,
    ) -> Result<Self, AtomicError> {
        let mut all = buffers(gm, ASKS + ANSWERS)?;
        let free = all.split_off(ASKS as usize);
        for buffer in all {
            gm.provide_receive_buffer(port, buffer, ASK_SIZE, Priority::Low, 0)
                .await?;
        }
        Ok(Self {
            port,
            wait,
            words,
            free,
            under_way: BTreeMap::new(),
            asked: VecDeque::new(),
        })
    }

    /// Executes requests for ever.
    ///
    /// # Errors
    /// [`AtomicError`]: the port, or a message that is no request.
    pub async fn serve(&mut self, gm: &mut Gm) -> Result<(), AtomicError> {
        loop {
            self.step(gm).await?;
        }
    }

    /// Waits for an event of the port; executes the requests that can be answered.
    ///
    /// # Errors
    /// [`AtomicError`].
    pub async fn step(&mut self, gm: &mut Gm) -> Result<(), AtomicError> {
        match self.wait.next(gm, self.port).await? {
            Event::Received(message) => self.asked.push_back(message),
            Event::Sent(all) => {
                // A process that is gone wants no answer: the status does not matter.
                let buffers = all.iter().filter_map(|(id, _)| self.under_way.remove(id));
                self.free.extend(buffers);
            }
            Event::Alarm(_) => {}
            Event::Completed(_) | Event::Violation(_) => {
                return Err(RequestError::Unexpected.into());
            }
        }
        while !self.asked.is_empty()
            && let Some(buffer) = self.free.pop()
        {
            if let Some(message) = self.asked.pop_front() {
                self.answer(gm, message, buffer).await?;
            }
        }
        Ok(())
    }

    /// Executes a request and answers it from a buffer.
    async fn answer(
        &mut self,
        gm: &mut Gm,
        message: ReceivedMessage,
        buffer: Buffer,
    ) -> Result<(), AtomicError> {
        let from = (message.node, message.port);
        let bytes = content(gm, &message)?;
        gm.system_mut().charge_copy(bytes.len()).await;
        let ask = Ask::from_bytes(&bytes);
        let ask = ask.ok_or(RequestError::Damaged { node: from.0 })?;
        let done = match self.serves(ask) {
            true => memory::execute(gm, ask.address, ask.operation).ok(),
            false => None,
        };
        let (status, before) = match done {
            Some(before) => (Status::Success, before),
            None => (Status::PermissionDenied, 0),
        };
        let answer = Answer {
            number: ask.number,
            status,
            before,
        };
        let id = send(gm, self.port, buffer, &answer.bytes(), ANSWER_SIZE, from).await?;
        self.under_way.insert(id, buffer);
        // The buffer of the request goes back while its answer is on the way.
        Ok(gm.unknown(self.port, Event::Received(message)).await?)
    }

    /// Whether the word of a request is the server's.
    fn serves(&self, ask: Ask) -> bool {
        let Buffer { address, length } = self.words;
        let offset = ask.address.0.checked_sub(address.0);
        let end = offset.and_then(|offset| offset.checked_add(4));
        ask.address.0.is_multiple_of(4) && end.is_some_and(|end| end <= u64::from(length))
    }
}

/// Allocates `count` buffers.
pub(super) fn buffers(gm: &mut Gm, count: u32) -> Result<Vec<Buffer>, MemoryError> {
    let all = gm.allocate_dma(count * ROOM)?;
    let buffer = |place: u32| Buffer {
        address: crate::window::VirtualAddress(all.address.0 + u64::from(place * ROOM)),
        length: ROOM,
    };
    Ok((0..count).map(buffer).collect())
}

/// The bytes of a message.
pub(super) fn content(gm: &Gm, message: &ReceivedMessage) -> Result<Vec<u8>, MemoryError> {
    let mut bytes = vec![0; message.length as usize];
    gm.system()
        .read_memory(message.message, &mut bytes)
        .map_err(MemoryError::NotMapped)?;
    Ok(bytes)
}

/// Copies bytes into a buffer and sends it.
pub(super) async fn send(
    gm: &mut Gm,
    from: u8,
    buffer: Buffer,
    bytes: &[u8],
    size: u8,
    (node, port): (u16, u8),
) -> Result<SendId, AtomicError> {
    gm.system_mut()
        .write_memory(buffer.address, bytes)
        .map_err(MemoryError::NotMapped)?;
    gm.system_mut().charge_copy(bytes.len()).await;
    let request = SendRequest {
        buffer: Buffer {
            address: buffer.address,
            length: bytes.len() as u32,
        },
        size,
        priority: Priority::Low,
        node,
        port,
    };
    Ok(gm.send(from, request).await?)
}

const _: () = assert!(capacity(ASK_SIZE) <= ROOM && capacity(ANSWER_SIZE) <= ROOM);
