//! Send and receive descriptors (docs/tigon2-driver.md, section 8). Offsets are bytes, fields big-endian words.

use bitflags::bitflags;

/// Bytes of a send descriptor.
pub const SEND_BYTES: u32 = 16;
/// Send: host address of the fragment, high word.
pub const SEND_HIGH: u32 = 0x0;
/// Send: host address of the fragment, low word.
pub const SEND_LOW: u32 = 0x4;
/// Send: length in bytes (high half), [`Flags`] (low half).
pub const SEND_LENGTH_FLAGS: u32 = 0x8;
/// Send: VLAN tag (low half).
pub const SEND_VLAN: u32 = 0xC;

/// Bytes of a receive descriptor, also in the return ring.
pub const RECEIVE_BYTES: u32 = 32;
/// Receive: host address of the buffer, high word.
pub const RECEIVE_HIGH: u32 = 0x00;
/// Receive: host address of the buffer, low word.
pub const RECEIVE_LOW: u32 = 0x04;
/// Receive: index (high half), length (low half): of the buffer, or of the frame without FCS.
pub const RECEIVE_INDEX_LENGTH: u32 = 0x08;
/// Receive: type (high half), [`Flags`] (low half).
pub const RECEIVE_TYPE_FLAGS: u32 = 0x0C;
/// Receive: IP sum (high half), TCP or UDP sum (low half).
pub const RECEIVE_SUMS: u32 = 0x10;
/// Receive: [`Errors`] (high half), VLAN tag (low half).
pub const RECEIVE_ERRORS_VLAN: u32 = 0x14;
/// Receive: for the firmware's use.
pub const RECEIVE_SCRATCH: u32 = 0x18;
/// Receive: for the driver's use; returned unchanged.
pub const RECEIVE_OPAQUE: u32 = 0x1C;

bitflags! {
    /// Flags of a descriptor.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Flags: u32 {
        /// TCP or UDP checksum: requested (send) or present (receive).
        const TCP_UDP_SUM = 0x0001;
        /// IP checksum: requested (send) or present (receive).
        const IP_SUM = 0x0002;
        /// Last fragment of a frame.
        const END = 0x0004;
        /// More fragments follow.
        const MORE = 0x0008;
        /// A jumbo receive buffer.
        const JUMBO = 0x0010;
        /// A VLAN tag to insert (send), or one that was removed (receive).
        const VLAN_TAG = 0x0200;
        /// The frame has errors.
        const FRAME_ERROR = 0x0400;
        /// Report this frame at once.
        const COALESCE_NOW = 0x0800;
        /// A mini receive buffer.
        const MINI = 0x1000;
    }

    /// Errors of a received frame: the MAC's status bits.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Errors: u32 {
        /// Wrong FCS.
        const CRC = 0x01;
        /// Collision.
        const COLLISION = 0x02;
        /// The carrier was lost.
        const LINK_LOST = 0x04;
        /// The PHY could not decode.
        const PHY_DECODE = 0x08;
        /// An odd number of nibbles.
        const ODD_NIBBLES = 0x10;
        /// The MAC gave up.
        const MAC_ABORT = 0x20;
        /// Shorter than 64 bytes with FCS.
        const RUNT = 0x40;
        /// Truncated for lack of space.
        const TRUNCATED = 0x80;
        /// Too long.
        const GIANT = 0x100;
    }
}
