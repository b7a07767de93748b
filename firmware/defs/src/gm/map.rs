//! Map of SRAM. The image and its stack lie below [`GLOBALS`]; a board needs [`SRAM_BYTES`].

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
/// The firmware's records of sends.
pub const RECORDS: u32 = RECEIVE_QUEUES + PORT_COUNT * RECEIVE_QUEUE_BYTES;
/// Number of these records: one for each send slot.
pub const RECORD_COUNT: u32 = PORT_COUNT * SEND_SLOTS;
/// Bytes of a record.
pub const RECORD_BYTES: u32 = 32;
/// The firmware's records of receive tokens.
pub const TOKENS: u32 = RECORDS + RECORD_COUNT * RECORD_BYTES;
/// Number of these records.
pub const TOKEN_COUNT: u32 = PORT_COUNT * 256;
/// Bytes of such a record.
pub const TOKEN_BYTES: u32 = 16;
/// Connections, two for each node: one for each priority.
pub const CONNECTIONS: u32 = TOKENS + TOKEN_COUNT * TOKEN_BYTES;
/// Bytes of a connection.
pub const CONNECTION_BYTES: u32 = 64;
/// Most nodes.
pub const NODE_LIMIT: u32 = 256;
/// Routes, one for each node; written by the host.
pub const ROUTES: u32 = CONNECTIONS + 2 * NODE_LIMIT * CONNECTION_BYTES;
/// Bytes of a route's entry: a word with the number of route bytes, and the route, which ends where the entry ends.
pub const ROUTE_BYTES: u32 = 32;
/// Most bytes of a route.
pub const ROUTE_LIMIT: u32 = 16;
/// In the first word of a route's entry: the node can be reached.
pub const ROUTE_VALID: u32 = 1 << 31;
/// Buffers of packets: two to send, two to receive (which the hardware abstraction of the LANai uses in turn), one for acks and
/// two for reports.
pub const BUFFERS: u32 = ROUTES + NODE_LIMIT * ROUTE_BYTES;
/// Bytes of a packet's buffer.
pub const BUFFER_BYTES: u32 = 0x1100;
/// Buffers to receive.
pub const RECEIVE_BUFFERS: u32 = BUFFERS + 2 * BUFFER_BYTES;
/// Number of buffers to receive.
pub const RECEIVE_BUFFER_COUNT: u32 = 2;
/// Offset of the header in a buffer; the route lies before it.
pub const BUFFER_HEADER: u32 = 64;
/// Blocks of DMA (LANai 7 and 9) and the hardware abstraction's own words.
pub const HARDWARE: u32 = BUFFERS + 6 * BUFFER_BYTES;
/// First DMA block of LANai 7 and 9 to the host: channel 0.
pub const WRITE_BLOCKS: u32 = HARDWARE;
/// First DMA block of LANai 7 and 9 from the host: channel 2.
pub const READ_BLOCKS: u32 = HARDWARE + 0x200;
/// The hardware abstraction's words about receive buffers.
pub const RECEIVE_WORDS: u32 = HARDWARE + 0x480;
/// SRAM that the firmware needs.
pub const SRAM_BYTES: u32 = 0x8_0000;

const _: () = assert!(HARDWARE + 0x500 <= SRAM_BYTES);

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
/// Counters: a word for each [`Counter`].
pub const COUNTERS: u32 = GLOBALS + 0x40;
/// The firmware's own words.
pub const STATE: u32 = GLOBALS + 0x100;

/// A tick of the firmware's timer, in half microseconds.
pub const TICK_HALF_US: u32 = 200;
/// A tick of the timer for delayed acks, in half microseconds.
pub const ACK_HALF_US: u32 = 40;
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

/// A counter of the firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// Packets that are not intact, too short or for another protocol.
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
}

/// Number of counters.
pub const COUNTER_COUNT: u32 = 10;
