//! Rings that hardware reads: addresses, sizes and entries (docs/tigon2.md, sections 5 and 6).
//!
//! Every ring lies at a fixed distance below the transmit buffer's base.

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
