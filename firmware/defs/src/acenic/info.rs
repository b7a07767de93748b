//! The general information block in host memory: statistics, ring control blocks, and pointers to the words
//! in which the firmware reports its indices (docs/tigon2-driver.md, section 8).

use bitflags::bitflags;

/// Bytes of the block.
pub const INFO_BYTES: u32 = 0x490;
/// Statistics ([`super::stats`]), 0x400 bytes.
pub const STATISTICS: u32 = 0;
/// Ring control block of the event ring.
pub const EVENT_RING: u32 = 0x400;
/// Ring control block of the command ring: its address is an SRAM address.
pub const COMMAND_RING: u32 = 0x410;
/// Ring control block of the send ring.
pub const SEND_RING: u32 = 0x420;
/// Ring control block of the standard receive ring.
pub const STANDARD_RING: u32 = 0x430;
/// Ring control block of the jumbo receive ring.
pub const JUMBO_RING: u32 = 0x440;
/// Ring control block of the mini receive ring.
pub const MINI_RING: u32 = 0x450;
/// Ring control block of the return ring.
pub const RETURN_RING: u32 = 0x460;
/// 64-bit host address (high word first) of the event producer word.
pub const EVENT_PRODUCER_POINTER: u32 = 0x470;
/// 64-bit host address of the return producer word.
pub const RETURN_PRODUCER_POINTER: u32 = 0x478;
/// 64-bit host address of the send consumer word.
pub const SEND_CONSUMER_POINTER: u32 = 0x480;
/// 64-bit host address where statistics are reported.
pub const STATISTICS_POINTER: u32 = 0x488;

/// Lengths of a return ring.
pub const RETURN_LENGTHS: [u32; 2] = [super::RETURN_ENTRIES, super::RETURN_ENTRIES / 2];
/// Bytes by which the return ring's control block and all pointers lie earlier in the protocol of firmware 12.1, whose block
/// has no mini ring.
pub const OLDER_BYTES: u32 = RETURN_RING - MINI_RING;

/// Bytes of a ring control block.
pub const RING_CONTROL_BYTES: u32 = 16;
/// Ring control block: host address of the ring, high word.
pub const RING_HIGH: u32 = 0x0;
/// Ring control block: host address of the ring, low word.
pub const RING_LOW: u32 = 0x4;
/// Ring control block: longest buffer, or number of entries of a send or return ring (high half);
/// [`RingFlags`] (low half).
pub const RING_LENGTH_FLAGS: u32 = 0x8;

bitflags! {
    /// Flags of a ring control block.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct RingFlags: u32 {
        /// TCP and UDP checksums.
        const TCP_UDP_SUM = 0x01;
        /// IP checksums.
        const IP_SUM = 0x02;
        /// Checksums exclude the pseudo header.
        const NO_PSEUDO_HEADER = 0x08;
        /// The NIC inserts and removes VLAN tags.
        const VLAN_ASSIST = 0x10;
        /// Interrupts only when a coalescing threshold is reached.
        const COALESCED_INTERRUPTS = 0x20;
        /// The send ring is in host memory.
        const HOST_RING = 0x40;
        /// Checksums of SNAP frames.
        const SNAP_SUM = 0x80;
        /// Receive descriptors have the extended form.
        const EXTENDED = 0x100;
        /// The ring is not used.
        const DISABLED = 0x200;
    }
}

/// Flags that must be equal in the standard, jumbo and mini rings, disabled rings aside.
pub const RECEIVE_FLAGS_ALIKE: u32 = 0x9B;
