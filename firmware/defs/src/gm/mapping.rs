//! Mapping: packets that find out how a network is wired and give routes to its nodes, and the words in SRAM through which a
//! mapper on the host sends and receives them.
//!
//! Behind the route: a header of six words ([`HEADER_BYTES`]), and more for some subtypes. All words are big-endian.
//!
//! | word | content |
//! |------|---------|
//! | 0 | type [`TYPE`]; subtype |
//! | 1 | nonce: any number of the mapper, which the answer repeats |
//! | 2 | unique id of the sender, upper 16 bits; its node number, or [`NO_NODE`] |
//! | 3 | unique id of the sender, lower 32 bits |
//! | 4 | version of the routes: that of the sender's table, or of the routes that follow |
//! | 5 | [`SCOUT`], [`ROUTES`]: [`SIZES_BACK`], [`SIZES_COUNT`], [`SIZES_COMPLETE`]; [`REPLY`]: number of nodes |
//! | 6 to 9 | [`SCOUT`], [`ROUTES`]: the route back to the mapper, which ends where these words end |
//! | 10 | [`ROUTES`]: number of the node that receives them; number of nodes |
//! | 11 on | [`ROUTES`]: entries of [`ENTRY_BYTES`] |
//!
//! | subtype | who sends it | what the firmware does that receives it |
//! |---------|--------------|------------------------------------------|
//! | [`SCOUT`] | mapper | answers with a [`REPLY`] over the route back |
//! | [`REPLY`] | firmware | puts the header into its inbox |
//! | [`LOOP`] | mapper, to itself | puts the header into its inbox; one of another node is dropped |
//! | [`ROUTES`] | mapper | takes routes and its node number unless it knows a later version; answers with a [`REPLY`] |

use super::map::{GLOBALS, NODE_LIMIT, PORTS, ROUTE_LIMIT, STATE};

/// Packet type, the first 16 bits behind the route: that of GM's own mapping packets.
pub const TYPE: u32 = 0x700F;
/// Subtype: who is there?
pub const SCOUT: u32 = 1;
/// Subtype: the answer to [`SCOUT`] and [`ROUTES`].
pub const REPLY: u32 = 2;
/// Subtype: comes back to its sender.
pub const LOOP: u32 = 3;
/// Subtype: entries of a route table.
pub const ROUTES: u32 = 4;

/// The node number of a node that has none yet.
pub const NO_NODE: u32 = 0xFFFF;

/// Bytes of a header: a whole [`REPLY`] or [`LOOP`].
pub const HEADER_BYTES: u32 = 24;
/// Bytes of a [`SCOUT`].
pub const SCOUT_BYTES: u32 = 40;
/// Bytes of [`ROUTES`] without entries.
pub const ROUTES_BYTES: u32 = 44;
/// Bytes of an entry: target, [`ENTRY_VALID`] and length in a word; the route, which ends where the entry ends.
pub const ENTRY_BYTES: u32 = 20;
/// Most entries of a packet.
pub const ENTRY_LIMIT: u32 = 16;
/// In the first word of an entry, whose upper half is the target: the target can be reached.
pub const ENTRY_VALID: u32 = 1 << 15;
/// In the first word of an entry: length of the route.
pub const ENTRY_LENGTH: u32 = 0xFF;
/// Bytes of the longest packet.
pub const PACKET_LIMIT: u32 = ROUTES_BYTES + ENTRY_LIMIT * ENTRY_BYTES;
/// Most bytes of the route of a packet that a mapper sends: there and back again, over one crossbar more.
pub const PROBE_LIMIT: u32 = 2 * ROUTE_LIMIT;

/// Offset of word 0.
pub const WORD_TYPE: u32 = 0;
/// Offset of word 1.
pub const WORD_NONCE: u32 = 4;
/// Offset of word 2.
pub const WORD_HIGH: u32 = 8;
/// Offset of word 3.
pub const WORD_LOW: u32 = 12;
/// Offset of word 4.
pub const WORD_VERSION: u32 = 16;
/// Offset of word 5.
pub const WORD_SIZES: u32 = 20;
/// Offset of the route back.
pub const WORD_BACK: u32 = 24;
/// Offset of word 10.
pub const WORD_NUMBERS: u32 = 40;

/// In word 5: length of the route back.
pub const SIZES_BACK: u32 = 0xFF;
/// In word 5 of [`ROUTES`]: shift of the number of entries, a byte.
pub const SIZES_COUNT: u32 = 8;
/// In word 5 of [`ROUTES`]: the node's table is complete, and so are those of all other nodes.
pub const SIZES_COMPLETE: u32 = 1 << 16;

/// Words of mapping in SRAM.
pub const MAPPING: u32 = GLOBALS + 0x400;
/// The firmware's place in its list of acks, of the size of a connection.
pub const PROBE: u32 = MAPPING;
/// Upper 16 bits of the own unique id, in the upper half; written by the host before it starts the protocol.
pub const OWN_HIGH: u32 = MAPPING + 0x80;
/// Lower 32 bits of the own unique id.
pub const OWN_LOW: u32 = MAPPING + 0x84;
/// Version of the routes, once all nodes have theirs; 0 before.
pub const MAP_VERSION: u32 = MAPPING + 0x88;
/// Version of the latest routes that the firmware has taken.
pub const ROUTES_VERSION: u32 = MAPPING + 0x8C;
/// Unique id of the mapper that sent them: upper half, then the lower word.
pub const MAPPER: u32 = MAPPING + 0x90;
/// The firmware's own words.
pub const PROBE_STATE: u32 = MAPPING + 0x98;
/// The slot of the inbox that the firmware fills next.
pub const INBOX_NEXT: u32 = MAPPING + 0xA4;
/// Word of the packet that the host sends, written last: a kind in the low byte, length of the route above it, length of the packet in the
/// upper half. The firmware clears it when it has taken the packet.
pub const OUT: u32 = MAPPING + 0xC0;
/// The firmware writes [`PROBES_TAKEN_MAGIC`] when it takes packets from the outbox; the host clears the word before a start.
pub const PROBES_TAKEN: u32 = MAPPING + 0xC4;
/// Value of [`PROBES_TAKEN`].
pub const PROBES_TAKEN_MAGIC: u32 = 0x474D_700F;
/// Kind: send it. An answer comes into the inbox.
pub const OUT_SEND: u32 = 1;
/// Kind: treat it as if it had come in; for the own routes. Nothing is answered.
pub const OUT_LOCAL: u32 = 2;
/// Most nodes for which the board has memory; written by the host before it starts the protocol.
pub const PEER_LIMIT: u32 = MAPPING + 0xC8;
/// The packet to send; its route ends here.
pub const OUT_HEADER: u32 = MAPPING + 0x100;
/// Packets that have come in: slots of [`INBOX_SLOT_BYTES`], used in turn. A header lies in its slot; the host clears the first
/// word when it has read it.
pub const INBOX: u32 = MAPPING + 0x280;
/// Number of slots. What comes in while the next one is not free is dropped.
pub const INBOX_SLOTS: u32 = 16;
/// Bytes of a slot.
pub const INBOX_SLOT_BYTES: u32 = 32;

const _: () = assert!(STATE + 0x200 <= MAPPING);
const _: () = assert!(OUT_HEADER + PACKET_LIMIT <= INBOX);
const _: () = assert!(INBOX + INBOX_SLOTS * INBOX_SLOT_BYTES <= PORTS);
const _: () = assert!(NODE_LIMIT <= NO_NODE);
const _: () = assert!(PEER_LIMIT + 4 + PROBE_LIMIT <= OUT_HEADER);

/// The first word of a packet.
#[must_use]
pub const fn first_word(subtype: u32) -> u32 {
    TYPE << 16 | subtype
}

/// The word [`OUT`] for a packet of `length` bytes behind a route of `route` bytes.
#[must_use]
pub const fn out_word(kind: u32, route: u32, length: u32) -> u32 {
    length << 16 | route << 8 | kind
}
