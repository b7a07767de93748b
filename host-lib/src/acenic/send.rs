//! Sending: descriptors in host memory or in SRAM, and the buffers behind them.

use defs::acenic::descriptor::{Flags, SEND_BYTES};
use defs::acenic::{MAILBOX_SEND, SEND_ENTRIES, SEND_NIC_ENTRIES};
use defs::tigon2::map::mailbox_low;

use super::AceNic;
use super::config::{Config, SendRing};
use super::error::{MemoryError, Mistake, SendError};
use super::memory::DmaRegion;
use crate::window::AnySystem;

/// Bytes of an Ethernet header: the shortest frame that can be sent.
pub const SHORTEST_FRAME_BYTES: usize = 14;
/// Largest offset of a fragment in its buffer.
pub const MOST_OFFSET_BYTES: u32 = 63;
/// Space in front of each buffer's frame, for offsets.
const HEADROOM_BYTES: u32 = MOST_OFFSET_BYTES + 1;

/// Options of a sent frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SendOptions {
    /// Let the chip complete the TCP or UDP checksum.
    pub checksum: bool,
    /// Let the chip insert this VLAN tag.
    pub vlan: Option<u16>,
    /// Request a report at once.
    pub coalesce_now: bool,
}

/// A part of a frame, with its own descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// Bytes of the fragment.
    pub bytes: &'a [u8],
    /// Offset from an aligned address in host memory, up to [`MOST_OFFSET_BYTES`] (larger values wrap).
    pub offset: u32,
}

/// The send ring.
#[derive(Debug)]
pub(super) struct Sender {
    ring: SendRing,
    /// The ring's memory, if it is on the host.
    host: DmaRegion,
    buffers: DmaRegion,
    buffer_bytes: u32,
    pub(super) entries: u32,
    producer: u32,
    consumer: u32,
}

impl Sender {
    pub(super) fn new(system: &mut AnySystem, config: &Config) -> Result<Self, MemoryError> {
        let entries = match config.send_ring {
            SendRing::Host => SEND_ENTRIES,
            SendRing::Nic { .. } => SEND_NIC_ENTRIES,
        };
        let buffer_bytes = (HEADROOM_BYTES + config.mtu).next_multiple_of(64);
        Ok(Self {
            ring: config.send_ring,
            host: DmaRegion::allocate(system, entries * SEND_BYTES)?,
            buffers: DmaRegion::allocate(system, entries * buffer_bytes)?,
            buffer_bytes,
            entries,
            producer: 0,
            consumer: 0,
        })
    }

    /// The ring's address for the firmware.
    pub(super) const fn address(&self) -> [u32; 2] {
        match self.ring {
            SendRing::Host => self.host.bus_words(0),
            SendRing::Nic { address } => [0, address],
        }
    }

    const fn posted(&self) -> u32 {
        (self.producer + self.entries - self.consumer) % self.entries
    }

    /// Number of free descriptors. One entry stays free: a full ring would look empty.
    const fn free(&self) -> u32 {
        self.entries - 1 - self.posted()
    }

    const fn longest(&self) -> usize {
        (self.buffer_bytes - HEADROOM_BYTES) as usize
    }

    fn check(&self, fragments: &[Fragment<'_>]) -> Result<(), SendError> {
        if let Some(index) = fragments.iter().position(|part| part.bytes.is_empty()) {
            return Err(SendError::EmptyFragment { index });
        }
        let length_bytes = fragments.iter().map(|part| part.bytes.len()).sum();
        if !(SHORTEST_FRAME_BYTES..=self.longest()).contains(&length_bytes) {
            return Err(SendError::Length {
                length_bytes,
                least: SHORTEST_FRAME_BYTES,
                most: self.longest(),
            });
        }
        let needed = u32::try_from(fragments.len()).unwrap_or(u32::MAX);
        let free = self.free();
        if needed > free {
            return Err(SendError::Full { needed, free });
        }
        Ok(())
    }

    /// Copies a fragment to the buffer of the next descriptor; returns the descriptor.
    fn place(
        &self,
        system: &mut AnySystem,
        entry: u32,
        fragment: Fragment<'_>,
        flags: Flags,
        vlan: u16,
    ) -> Result<[u32; 4], MemoryError> {
        let at = entry * self.buffer_bytes + fragment.offset % HEADROOM_BYTES;
        self.buffers.write_bytes(system, at, fragment.bytes)?;
        let [high, low] = self.buffers.bus_words(at);
        let length = fragment.bytes.len() as u32;
        Ok([high, low, length << 16 | flags.bits(), u32::from(vlan)])
    }

    /// Frees the descriptors before `consumer`, as reported by the firmware; returns their number.
    pub(super) const fn taken(&mut self, consumer: u32) -> Result<u32, Mistake> {
        if consumer >= self.entries {
            return Err(Mistake::Index {
                index: "the send consumer",
                value: consumer,
            });
        }
        let taken = (consumer + self.entries - self.consumer) % self.entries;
        if taken > self.posted() {
            return Err(Mistake::NotPosted {
                value: consumer,
                first: self.consumer,
                posted: self.posted(),
            });
        }
        self.consumer = consumer;
        Ok(taken)
    }
}

impl AceNic {
    /// Sends a frame (without FCS).
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send(&mut self, frame: &[u8], options: SendOptions) -> Result<(), SendError> {
        let whole = Fragment {
            bytes: frame,
            offset: 0,
        };
        self.send_fragments(&[whole], options).await
    }

    /// Sends a frame in several pieces.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn send_fragments(
        &mut self,
        fragments: &[Fragment<'_>],
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.queue_fragments(fragments, options).await?;
        self.ring_send().await;
        Ok(())
    }

    /// Writes a frame's descriptors without telling the firmware; [`AceNic::ring_send`] must follow.
    ///
    /// # Errors
    /// [`SendError`].
    pub async fn queue_fragments(
        &mut self,
        fragments: &[Fragment<'_>],
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.sender.check(fragments)?;
        let mut flags = Flags::empty();
        flags.set(Flags::TCP_UDP_SUM, options.checksum);
        flags.set(Flags::VLAN_TAG, options.vlan.is_some());
        flags.set(Flags::COALESCE_NOW, options.coalesce_now);
        let mut entry = self.sender.producer;
        let mut descriptors = Vec::with_capacity(fragments.len());
        for (index, &fragment) in fragments.iter().enumerate() {
            let last = index + 1 == fragments.len();
            let flags = if last { flags | Flags::END } else { flags };
            let vlan = options.vlan.unwrap_or(0);
            let words = self
                .sender
                .place(&mut self.system, entry, fragment, flags, vlan)?;
            descriptors.push((entry, words));
            entry = (entry + 1) % self.sender.entries;
        }
        for (entry, words) in descriptors {
            self.write_send_descriptor(entry, &words).await?;
        }
        self.sender.producer = entry;
        Ok(())
    }

    /// Tells the firmware about all new descriptors.
    pub async fn ring_send(&mut self) {
        self.board
            .write_sram(mailbox_low(MAILBOX_SEND), self.sender.producer)
            .await;
    }

    async fn write_send_descriptor(
        &mut self,
        entry: u32,
        words: &[u32; 4],
    ) -> Result<(), MemoryError> {
        let offset = entry * SEND_BYTES;
        match self.sender.ring {
            SendRing::Host => self
                .sender
                .host
                .write_words(&mut self.system, offset, words),
            SendRing::Nic { address } => {
                self.board
                    .write_sram_burst(address.wrapping_add(offset), words)
                    .await;
                Ok(())
            }
        }
    }

    /// Send descriptors that are free.
    #[must_use]
    pub const fn send_free(&self) -> u32 {
        self.sender.free()
    }

    /// Send descriptors that the firmware has not taken yet.
    #[must_use]
    pub const fn send_pending(&self) -> u32 {
        self.sender.posted()
    }
}
