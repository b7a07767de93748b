//! Streams: messages that are being sent, packet by packet.

use std::sync::Arc;

use defs::fm::map::{
    CONTROL_ROUTE_SHIFT, MULTI_LIMIT, SEND_SLOT_COUNT, SLOT_CONTROL, SLOT_HEADER, SLOT_MORE,
    SLOTS_DONE, more_word, send_slot,
};
use defs::fm::packet::{CREDIT, DATA, HANDLER_SHIFT, HEADER_BYTES, MTU, padded, target_word};

use super::Fm;
use super::error::{SendError, address};
use super::start::route_words;
use crate::firmware::words;
use crate::window::{PollError, PolledWord, System, WindowWatch};

/// A message that is being sent. One that is dropped instead of ended stays incomplete at its receivers.
#[derive(Debug)]
#[must_use = "a message is complete when its stream is ended"]
pub struct SendStream {
    destinations: Vec<u16>,
    handler: u16,
    message: u16,
    length: u32,
    /// Bytes that are in packets.
    sent: u32,
    /// Bytes for the next packet.
    buffer: Vec<u8>,
    /// Packets that were sent.
    packets: u32,
    /// A share of the lock against receiving.
    _lock: Option<Arc<()>>,
}

impl SendStream {
    /// Bytes of all pieces that were accepted.
    #[must_use]
    pub const fn accepted(&self) -> u32 {
        self.sent + self.buffer.len() as u32
    }

    /// Length of the message in bytes.
    #[must_use]
    pub const fn length(&self) -> u32 {
        self.length
    }

    /// Whether the next packet is complete.
    const fn is_full(&self) -> bool {
        let bytes = self.buffer.len() as u32;
        bytes == MTU || bytes > 0 && self.sent + bytes == self.length
    }
}

/// The send slots, as the library knows them. Counts are modulo 2^32.
#[derive(Debug, Default)]
pub(super) struct Slots {
    next: u32,
    pub(super) used: u32,
    done: u32,
}

impl Fm {
    /// Begins a message of `length` bytes to a node, for its handler `handler`. Nothing can be received until the stream is
    /// ended or dropped.
    ///
    /// # Errors
    /// [`SendError`]: the destination is not possible.
    #[doc(alias = "FM_begin_message")]
    pub async fn begin_message(
        &mut self,
        destination: u16,
        length: u32,
        handler: u16,
    ) -> Result<SendStream, SendError> {
        self.begin_message_multi(&[destination], length, handler)
            .await
    }

    /// Begins a message to several nodes: the board sends each packet to the first one as it is, and then to the others. Nothing
    /// can be received until the stream is ended or dropped.
    ///
    /// # Errors
    /// [`SendError`]: the destinations are not possible.
    #[doc(alias = "FM_begin_message_multi")]
    pub async fn begin_message_multi(
        &mut self,
        destinations: &[u16],
        length: u32,
        handler: u16,
    ) -> Result<SendStream, SendError> {
        let lock = Some(Arc::clone(&self.lock));
        self.begin(destinations, length, handler, lock).await
    }

    /// [`begin_message_multi`](Self::begin_message_multi) without the lock: packets can be received while the stream is open. Nodes
    /// whose streams wait for each other's credits wait for ever; it is for messages that form no circle.
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "FM_unsafe_begin_message_multi")]
    pub async fn unsafe_begin_message_multi(
        &mut self,
        destinations: &[u16],
        length: u32,
        handler: u16,
    ) -> Result<SendStream, SendError> {
        self.begin(destinations, length, handler, None).await
    }

    async fn begin(
        &mut self,
        destinations: &[u16],
        length: u32,
        handler: u16,
        lock: Option<Arc<()>>,
    ) -> Result<SendStream, SendError> {
        self.check(destinations)?;
        self.system.compute(self.config.overhead_ns).await;
        let message = self.next_message;
        self.next_message = message.wrapping_add(1);
        Ok(SendStream {
            destinations: destinations.to_vec(),
            handler,
            message,
            length,
            sent: 0,
            buffer: Vec::new(),
            packets: 0,
            _lock: lock,
        })
    }

    fn check(&self, destinations: &[u16]) -> Result<(), SendError> {
        let count = destinations.len();
        if count == 0 {
            return Err(SendError::NoDestination);
        }
        if count > MULTI_LIMIT as usize {
            return Err(SendError::TooManyDestinations { count });
        }
        for (index, &node) in destinations.iter().enumerate() {
            if node == self.config.node {
                return Err(SendError::ToItself { node });
            }
            match self.config.routes.get(usize::from(node)) {
                None => {
                    let nodes = self.nodes();
                    return Err(SendError::UnknownNode { node, nodes });
                }
                Some(None) => return Err(SendError::Unreachable { node }),
                Some(Some(_)) => {}
            }
            if destinations[..index].contains(&node) {
                return Err(SendError::Twice { node });
            }
        }
        Ok(())
    }

    /// Adds bytes to a message. A packet that becomes full is sent, after waiting for a credit of each destination.
    ///
    /// # Errors
    /// [`SendError::TooLong`], and then no byte is accepted; a time limit, and then [`SendStream::accepted`] tells how many are:
    /// a later piece goes on with the bytes behind them, and an empty one only tries again.
    #[doc(alias = "FM_send_piece")]
    pub async fn send_piece(
        &mut self,
        stream: &mut SendStream,
        bytes: &[u8],
    ) -> Result<(), SendError> {
        let all = u64::from(stream.accepted()) + bytes.len() as u64;
        if all > u64::from(stream.length) {
            let length = stream.length;
            return Err(SendError::TooLong { bytes: all, length });
        }
        let mut rest = bytes;
        loop {
            if stream.is_full() {
                self.send_packet(stream).await?;
            }
            if rest.is_empty() {
                return Ok(());
            }
            let room = MTU as usize - stream.buffer.len();
            let (part, behind) = rest.split_at(room.min(rest.len()));
            stream.buffer.extend(part);
            rest = behind;
        }
    }

    /// Ends a message. All its packets have been given to the board then.
    ///
    /// # Errors
    /// [`SendError::Incomplete`], or a time limit.
    #[doc(alias = "FM_end_message")]
    pub async fn end_message(&mut self, mut stream: SendStream) -> Result<(), SendError> {
        let (bytes, length) = (stream.accepted(), stream.length);
        if bytes < length {
            return Err(SendError::Incomplete { bytes, length });
        }
        if !stream.buffer.is_empty() || stream.packets == 0 {
            self.send_packet(&mut stream).await?;
        }
        Ok(())
    }

    /// Writes the packet that is complete into a send slot.
    async fn send_packet(&mut self, stream: &mut SendStream) -> Result<(), SendError> {
        self.await_credits(&stream.destinations).await?;
        let slot = self.take_slot().await?;
        self.system.compute(self.config.overhead_ns).await;
        let mut entries = Vec::with_capacity(stream.destinations.len());
        for &node in &stream.destinations {
            entries.push((node as u8, self.peers[usize::from(node)].send()));
        }
        let (first, credits) = entries[0];
        let more = entries[1..].iter();
        // The physical node is the logical one.
        let more: Vec<_> = more
            .map(|&(node, credits)| more_word(node, node, credits))
            .collect();
        let header = [
            DATA,
            target_word(first, self.config.node as u8, credits),
            u32::from(stream.handler) << HANDLER_SHIFT | u32::from(stream.message),
            stream.length,
        ];
        self.write_slot(slot, first, &header, &stream.buffer, &more)
            .await;
        stream.sent += stream.buffer.len() as u32;
        stream.packets += 1;
        stream.buffer.clear();
        Ok(())
    }

    /// Sends a packet with the credits of a node.
    pub(super) async fn send_credits(&mut self, node: u16) -> Result<(), SendError> {
        let slot = self.take_slot().await?;
        let credits = self.peers[usize::from(node)].take_sum();
        let target = target_word(node as u8, self.config.node as u8, credits);
        self.write_slot(slot, node as u8, &[CREDIT, target, 0, 0], &[], &[])
            .await;
        Ok(())
    }

    async fn write_slot(
        &mut self,
        slot: u32,
        first: u8,
        header: &[u32; 4],
        payload: &[u8],
        more: &[u32],
    ) {
        let route = self.config.routes[usize::from(first)].as_deref();
        let route = route.unwrap_or(&[]);
        let route_bytes = route.len() as u32;
        let mut packet = route_words(route);
        let header_at = slot + SLOT_HEADER;
        let start = header_at - 4 * packet.len() as u32;
        packet.extend(header);
        packet.extend(words(payload));
        self.write_words(start, &packet).await;
        if !more.is_empty() {
            let mut list = vec![more.len() as u32];
            list.extend(more);
            self.write_words(slot + SLOT_MORE, &list).await;
        }
        let end = header_at + HEADER_BYTES + padded(payload.len() as u32);
        let control = route_bytes << CONTROL_ROUTE_SHIFT | end;
        self.board.write_sram(slot + SLOT_CONTROL, control).await;
    }

    async fn write_words(&mut self, address: u32, words: &[u32]) {
        if self.config.combines_writes {
            return self.board.write_sram_burst(address, words).await;
        }
        for (at, word) in (address..).step_by(4).zip(words) {
            self.board.write_sram(at, *word).await;
        }
    }

    /// Takes the next send slot when it is free.
    async fn take_slot(&mut self) -> Result<u32, SendError> {
        let slot = send_slot(self.slots.next);
        if self.slots.used.wrapping_sub(self.slots.done) >= SEND_SLOT_COUNT {
            self.slots.done = self.board.read_sram(SLOTS_DONE).await;
        }
        if self.slots.used.wrapping_sub(self.slots.done) >= SEND_SLOT_COUNT {
            self.await_slot(slot).await?;
        }
        self.slots.used = self.slots.used.wrapping_add(1);
        self.slots.next = match self.slots.next + 1 {
            SEND_SLOT_COUNT => 0,
            next => next,
        };
        Ok(slot)
    }

    async fn await_slot(&mut self, slot: u32) -> Result<(), SendError> {
        let word = PolledWord::Window(WindowWatch {
            before: None,
            offset: self.board.sram_offset(slot + SLOT_CONTROL),
            mask: u32::MAX,
            expected: 0,
        });
        let timeout_ns = self.config.timeout_ns;
        let words = [word];
        let polled = self.system.poll_words(&words, timeout_ns, "a send slot");
        match polled.await {
            Ok(_) => {
                self.slots.done = self.slots.done.wrapping_add(1);
                Ok(())
            }
            Err(PollError::TimedOut(_)) => Err(SendError::NoSlot {
                timeout_ns: timeout_ns.unwrap_or(0),
            }),
            Err(error) => Err(SendError::NotMapped(address(error))),
        }
    }
}
