//! Map of SRAM. The image and its stack lie below [`GLOBALS`]; a board needs [`SRAM_BYTES`].

use super::packet::{HEADER_BYTES, MTU};

/// Words that host and firmware share, then the firmware's own.
pub const GLOBALS: u32 = 0x4_0000;
/// Send slots, written by the host through the window.
pub const SEND_SLOTS: u32 = 0x4_1000;
/// Number of send slots.
pub const SEND_SLOT_COUNT: u32 = 32;
/// Bytes of a send slot.
pub const SEND_SLOT_BYTES: u32 = 0x740;
/// End of the send slots.
pub const SEND_SLOTS_END: u32 = SEND_SLOTS + SEND_SLOT_COUNT * SEND_SLOT_BYTES;
/// Receive buffers.
pub const RECEIVE_BUFFERS: u32 = 0x5_0000;
/// Number of receive buffers.
pub const RECEIVE_BUFFER_COUNT: u32 = 8;
/// Bytes of a receive buffer: a packet, a word behind it, and 64 bytes of the hardware abstraction.
pub const RECEIVE_BUFFER_BYTES: u32 = 0x680;
/// Queues of the DMA engine, a multiple of 0x800.
pub const HARDWARE: u32 = 0x5_4000;
/// Words of the receive buffers.
pub const RECEIVE_WORDS: u32 = 0x5_5100;
/// The routes: [`ROUTE_BYTES`] for each physical node.
pub const ROUTES: u32 = 0x5_6000;
/// Bytes of an entry of [`ROUTES`]: the length of the route, and at [`ROUTE_WORDS`] the route, which ends with the entry's byte 20.
pub const ROUTE_BYTES: u32 = 32;
/// Offset of the route in its entry.
pub const ROUTE_WORDS: u32 = 4;
/// Most bytes of a route.
pub const ROUTE_LIMIT: u32 = 16;
/// Most nodes.
pub const NODE_LIMIT: u32 = 256;
/// End of the map.
pub const SRAM_BYTES: u32 = ROUTES + NODE_LIMIT * ROUTE_BYTES;

const _: () = assert!(SEND_SLOTS_END <= RECEIVE_BUFFERS);
const _: () = assert!(RECEIVE_BUFFERS + RECEIVE_BUFFER_COUNT * RECEIVE_BUFFER_BYTES <= HARDWARE);
const _: () = assert!(HEADER_BYTES + MTU + 4 <= RECEIVE_BUFFER_BYTES - 0x40);

/// Send slot: control word, written last. The length of the route stands at [`CONTROL_ROUTE_SHIFT`], the address of the packet's
/// end below. The firmware clears the word when all copies of the packet have left.
pub const SLOT_CONTROL: u32 = 0;
/// Position of the route's length in the control word.
pub const CONTROL_ROUTE_SHIFT: u32 = 24;
/// Mask of the address in the control word.
pub const CONTROL_END_MASK: u32 = 0xFF_FFFF;
/// Send slot: the header. The route ends before it.
pub const SLOT_HEADER: u32 = 4 + ROUTE_LIMIT;
/// Send slot: the payload.
pub const SLOT_PAYLOAD: u32 = SLOT_HEADER + HEADER_BYTES;
/// Send slot: number of further destinations. The firmware clears it.
pub const SLOT_MORE: u32 = SLOT_PAYLOAD + MTU;
/// Send slot: the further destinations, a word ([`more_word`]) for each.
pub const SLOT_LIST: u32 = SLOT_MORE + 4;
/// Most destinations of a multi-send.
pub const MULTI_LIMIT: u32 = 64;
const _: () = assert!(SLOT_LIST + 4 * (MULTI_LIMIT - 1) <= SEND_SLOT_BYTES);

/// A further destination: its logical node, its physical node, and the credits that are returned to it.
#[must_use]
pub const fn more_word(logical: u8, physical: u8, credits: u16) -> u32 {
    (logical as u32) << 24 | (physical as u32) << MORE_PHYSICAL_SHIFT | credits as u32
}

/// Position of the physical node in a further destination; logical node and credits stand as in
/// [`WORD_TARGET`](super::packet::WORD_TARGET).
pub const MORE_PHYSICAL_SHIFT: u32 = 16;

/// Address of the route to a physical node.
#[must_use]
pub const fn route(physical: u8) -> u32 {
    ROUTES + physical as u32 * ROUTE_BYTES
}

/// Address of a send slot.
#[must_use]
pub const fn send_slot(number: u32) -> u32 {
    SEND_SLOTS + number * SEND_SLOT_BYTES
}

/// The firmware writes [`READY_MAGIC`] when it expects [`COMMAND_START`].
pub const READY: u32 = GLOBALS;
/// Value of [`READY`].
pub const READY_MAGIC: u32 = 0x464D_0201;
/// [`COMMAND_START`] when the words of the host are written. The firmware clears it when it has begun.
pub const COMMAND: u32 = GLOBALS + 4;
/// Value of [`COMMAND`]: begin.
pub const COMMAND_START: u32 = 1;
/// The own logical node.
pub const NODE: u32 = GLOBALS + 8;
/// Number of nodes.
pub const NODES: u32 = GLOBALS + 12;
/// Address of the ring of received packets in host memory. The bus has addresses of 32 bits.
pub const RING: u32 = GLOBALS + 16;
/// Address of the end of the ring of received packets.
pub const RING_END: u32 = GLOBALS + 20;
/// Address of the words of credits in host memory.
pub const CREDITS: u32 = GLOBALS + 24;
/// Number of send slots that are free again since the start, modulo 2^32. Written by the firmware.
pub const SLOTS_DONE: u32 = GLOBALS + 28;
/// Counters: a word for each [`Counter`].
pub const COUNTERS: u32 = GLOBALS + 0x40;
/// The firmware's own words.
pub const STATE: u32 = GLOBALS + 0x80;

/// A counter of the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// Received packets that are damaged, too short or too long.
    BadPackets = 0,
    /// Received packets of another type or kind.
    BadType = 1,
    /// Received packets for another node, or from an unknown one.
    BadAddress = 2,
    /// Lists of destinations that are too long; the packet went to the first one only.
    BadLists = 3,
}

/// Number of counters.
pub const COUNTER_COUNT: u32 = 4;
