//! GM over Ethernet: frames, and the memory of a board with a MAC (docs/gm-tigon2.md).
//!
//! The route of a packet is the beginning of its frame: target, sender, Ethertype, two bytes of padding.

use super::atomic::ATOMICS_END;
use super::map::{BUFFERS, GLOBALS};
use crate::tigon2::map::RX_BUFFER_LIMIT;
use crate::tigon2::rings::MAC_TX_BELOW;

/// Ethertype of GM's frames: the second one for local experiments.
pub const ETHERTYPE: u16 = 0x88B6;
/// Bytes of a frame before the packet's header.
pub const FRAME_HEADER_BYTES: u32 = 16;
/// Offset of the word whose upper half is the Ethertype.
pub const WORD_ETHERTYPE: u32 = 12;
/// Bytes of the shortest frame, without FCS: shorter ones are padded.
pub const SHORTEST_FRAME_BYTES: u32 = 60;

/// The mailbox that the host writes after posts and commands.
pub const POST_MAILBOX: u32 = 1;

/// SRAM that the firmware needs.
pub const SRAM_BYTES: u32 = 0x10_0000;
/// Difference between an address above [`SRAM_BYTES`] and the same word's address in the map of GM.
pub const UPPER: u32 = 0x10_0000;
/// Start of the MAC's transmit buffer: all of GM's map, so that packets are sent from where they are. The rings lie below.
pub const TX_BUFFER: u32 = UPPER + GLOBALS;
/// End of GM's map.
const MAP_END: u32 = 0xE_0000;
/// End of the transmit buffer and start of the receive buffer.
pub const RX_BUFFER: u32 = UPPER + MAP_END;

const _: () = assert!(RX_BUFFER_LIMIT == UPPER + SRAM_BYTES && BUFFERS < MAP_END);
const _: () = assert!(ATOMICS_END <= MAP_END);
const _: () = assert!(TX_BUFFER - MAC_TX_BELOW > UPPER);
