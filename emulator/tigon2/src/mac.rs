//! The MAC: transmit and receive rings, their buffers, the address filter (docs/tigon2-io.md, section 6).
//!
//! The MAC decides and keeps its pointers; the board moves the bytes and schedules.

pub(super) mod traffic;

use defs::tigon2::map::RX_BUFFER_LIMIT;
use defs::tigon2::regs::{MacRxState, MacTxState};
use defs::tigon2::rings::{
    CRC_BYTES, MAC_DESCRIPTOR_BYTES, MAC_RX_ENTRIES, MAC_TX_ENTRIES, RX_FRAME_ALIGN,
};

use super::dma::LocalRegion;
use super::ring::RingPointers;
use emulator_observe::event::DropReason;
use emulator_state::state;
use emulator_state::value_struct;
use emulator_wire::ethernet::frame::Frame;

/// A circular buffer in SRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffer {
    /// First address.
    pub base: u32,
    /// Address of the next bytes.
    pub producer: u32,
    /// Address of the oldest bytes still in use.
    pub consumer: u32,
}

state!(Buffer {
    base,
    producer,
    consumer
});

impl Buffer {
    /// Moves the buffer to `base`. Pointers outside of it are set to `base`, since the MAC always needs a valid
    /// position.
    pub const fn place(&mut self, base: u32, limit: u32) {
        self.base = base;
        if self.producer < base || self.producer >= limit {
            self.producer = base;
        }
        if self.consumer < base || self.consumer >= limit {
            self.consumer = base;
        }
    }

    /// Bytes from `from` up to `to` in a buffer that ends at `limit`.
    #[must_use]
    pub const fn distance(&self, from: u32, to: u32, limit: u32) -> u32 {
        if to >= from {
            to - from
        } else {
            to.wrapping_sub(from)
                .wrapping_add(limit.wrapping_sub(self.base))
        }
    }

    /// `address` + `bytes`, wrapped at `limit`.
    #[must_use]
    pub const fn advance(&self, address: u32, bytes: u32, limit: u32) -> u32 {
        let end = address.wrapping_add(bytes);
        if end >= limit && limit > self.base {
            self.base.wrapping_add(end - limit)
        } else {
            end
        }
    }
}

/// A frame that the MAC may send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Address of the frame in local memory.
    pub address: u32,
    /// Bytes without FCS.
    pub length: u32,
    /// First address after its end, wrapped: TxBufCons after its transmission.
    pub end: u32,
}

value_struct!(Sending {
    address: address,
    length: length,
    end: end
});

/// The MAC's registers and pointers.
#[derive(Debug)]
pub struct Mac {
    /// Transmit state register.
    pub tx_state: u32,
    /// Receive state register, without its read-only bits.
    pub rx_state: u32,
    /// Transmit descriptors: producer = software, reference and consumer = MAC.
    pub tx: RingPointers,
    /// Receive descriptors: producer = MAC, reference and consumer = software.
    pub rx: RingPointers,
    /// Transmit buffer.
    pub tx_buffer: Buffer,
    /// Receive buffer.
    pub rx_buffer: Buffer,
    /// Own address, 48 bits.
    pub address: u64,
    /// Multicast hash, most significant word first.
    pub hash: [u32; 4],
    /// The frame being sent.
    pub sending: Option<Sending>,
}

state!(Mac {
    tx_state,
    rx_state,
    tx,
    rx,
    tx_buffer,
    rx_buffer,
    address,
    hash,
    sending
});

impl Default for Mac {
    fn default() -> Self {
        Self {
            tx_state: 0,
            rx_state: 0,
            tx: RingPointers::new(MAC_TX_ENTRIES, MAC_DESCRIPTOR_BYTES),
            rx: RingPointers::new(MAC_RX_ENTRIES, MAC_DESCRIPTOR_BYTES),
            tx_buffer: Buffer::default(),
            rx_buffer: Buffer::default(),
            address: 0,
            hash: [0; 4],
            sending: None,
        }
    }
}

impl Mac {
    /// End of the transmit buffer: the receive buffer's base.
    #[must_use]
    pub const fn tx_limit(&self) -> u32 {
        self.rx_buffer.base
    }

    /// The buffer in which a local DMA address wraps.
    #[must_use]
    pub const fn region_of(&self, local: u32) -> Option<LocalRegion> {
        let tx = LocalRegion {
            base: self.tx_buffer.base,
            limit: self.tx_limit(),
        };
        let rx = LocalRegion {
            base: self.rx_buffer.base,
            limit: RX_BUFFER_LIMIT,
        };
        if tx.holds(local) {
            Some(tx)
        } else if rx.base != 0 && rx.holds(local) {
            Some(rx)
        } else {
            None
        }
    }

    /// Writes the transmit state register. A reset is a pulse: it clears the attentions, and the frame
    /// on the wire is completed.
    pub const fn write_tx_state(&mut self, value: u32) {
        let attentions = MacTxState::ATTENTIONS.bits();
        self.tx_state = write_state(self.tx_state, value, attentions, MacTxState::RESET.bits());
    }

    /// Writes the receive state register; returns whether that disabled the receiver. A reset is a pulse: it
    /// clears the attentions.
    pub const fn write_rx_state(&mut self, value: u32) -> bool {
        let read_only = MacRxState::SIGNAL.union(MacRxState::PARTNER_CONFIG).bits();
        let attentions = MacRxState::ATTENTIONS.bits();
        let before = self.rx_state;
        let reset = MacRxState::RESET.bits();
        self.rx_state = write_state(before, value & !read_only, attentions, reset);
        before & !value & MacRxState::ENABLE.bits() != 0
    }

    /// Whether the transmitter is enabled and idle, with a pending descriptor.
    #[must_use]
    pub const fn wants_descriptor(&self) -> bool {
        let on = self.tx_state & MacTxState::ENABLE.bits() != 0
            && self.tx_state & MacTxState::STOP.bits() == 0;
        on && self.sending.is_none() && self.tx.pending() != 0
    }

    /// Number of frames in both rings, without the one that is on its way out.
    #[must_use]
    pub fn queued_frames(&self) -> u64 {
        let leaving = u32::from(self.sending.is_some());
        let to_send = self.tx.pending().saturating_sub(leaving);
        u64::from(to_send + self.rx.distance(self.rx.consumer, self.rx.producer))
    }

    /// The frame of a descriptor, if TxBufProd already covers its end.
    #[must_use]
    pub const fn covered(&self, address: u32, length: u32) -> Option<Sending> {
        let limit = self.tx_limit();
        let buffer = &self.tx_buffer;
        let end = buffer.advance(address, length, limit);
        let released = buffer.distance(buffer.consumer, buffer.producer, limit);
        let needed = buffer.distance(buffer.consumer, end, limit);
        if needed != 0 && released >= needed {
            Some(Sending {
                address,
                length,
                end,
            })
        } else {
            None
        }
    }

    /// Ends the transmission of the current frame; returns whether there was one.
    pub fn sent(&mut self) -> bool {
        let sending = self.sending.take();
        if let Some(sending) = sending {
            self.tx.reference = self.tx.next(self.tx.reference);
            self.tx.consumer = self.tx.reference;
            self.tx_buffer.consumer = sending.end;
        }
        sending.is_some()
    }

    /// Checks whether a frame is accepted.
    ///
    /// # Errors
    /// The reason for dropping it.
    pub fn accept(&self, frame: &Frame) -> Result<(), DropReason> {
        let stopped = self.rx_state & MacRxState::STOP.bits() != 0;
        if self.rx_state & MacRxState::ENABLE.bits() == 0 || stopped {
            return Err(DropReason::Disabled);
        }
        if self.rx_state & MacRxState::PAUSE.bits() != 0 && is_pause(frame.bytes()) {
            return Err(DropReason::Pause);
        }
        if !self.passes_filter(frame.bytes()) {
            return Err(DropReason::Filtered);
        }
        let stored = frame.bytes().len() as u32 + CRC_BYTES;
        let next = self.rx.next(self.rx.producer);
        if next == self.rx.consumer || self.rx_free() < stored.next_multiple_of(RX_FRAME_ALIGN) {
            return Err(DropReason::NoSpace);
        }
        Ok(())
    }

    /// Free bytes of the receive buffer: with no descriptor outstanding, equal pointers mean all.
    const fn rx_free(&self) -> u32 {
        let buffer = &self.rx_buffer;
        let free = buffer.distance(buffer.producer, buffer.consumer, RX_BUFFER_LIMIT);
        if free == 0 && self.rx.producer == self.rx.consumer {
            RX_BUFFER_LIMIT.saturating_sub(buffer.base)
        } else {
            free
        }
    }

    fn passes_filter(&self, bytes: &[u8]) -> bool {
        if self.rx_state & MacRxState::PROMISCUOUS.bits() != 0 {
            return true;
        }
        let Some(destination) = bytes.first_chunk::<6>() else {
            return false;
        };
        if destination[0] & 1 == 0 {
            let address = destination
                .iter()
                .fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
            return address == self.address;
        }
        *destination == [0xFF; 6] || self.hash_hit(destination)
    }

    /// The multicast filter: bit number = low 7 bits of the CRC-32 of the address, not inverted.
    fn hash_hit(&self, destination: &[u8; 6]) -> bool {
        let bit = !crc32fast::hash(destination) & 0x7F;
        self.hash[3 - (bit / 32) as usize] & 1 << (bit % 32) != 0
    }

    /// Address of byte `offset` of the incoming frame.
    #[must_use]
    pub const fn rx_place(&self, offset: u32) -> u32 {
        self.rx_buffer
            .advance(self.rx_buffer.producer, offset, RX_BUFFER_LIMIT)
    }

    /// Reserves the buffer space of a stored frame of `length` bytes with FCS; returns its
    /// descriptor's index and its address. [`deliver`](Self::deliver) makes it visible.
    pub const fn reserve(&mut self, length: u32) -> (u32, u32) {
        let index = self.rx.producer;
        let address = self.rx_buffer.producer;
        self.rx_buffer.producer = self.rx_place(length.next_multiple_of(RX_FRAME_ALIGN));
        (index, address)
    }

    /// Moves the producer past the written descriptor of the stored frame.
    pub const fn deliver(&mut self) {
        self.rx.producer = self.rx.next(self.rx.producer);
    }

    /// Whether a received frame waits for the firmware.
    #[must_use]
    pub const fn receive_due(&self) -> bool {
        self.rx.producer != self.rx.reference
    }
}

/// Value of a state register after a write: ones clear `attentions`, the `reset` bit is a pulse that clears
/// all of them, other bits are stored.
const fn write_state(old: u32, value: u32, attentions: u32, reset: u32) -> u32 {
    let left = if value & reset != 0 {
        0
    } else {
        old & attentions & !value
    };
    left | value & !(attentions | reset)
}

/// Whether a frame is a MAC control frame to the address of pause frames.
fn is_pause(bytes: &[u8]) -> bool {
    const DESTINATION: [u8; 6] = [0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
    const MAC_CONTROL: [u8; 2] = [0x88, 0x08];
    bytes.starts_with(&DESTINATION) && bytes.get(12..14) == Some(&MAC_CONTROL)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac() -> Mac {
        Mac {
            tx_state: MacTxState::ENABLE.bits(),
            rx_state: MacRxState::ENABLE.bits(),
            tx_buffer: Buffer {
                base: 0x1000,
                producer: 0x1000,
                consumer: 0x1000,
            },
            rx_buffer: Buffer {
                base: 0x1F_F000,
                producer: 0x1F_F000,
                consumer: 0x1F_F000,
            },
            address: 0x0200_0000_0001,
            ..Mac::default()
        }
    }

    fn frame_to(destination: [u8; 6], length: usize) -> Frame {
        let mut bytes = destination.to_vec();
        bytes.resize(length, 0);
        Frame::new(bytes)
    }

    #[test]
    fn the_transmitter_waits_for_the_buffer() {
        let mut mac = mac();
        mac.tx.producer = 1;
        assert!(mac.wants_descriptor());
        assert_eq!(mac.covered(0x1000, 100), None);
        mac.tx_buffer.producer = 0x1063;
        assert_eq!(mac.covered(0x1000, 100), None);
        mac.tx_buffer.producer = 0x1064;
        let sending = mac.covered(0x1000, 100).unwrap();
        assert_eq!(sending.end, 0x1064);
        mac.sending = Some(sending);
        assert!(!mac.wants_descriptor());
        assert_eq!(mac.queued_frames(), 0);
        mac.tx.producer = 4;
        mac.rx.producer = 2;
        assert_eq!(mac.queued_frames(), 3 + 2);
        mac.tx.producer = 1;
        mac.sent();
        assert_eq!((mac.tx.reference, mac.tx_buffer.consumer), (1, 0x1064));
    }

    #[test]
    fn a_frame_may_wrap_in_the_transmit_buffer() {
        let mut mac = mac();
        mac.rx_buffer.base = 0x2000;
        mac.tx_buffer.consumer = 0x1F00;
        mac.tx_buffer.producer = 0x1100;
        let sending = mac.covered(0x1F80, 0x100).unwrap();
        assert_eq!(sending.end, 0x1080);
    }

    #[test]
    fn pointers_outside_a_buffer_begin_with_it() {
        let check = |producer, consumer, expected| {
            let mut buffer = Buffer {
                base: 0,
                producer,
                consumer,
            };
            buffer.place(0x17_6000, RX_BUFFER_LIMIT);
            assert_eq!((buffer.base, buffer.producer, buffer.consumer), expected);
        };
        let base = 0x17_6000;
        check(0, 0, (base, base, base));
        check(0x20_0000, 0x17_5FFF, (base, base, base));
        check(0x17_6040, 0x1F_FFFF, (base, 0x17_6040, 0x1F_FFFF));
    }

    #[test]
    fn pause_frames_are_the_macs_own_matter() {
        let mut bytes = vec![0x01, 0x80, 0xC2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08];
        bytes.resize(60, 0);
        let mut mac = mac();
        mac.hash = [u32::MAX; 4];
        let frame = Frame::new(bytes);
        assert_eq!(mac.accept(&frame), Ok(()));
        mac.rx_state |= MacRxState::PAUSE.bits();
        assert_eq!(mac.accept(&frame), Err(DropReason::Pause));
    }

    #[test]
    fn the_filter_knows_unicast_broadcast_and_hash() {
        let mut mac = mac();
        let own = frame_to([2, 0, 0, 0, 0, 1], 60);
        let other = frame_to([2, 0, 0, 0, 0, 2], 60);
        let multicast = frame_to([1, 0, 0x5E, 0, 0, 1], 60);
        assert_eq!(mac.accept(&own), Ok(()));
        assert_eq!(mac.accept(&other), Err(DropReason::Filtered));
        assert_eq!(mac.accept(&frame_to([0xFF; 6], 60)), Ok(()));
        assert_eq!(mac.accept(&multicast), Err(DropReason::Filtered));
        mac.hash = [u32::MAX; 4];
        assert_eq!(mac.accept(&multicast), Ok(()));
        mac.rx_state |= MacRxState::PROMISCUOUS.bits();
        assert_eq!(mac.accept(&other), Ok(()));
        mac.rx_state = 0;
        assert_eq!(mac.accept(&own), Err(DropReason::Disabled));
    }

    #[test]
    fn the_receive_buffer_fills_and_wraps() {
        let mut mac = mac();
        let frame = frame_to([2, 0, 0, 0, 0, 1], 1514);
        let length = frame.length_with_fcs() as u32;
        for expected in [0x1F_F000, 0x1F_F600] {
            assert_eq!(mac.accept(&frame), Ok(()));
            assert_eq!(mac.reserve(length).1, expected);
            mac.deliver();
        }
        assert_eq!(mac.accept(&frame), Err(DropReason::NoSpace));
        mac.rx.reference = 1;
        mac.rx.consumer = 1;
        mac.rx_buffer.consumer = 0x1F_F600;
        assert_eq!(mac.accept(&frame), Ok(()));
        assert_eq!(mac.rx_place(0x400), 0x1F_F000);
        assert_eq!(mac.reserve(length).1, 0x1F_FC00);
        assert_eq!(mac.rx_buffer.producer, 0x1F_F200);
    }
}
