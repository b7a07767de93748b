//! Receiving: three rings of buffers, and the return ring that brings them back with frames.

use std::fmt;

use defs::acenic::descriptor::{Errors, Flags, RECEIVE_BYTES};
use defs::acenic::info::RingFlags;
use defs::acenic::{
    JUMBO_ENTRIES, MAILBOX_JUMBO, MAILBOX_MINI, MAILBOX_STANDARD, MINI_ENTRIES, STANDARD_ENTRIES,
};

use super::config::Config;
use super::error::{MemoryError, Mistake};
use super::memory::DmaRegion;
use crate::window::AnySystem;

/// A ring of receive buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingKind {
    /// For frames of standard size.
    Standard,
    /// For frames longer than standard size.
    Jumbo,
    /// For short frames.
    Mini,
}

impl fmt::Display for RingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Jumbo => "jumbo",
            Self::Mini => "mini",
        })
    }
}

/// A frame from the board, with its checksums, flags and errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFrame {
    /// Frame without FCS and without a removed VLAN tag.
    pub bytes: Vec<u8>,
    /// The ring of its buffer.
    pub ring: RingKind,
    /// The return descriptor's flags.
    pub flags: Flags,
    /// Checksum of the IP header.
    pub ip_sum: u16,
    /// TCP or UDP checksum, if the firmware computed one.
    pub tcp_udp_sum: Option<u16>,
    /// The removed VLAN tag.
    pub vlan: Option<u16>,
    /// Errors of the frame.
    pub errors: Errors,
}

/// Bytes of a standard buffer: the longest frame with tag and FCS, and room to align it.
pub(super) const STANDARD_BYTES: u32 = 1538;
/// Bytes of a mini buffer.
pub(super) const MINI_BYTES: u32 = 128;
/// Space in a jumbo buffer in addition to the MTU word: FCS and alignment.
const JUMBO_EXTRA_BYTES: u32 = 20;
/// Alignment of buffers.
const BUFFER_ALIGN: u32 = 64;
/// Base of opaque words, which encode ring and buffer and are never 0.
const OPAQUE: u32 = 0x5A00_0000;

/// A ring of buffers and the buffers themselves.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) kind: RingKind,
    ring: DmaRegion,
    entries: u32,
    buffers: DmaRegion,
    buffer_bytes: u32,
    /// Whether the firmware owns each buffer.
    posted: Vec<bool>,
    producer: u32,
    descriptor_flags: Flags,
    /// The producer index must be written: descriptors are new.
    pub(super) changed: bool,
}

impl Pool {
    fn new(system: &mut AnySystem, kind: RingKind, config: &Config) -> Result<Self, MemoryError> {
        let (entries, count, buffer_bytes, flags) = match kind {
            RingKind::Standard => (
                STANDARD_ENTRIES,
                config.standard_buffers,
                STANDARD_BYTES,
                config.rings.standard,
            ),
            RingKind::Jumbo => (
                JUMBO_ENTRIES,
                config.jumbo_buffers,
                config.mtu.max(STANDARD_BYTES) + JUMBO_EXTRA_BYTES,
                config.rings.jumbo,
            ),
            RingKind::Mini => (
                MINI_ENTRIES,
                config.mini_buffers,
                MINI_BYTES,
                config.rings.mini,
            ),
        };
        let count = if flags.contains(RingFlags::DISABLED) {
            0
        } else {
            count
        };
        let mut descriptor_flags = match kind {
            RingKind::Standard => Flags::empty(),
            RingKind::Jumbo => Flags::JUMBO,
            RingKind::Mini => Flags::MINI,
        };
        descriptor_flags.set(Flags::TCP_UDP_SUM, flags.contains(RingFlags::TCP_UDP_SUM));
        let stride = buffer_bytes.next_multiple_of(BUFFER_ALIGN);
        Ok(Self {
            kind,
            ring: DmaRegion::allocate(system, entries * RECEIVE_BYTES)?,
            entries,
            buffers: DmaRegion::allocate(system, (count * stride).max(stride))?,
            buffer_bytes,
            posted: vec![false; count as usize],
            producer: 0,
            descriptor_flags,
            changed: false,
        })
    }

    pub(super) const fn ring_address(&self) -> [u32; 2] {
        self.ring.bus_words(0)
    }

    /// Buffer size for the ring control block; 0 for a ring without buffers.
    pub(super) const fn announced_bytes(&self) -> u32 {
        if self.posted.is_empty() {
            0
        } else {
            self.buffer_bytes
        }
    }

    pub(super) const fn producer(&self) -> u32 {
        self.producer
    }

    pub(super) const fn mailbox(&self) -> u32 {
        match self.kind {
            RingKind::Standard => MAILBOX_STANDARD,
            RingKind::Jumbo => MAILBOX_JUMBO,
            RingKind::Mini => MAILBOX_MINI,
        }
    }

    const fn stride(&self) -> u32 {
        self.buffer_bytes.next_multiple_of(BUFFER_ALIGN)
    }

    const fn opaque(&self, buffer: u32) -> u32 {
        let kind = match self.kind {
            RingKind::Standard => 1,
            RingKind::Jumbo => 2,
            RingKind::Mini => 3,
        };
        OPAQUE | kind << 16 | buffer
    }

    /// Posts every buffer that the firmware does not own.
    pub(super) fn fill(&mut self, system: &mut AnySystem) -> Result<(), MemoryError> {
        for buffer in 0..self.posted.len() {
            if !self.posted[buffer] {
                self.post(system, buffer as u32)?;
            }
        }
        Ok(())
    }

    fn post(&mut self, system: &mut AnySystem, buffer: u32) -> Result<(), MemoryError> {
        let [high, low] = self.buffers.bus_words(buffer * self.stride());
        let words = [
            high,
            low,
            buffer << 16 | self.buffer_bytes,
            self.descriptor_flags.bits(),
            0,
            0,
            0,
            self.opaque(buffer),
        ];
        self.ring
            .write_words(system, self.producer * RECEIVE_BYTES, &words)?;
        self.producer = (self.producer + 1) % self.entries;
        if let Some(posted) = self.posted.get_mut(buffer as usize) {
            *posted = true;
        }
        self.changed = true;
        Ok(())
    }

    /// Takes all buffers back after the firmware has reset the ring.
    fn reset(&mut self) {
        self.posted.fill(false);
        self.producer = 0;
        self.changed = true;
    }
}

/// The rings of a driver.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) standard: Pool,
    pub(super) jumbo: Pool,
    pub(super) mini: Pool,
    returns: DmaRegion,
    return_entries: u32,
    consumer: u32,
}

/// A returned frame, or the mistake in its descriptor.
pub(super) type Return = Result<ReceivedFrame, Mistake>;

impl Receiver {
    pub(super) fn new(system: &mut AnySystem, config: &Config) -> Result<Self, MemoryError> {
        Ok(Self {
            standard: Pool::new(system, RingKind::Standard, config)?,
            jumbo: Pool::new(system, RingKind::Jumbo, config)?,
            mini: Pool::new(system, RingKind::Mini, config)?,
            returns: DmaRegion::allocate(system, config.return_entries * RECEIVE_BYTES)?,
            return_entries: config.return_entries,
            consumer: 0,
        })
    }

    pub(super) const fn return_address(&self) -> [u32; 2] {
        self.returns.bus_words(0)
    }

    pub(super) fn pools(&mut self) -> [&mut Pool; 3] {
        [&mut self.standard, &mut self.mini, &mut self.jumbo]
    }

    pub(super) fn reset_jumbo(&mut self) {
        self.jumbo.reset();
    }

    /// Takes the frames before `producer` from the return ring, and posts their buffers again.
    pub(super) fn take_frames(
        &mut self,
        system: &mut AnySystem,
        producer: u32,
    ) -> Result<Vec<Return>, MemoryError> {
        if producer >= self.return_entries {
            return Ok(vec![Err(Mistake::Index {
                index: "the return producer",
                value: producer,
            })]);
        }
        let mut taken = Vec::new();
        while self.consumer != producer {
            let entry = self.consumer;
            self.consumer = (entry + 1) % self.return_entries;
            let words = self.returns.read_words(system, entry * RECEIVE_BYTES)?;
            taken.push(self.take_one(system, entry, words)?);
        }
        Ok(taken)
    }

    fn take_one(
        &mut self,
        system: &mut AnySystem,
        entry: u32,
        [_, _, index_length, type_flags, sums, errors_vlan, _, opaque]: [u32; 8],
    ) -> Result<Return, MemoryError> {
        let flags = Flags::from_bits_retain(type_flags & 0xFFFF);
        let pool = if flags.contains(Flags::MINI) {
            &mut self.mini
        } else if flags.contains(Flags::JUMBO) {
            &mut self.jumbo
        } else {
            &mut self.standard
        };
        let (buffer, length) = (index_length >> 16, index_length & 0xFFFF);
        let Some(posted) = pool
            .posted
            .get_mut(buffer as usize)
            .filter(|posted| **posted)
        else {
            return Ok(Err(Mistake::NoSuchBuffer {
                entry,
                ring: pool.kind,
                buffer,
            }));
        };
        *posted = false;
        let at = buffer * pool.stride();
        let mut bytes = vec![0; length.min(pool.buffer_bytes) as usize];
        pool.buffers.read_bytes(system, at, &mut bytes)?;
        pool.post(system, buffer)?;
        if length > pool.buffer_bytes {
            return Ok(Err(Mistake::TooLong {
                entry,
                ring: pool.kind,
                length_bytes: length,
                buffer_bytes: pool.buffer_bytes,
            }));
        }
        if opaque != pool.opaque(buffer) {
            return Ok(Err(Mistake::Opaque {
                entry,
                posted: pool.opaque(buffer),
                found: opaque,
            }));
        }
        Ok(Ok(ReceivedFrame {
            bytes,
            ring: pool.kind,
            flags,
            ip_sum: (sums >> 16) as u16,
            tcp_udp_sum: flags.contains(Flags::TCP_UDP_SUM).then_some(sums as u16),
            vlan: flags
                .contains(Flags::VLAN_TAG)
                .then_some(errors_vlan as u16),
            errors: Errors::from_bits_retain(errors_vlan >> 16),
        }))
    }
}
