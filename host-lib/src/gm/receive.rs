//! Receive buffers and events.

use defs::gm::event::{
    ALARM, BAD_RECEIVE_MEMORY, BAD_SEND_MEMORY, COMPLETED, EVENT, EVENT_BYTES, FAST, HIGH,
    LAST_WORD, NEW, PEER, RECEIVE, RECEIVE_TOKEN_VIOLATION, SEND_TOKEN_VIOLATION, SENT_TOKENS,
    SLEEP, SLOT_BYTES, SLOTS, Status, WORD_BUFFER, WORD_LENGTH, WORD_NODE,
};
use defs::gm::packet::{SIZES, capacity};
use defs::gm::port::{RECEIVE_READY, RECEIVE_SLOTS, RECEIVE_TOKENS, WAKE, receive_slot};

use super::alarm::AlarmId;
use super::call::Call;
use super::collective::Completed;
use super::error::ReceiveError;
use super::memory::Buffer;
use super::port::{OpenPort, POLL_NS, POLLS, WakeState};
use super::send::{Priority, SendId};
use super::{Gm, MemoryError, PortError};
use crate::window::{MemoryWatch, PollError, System, VirtualAddress};

/// Types of received messages: [`RECEIVE`] and all that is added.
const LAST_RECEIVE: u32 = RECEIVE + HIGH + PEER + FAST;
/// Description of the polls for an event, which traces show.
pub const NO_EVENT: &str = "an event in the receive queue";
/// Time for which [`Gm::blocking_receive`] polls before it sleeps, in nanoseconds.
pub const SPIN_NS: u64 = 100_000;
/// Time in which a board that works answers a request, in nanoseconds.
const ANSWER_NS: u64 = POLLS as u64 * POLL_NS;

/// A provided buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Provided {
    length: u32,
    size: u8,
    priority: Priority,
    tag: u16,
}

/// A message that has come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// Address of the message: in its buffer, or in the receive queue until the queue is full again.
    pub message: VirtualAddress,
    /// The receive buffer, which is the program's again.
    pub buffer: VirtualAddress,
    /// Length of the message in bytes.
    pub length: u32,
    /// The sender.
    pub node: u16,
    /// Port of the sender.
    pub port: u8,
    /// The tag of the receive buffer.
    pub tag: u16,
    /// Size of the receive buffer.
    pub size: u8,
    /// Bytes of the receive buffer.
    pub room: u32,
    /// Priority of the message.
    pub priority: Priority,
}

/// Token that a process has used without having it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// A send slot was written without a free send token; the send is ignored.
    #[doc(alias = "GM_SEND_TOKEN_VIOLATION_EVENT")]
    SendToken,
    /// A receive token was written without a free one; it is ignored.
    #[doc(alias = "GM_RECV_TOKEN_VIOLATION_EVENT")]
    ReceiveToken,
    /// A send from memory that is not registered, at this address; the send fails.
    #[doc(alias = "GM_BAD_SEND_VMA_EVENT")]
    SendMemory(VirtualAddress),
    /// A receive buffer in memory that is not registered, at this address; its token is free again.
    #[doc(alias = "GM_BAD_RECV_VMA_EVENT")]
    ReceiveMemory(VirtualAddress),
}

/// An event of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message has come in.
    #[doc(alias = "GM_RECV_EVENT")]
    Received(ReceivedMessage),
    /// Sends are complete; their callbacks have been called.
    #[doc(alias = "GM_SENT_TOKENS_EVENT")]
    Sent(Vec<(SendId, Status)>),
    /// The times of alarms have come; none if they were cancelled meanwhile.
    #[doc(alias = "GM_ALARM_EVENT")]
    Alarm(Vec<AlarmId>),
    /// A collective operation on the board has ended.
    #[doc(alias = "GM_BARRIER_COMPLETED_EVENT")]
    Completed(Completed),
    /// The board has refused to use what the process does not have. A correct program that uses this library alone does not
    /// get it.
    Violation(Violation),
}

impl OpenPort {
    fn slot(&self) -> VirtualAddress {
        VirtualAddress(self.queue.0 + u64::from(self.next_event * SLOT_BYTES))
    }
}

impl Gm {
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
        let needed = capacity(size.into());
        if u32::from(size) >= SIZES || needed > length {
            return Err(ReceiveError::Size { length, size });
        }
        self.regions.check(Buffer {
            length: needed,
            ..buffer
        })?;
        let port = self.port(number)?;
        if port.receives == RECEIVE_TOKENS {
            return Err(ReceiveError::NoToken { port: number });
        }
        port.receives += 1;
        let slot = port.next_receive_slot;
        port.next_receive_slot = (slot + 1) % RECEIVE_SLOTS;
        let provided = Provided {
            length,
            size,
            priority,
            tag,
        };
        let at = buffer.address.0;
        port.buffers.entry(at).or_default().push(provided);
        let words = [
            (at >> 32) as u32,
            at as u32,
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
    pub async fn receive(&mut self, port: u8) -> Result<Event, ReceiveError> {
        let call = Call::Receive(port);
        self.system.call_begins(&call);
        let event = self.await_event(port).await;
        self.system.call_returns(&call);
        event
    }

    /// Waits for the next event of a port for `timeout_ns` at most, polling; `None` if there is none.
    ///
    /// # Errors
    /// [`ReceiveError`].
    pub async fn receive_within(
        &mut self,
        port: u8,
        timeout_ns: u64,
    ) -> Result<Option<Event>, ReceiveError> {
        let call = Call::Receive(port);
        self.system.call_begins(&call);
        let event = match self.event_within(port, Some(timeout_ns)).await {
            Ok(true) => self.take_next(port).await.map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        self.system.call_returns(&call);
        event
    }

    /// Waits for the next event of a port: polls for [`SPIN_NS`], then sleeps until the board interrupts.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_blocking_receive")]
    pub async fn blocking_receive(&mut self, port: u8) -> Result<Event, ReceiveError> {
        match self.receive_within(port, SPIN_NS).await? {
            Some(event) => Ok(event),
            None => self.blocking_receive_no_spin(port).await,
        }
    }

    /// Waits for the next event of a port asleep: other programs can have the processor until the board interrupts.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_blocking_receive_no_spin")]
    pub async fn blocking_receive_no_spin(&mut self, port: u8) -> Result<Event, ReceiveError> {
        let call = Call::Receive(port);
        self.system.call_begins(&call);
        let event = self.sleep_for_event(port).await;
        self.system.call_returns(&call);
        event
    }

    /// Without an event, asks the board for an interrupt and sleeps when it has answered. Events that come before the answer are
    /// taken without sleep.
    async fn sleep_for_event(&mut self, number: u8) -> Result<Event, ReceiveError> {
        while !self.receive_pending(number)? {
            match self.port(number)?.wake {
                WakeState::Off => {
                    self.port(number)?.wake = WakeState::Asked;
                    self.write_control(number, WAKE, 0, 0).await?;
                }
                WakeState::Asked => {
                    if !self.slot_filled(number, Some(ANSWER_NS)).await? {
                        return Err(PortError::Silent { port: number }.into());
                    }
                }
                WakeState::Armed => {
                    self.system.system_call().await;
                    // Without a time limit it is the interrupt that ends the wait.
                    let _ = self.system.wait_interrupt(None).await;
                    self.board.end_interrupt().await;
                    // The interrupt may have been another port's, or of an event that was taken before.
                    if !self.receive_pending(number)? {
                        self.port(number)?.wake = WakeState::Off;
                    }
                }
            }
        }
        self.take_next(number).await
    }

    async fn await_event(&mut self, port: u8) -> Result<Event, ReceiveError> {
        while !self.event_within(port, None).await? {}
        self.take_next(port).await
    }

    /// Polls for an event. Returns whether there is one.
    pub(crate) async fn event_within(
        &mut self,
        port: u8,
        timeout_ns: Option<u64>,
    ) -> Result<bool, ReceiveError> {
        let begin = self.system.now_ps();
        loop {
            let passed_ns = (self.system.now_ps() - begin) / 1000;
            let left_ns = timeout_ns.map(|timeout| timeout.saturating_sub(passed_ns));
            if !self.slot_filled(port, left_ns).await? {
                return Ok(false);
            }
            if self.receive_pending(port)? {
                return Ok(true);
            }
        }
    }

    /// Polls until the board has written the slot of the next event. Returns whether it has.
    async fn slot_filled(
        &mut self,
        port: u8,
        timeout_ns: Option<u64>,
    ) -> Result<bool, ReceiveError> {
        let slot = self.port(port)?.slot();
        let watch = MemoryWatch {
            address: VirtualAddress(slot.0 + u64::from(LAST_WORD)),
            // The slot's last byte, in the host's order.
            mask: NEW << 24,
            expected: NEW << 24,
        };
        match self.system.poll_memory(watch, timeout_ns, NO_EVENT).await {
            Ok(_) => Ok(true),
            Err(PollError::TimedOut(_)) => Ok(false),
            Err(PollError::BadAddress(address)) => Err(MemoryError::NotMapped(address).into()),
            // One word is polled.
            Err(PollError::NoWords) => Err(MemoryError::NotMapped(slot).into()),
        }
    }

    async fn take_next(&mut self, port: u8) -> Result<Event, ReceiveError> {
        let slot = self.port(port)?.slot();
        self.take_event(port, slot).await
    }

    /// Handles an event that the program does not know: the buffer of a message is provided again, as it was; others need
    /// nothing.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_unknown")]
    pub async fn unknown(&mut self, port: u8, event: Event) -> Result<(), ReceiveError> {
        let Event::Received(message) = event else {
            return Ok(());
        };
        let buffer = Buffer {
            address: message.buffer,
            length: message.room,
        };
        self.provide_receive_buffer(port, buffer, message.size, message.priority, message.tag)
            .await
    }

    /// Whether a port has an event.
    ///
    /// # Errors
    /// [`ReceiveError`].
    #[doc(alias = "gm_receive_pending")]
    pub fn receive_pending(&mut self, port: u8) -> Result<bool, ReceiveError> {
        let slot = self.port(port)?.slot();
        let word = self.event_word(slot)?;
        if word & 0xFF != NEW | SLEEP {
            return Ok(word & NEW != 0);
        }
        // The board's answer to the library is no event of the program.
        self.clear_event(slot)?;
        let state = self.port(port)?;
        state.next_event = (state.next_event + 1) % SLOTS;
        state.wake = WakeState::Armed;
        let slot = state.slot();
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
        let event = self.take_event(port, slot).await;
        self.system.call_returns(&call);
        event.map(Some)
    }

    /// Copies a message that lies in the receive queue into its buffer.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`].
    #[doc(alias = "gm_memorize_message")]
    pub fn memorize_message(&mut self, message: &ReceivedMessage) -> Result<(), MemoryError> {
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

    fn clear_event(&mut self, slot: VirtualAddress) -> Result<(), MemoryError> {
        let at = VirtualAddress(slot.0 + u64::from(LAST_WORD));
        self.system
            .write_memory(at, &[0; 4])
            .map_err(MemoryError::NotMapped)
    }

    /// Takes the event in a slot.
    async fn take_event(
        &mut self,
        number: u8,
        slot: VirtualAddress,
    ) -> Result<Event, ReceiveError> {
        self.system.compute(self.overhead_ns).await;
        let mut bytes = [0; SLOT_BYTES as usize];
        self.system
            .read_memory(slot, &mut bytes)
            .map_err(MemoryError::NotMapped)?;
        self.clear_event(slot)?;
        let port = self.port(number)?;
        port.next_event = (port.next_event + 1) % SLOTS;
        if port.wake == WakeState::Armed {
            port.wake = WakeState::Off;
        }
        let event = word(&bytes, LAST_WORD);
        match event & 0x7F {
            SENT_TOKENS => Ok(Event::Sent(port.sent(&bytes, event))),
            RECEIVE..=LAST_RECEIVE => {
                let received = port.received(&bytes, event, slot);
                let received = received.ok_or(ReceiveError::UnknownEvent { event })?;
                Ok(Event::Received(received))
            }
            ALARM => Ok(Event::Alarm(self.alarms_due(number).await?)),
            COMPLETED => {
                let field = |offset| word(&bytes, EVENT + offset);
                let completed = port.operations.completed(event, field);
                let (completed, token) = completed.ok_or(ReceiveError::UnknownEvent { event })?;
                port.free_sends.push(token);
                Ok(Event::Completed(completed))
            }
            _ => {
                let violation = port.violation(&bytes, event & 0x7F);
                let violation = violation.ok_or(ReceiveError::UnknownEvent { event })?;
                Ok(Event::Violation(violation))
            }
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

impl OpenPort {
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

    /// Takes the provided buffer at an address that is as asked for.
    fn take_buffer(&mut self, address: u64, fits: impl Fn(&Provided) -> bool) -> Option<Provided> {
        let provided = self.buffers.get_mut(&address)?;
        let index = provided.iter().position(fits)?;
        let buffer = provided.remove(index);
        if provided.is_empty() {
            self.buffers.remove(&address);
        }
        self.receives = self.receives.saturating_sub(1);
        Some(buffer)
    }

    /// Decodes the event of a message; `None` if its buffer was not provided.
    fn received(&mut self, slot: &[u8], event: u32, at: VirtualAddress) -> Option<ReceivedMessage> {
        let field = |offset: u32| word(slot, EVENT + offset);
        let address = u64::from(field(WORD_BUFFER)) << 32 | u64::from(field(WORD_BUFFER + 4));
        let length = field(WORD_LENGTH);
        let (tag, size) = (field(WORD_NODE) as u16, (event >> 24) as u8);
        let buffer =
            self.take_buffer(address, |buffer| buffer.tag == tag && buffer.size == size)?;
        let fast = ((event & 0x7F) - RECEIVE) & FAST != 0;
        let message = match fast {
            true => at.0 + u64::from(EVENT.checked_sub(length.next_multiple_of(4))?),
            false => address,
        };
        Some(ReceivedMessage {
            message: VirtualAddress(message),
            buffer: VirtualAddress(address),
            length,
            node: (field(WORD_NODE) >> 16) as u16,
            port: (event >> 17 & 0x7F) as u8,
            tag,
            size,
            room: buffer.length,
            priority: buffer.priority,
        })
    }

    /// Decodes a notice of a violation.
    fn violation(&mut self, slot: &[u8], kind: u32) -> Option<Violation> {
        let high = word(slot, SLOT_BYTES - 12);
        let low = word(slot, SLOT_BYTES - 8);
        let address = u64::from(high) << 32 | u64::from(low);
        match kind {
            SEND_TOKEN_VIOLATION => Some(Violation::SendToken),
            RECEIVE_TOKEN_VIOLATION => Some(Violation::ReceiveToken),
            BAD_SEND_MEMORY => Some(Violation::SendMemory(VirtualAddress(address))),
            BAD_RECEIVE_MEMORY => {
                // The address is in the buffer, not always at its beginning.
                let before = self.buffers.range(..=address).next_back();
                if let Some((&begin, _)) = before {
                    self.take_buffer(begin, |_| true);
                }
                Some(Violation::ReceiveMemory(VirtualAddress(address)))
            }
            _ => None,
        }
    }
}

const _: () = assert!(EVENT + EVENT_BYTES == SLOT_BYTES);
