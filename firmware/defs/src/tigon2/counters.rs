//! The MAC's statistics counters in SRAM: addresses of words (docs/tigon2-io.md, section 6).

use super::map::STATISTICS_BASE;

/// Bytes of all counters.
pub const BYTES: u32 = 0x80;

/// Frames dropped by the transmitter after too many collisions.
pub const EXCESS_COLLISIONS: u32 = STATISTICS_BASE;
/// Frames sent after one collision; the next words count frames sent after 2 to 15.
pub const COLLISIONS: u32 = STATISTICS_BASE + 0x04;
/// Number of collision counters.
pub const COLLISION_WORDS: u32 = 15;
/// Late collisions.
pub const LATE_COLLISIONS: u32 = STATISTICS_BASE + 0x40;
/// Frames whose transmission was deferred.
pub const DEFERRED: u32 = STATISTICS_BASE + 0x44;
/// Received frames with a wrong FCS.
pub const CRC_ERRORS: u32 = STATISTICS_BASE + 0x48;
/// Sent frames whose data was not in time (underrun).
pub const UNDERRUNS: u32 = STATISTICS_BASE + 0x4C;
/// Carrier losses.
pub const CARRIER_LOST: u32 = STATISTICS_BASE + 0x50;
/// Unicast frames that the filter dropped.
pub const DROPPED_UNICAST: u32 = STATISTICS_BASE + 0x60;
/// Multicast frames that the filter dropped.
pub const DROPPED_MULTICAST: u32 = STATISTICS_BASE + 0x64;
/// Pause frames.
pub const DROPPED_PAUSE: u32 = STATISTICS_BASE + 0x68;
/// Frames dropped for lack of space.
pub const DROPPED_SPACE: u32 = STATISTICS_BASE + 0x6C;
/// Collisions while a frame was received.
pub const RX_COLLISIONS: u32 = STATISTICS_BASE + 0x70;
/// Broadcast frames kept.
pub const KEPT_BROADCAST: u32 = STATISTICS_BASE + 0x74;
/// Multicast frames kept.
pub const KEPT_MULTICAST: u32 = STATISTICS_BASE + 0x78;
/// Unicast frames kept.
pub const KEPT_UNICAST: u32 = STATISTICS_BASE + 0x7C;
