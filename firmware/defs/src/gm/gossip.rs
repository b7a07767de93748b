//! All-to-all broadcast: groups in SRAM and their packets (docs/collectives.md, section 5).
//!
//! A process describes a group in one of its port's [descriptors](group_descriptor) and opens it with a send slot of type [`GROUP`].
//! Then each send slot of type [`GOSSIP`] is one operation: the number of the group in bits 15 to 8, [`DOUBLING`] or 0 above it in
//! bit 16, the bytes of a block in the word [`SEND_LENGTH`](super::port::SEND_LENGTH).
//!
//! | word of a descriptor | content |
//! |------|---------|
//! | 0 | number that all members have agreed on (16 bits); own rank, number of members (8 bits each, less 1) |
//! | 1, 2 | address of the first channel in the process's memory |
//! | 3, 4 | address of the second channel |
//! | 5 to 12 | members 1, 2, 4, ... ranks further |
//! | 13 to 20 | members 1, 2, 4, ... ranks back |
//!
//! Images for [large clusters](super::layout) have wide groups: word 0 has the number and in its lower half the rank; words 5 to 16 and 17 to 28 are the
//! members, word 29 is the number of members less 1.
//!
//! A **channel** has room for the blocks of all members. Operations use the two in turn. With concurrent broadcasting the block of rank `i` is
//! at `i * BLOCK_BYTES`; with recursive doubling the block of the member `i` ranks further is at `i` times the block's length. The
//! process writes its own block before it posts the operation.
//!
//! Packets have a GM header whose word of session and sequence number holds the group's number and the operation's (16 bits each). Behind it:
//!
//! | subtype | word 6 | word 7 | payload |
//! |---------|--------|--------|---------|
//! | [`SPREAD`] | origin's rank; exponent of the hop | length of a block | the origin's block |
//! | [`EXCHANGED`] | bytes before these in the step (28 bits); step | length of a block | bytes of a step |
//! | [`MISSING`] | as in the packet that is missing | 1 for [`EXCHANGED`] | |

use super::collective::COLLECTIVES_END;
use super::packet::SUBTYPE_BASE;
use super::port::PORT_COUNT;

/// Type of a send slot: a group is opened.
pub const GROUP: u32 = 112;
/// Type of a send slot: an all-to-all broadcast.
#[doc(alias = "gm_gossip")]
pub const GOSSIP: u32 = 113;
/// In the last word of a [`GOSSIP`]: recursive doubling, else concurrent broadcasting.
pub const DOUBLING: u32 = 1 << 16;

/// Subtype of a packet: a block of concurrent broadcasting.
pub const SPREAD: u32 = SUBTYPE_BASE + 88;
/// Subtype of a packet: bytes of recursive doubling.
pub const EXCHANGED: u32 = SUBTYPE_BASE + 89;
/// Subtype of a packet: the receiver asks for a packet that has not come.
pub const MISSING: u32 = SUBTYPE_BASE + 90;
/// Bytes between header and payload.
pub const GOSSIP_BYTES: u32 = 8;
/// Offset of word 6.
pub const WORD_PLACE: u32 = 24;
/// Offset of word 7.
pub const WORD_BLOCK: u32 = 28;

/// Groups of a port.
pub const GROUP_COUNT: u32 = 2;
/// Most members of such a group.
pub const GROUP_LIMIT: u32 = 256;
/// Powers of two below that.
pub const LEVELS: u32 = 8;
/// Bytes of a channel for each member, and of the longest block.
pub const BLOCK_BYTES: u32 = 4096;
/// Bytes of the staging memory of a channel: recursive doubling of so many bytes in all goes on without host memory.
pub const STAGING_BYTES: u32 = 4096;

/// Bytes of a group's descriptor.
pub const GROUP_DESCRIPTOR_BYTES: u32 = 128;
/// Words of a descriptor, in bytes from its beginning: number, rank and size.
pub const GROUP_NUMBER: u32 = 0;
/// Addresses of the channels.
pub const GROUP_CHANNELS: u32 = 4;
/// Members further on, then members further back.
pub const GROUP_MEMBERS: u32 = 20;
/// Bytes of all that is copied.
pub const GROUP_USED_BYTES: u32 = GROUP_MEMBERS + 8 * LEVELS;
/// Number of members less 1 in the descriptor of a wide group.
pub const WIDE_GROUP_LAST: u32 = GROUP_MEMBERS + 8 * super::layout::Layout::LARGE.levels;

/// Descriptors of groups.
pub const GROUP_DESCRIPTORS: u32 = COLLECTIVES_END;
/// Blocks of groups: the firmware's words.
pub const GROUPS: u32 = (GROUP_DESCRIPTORS + PORT_COUNT * GROUP_COUNT * GROUP_DESCRIPTOR_BYTES)
    .next_multiple_of(2 * GROUP_BYTES);
/// Bytes of the firmware's words of a group.
pub const GROUP_BYTES: u32 = 512;
/// Packets to pass on: a ring.
pub const PASSES: u32 =
    (GROUPS + PORT_COUNT * GROUP_COUNT * GROUP_BYTES).next_multiple_of(PASS_COUNT * PASS_BYTES);
/// Entries of that ring. What finds no place is asked for again by its receiver.
pub const PASS_COUNT: u32 = 256;
/// Bytes of an entry.
pub const PASS_BYTES: u32 = 16;
/// Received packets that are kept until they are passed on: words for each.
pub const HELD: u32 = PASSES + PASS_COUNT * PASS_BYTES;
/// Number of entries for received packets that are kept.
pub const HELD_COUNT: u32 = 32;
/// Bytes of an entry for a received packet that is kept.
pub const HELD_BYTES: u32 = 32;
/// Buffer of a packet that comes from host memory.
pub const GOSSIP_BUFFER: u32 = (HELD + HELD_COUNT * HELD_BYTES).next_multiple_of(64);
/// Staging memory of the first group of each port: for each channel the room of a packet before it and the bytes.
pub const STAGING: u32 = (GOSSIP_BUFFER + super::map::BUFFER_BYTES).next_multiple_of(64);
/// Room for route and header before staged bytes.
pub const STAGING_HEADER: u32 = 64;
/// Bytes of a channel's staging memory with that room.
pub const STAGING_ROOM: u32 = STAGING_BYTES + STAGING_HEADER;
/// Buffer of a packet for a member on the same node.
pub const GOSSIP_LOCAL: u32 = (STAGING + PORT_COUNT * 2 * STAGING_ROOM).next_multiple_of(64);
/// End of the memory of all-to-all broadcasts, but for more receive buffers.
pub const GOSSIP_END: u32 = GOSSIP_LOCAL + super::map::BUFFER_BYTES;

const _: () = assert!(WIDE_GROUP_LAST + 4 <= GROUP_DESCRIPTOR_BYTES);
const _: () = assert!(GOSSIP_END <= 0xE_0000 && GROUP_USED_BYTES <= GROUP_DESCRIPTOR_BYTES);

/// SRAM address of a group's descriptor.
#[must_use]
pub const fn group_descriptor(port: u32, group: u32) -> u32 {
    GROUP_DESCRIPTORS + (port * GROUP_COUNT + group) * GROUP_DESCRIPTOR_BYTES
}
