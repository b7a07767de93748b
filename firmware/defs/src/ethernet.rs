//! The host protocol of the Ethernet firmware for any number of CPUs (`ether-n`, docs/nic-design.md): rings in host memory, words and
//! mailboxes of the board.
//!
//! All rings are in host memory, in words of the host's byte order, and their entries are used in turn. An index counts entries for ever:
//! entry `n` is at `n` modulo [`RING_ENTRIES`].
//!
//! * Send ring: for each frame its host address and its length without FCS ([`SEND_BYTES`]).
//! * Receive ring: for each buffer its host address ([`RECEIVE_BYTES`]); a buffer has [`BUFFER_BYTES`].
//! * Return ring: for each received frame a word ([`RETURN_BYTES`]): the status of the MAC in the high half, the length without FCS in the
//!   low one. Frame `n` is in buffer `n`.
//! * Status: two words, the number of sent frames and that of returned ones.

use crate::tigon2::map::GENERAL_BASE;

/// Word: host address of the send ring.
pub const SEND_RING: u32 = GENERAL_BASE;
/// Word: host address of the receive ring.
pub const RECEIVE_RING: u32 = GENERAL_BASE + 4;
/// Word: host address of the return ring.
pub const RETURN_RING: u32 = GENERAL_BASE + 8;
/// Word: host address of the status.
pub const STATUS: u32 = GENERAL_BASE + 0xC;
/// Word: [`OPTION_BITS`], and the most frames of a piece of work in the low byte.
pub const OPTIONS: u32 = GENERAL_BASE + 0x10;
/// Word: [`READY_VALUE`] once the firmware serves the rings.
pub const READY: u32 = GENERAL_BASE + 0x14;

/// Option: order is restored by the bit instructions, else under locks.
pub const OPTION_BITS: u32 = 1 << 8;
/// Part of the options: most frames of a piece of work.
pub const OPTION_BATCH: u32 = 0xFF;
/// Most frames of a piece of work.
pub const MOST_BATCH: u32 = 16;
/// The value of [`READY`].
pub const READY_VALUE: u32 = 0x4554_4852;

/// Mailbox: number of frames in the send ring so far.
pub const SEND_MAILBOX: u32 = 2;
/// Mailbox: number of buffers in the receive ring so far.
pub const RECEIVE_MAILBOX: u32 = 3;

/// Entries of each ring.
pub const RING_ENTRIES: u32 = 512;
/// Bytes of an entry of the send ring.
pub const SEND_BYTES: u32 = 8;
/// Bytes of an entry of the receive ring.
pub const RECEIVE_BYTES: u32 = 4;
/// Bytes of an entry of the return ring.
pub const RETURN_BYTES: u32 = 4;
/// Bytes of the status.
pub const STATUS_BYTES: u32 = 8;
/// Bytes of a buffer for a received frame.
pub const BUFFER_BYTES: u32 = 2048;
/// Longest frame without FCS.
pub const LONGEST_BYTES: u32 = 1514;
/// Shortest frame without FCS.
pub const SHORTEST_BYTES: u32 = 60;

/// A word of the return ring.
#[must_use]
pub const fn returned(status: u32, length_bytes: u32) -> u32 {
    status << 16 | length_bytes & 0xFFFF
}

/// Status and length of a word of the return ring.
#[must_use]
pub const fn parts_of_returned(word: u32) -> (u32, u32) {
    (word >> 16, word & 0xFFFF)
}
