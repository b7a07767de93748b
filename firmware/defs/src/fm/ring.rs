//! Host memory that the firmware fills: the ring of received packets, and a word of credits for each node (docs/fm.md, section 3).
//!
//! | place in a slot | content |
//! |-----------------|---------|
//! | end - 4 | flag: [`ARRIVED`], and the bytes of the packet, header included |
//! | end - 4 - bytes | the packet |

use super::packet::{HEADER_BYTES, MTU};

/// Bytes of a slot of the ring.
pub const SLOT_BYTES: u32 = 1600;
/// Offset of the flag in a slot.
pub const SLOT_FLAG: u32 = SLOT_BYTES - 4;
const _: () = assert!(HEADER_BYTES + MTU <= SLOT_FLAG);

/// Flag: there is a packet in the slot. The host clears the flag.
pub const ARRIVED: u32 = 1 << 31;
/// Flag: bytes of the packet.
pub const BYTES_MASK: u32 = 0xFFFF;

/// In a word of credits: there is a sum in the lower half. The host clears the word.
pub const RETURNED: u32 = 1 << 31;
