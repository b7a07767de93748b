//! Rings that hardware reads: addresses, sizes and entries (docs/tigon2-io.md, sections 5 and 6).
//!
//! Every ring lies at a fixed distance below the transmit buffer's base.

use core::mem::offset_of;

/// A DMA descriptor as the assist reads it: 32 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DmaDescriptor {
    /// Host address, high word.
    pub host_high: u32,
    /// Host address, low word.
    pub host_low: u32,
    /// Local (SRAM) address.
    pub local: u32,
    /// Length in bytes, in the low 16 bits (offset 0x0E as a halfword).
    pub length: u32,
    /// Value for the channel's state register.
    pub state: u32,
    /// Address that receives the checksum.
    pub checksum_pointer: u32,
    /// For software: transfer type.
    pub kind: u32,
    /// For software: index.
    pub index: u32,
}

impl DmaDescriptor {
    /// The descriptor that these words are.
    #[must_use]
    pub const fn from_words(words: [u32; 8]) -> Self {
        let [
            host_high,
            host_low,
            local,
            length,
            state,
            checksum_pointer,
            kind,
            index,
        ] = words;
        Self {
            host_high,
            host_low,
            local,
            length,
            state,
            checksum_pointer,
            kind,
            index,
        }
    }

    /// Host address.
    #[must_use]
    pub const fn host(&self) -> u64 {
        (self.host_high as u64) << 32 | self.host_low as u64
    }

    /// Length in bytes.
    #[must_use]
    pub const fn length_bytes(&self) -> u32 {
        self.length & LOW_HALF
    }
}

/// The low half of a word that holds two fields.
const LOW_HALF: u32 = 0xFFFF;

/// Offset of the word of a DMA descriptor whose low half takes the checksum.
pub const DMA_CHECKSUM_OFFSET: u32 = offset_of!(DmaDescriptor, checksum_pointer) as u32;
/// Bytes of a DMA descriptor.
pub const DMA_DESCRIPTOR_BYTES: u32 = 32;
/// Descriptors in each DMA ring.
pub const DMA_RING_ENTRIES: u32 = 64;
/// Bytes of each DMA ring.
pub const DMA_RING_BYTES: u32 = DMA_DESCRIPTOR_BYTES * DMA_RING_ENTRIES;
/// Distance of the read-DMA ring's start below the transmit buffer's base.
pub const READ_RING_BELOW: u32 = 0x1000;
/// Distance of the write-DMA ring's start below the transmit buffer's base.
pub const WRITE_RING_BELOW: u32 = 0x0800;

/// A MAC transmit descriptor: 8 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MacTxDescriptor {
    /// Local address; bit 30 requests a VLAN tag.
    pub address: u32,
    /// VLAN tag in the high half, length without CRC in the low half.
    pub tag_length: u32,
}

impl MacTxDescriptor {
    /// The descriptor that these words are.
    #[must_use]
    pub const fn from_words([address, tag_length]: [u32; 2]) -> Self {
        Self {
            address,
            tag_length,
        }
    }

    /// Address of the frame in SRAM.
    #[must_use]
    pub const fn local(&self) -> u32 {
        self.address & !MAC_TX_INSERT_VLAN
    }

    /// Length without FCS, in bytes.
    #[must_use]
    pub const fn length_bytes(&self) -> u32 {
        self.tag_length & LOW_HALF
    }

    /// The VLAN tag to insert, if any.
    #[must_use]
    pub const fn tag(&self) -> Option<u16> {
        if self.address & MAC_TX_INSERT_VLAN != 0 {
            Some((self.tag_length >> 16) as u16)
        } else {
            None
        }
    }
}

/// Bit of a MAC transmit descriptor's address word: insert a VLAN tag.
pub const MAC_TX_INSERT_VLAN: u32 = 1 << 30;
/// Bytes of a MAC descriptor.
pub const MAC_DESCRIPTOR_BYTES: u32 = 8;
/// MAC transmit descriptors.
pub const MAC_TX_ENTRIES: u32 = 256;
/// MAC receive descriptors.
pub const MAC_RX_ENTRIES: u32 = 512;
/// Distance of the MAC transmit ring's start below the transmit buffer's base.
pub const MAC_TX_BELOW: u32 = 0x2800;
/// Distance of the MAC receive ring's start below the transmit buffer's base.
pub const MAC_RX_BELOW: u32 = 0x2000;

/// A MAC receive descriptor: 8 bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MacRxDescriptor {
    /// Start of the frame in SRAM.
    pub address: u32,
    /// Status in the high half, length with the 4 CRC bytes in the low half.
    pub status_length: u32,
}

impl MacRxDescriptor {
    /// The descriptor of a frame of `length_bytes` with FCS.
    #[must_use]
    pub const fn new(address: u32, status: u32, length_bytes: u32) -> Self {
        Self {
            address,
            status_length: status << 16 | length_bytes & LOW_HALF,
        }
    }

    /// The descriptor as two words.
    #[must_use]
    pub const fn words(&self) -> [u32; 2] {
        [self.address, self.status_length]
    }

    /// Length with FCS, in bytes.
    #[must_use]
    pub const fn length_bytes(&self) -> u32 {
        self.status_length & LOW_HALF
    }

    /// Status bits.
    #[must_use]
    pub const fn status(&self) -> u32 {
        self.status_length >> 16
    }
}

/// Receive status (in the high half): CRC error.
pub const RX_STATUS_CRC: u32 = 0x0001;
/// Receive status: the carrier was lost within the frame.
pub const RX_STATUS_LINK_LOST: u32 = 0x0004;
/// Receive status: runt.
pub const RX_STATUS_RUNT: u32 = 0x0040;
/// Receive status: truncated for lack of space.
pub const RX_STATUS_TRUNCATED: u32 = 0x0080;
/// Bytes of the frame check sequence, included in a received length.
pub const CRC_BYTES: u32 = 4;
/// Alignment of frames in the transmit buffer.
pub const TX_FRAME_ALIGN: u32 = 8;
/// Alignment of frames in the receive buffer.
pub const RX_FRAME_ALIGN: u32 = 64;
/// Bytes of a DMA or MAC burst to SRAM.
pub const BURST_BYTES: u32 = 64;
