//! The MAC: link, filter, and its two descriptor rings (docs/tigon2-io.md, section 6).
//!
//! Transmit: the firmware assembles a frame in the transmit buffer at a multiple of 8 and pushes a
//! descriptor. The MAC sends the frame once `TX_BUFFER_PRODUCER` has passed its end. A DMA read with
//! `RELEASE_TX` or [`release_tx`] moves that pointer; the `rings` crate keeps their order.
//!
//! Receive: [`RxRing::next`] returns the oldest unread frame, [`RxFrame::advance`] moves past it.
//! [`RxFrame::free_descriptor`] frees the descriptor; a DMA write with `FREE_RX`, or [`free_rx`], frees the
//! buffer.

use defs::tigon2::rings::{
    CRC_BYTES, MAC_DESCRIPTOR_BYTES, MAC_TX_ENTRIES, MAC_TX_INSERT_VLAN, MacRxDescriptor,
    MacTxDescriptor,
};

use core::mem::offset_of;

use crate::dma::RingFull;
use crate::regs::{self, MacRxState, MacTxState};
use crate::sram;

/// Turns the MAC on for a link without negotiation, full duplex.
pub fn enable_fixed_link() {
    regs::write(regs::TX_CONFIG_WORD, 0);
    regs::write(
        regs::MAC_TX_STATE,
        (MacTxState::ENABLE | MacTxState::FULL_DUPLEX).bits(),
    );
    let filter = regs::read(regs::MAC_RX_STATE) & MacRxState::PROMISCUOUS.bits();
    // Writing a set attention bit back clears it; all of them are cleared here.
    regs::write(
        regs::MAC_RX_STATE,
        filter | (MacRxState::ENABLE | MacRxState::ATTENTIONS).bits(),
    );
}

/// Drives the transmitter: frames and idle, full duplex, or the configuration word of a negotiation.
pub fn drive(frames: bool, word: u32) {
    regs::write(regs::TX_CONFIG_WORD, word);
    let on = MacTxState::ENABLE | MacTxState::FULL_DUPLEX;
    regs::write(regs::MAC_TX_STATE, if frames { on.bits() } else { 0 });
}

/// Turns the receiver on or off.
pub fn enable_rx(on: bool) {
    // Writing a set attention bit back would clear it.
    let change = MacRxState::ATTENTIONS.union(MacRxState::ENABLE);
    let state = MacRxState::from_bits_retain(regs::read(regs::MAC_RX_STATE)).difference(change);
    let enable = if on {
        MacRxState::ENABLE
    } else {
        MacRxState::empty()
    };
    regs::write(regs::MAC_RX_STATE, (state | enable).bits());
}

/// Accepts every frame, or only those that pass the filter.
pub fn set_promiscuous(on: bool) {
    let keep = MacRxState::ATTENTIONS
        .union(MacRxState::PROMISCUOUS)
        .complement()
        .bits();
    let bit = if on {
        MacRxState::PROMISCUOUS.bits()
    } else {
        0
    };
    regs::write(
        regs::MAC_RX_STATE,
        regs::read(regs::MAC_RX_STATE) & keep | bit,
    );
}

/// Sets the own address of the unicast filter: high 16 bits, low 32 bits.
pub fn set_address(high: u32, low: u32) {
    regs::write(regs::MAC_ADDRESS_HIGH, high);
    regs::write(regs::MAC_ADDRESS_LOW, low);
}

/// The own address of the unicast filter: high 16 bits, low 32 bits.
#[inline(always)]
#[must_use]
pub fn address() -> (u32, u32) {
    (
        regs::read(regs::MAC_ADDRESS_HIGH),
        regs::read(regs::MAC_ADDRESS_LOW),
    )
}

/// Sets the 128-bit multicast hash, bits 127:96 first.
pub fn set_multicast_hash(words: [u32; 4]) {
    let mut register = regs::MULTICAST_HASH;
    for word in words {
        regs::write(register, word);
        register += 4;
    }
}

/// Clears the receive attentions and returns those that were set.
pub fn take_rx_attentions() -> MacRxState {
    let state = MacRxState::from_bits_truncate(regs::read(regs::MAC_RX_STATE));
    regs::write(regs::MAC_RX_STATE, state.bits());
    state & MacRxState::ATTENTIONS
}

/// Lets the MAC send everything before `end`. Calls must be in ring order and never pass a frame whose DMA
/// is in progress: see the `rings` crate.
#[inline(always)]
pub fn release_tx(end: u32) {
    regs::write(regs::TX_BUFFER_PRODUCER, end);
}

/// End of the data that the MAC has sent: the transmit buffer before it is free.
#[inline(always)]
#[must_use]
pub fn tx_consumer() -> u32 {
    regs::read(regs::TX_BUFFER_CONSUMER)
}

/// Lets the MAC overwrite the receive buffer before `end`. Calls must be in ring order and never pass a
/// frame whose DMA is in progress: see the `rings` crate.
#[inline(always)]
pub fn free_rx(end: u32) {
    regs::write(regs::RX_BUFFER_CONSUMER, end);
}

/// The part of the receive buffer that is in use: from the first address that is not free to the MAC's
/// write position.
#[inline(always)]
#[must_use]
pub fn rx_in_use() -> (u32, u32) {
    (
        regs::read(regs::RX_BUFFER_CONSUMER),
        regs::read(regs::RX_BUFFER_PRODUCER),
    )
}

/// The ring of 256 transmit descriptors.
pub enum TxRing {}

impl TxRing {
    /// Whether a descriptor is free.
    #[inline(always)]
    #[must_use]
    pub fn has_room() -> bool {
        regs::read(regs::TX_DESCRIPTOR_FREE) != 0
    }

    /// Queues the frame of `length` bytes (without CRC) at `address`.
    ///
    /// # Errors
    /// [`RingFull`]: nothing was queued.
    #[inline(always)]
    pub fn push(address: u32, length: u32) -> Result<(), RingFull> {
        let descriptor = regs::read(regs::TX_DESCRIPTOR_FREE);
        if descriptor == 0 {
            return Err(RingFull);
        }
        sram::write(
            descriptor + offset_of!(MacTxDescriptor, address) as u32,
            address,
        );
        sram::write(
            descriptor + offset_of!(MacTxDescriptor, tag_length) as u32,
            length,
        );
        regs::write(
            regs::TX_DESCRIPTOR_PRODUCER,
            descriptor + MAC_DESCRIPTOR_BYTES,
        );
        Ok(())
    }

    /// Number of descriptors that can be pushed now: 255 in an empty ring.
    #[inline(always)]
    #[must_use]
    pub fn room() -> u32 {
        let used = regs::read(regs::TX_DESCRIPTOR_PRODUCER)
            .wrapping_sub(regs::read(regs::TX_DESCRIPTOR_REFERENCE));
        const RING_BYTES: u32 = MAC_DESCRIPTOR_BYTES * MAC_TX_ENTRIES;
        (RING_BYTES - MAC_DESCRIPTOR_BYTES - (used & (RING_BYTES - 1))) / MAC_DESCRIPTOR_BYTES
    }

    /// Queues a frame like [`push`](Self::push); the MAC inserts this VLAN tag.
    ///
    /// # Errors
    /// [`RingFull`]: nothing was queued.
    #[inline(always)]
    pub fn push_tagged(address: u32, length: u32, tag: u32) -> Result<(), RingFull> {
        Self::push(address | MAC_TX_INSERT_VLAN, tag << 16 | length)
    }

    /// Whether the MAC has sent all queued frames.
    #[inline(always)]
    #[must_use]
    pub fn is_empty() -> bool {
        regs::read(regs::TX_DESCRIPTOR_PRODUCER) == regs::read(regs::TX_DESCRIPTOR_REFERENCE)
    }
}

/// The ring of 512 receive descriptors.
pub enum RxRing {}

impl RxRing {
    /// Descriptor of the oldest unread frame.
    #[inline(always)]
    #[must_use]
    pub fn arrival() -> Option<Arrival> {
        let descriptor = regs::read(regs::RX_DESCRIPTOR_REFERENCE);
        // Bit 2 of the producer is set while a frame is being received.
        let producer = regs::read(regs::RX_DESCRIPTOR_PRODUCER) & !(MAC_DESCRIPTOR_BYTES - 1);
        (descriptor != producer).then_some(Arrival { descriptor })
    }

    /// The oldest unread frame.
    #[inline(always)]
    #[must_use]
    pub fn next() -> Option<RxFrame> {
        Self::arrival().map(|arrival| arrival.frame(arrival.address()))
    }
}

/// A received frame of which only the descriptor has been read.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Address of the descriptor.
    pub descriptor: u32,
}

impl Arrival {
    /// Start of the frame in the receive buffer.
    #[inline(always)]
    #[must_use]
    pub fn address(self) -> u32 {
        sram::read(self.descriptor + offset_of!(MacRxDescriptor, address) as u32)
    }

    /// The frame that starts at `address`.
    #[inline(always)]
    #[must_use]
    pub fn frame(self, address: u32) -> RxFrame {
        let at = self.descriptor + offset_of!(MacRxDescriptor, status_length) as u32;
        RxFrame {
            descriptor: self.descriptor,
            address,
            status_length: sram::read(at),
        }
    }
}

/// A received frame.
#[derive(Debug, Clone, Copy)]
pub struct RxFrame {
    /// Address of the descriptor.
    descriptor: u32,
    /// Start of the frame in the receive buffer.
    pub address: u32,
    status_length: u32,
}

impl RxFrame {
    /// Length without the CRC. A damaged frame can be shorter than a CRC: its length is 0.
    #[inline(always)]
    #[must_use]
    pub fn length(&self) -> u32 {
        (self.status_length & 0xFFFF).saturating_sub(CRC_BYTES)
    }

    /// Receive status: the bits `defs::tigon2::rings::RX_STATUS_*`.
    #[inline(always)]
    #[must_use]
    pub fn status(&self) -> u32 {
        self.status_length >> 16
    }

    /// End of the stored frame, CRC included: the argument of [`free_rx`] for a dropped frame.
    #[inline(always)]
    #[must_use]
    pub fn end(&self) -> u32 {
        self.address + (self.status_length & 0xFFFF)
    }

    /// Marks the frame as read: `RX_COMPLETE` now refers to the next one.
    #[inline(always)]
    pub fn advance(&self) {
        regs::write(
            regs::RX_DESCRIPTOR_REFERENCE,
            self.descriptor + MAC_DESCRIPTOR_BYTES,
        );
    }

    /// Returns this and all earlier descriptors to the MAC.
    #[inline(always)]
    pub fn free_descriptor(&self) {
        regs::write(
            regs::RX_DESCRIPTOR_CONSUMER,
            self.descriptor + MAC_DESCRIPTOR_BYTES,
        );
    }
}
