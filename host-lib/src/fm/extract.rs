//! Received packets: the ring in host memory, handlers, credits that go back.

use defs::fm::packet::{
    HANDLER_SHIFT, HEADER_BYTES, MESSAGE_MASK, MTU, NODE_MASK, SENDER_SHIFT, WORD_HANDLER,
    WORD_LENGTH, WORD_TARGET, padded,
};
use defs::fm::ring::{ARRIVED, BYTES_MASK, SLOT_BYTES, SLOT_FLAG};

use super::Fm;
use super::credit::{read_word, watch};
use super::error::{ReceiveError, address};
use crate::window::{AnySystem, PollError, PolledWord, System, VirtualAddress};

/// A packet's part of a message, as its handler sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Node that sent the packet.
    pub sender: u16,
    /// Number of the message at its sender.
    pub message: u16,
    /// Length of the message in bytes.
    pub length: u32,
    /// Place of the first byte in the message.
    pub offset: u32,
    /// Bytes of the message that the packet carries.
    pub bytes: &'a [u8],
}

impl Piece<'_> {
    /// Whether the message is complete with this piece.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.offset + self.bytes.len() as u32 == self.length
    }
}

/// Function that is called for each packet of a message.
pub(super) type Handler = Box<dyn FnMut(&Piece<'_>) + Send>;

/// A message of which a part has come.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartialMessage {
    length: u32,
    came: u32,
}

/// A packet in the ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct RingPacket {
    start: u64,
    bytes: u32,
}

impl RingPacket {
    /// Address of a word of the header.
    pub(super) const fn word(&self, offset: u32) -> VirtualAddress {
        VirtualAddress(self.start + offset as u64)
    }
}

/// The ring of received packets, and the words of credits behind it.
#[derive(Debug)]
pub(super) struct PacketRing {
    start: VirtualAddress,
    slots: u32,
    /// The slot of the next packet.
    next: u32,
    /// Packets from there on whose credits have been taken.
    peeked: u32,
}

impl PacketRing {
    pub(super) const fn new(start: VirtualAddress, slots: u32) -> Self {
        Self {
            start,
            slots,
            next: 0,
            peeked: 0,
        }
    }

    /// Address of the flag of the slot that is `ahead` slots behind the next one.
    const fn flag(&self, ahead: u32) -> VirtualAddress {
        let mut slot = self.next + ahead;
        if slot >= self.slots {
            slot -= self.slots;
        }
        let offset = slot as u64 * SLOT_BYTES as u64 + SLOT_FLAG as u64;
        VirtualAddress(self.start.0 + offset)
    }

    /// The packet in that slot.
    fn packet(&self, system: &AnySystem, ahead: u32) -> Result<Option<RingPacket>, VirtualAddress> {
        let at = self.flag(ahead);
        let flag = read_word(system, at)?;
        let bytes = (flag & BYTES_MASK).clamp(HEADER_BYTES, SLOT_FLAG);
        let start = at.0 - u64::from(bytes);
        Ok((flag & ARRIVED != 0).then_some(RingPacket { start, bytes }))
    }

    /// The next packet whose credits have not been taken, which are taken then.
    pub(super) fn peek(
        &mut self,
        system: &AnySystem,
    ) -> Result<Option<RingPacket>, VirtualAddress> {
        if self.peeked == self.slots {
            return Ok(None);
        }
        let packet = self.packet(system, self.peeked)?;
        self.peeked += u32::from(packet.is_some());
        Ok(packet)
    }

    /// Word to poll for the next packet whose credits have not been taken; none if the ring is full.
    pub(super) fn peek_watch(&self) -> Option<PolledWord> {
        (self.peeked < self.slots).then(|| watch(self.flag(self.peeked), ARRIVED))
    }

    /// Word to poll for the next packet.
    pub(super) fn watch(&self) -> PolledWord {
        watch(self.flag(0), ARRIVED)
    }

    /// The next packet was handled.
    fn free(&mut self, system: &mut AnySystem) -> Result<(), VirtualAddress> {
        system.write_memory(self.flag(0), &[0; 4])?;
        self.peeked = self.peeked.saturating_sub(1);
        self.next += 1;
        if self.next == self.slots {
            self.next = 0;
        }
        Ok(())
    }

    /// Address of the word for the explicit credits of a node.
    pub(super) const fn credit_word(&self, node: u16) -> VirtualAddress {
        let ring_bytes = self.slots as u64 * SLOT_BYTES as u64;
        VirtualAddress(self.start.0 + ring_bytes + 4 * node as u64)
    }
}

impl Fm {
    /// Sets what [`extract`](Self::extract) calls for each packet of messages for `number`.
    pub fn set_handler(&mut self, number: u16, handler: impl FnMut(&Piece<'_>) + Send + 'static) {
        self.handlers.insert(number, Box::new(handler));
    }

    /// Handles packets that have come until `bytes` bytes of payload were handled or there is none left; at least one if
    /// there is any. Returns credits to their senders. Returns how many packets were handled.
    ///
    /// # Errors
    /// [`ReceiveError`]. What a packet with an error held is gone; the next call goes on behind it.
    #[doc(alias = "FM_extract")]
    pub async fn extract(&mut self, bytes: u32) -> Result<u32, ReceiveError> {
        if self.is_locked() {
            return Err(ReceiveError::StreamOpen);
        }
        let (mut packets, mut handled) = (0, 0);
        while packets == 0 || handled < bytes {
            let next = self.ring.packet(&self.system, 0);
            let Some(packet) = next.map_err(ReceiveError::NotMapped)? else {
                break;
            };
            handled += self.handle(packet).await?;
            packets += 1;
        }
        Ok(packets)
    }

    /// Waits until a packet can be handled.
    ///
    /// # Errors
    /// [`ReceiveError::StreamOpen`], or [`ReceiveError::Nothing`] after `timeout_ns` (`None`: never).
    pub async fn wait(&mut self, timeout_ns: Option<u64>) -> Result<(), ReceiveError> {
        if self.is_locked() {
            return Err(ReceiveError::StreamOpen);
        }
        let words = [self.ring.watch()];
        let polled = self.system.poll_words(&words, timeout_ns, "a packet").await;
        match polled {
            Ok(_) => Ok(()),
            Err(PollError::TimedOut(_)) => Err(ReceiveError::Nothing {
                timeout_ns: timeout_ns.unwrap_or(0),
            }),
            Err(error) => Err(ReceiveError::NotMapped(address(error))),
        }
    }

    /// Handles the next packet and frees its slot. Returns the bytes of its payload.
    async fn handle(&mut self, packet: RingPacket) -> Result<u32, ReceiveError> {
        self.system.compute(self.config.overhead_ns).await;
        let mut bytes = vec![0; packet.bytes as usize];
        self.system
            .read_memory(packet.word(0), &mut bytes)
            .map_err(ReceiveError::NotMapped)?;
        let word = |offset: u32| {
            let bytes = &bytes[offset as usize..][..4];
            bytes
                .iter()
                .fold(0, |word, &byte| word << 8 | u32::from(byte))
        };
        let target = word(WORD_TARGET);
        let node = target >> SENDER_SHIFT & NODE_MASK;
        let sender = node as u16;
        self.take_credits(node, target);
        let (handler, message) = (word(WORD_HANDLER) >> HANDLER_SHIFT, word(WORD_HANDLER));
        let (handler, message) = (handler as u16, (message & MESSAGE_MASK) as u16);
        let payload = &bytes[HEADER_BYTES as usize..];
        let place = self.place(sender, message, word(WORD_LENGTH), payload.len() as u32);
        if let Some((_, length)) = place {
            self.system.charge_copy(length as usize).await;
        }
        let result = match (place, self.handlers.get_mut(&handler)) {
            (None, _) => Err(ReceiveError::Broken { sender, message }),
            (Some(_), None) => Err(ReceiveError::NoHandler { sender, handler }),
            (Some((offset, length)), Some(handler)) => {
                handler(&Piece {
                    sender,
                    message,
                    length: word(WORD_LENGTH),
                    offset,
                    bytes: &payload[..length as usize],
                });
                Ok(length)
            }
        };
        let freed = self.ring.free(&mut self.system);
        freed.map_err(ReceiveError::NotMapped)?;
        self.return_credits(sender).await?;
        result
    }

    /// The place of a packet in its message, and its bytes; `None` if it does not continue it.
    fn place(
        &mut self,
        sender: u16,
        message: u16,
        length: u32,
        padded_bytes: u32,
    ) -> Option<(u32, u32)> {
        let key = (sender as u8, message);
        let stream = self.streams.remove(&key);
        let came = stream.map_or(0, |stream| stream.came);
        let bytes = length.checked_sub(came)?.min(MTU);
        let continues = stream.is_none_or(|stream| stream.length == length);
        if !continues || padded(bytes) != padded_bytes {
            return None;
        }
        let (offset, came) = (came, came + bytes);
        if came < length {
            self.streams.insert(key, PartialMessage { length, came });
        }
        Some((offset, bytes))
    }

    /// A packet of a node was handled. Its credits go back when half of them are owed.
    async fn return_credits(&mut self, node: u16) -> Result<(), ReceiveError> {
        let Some(peer) = self.peers.get_mut(usize::from(node)) else {
            return Ok(());
        };
        peer.handle();
        if peer.owed() >= (self.config.credits / 2).max(1) {
            self.send_credits(node).await?;
        }
        Ok(())
    }
}
