//! Receive buffers and events.

use defs::gm::event::{
    EVENT, EVENT_BYTES, FAST, HIGH, LAST_WORD, NEW, PEER, RECEIVE, SENT_TOKENS, SLOT_BYTES, SLOTS,
    Status,
};
use defs::gm::packet::{SIZES, capacity};
use defs::gm::port::{RECEIVE_READY, RECEIVE_SLOTS, RECEIVE_TOKENS, receive_slot};

use super::call::Call;
use super::error::ReceiveError;
use super::memory::Buffer;
use super::port::Port;
use super::send::{Priority, SendId};
use super::{Gm, MemoryError, PortError};
use crate::window::{MemoryWatch, PollError, System, VirtualAddress, Window};

/// Types of received messages: [`RECEIVE`] and all that is added.
const LAST_RECEIVE: u32 = RECEIVE + HIGH + PEER + FAST;
/// Description of the polls for an event, which traces show.
pub const NO_EVENT: &str = "an event in the receive queue";

/// A message that has come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Where the message is: in its buffer, or in the receive queue until the queue is full again.
    pub message: VirtualAddress,
    /// The receive buffer, which is the program's again.
    pub buffer: VirtualAddress,
    /// Length of the message in bytes.
    pub length: u32,
    /// The sender.
    pub node: u16,
    /// Its port.
    pub port: u8,
    /// The tag of the receive buffer.
    pub tag: u16,
    /// Size of the receive buffer.
    pub size: u8,
    /// Priority.
    pub priority: Priority,
}

/// An event of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message has come in.
    #[doc(alias = "GM_RECV_EVENT")]
    Received(Received),
    /// Sends are complete; their callbacks have been called.
    #[doc(alias = "GM_SENT_TOKENS_EVENT")]
    Sent(Vec<(SendId, Status)>),
}

impl Port {
    fn slot(&self) -> VirtualAddress {
        VirtualAddress(self.queue.0 + u64::from(self.next_event * SLOT_BYTES))
    }
}

impl<W: Window, S: System> Gm<W, S> {
    /// Provides a buffer for a message of a size and priority. `tag` comes back with the message.
    ///
    /// # Errors
    /// [`ReceiveError`]; then the buffer stays the program's.
    #[doc(alias = "gm_provide_receive_buffer_with_tag")]
    pub async fn provide_receive_buffer(
        &mut self,
        number: u8,
        buffer: Buffer,
        size: u8,
        priority: Priority,
        tag: u16,
    ) -> Result<(), ReceiveError> {
        let call = Call::Provide(number);
        self.system.call_begins(&call);
        let provided = self.write_token(number, buffer, size, priority, tag).await;
        self.system.call_returns(&call);
        provided
    }

    async fn write_token(
        &mut self,
        number: u8,
        buffer: Buffer,
        size: u8,
        priority: Priority,
        tag: u16,
    ) -> Result<(), ReceiveError> {
        let length = buffer.length;
        // Whole messages are one packet.
        let needed = capacity(size.into()).min(defs::gm::packet::MTU);
        if u32::from(size) >= SIZES || needed > length {
            return Err(ReceiveError::Size { length, size });
        }
        let room = Buffer {
            length: needed,
            ..buffer
        };
        let place = self.regions.find(room)?;
        let port = self.port(number)?;
        if port.receives == RECEIVE_TOKENS {
            return Err(ReceiveError::NoToken { port: number });
        }
        port.receives += 1;
        let slot = port.next_receive_slot;
        port.next_receive_slot = (slot + 1) % RECEIVE_SLOTS;
        port.buffers
            .entry(place.0)
            .or_default()
            .push(buffer.address);
        let words = [
            (place.0 >> 32) as u32,
            place.0 as u32,
            tag.into(),
            RECEIVE_READY | (priority as u32) << 8 | u32::from(size),
        ];
        self.system.compute(self.overhead_ns).await;
        let at = receive_slot(number.into(), slot);
        self.board.write_sram_burst(at, &words).await;
        Ok(())
    }

    /// Waits for the next event of a port, polling.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_blocking_receive_no_spin")]
    pub async fn receive(&mut self, port: u8) -> Result<Event, ReceiveError> {
        let call = Call::Receive(port);
        self.system.call_begins(&call);
        let event = self.await_event(port).await;
        self.system.call_returns(&call);
        event
    }

    async fn await_event(&mut self, port: u8) -> Result<Event, ReceiveError> {
        let slot = self.port(port)?.slot();
        let watch = MemoryWatch {
            address: VirtualAddress(slot.0 + u64::from(LAST_WORD)),
            // The slot's last byte, in the host's order.
            mask: NEW << 24,
            expected: NEW << 24,
        };
        match self.system.poll_memory(watch, None, NO_EVENT).await {
            Ok(_) => self.take(port, slot).await,
            Err(PollError::BadAddress(address)) => Err(MemoryError::NotMapped(address).into()),
            // Without a timeout and with one word neither can happen.
            Err(PollError::TimedOut(_) | PollError::NoWords) => {
                Err(MemoryError::NotMapped(slot).into())
            }
        }
    }

    /// Whether a port has an event.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_receive_pending")]
    pub fn receive_pending(&mut self, port: u8) -> Result<bool, ReceiveError> {
        let slot = self.port(port)?.slot();
        Ok(self.event_word(slot)? & NEW != 0)
    }

    /// Takes the next event of a port, if there is one.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_receive")]
    pub async fn try_receive(&mut self, port: u8) -> Result<Option<Event>, ReceiveError> {
        if !self.receive_pending(port)? {
            return Ok(None);
        }
        let slot = self.port(port)?.slot();
        let call = Call::Receive(port);
        self.system.call_begins(&call);
        let event = self.take(port, slot).await;
        self.system.call_returns(&call);
        event.map(Some)
    }

    /// Copies a message that lies in the receive queue into its buffer.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`].
    #[doc(alias = "gm_memorize_message")]
    pub fn memorize_message(&mut self, message: &Received) -> Result<(), MemoryError> {
        if message.message == message.buffer {
            return Ok(());
        }
        let mut bytes = vec![0; message.length as usize];
        self.system
            .read_memory(message.message, &mut bytes)
            .and_then(|()| self.system.write_memory(message.buffer, &bytes))
            .map_err(MemoryError::NotMapped)
    }

    fn event_word(&self, slot: VirtualAddress) -> Result<u32, MemoryError> {
        let mut word = [0; 4];
        let at = VirtualAddress(slot.0 + u64::from(LAST_WORD));
        self.system
            .read_memory(at, &mut word)
            .map_err(MemoryError::NotMapped)?;
        Ok(u32::from_be_bytes(word))
    }

    /// Takes the event in a slot.
    async fn take(&mut self, number: u8, slot: VirtualAddress) -> Result<Event, ReceiveError> {
        self.system.compute(self.overhead_ns).await;
        let mut bytes = [0; SLOT_BYTES as usize];
        self.system
            .read_memory(slot, &mut bytes)
            .map_err(MemoryError::NotMapped)?;
        let at = VirtualAddress(slot.0 + u64::from(LAST_WORD));
        self.system
            .write_memory(at, &[0; 4])
            .map_err(MemoryError::NotMapped)?;
        let port = self.port(number)?;
        port.next_event = (port.next_event + 1) % SLOTS;
        let event = word(&bytes, LAST_WORD);
        match event & 0x7F {
            SENT_TOKENS => Ok(Event::Sent(port.sent(&bytes, event))),
            RECEIVE..=LAST_RECEIVE => {
                let received = port.received(&bytes, event, slot);
                let received = received.ok_or(ReceiveError::UnknownEvent { event })?;
                Ok(Event::Received(received))
            }
            _ => Err(ReceiveError::UnknownEvent { event }),
        }
    }

    /// Number of free receive tokens of a port.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn receive_tokens(&mut self, port: u8) -> Result<u32, PortError> {
        Ok(RECEIVE_TOKENS - self.port(port)?.receives)
    }
}

/// The word of a slot at an offset.
fn word(slot: &[u8], offset: u32) -> u32 {
    let at = offset as usize;
    let bytes = slot.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

impl Port {
    /// Completes the sends of a report.
    fn sent(&mut self, slot: &[u8], event: u32) -> Vec<(SendId, Status)> {
        let count = (event >> 8 & 0xFF) as usize;
        let pairs = slot.rchunks(2).skip(1).take(count);
        let mut all = Vec::new();
        for pair in pairs {
            let &[token, status] = pair else { continue };
            let status = Status::from_code(status.into()).unwrap_or(Status::InvalidParameter);
            let pending = self
                .sends
                .get_mut(usize::from(token))
                .and_then(Option::take);
            if let Some(pending) = pending {
                self.free_sends.push(token);
                if let Some(callback) = pending.callback {
                    callback(status);
                }
                all.push((pending.id, status));
            }
        }
        all
    }

    /// Decodes the event of a message; `None` if its buffer was not provided.
    fn received(&mut self, slot: &[u8], event: u32, at: VirtualAddress) -> Option<Received> {
        let field = |offset: u32| word(slot, SLOT_BYTES - EVENT_BYTES + offset);
        let long = |offset: u32| u64::from(field(offset)) << 32 | u64::from(field(offset + 4));
        let (message, place, length) = (long(0), long(8), field(16));
        let addresses = self.buffers.get_mut(&place)?;
        let buffer = addresses.pop()?;
        if addresses.is_empty() {
            self.buffers.remove(&place);
        }
        self.receives = self.receives.saturating_sub(1);
        let fast = ((event & 0x7F) - RECEIVE) & FAST != 0;
        let queue = self.queue_physical.0;
        let in_slot = message
            .checked_sub(queue)
            .map(|offset| self.queue.0 + offset);
        let message = match fast {
            true => {
                in_slot.filter(|address| (at.0..at.0 + u64::from(EVENT) + 1).contains(address))?
            }
            false => buffer.0,
        };
        Some(Received {
            message: VirtualAddress(message),
            buffer,
            length,
            node: (field(20) >> 16) as u16,
            port: (event >> 17 & 0x7F) as u8,
            tag: field(20) as u16,
            size: (event >> 24) as u8,
            priority: if event >> 16 & 1 == 0 {
                Priority::Low
            } else {
                Priority::High
            },
        })
    }
}
