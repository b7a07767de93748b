//! Map of SRAM. The image and its stack lie below [`GLOBALS`]; a board needs [`sram_bytes`].

use super::port::{PORT_COUNT, SEND_SLOT_BYTES, SEND_SLOTS};

/// Words that host and firmware share, then the firmware's own.
pub const GLOBALS: u32 = 0x4_0000;
/// Control blocks of the ports.
pub const PORTS: u32 = 0x4_1000;
/// Bytes of a control block.
pub const PORT_BYTES: u32 = 0x800;
/// Send queues.
pub const SEND_QUEUES: u32 = PORTS + PORT_COUNT * PORT_BYTES;
/// Queues of receive tokens.
pub const RECEIVE_QUEUES: u32 = SEND_QUEUES + PORT_COUNT * SEND_SLOTS * SEND_SLOT_BYTES;
/// Bytes of a port's queue of receive tokens.
pub const RECEIVE_QUEUE_BYTES: u32 = 0x1000;
/// The firmware's records of sends, then those of answers to gets.
pub const RECORDS: u32 = RECEIVE_QUEUES + PORT_COUNT * RECEIVE_QUEUE_BYTES;
/// Number of records of sends: one for each send slot, and 64 for sends of closed ports that keep their sequence numbers.
pub const RECORD_COUNT: u32 = PORT_COUNT * SEND_SLOTS + 64;
/// Number of records of answers to gets: more gets at once wait.
pub const REPLY_COUNT: u32 = 64;
/// Bytes of a record.
pub const RECORD_BYTES: u32 = 64;
/// The firmware's records of receive tokens.
pub const TOKENS: u32 = RECORDS + (RECORD_COUNT + REPLY_COUNT) * RECORD_BYTES;
/// Number of the firmware's records of receive tokens.
pub const TOKEN_COUNT: u32 = PORT_COUNT * 256;
/// Bytes of a record of a receive token.
pub const TOKEN_BYTES: u32 = 16;
/// Entries of the page table that SDMA has used: a cache with one place for each value of [`page_hash`].
pub const SEND_PAGES: u32 = TOKENS + TOKEN_COUNT * TOKEN_BYTES;
/// Cache of the entries of the page table that RDMA has used. On one CPU both use [`SEND_PAGES`].
pub const RECEIVE_PAGES: u32 = SEND_PAGES + PAGE_ENTRIES * PAGE_ENTRY_BYTES;
/// Entries of such a cache.
pub const PAGE_ENTRIES: u32 = 512;
/// Bytes of an entry, in the cache and in host memory: see [`page_tag`].
pub const PAGE_ENTRY_BYTES: u32 = 16;
/// Buffers of packets: two to send, two to receive, one for acks and two for reports.
pub const BUFFERS: u32 = RECEIVE_PAGES + PAGE_ENTRIES * PAGE_ENTRY_BYTES;
/// Receive buffers, for boards whose receiver takes one packet into each.
pub const RECEIVE_BUFFERS: u32 = BUFFERS + 2 * BUFFER_BYTES;
/// Number of receive buffers from [`RECEIVE_BUFFERS`] on.
pub const RECEIVE_BUFFER_COUNT: u32 = 2;
/// More receive buffers, used instead of these by boards that have the memory: packets that are passed on stay in them.
pub const MORE_RECEIVE_BUFFERS: u32 = 0xE_0000;
/// Number of receive buffers from [`MORE_RECEIVE_BUFFERS`] on: DMA of so many packets can be under way.
pub const MORE_RECEIVE_BUFFER_COUNT: u32 = 12;
/// Bytes of a packet's buffer.
pub const BUFFER_BYTES: u32 = 0x1100;
/// Offset of the header in a buffer; the route lies before it.
pub const BUFFER_HEADER: u32 = 64;
const _: () = assert!(3 * MORE_RECEIVE_BUFFER_COUNT + MORE_WRITES < 64);
/// Blocks of DMA (LANai 7 and 9) and the hardware abstraction's own words.
pub const HARDWARE: u32 = (BUFFERS + 6 * BUFFER_BYTES).next_multiple_of(0x800);
/// First DMA block of LANai 7 and 9 to the host: channel 0.
pub const WRITE_BLOCKS: u32 = HARDWARE;
/// First DMA block of LANai 7 and 9 from the host: channel 2.
pub const READ_BLOCKS: u32 = HARDWARE + 0x800;
/// DMAs to the host that can be under way besides three for each received packet: eight reports, the end of a command, a question of a
/// broadcast, the word of an atomic operation, and two for the staged bytes of each port.
pub const MORE_WRITES: u32 = 11 + 2 * PORT_COUNT;
/// Words of the receive buffers.
pub const RECEIVE_WORDS: u32 = HARDWARE + 0x1080;
/// Jobs from SEND's CPU to RECV's, where there are two: a ring of [`JOB_COUNT`] entries of four words.
pub const RECEIVER_JOBS: u32 = HARDWARE + 0x1100;
/// Jobs the other way.
pub const SENDER_JOBS: u32 = RECEIVER_JOBS + JOB_COUNT * JOB_BYTES;
/// Entries of a ring of jobs: more than tokens and requests can be under way.
pub const JOB_COUNT: u32 = 1024;
/// Bytes of a job.
pub const JOB_BYTES: u32 = 16;

/// State of each peer: [`PEER_BYTES`] for each node, up to the end of SRAM.
///
/// | bytes | content |
/// |-------|---------|
/// | 0 to 51 | connection of low priority |
/// | 52 to 63 | number of route bytes with [`ROUTE_VALID`]; bytes 13 to 16 of the route; bytes 9 to 12 |
/// | 64 to 115 | connection of high priority |
/// | 116 to 127 | [`PEER_ATOMICS`]; bytes 5 to 8; bytes 1 to 4 |
///
/// The route ends with byte 16.
pub const PEERS: u32 = (SENDER_JOBS + JOB_COUNT * JOB_BYTES).next_multiple_of(PEER_BYTES);
/// Bytes of a peer.
pub const PEER_BYTES: u32 = 128;
/// Bytes of one of a peer's connections.
pub const CONNECTION_BYTES: u32 = 64;
/// Most nodes.
pub const NODE_LIMIT: u32 = 1024;
/// Most bytes of a route.
pub const ROUTE_LIMIT: u32 = 16;
/// Word of a peer: number of route bytes.
pub const PEER_ROUTE: u32 = 52;
/// Word of a peer: places of atomic operations that are not answered, a bit for each; above them the number of the last one.
pub const PEER_ATOMICS: u32 = 116;
/// In that word: the node can be reached.
pub const ROUTE_VALID: u32 = 1 << 31;
/// Words of a peer with the route, the last four bytes first.
pub const ROUTE_WORDS: [u32; 4] = [56, 60, 120, 124];

/// End of the map on the smallest boards: 302 nodes.
pub const SRAM_BYTES: u32 = 0x8_0000;

/// Bytes of SRAM that the firmware needs for `nodes` nodes.
#[must_use]
pub const fn sram_bytes(nodes: u32) -> u32 {
    PEERS + nodes * PEER_BYTES
}

/// SRAM address of a peer.
#[must_use]
pub const fn peer(node: u32) -> u32 {
    PEERS + node * PEER_BYTES
}

const _: () = assert!(sram_bytes(302) <= SRAM_BYTES && sram_bytes(303) > SRAM_BYTES);
const _: () = assert!(sram_bytes(NODE_LIMIT) <= 0x20_0000);

/// The firmware writes [`READY_MAGIC`] when it expects [`COMMAND_START`].
pub const READY: u32 = GLOBALS;
/// Value of [`READY`].
pub const READY_MAGIC: u32 = 0x474D_0001;
/// A command of the host: a code in the low byte, a port above it. The firmware clears the word when it has carried out
/// the command.
pub const COMMAND: u32 = GLOBALS + 4;
/// The own node.
pub const NODE: u32 = GLOBALS + 8;
/// Number of nodes.
pub const NODES: u32 = GLOBALS + 12;
/// First session of every connection (16 bits): another one than before a restart.
pub const SESSION: u32 = GLOBALS + 16;
/// Ticks after which unacknowledged packets are sent again.
pub const RESEND_TICKS: u32 = GLOBALS + 20;
/// Ticks after which a send fails that makes no progress.
pub const FATAL_TICKS: u32 = GLOBALS + 24;
/// The page table in host memory: its address, upper half.
pub const PAGE_TABLE_HIGH: u32 = GLOBALS + 28;
/// The page table in host memory: its address, lower half.
pub const PAGE_TABLE_LOW: u32 = GLOBALS + 32;
/// Bytes before the page table of which the firmware writes the first word, at the end of a command.
pub const PAGE_TABLE_SCRATCH: u32 = 64;
/// Number of its buckets, a power of two, less 1. A bucket has [`BUCKET_ENTRIES`] entries and lies in one page.
pub const PAGE_TABLE_MASK: u32 = GLOBALS + 36;
/// First argument of a command.
pub const ARGUMENT_HIGH: u32 = GLOBALS + 40;
/// Second argument of a command.
pub const ARGUMENT_LOW: u32 = GLOBALS + 44;
/// Ticks after which a collective operation fails that is not complete; 0 if the board has no memory for such operations.
pub const COLLECTIVE_TICKS: u32 = GLOBALS + 48;
/// Counters: a word for each [`Counter`].
pub const COUNTERS: u32 = GLOBALS + 0x40;
/// Counters of RECV's half, as in [`COUNTERS`], where it has a CPU of its own: each CPU counts in its own words.
pub const RECEIVER_COUNTERS: u32 = COUNTERS + 4 * COUNTER_COUNT;
/// The firmware's own words.
pub const STATE: u32 = GLOBALS + 0x100;

/// A tick of the firmware's timer, in half microseconds.
pub const TICK_HALF_US: u32 = 200;
/// Times that the wait before packets are sent again doubles while nothing is acknowledged.
pub const BACK_OFF_LIMIT: u32 = 4;
/// Most packets of a connection that are sent and not acknowledged.
pub const WINDOW: u32 = 64;
/// A tick of the timer for delayed acks, in half microseconds.
pub const ACK_HALF_US: u32 = 100;
/// Packets after which the receiver acknowledges at once; fewer ones, at the end of a message, after [`ACK_HALF_US`].
pub const ACK_PACKETS: u32 = 8;
/// Entries of a bucket of the page table.
pub const BUCKET_ENTRIES: u32 = 4;
/// Bytes of a page.
pub const PAGE_BYTES: u32 = 4096;

/// Second word of an entry of the page table for the page with the byte at `low`; the first word is the upper half of the
/// address. Two words of physical address follow. `key` is that of the process: [`page_key`].
#[must_use]
pub const fn page_tag(low: u32, key: u32) -> u32 {
    low & !(PAGE_BYTES - 1) | key
}

/// Key of a process, which is never 0.
#[must_use]
pub const fn page_key(process: u32) -> u32 {
    process << 1 | 1
}

/// Hash of a page's number and tag: the start of the search for its entry, in the cache and in the table.
#[inline(always)]
#[must_use]
pub const fn page_hash(high: u32, tag: u32) -> u32 {
    (tag >> 12) ^ ((tag & 0xFFF) << 5) ^ high
}

/// Usual value of [`RESEND_TICKS`]: 10 ms.
pub const DEFAULT_RESEND_TICKS: u32 = 100;
/// Usual value of [`FATAL_TICKS`]: 60 s.
pub const DEFAULT_FATAL_TICKS: u32 = 600_000;

/// Begin: the words of the host are written.
pub const COMMAND_START: u32 = 1;
/// Open a port.
pub const COMMAND_OPEN: u32 = 2;
/// Close a port.
pub const COMMAND_CLOSE: u32 = 3;
/// Forget the page whose tag ([`page_tag`]) and upper half are the arguments. Afterwards no DMA uses it.
pub const COMMAND_UNCACHE: u32 = 4;
/// Set the sizes of messages that a port accepts: the arguments have a bit for each size, of high and low priority.
pub const COMMAND_ACCEPT: u32 = 5;
/// A command is being carried out. Written by the firmware.
pub const COMMAND_BUSY: u32 = 0xFF;
/// Let other nodes write and read the memory of the port's process (lower argument 1), or not (0).
pub const COMMAND_ALLOW: u32 = 6;

/// A counter of the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// Packets that are not intact: damaged, too short or too long.
    BadPackets = 0,
    /// Packets that were received twice.
    Duplicates = 1,
    /// Packets behind a lost one.
    Gaps = 2,
    /// Packets for which no receive token fitted.
    NoToken = 3,
    /// Packets for a closed port.
    ClosedPort = 4,
    /// Times at which a connection was sent again from its first unacknowledged packet on.
    Resends = 5,
    /// Sends that failed.
    FailedSends = 6,
    /// Entries of a port's queues that make no sense.
    BadPosts = 7,
    /// Sessions that were begun anew.
    Sessions = 8,
    /// Messages delivered.
    Delivered = 9,
    /// Entries of the page table that were fetched from host memory.
    PageMisses = 10,
    /// Uses of memory or of a token that the process does not have.
    Violations = 11,
    /// Packets that the target port refused: a size that it does not accept, or memory that others may not use.
    Refused = 12,
    /// Packets with a wrong length, besides those of [`BadPackets`](Self::BadPackets).
    BadLength = 13,
    /// Packets of another type or an unknown subtype.
    BadType = 14,
    /// Packets for another node, from an unknown one, or with a wrong connection or port.
    BadAddress = 15,
    /// Collective operations that are complete.
    Collectives = 16,
    /// Packets of collective operations that came before the process asked for the operation.
    Unexpected = 17,
    /// Atomic operations of own processes that are complete.
    Atomics = 18,
    /// Atomic operations that were not executed at once, since the host did not leave the words.
    GuardBusy = 19,
}

/// Number of counters.
pub const COUNTER_COUNT: u32 = 20;
