//! Places of the firmware's own words in SRAM, and the states of its four machines.
//!
//! | machine | states | next state when |
//! |---------|--------|-----------------|
//! | SDMA, for each send buffer | [`FREE`], [`READING`], [`READY`] | a connection has a packet to send; its DMA is complete (at once if it has no payload) |
//! | SEND | idle, [`SENDING_BUFFER`], [`SENDING_ACK`] | an ack waits, or the next buffer is [`READY`]; the packet has left (the buffer is [`FREE`]) |
//! | RECV | none: the hardware keeps packets | |
//! | RDMA, for each packet | free, writing | a packet is accepted; its event is in host memory |
//! | reports, for each buffer | [`FREE`], [`WRITING`] | a report is written; it is in host memory |

use defs::gm::map::{BUFFER_BYTES, BUFFERS, STATE};

/// Buffers: send.
pub const SEND_BUFFERS: u32 = BUFFERS;
/// Exclusive or with a send buffer's address gives the other one.
pub const SEND_OTHER: u32 = SEND_BUFFERS ^ (SEND_BUFFERS + BUFFER_BYTES);
/// Buffer of an ack.
pub const ACK_BUFFER: u32 = BUFFERS + 4 * BUFFER_BYTES;
/// Buffers of reports: each 64 bytes, behind their state.
pub const REPORT_BUFFERS: u32 = BUFFERS + 5 * BUFFER_BYTES;
/// Exclusive or with a report buffer's address gives the other one.
pub const REPORT_OTHER: u32 = 0x80;
/// Bit of a cookie: it is the address of a report's buffer, not of a packet.
pub const REPORT: u32 = 1;
/// Offset of a report buffer's end.
pub const REPORT_END: u32 = 0x80;
/// Buffers of events, where they cannot lie behind their packets: each an event behind the packet, which is 0 if the buffer is
/// free.
pub const EVENT_BUFFERS: u32 = REPORT_BUFFERS + 2 * 0x80;
/// Exclusive or with an event buffer's address gives the other one.
pub const EVENT_OTHER: u32 = 0x40;
/// Offset of the event in its buffer.
pub const EVENT_BEGIN: u32 = 0x20;
/// Bit of a cookie: it is the address of an event's buffer, not of a packet.
pub const EVENT_COOKIE: u32 = 2;

/// Word of a buffer: its state.
pub const BUFFER_STATE: u32 = BUFFER_BYTES - 0x20;
/// Word of a send buffer: first byte of the route.
pub const BUFFER_START: u32 = BUFFER_BYTES - 0x1C;
/// Word of a send buffer: end of the payload.
pub const BUFFER_END: u32 = BUFFER_BYTES - 0x18;

/// State of a buffer: it can be filled.
pub const FREE: u32 = 0;
/// State of a send buffer: its DMA is under way.
pub const READING: u32 = 1;
/// State of a send buffer: it can be sent, or is being sent.
pub const READY: u32 = 2;
/// State of a report buffer: its DMA is under way.
pub const WRITING: u32 = 3;

/// State of SEND: a send buffer leaves.
pub const SENDING_BUFFER: u32 = 1;
/// State of SEND: an ack leaves.
pub const SENDING_ACK: u32 = 2;

/// Whether the host has started the protocol.
pub const STARTED: u32 = STATE;
/// State of SEND.
pub const SENDING: u32 = STATE + 4;
/// The send buffer that is filled next.
pub const FILL: u32 = STATE + 8;
/// The send buffer that is sent next.
pub const LEAVE: u32 = STATE + 12;
/// Packet whose message was given to RDMA last.
pub const WRITE_LAST: u32 = STATE + 16;
/// Packet whose message was complete in host memory last; 0 if none since [`WRITE_LAST`] was written.
pub const WRITTEN: u32 = STATE + 20;
/// Connections with packets to send, first and last, of low priority.
pub const READY_LOW: u32 = STATE + 24;
/// The same of high priority.
pub const READY_HIGH: u32 = STATE + 32;
/// Connections with an ack to send, first and last.
pub const ACKS: u32 = STATE + 40;
/// First connection with unacknowledged packets.
pub const ACTIVE: u32 = STATE + 48;
/// First free record of a send.
pub const FREE_RECORD: u32 = STATE + 52;
/// The open port that is looked at first; 0 if none is open.
pub const OPEN_PORT: u32 = STATE + 56;
/// Ports with reports to write, a bit for each.
pub const REPORTS: u32 = STATE + 60;
/// The report buffer that is filled next.
pub const REPORT_FILL: u32 = STATE + 64;
/// The event buffer that is filled next.
pub const EVENT_FILL: u32 = STATE + 72;
/// Ticks so far.
pub const NOW: u32 = STATE + 68;

/// Word of a connection: oldest unacknowledged record.
pub const C_FIRST: u32 = 0;
/// Word of a connection: newest record.
pub const C_LAST: u32 = 4;
/// Word of a connection: the record that is sent next; 0 if none is.
pub const C_CURSOR: u32 = 8;
/// Word of a connection: session and sequence number of the next record.
pub const C_NEXT: u32 = 12;
/// Word of a connection: session and sequence number of the packet that is expected.
pub const C_EXPECTED: u32 = 16;
/// Word of a connection: flags.
pub const C_FLAGS: u32 = 20;
/// Word of a connection: next one in `READY_LOW` or `READY_HIGH`.
pub const C_READY_NEXT: u32 = 24;
/// Word of a connection: next one in `ACKS`.
pub const C_ACK_NEXT: u32 = 28;
/// Word of a connection: next one in `ACTIVE`.
pub const C_ACTIVE_NEXT: u32 = 32;
/// Word of a connection: tick at which it is sent again.
pub const C_DEADLINE: u32 = 36;
/// Word of a connection: tick at which its oldest send fails.
pub const C_FATAL: u32 = 40;
/// Word of a connection: first word of the ack that waits.
pub const C_ACK_TYPE: u32 = 44;
/// Word of a connection: session and sequence number of the ack that waits.
pub const C_ACK_SEQUENCE: u32 = 48;
/// Word of a connection: the route's entry.
pub const C_ROUTE: u32 = 52;
/// Word of a connection: its last header word.
pub const C_NUMBERS: u32 = 56;

/// Flag of a connection: in a list of ready ones.
pub const F_READY: u32 = 1;
/// Flag of a connection: in the list of acks.
pub const F_ACK: u32 = 2;
/// Flag of a connection: in the list of active ones.
pub const F_ACTIVE: u32 = 4;
/// Flag of a connection: a nack was sent since the last expected packet.
pub const F_NACKED: u32 = 8;
/// Flag of a connection: the session of the other node is known.
pub const F_OPEN: u32 = 16;
/// Flag of a connection: waits before it sends again, since the target has no receive token.
pub const F_HELD: u32 = 32;

/// Word of a record: next one of the connection, or next free one.
pub const R_NEXT: u32 = 0;
/// Word of a record: host address, upper half.
pub const R_HIGH: u32 = 4;
/// Word of a record: host address, lower half.
pub const R_LOW: u32 = 8;
/// Word of a record: header word with length and subports.
pub const R_LENGTH: u32 = 12;
/// Word of a record: header word with session and sequence number.
pub const R_SEQUENCE: u32 = 16;
/// Word of a record: header word with type and subtype.
pub const R_TYPE: u32 = 20;
/// Word of a record: the port's control block and the send token, for the report; 0 if it is reported already.
pub const R_TOKEN: u32 = 24;

/// Word of a token's record: next one of its list, or next free one.
pub const T_NEXT: u32 = 0;
/// Word of a token's record: host address, upper half.
pub const T_HIGH: u32 = 4;
/// Word of a token's record: host address, lower half.
pub const T_LOW: u32 = 8;
/// Word of a token's record: tag.
pub const T_TAG: u32 = 12;

/// Word of a port: whether it is open.
pub const P_OPEN: u32 = 0x10;
/// Word of a port: next open one, in a circle.
pub const P_NEXT: u32 = 0x14;
/// Word of a port: next send slot.
pub const P_SEND: u32 = 0x18;
/// Word of a port: next entry of the queue of receive tokens.
pub const P_TOKEN: u32 = 0x1C;
/// Word of a port: first free record of a token.
pub const P_FREE_TOKEN: u32 = 0x20;
/// Word of a port: the slot of the receive queue that is written next, lower half of its host address.
pub const P_EVENT: u32 = 0x24;
/// Word of a port: places in its ring of reports, next to write.
pub const P_REPORT_IN: u32 = 0x28;
/// Word of a port: the same, next to send.
pub const P_REPORT_OUT: u32 = 0x2C;
/// Lists of receive tokens: first and last for each priority and size.
pub const P_LISTS: u32 = 0x200;
/// Ring of reports: a word for each, status below the slot.
pub const P_RING: u32 = 0x400;
/// Mask of places in that ring.
pub const RING_MASK: u32 = 0x1FF;
