//! Memory of the firmware: frame buffers, rings, and tables that all CPUs share.

use defs::ethernet;
use defs::tigon2::map::mailbox_low;
use defs::tigon2::rings::{MAC_RX_BELOW, MAC_TX_BELOW, READ_RING_BELOW, WRITE_RING_BELOW};
use tigon2_hal::bits::BitArray;
use tigon2_hal::layout::Layout;
use tigon2_hal::{fail, sram};

/// Places of frames in the transmit buffer.
pub const PLACES: u32 = 64;
/// Bytes of a place: a multiple of 512.
pub const PLACE_BYTES: u32 = 1536;
/// Most frames in the transmit buffer: a full one would look empty.
pub const MOST_PLACES: u32 = PLACES - 2;

const TX_BUFFER: u32 = 0x001B_8000;
/// The buffers: 96 KB to transmit, 192 KB to receive.
pub const LAYOUT: Layout = Layout {
    tx_buffer: TX_BUFFER,
    rx_buffer: TX_BUFFER + PLACES * PLACE_BYTES,
};

/// Descriptors of frames to send. This ring and the others begin at a multiple of their size.
pub const TX_RING: u32 = TX_BUFFER - MAC_TX_BELOW;
/// Descriptors of received frames.
pub const RX_RING: u32 = TX_BUFFER - MAC_RX_BELOW;
/// Descriptors of DMA reads.
pub const READ_RING: u32 = TX_BUFFER - READ_RING_BELOW;
/// Descriptors of DMA writes.
pub const WRITE_RING: u32 = TX_BUFFER - WRITE_RING_BELOW;

/// First byte of the tables.
const TABLES: u32 = 0x0002_0000;
/// Entries of a cache of descriptors of the host. At most half of them are requested and not yet used: an entry is overwritten only when
/// the DMA of its frame has ended, for the DMA rings have fewer entries than the other half.
pub const CACHE_ENTRIES: u32 = 128;
/// Cache of the send ring.
pub const SENDS: u32 = TABLES;
/// Cache of the receive ring.
pub const BUFFERS: u32 = SENDS + CACHE_ENTRIES * ethernet::SEND_BYTES;
/// Words of the return ring, before they are moved there.
pub const RETURNS: u32 = BUFFERS + CACHE_ENTRIES * ethernet::RECEIVE_BYTES;
/// Indices of the hardware at the ends of pieces of sending: two words for each.
pub const READ_ENDS: u32 = RETURNS + ethernet::RING_ENTRIES * ethernet::RETURN_BYTES;
/// Pieces in a table of ends, or of flags.
pub const PIECES: u32 = 64;
/// Indices of the hardware at the ends of pieces of receiving.
pub const WRITE_ENDS: u32 = READ_ENDS + 8 * PIECES;
/// Flags of pieces of sending that are done, a word for each, without bit instructions.
pub const READ_FLAGS: u32 = WRITE_ENDS + 8 * PIECES;
/// Flags of pieces of receiving.
pub const WRITE_FLAGS: u32 = READ_FLAGS + 4 * PIECES;
/// Bits of an array of marks: more than pieces can be under way, so that a bit stays free for long.
const MARKS: u32 = 256;
const READ_BITS: u32 = WRITE_FLAGS + 4 * PIECES;
const WRITE_BITS: u32 = READ_BITS + MARKS / 8;
/// Bits of pieces of sending that are done.
pub const READ_MARKS: BitArray = BitArray::new(READ_BITS, MARKS);
/// Bits of pieces of receiving that are done.
pub const WRITE_MARKS: BitArray = BitArray::new(WRITE_BITS, MARKS);

/// Words that CPUs read without the lock under which they are changed.
pub const SHARED: u32 = WRITE_BITS + MARKS / 8;
/// Frames of the send ring that are claimed.
pub const SENDS_CLAIMED: u32 = SHARED;
/// Entries of the send ring that are in the cache, now or before.
pub const SENDS_FETCHED: u32 = SHARED + 4;
/// Entries of the send ring that were requested.
pub const SENDS_REQUESTED: u32 = SHARED + 8;
/// The place in the ring of DMA reads behind the fetch of these.
pub const SENDS_FETCH_END: u32 = SHARED + 12;
/// Received frames that are claimed.
pub const BUFFERS_CLAIMED: u32 = SHARED + 16;
/// Entries of the receive ring that are in the cache, now or before.
pub const BUFFERS_FETCHED: u32 = SHARED + 20;
/// Entries of the receive ring that were requested.
pub const BUFFERS_REQUESTED: u32 = SHARED + 24;
/// As [`SENDS_FETCH_END`].
pub const BUFFERS_FETCH_END: u32 = SHARED + 28;
/// The free place in the ring of DMA reads, in bytes, counted for ever.
pub const READ_PLACE: u32 = SHARED + 32;
/// Sent frames of which the host knows.
pub const REPORTED: u32 = SHARED + 36;
/// First piece of sending that is not released.
pub const READ_NEXT: u32 = SHARED + 40;
/// First piece of receiving that is not released.
pub const WRITE_NEXT: u32 = SHARED + 44;
/// Number of these words.
pub const SHARED_WORDS: u32 = 12;
/// Number of the next piece of sending; under its lock.
pub const READ_PIECE: u32 = SHARED + 4 * SHARED_WORDS;
/// Number of the next piece of receiving; under its lock.
pub const WRITE_PIECE: u32 = READ_PIECE + 4;
/// The free place in the ring of DMA writes, likewise; under the same lock.
pub const WRITE_PLACE: u32 = READ_PIECE + 8;
/// End of the tables.
const TABLES_END: u32 = READ_PIECE + 12;

/// The host's number of frames to send.
pub const SEND_MAILBOX: u32 = mailbox_low(ethernet::SEND_MAILBOX);
/// The host's number of buffers.
pub const RECEIVE_MAILBOX: u32 = mailbox_low(ethernet::RECEIVE_MAILBOX);
/// Clears tables and rings.
#[cold]
pub fn clear() {
    if sram::image_end() > TABLES {
        fail!("the image reaches {x}, into its tables", sram::image_end())
    }
    sram::clear(TABLES, TABLES_END - TABLES);
    sram::clear(TX_RING, TX_BUFFER - TX_RING);
}
