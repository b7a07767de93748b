//! The EMP control block in the chip's general communication words (SRAM 0x200..0x300) and the
//! structures that it points to.
//!
//! Order of start-up: the firmware fills the read-only words and writes [`READY`] last. The host
//! then writes its words and the route table, sets [`COMMAND`] to [`COMMAND_START`] and waits
//! until the firmware clears it.

use crate::tigon2::map::GENERAL_BASE;

/// SRAM address of the control block.
pub const BASE: u32 = GENERAL_BASE;
/// Firmware: [`READY_MAGIC`] when the words marked "Firmware" are valid.
pub const READY: u32 = BASE;
/// The value of [`READY`]: "EMP1".
pub const READY_MAGIC: u32 = 0x454D_5031;
/// Firmware: NIC address of the descriptor array.
pub const DESCRIPTORS: u32 = BASE + 0x04;
/// Firmware: capacity of the route table, in entries.
pub const ROUTES: u32 = BASE + 0x08;
/// Firmware: number of entries that the route table can hold.
pub const ROUTE_CAPACITY: u32 = BASE + 0x0C;
/// Host: own node number.
pub const NODE: u32 = BASE + 0x10;
/// Host: number of valid route-table entries.
pub const ROUTE_COUNT: u32 = BASE + 0x14;
/// Host: epoch of this start (16 bits). It identifies frames sent before a restart. Each start of a node
/// must use a later epoch than the previous start; epochs compare as wrapping numbers.
pub const EPOCH: u32 = BASE + 0x18;
/// Host: frames per ack group (emp-046: 3), 1 to [`GROUP_LIMIT`](super::frame::GROUP_LIMIT).
pub const ACK_GROUP: u32 = BASE + 0x1C;
/// Host: Ethernet payload of a frame, in bytes (emp-044: 1500).
pub const FRAME_BYTES: u32 = BASE + 0x20;
/// Host: first retransmission timeout in us; it doubles with each retry.
pub const TIMEOUT_US: u32 = BASE + 0x24;
/// Host: retries without progress before the open messages to a peer fail with `Timeout`.
pub const RETRY_LIMIT: u32 = BASE + 0x28;
/// Command word: the host sets it, the firmware clears it.
pub const COMMAND: u32 = BASE + 0x2C;
/// [`COMMAND`]: read the host's words and start.
pub const COMMAND_START: u32 = 1;
/// Host: flow control. 1 = senders slow down for receivers that are short of buffer space (thesis 2.2.1,
/// 2.4.2); 0 = off, which the thesis found faster.
pub const FLOW_CONTROL: u32 = BASE + 0x30;
/// Host: timeout in us of a partly filled receive; it ends with `Timeout` if no further frame arrives in
/// this time. It must exceed the longest silence of a sender with equal settings: [`receive_timeout_us`]. 0
/// = never.
pub const RECEIVE_TIMEOUT_US: u32 = BASE + 0x34;
/// First counter; [`Counter`] gives the word's index.
pub const COUNTERS: u32 = BASE + 0x80;

/// Mailbox for posted transmit descriptors: its value is the descriptor's NIC address. The firmware
/// acknowledges by writing 0 into it.
pub const MAILBOX_TRANSMIT: u32 = 2;
/// Mailbox for posted receive descriptors; acknowledged like [`MAILBOX_TRANSMIT`].
pub const MAILBOX_RECEIVE: u32 = 3;

/// Mailbox that cancels a posted receive: its value is the descriptor's NIC address. The firmware
/// acknowledges by writing 0 into it. A receive that no message has begun to fill ends with `Cancelled`; a
/// receive in progress or complete is not affected.
pub const MAILBOX_CANCEL: u32 = 4;
/// Mailbox for commands while the protocol runs. The firmware writes 0 into it after it has executed the
/// command.
pub const MAILBOX_COMMAND: u32 = 5;
/// [`MAILBOX_COMMAND`]: read [`ACK_GROUP`], [`TIMEOUT_US`], [`RETRY_LIMIT`], [`FLOW_CONTROL`] and
/// [`RECEIVE_TIMEOUT_US`] again. A message keeps the ack group that was set when it was posted. The other
/// values apply at once; a running timeout is not changed.
pub const COMMAND_SET: u32 = 2;

/// The default ack group (emp-046).
pub const DEFAULT_ACK_GROUP: u32 = 3;
/// The default frame size (emp-044).
pub const DEFAULT_FRAME_BYTES: u32 = 1500;
/// The default first timeout, in us: several times the drain time of a full receive buffer.
pub const DEFAULT_TIMEOUT_US: u32 = 4000;
/// The default retry limit.
pub const DEFAULT_RETRY_LIMIT: u32 = 10;
/// Number of times that the retransmission timeout doubles.
pub const TIMEOUT_DOUBLINGS: u32 = 4;
/// Shortest first timeout that a host sets, in us: with a shorter one the NIC's timer can be due again before its handler ends, for
/// ever.
pub const TIMEOUT_LEAST_US: u32 = 32;
/// Longest first timeout: after all doublings it is below half the period of the NIC's timer.
pub const TIMEOUT_LIMIT_US: u32 = 1 << 26;
/// Highest retry limit.
pub const RETRY_LIMIT_MOST: u32 = 254;
/// Longest receive timeout.
pub const RECEIVE_TIMEOUT_LIMIT_US: u32 = 1 << 30;
/// Time to send a full queue of the longest messages (200 of 2 MB at 1 Gb/s), rounded up: the longest time
/// that a retransmitted message may wait in its queue.
pub const SENDER_QUEUE_US: u32 = 1 << 22;

/// The [`RECEIVE_TIMEOUT_US`] that matches a sender's [`TIMEOUT_US`] and [`RETRY_LIMIT`]: the sum of all
/// timeouts until the sender gives up, plus the wait in its queue.
#[must_use]
pub const fn receive_timeout_us(timeout_us: u32, retry_limit: u32) -> u32 {
    // Shorter waits precede the first timeout; every other one is twice the previous one.
    let mut sum_us = SENDER_QUEUE_US.saturating_add(timeout_us << 2);
    let mut wait_us = timeout_us;
    let mut retry = 0;
    // The chip cannot multiply.
    while retry <= retry_limit && sum_us < RECEIVE_TIMEOUT_LIMIT_US {
        sum_us = sum_us.saturating_add(wait_us);
        if retry < TIMEOUT_DOUBLINGS {
            wait_us <<= 1;
        }
        retry += 1;
    }
    if sum_us < RECEIVE_TIMEOUT_LIMIT_US {
        sum_us
    } else {
        RECEIVE_TIMEOUT_LIMIT_US
    }
}

const _: () = assert!(receive_timeout_us(1000, 0) == SENDER_QUEUE_US + 5000);
const _: () = assert!(receive_timeout_us(1000, 2) == SENDER_QUEUE_US + 11_000);
const _: () = assert!(receive_timeout_us(1000, 6) == SENDER_QUEUE_US + 67_000);
const _: () =
    assert!(receive_timeout_us(TIMEOUT_LIMIT_US, RETRY_LIMIT_MOST) == RECEIVE_TIMEOUT_LIMIT_US);

/// Entries of the route table.
pub const ROUTE_TABLE_ENTRIES: u32 = 256;

/// One entry of the route table (16 bytes): a peer's address and the complete EMP state of that peer,
/// independent of the number of messages. The host writes the first two words, with zero in the high half
/// of the first, and clears the others; the firmware maintains the rest.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RouteEntry {
    /// MAC address, high 16 bits in the low half. High half: heads of two lists, the slot of the peer's
    /// first arriving message ([`ROUTE_ACTIVE_SHIFT`]) and of the oldest open message to it
    /// ([`ROUTE_OLDEST_SHIFT`]).
    pub mac_high: u32,
    /// MAC address, low 32 bits.
    pub mac_low: u32,
    /// Identifier of the next message to this peer (high half) and of the next message to match from this
    /// peer (low half).
    pub message_ids: u32,
    /// The peer's epoch in the low half. It is valid if none of [`EPOCH_UNKNOWN`], [`EPOCH_UNMET`] and
    /// [`EPOCH_DOUBT`] is set. Above them the peer's send rate: [`FLOW_RATE_SHIFT`], [`FLOW_DUE_SHIFT`].
    pub epoch: u32,
}

const _: () = assert!(size_of::<RouteEntry>() == ROUTE_ENTRY_BYTES as usize);

/// Position of the slot of the first message that arrives from the peer.
pub const ROUTE_ACTIVE_SHIFT: u32 = 16;
/// Position of the slot of the oldest open message to the peer.
pub const ROUTE_OLDEST_SHIFT: u32 = 24;
/// Bit of [`RouteEntry::epoch`]: no frame with the peer's epoch has arrived.
pub const EPOCH_UNKNOWN: u32 = 1 << 16;
/// Bit of [`RouteEntry::epoch`]: no header frame of this epoch has given the next message identifier.
pub const EPOCH_UNMET: u32 = 1 << 17;
/// Bit of [`RouteEntry::epoch`]: messages of this epoch were abandoned here, and their identifiers are not
/// recorded.
pub const EPOCH_DOUBT: u32 = 1 << 18;
/// Position of the rate at which frames are sent to the peer.
pub const FLOW_RATE_SHIFT: u32 = 19;
/// Mask of the rate after the shift: 0 = no pause between frames.
pub const FLOW_RATE_MASK: u32 = 0x7;
/// Position of the earliest time of the next frame to the peer.
pub const FLOW_DUE_SHIFT: u32 = 22;
/// Word index of [`RouteEntry::mac_high`].
pub const ROUTE_MAC_HIGH: u32 = 0;
/// Word index of [`RouteEntry::mac_low`].
pub const ROUTE_MAC_LOW: u32 = 1;
/// Word index of [`RouteEntry::message_ids`].
pub const ROUTE_MESSAGE_IDS: u32 = 2;
/// Word index of [`RouteEntry::epoch`].
pub const ROUTE_EPOCH: u32 = 3;

/// Bytes of a route-table entry.
pub const ROUTE_ENTRY_BYTES: u32 = 16;

/// Counters that the firmware keeps at [`COUNTERS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Counter {
    /// Data and header frames sent, without retransmissions.
    FramesSent = 0,
    /// Frames retransmitted after a timeout or the report of a gap.
    FramesResent = 1,
    /// Acks that the firmware has sent.
    AcksSent = 2,
    /// Data and header frames accepted.
    FramesAccepted = 3,
    /// Acks received and processed.
    AcksReceived = 4,
    /// Dropped: no posted receive matches.
    DropUnmatched = 5,
    /// Dropped: already received.
    DropDuplicate = 6,
    /// Dropped: data frame before its header frame, or header frame out of order.
    DropEarly = 7,
    /// Dropped: CRC or other receive error.
    DropDamaged = 8,
    /// Dropped: foreign Ethertype, wrong length, invalid fields, or void.
    DropForeign = 9,
    /// Dropped: epoch mismatch.
    DropEpoch = 10,
    /// Dropped: no record, DMA slot or buffer space.
    DropResources = 11,
    /// A mailbox value that is not a valid descriptor or command.
    BadPosts = 12,
    /// DMAs to or from host memory that failed.
    DmaErrors = 13,
    /// Dropped: frame of a message that this node has abandoned.
    DropAbandoned = 14,
    /// Nacks sent in answer to frames of abandoned messages.
    NacksSent = 15,
    /// Nacks received and processed.
    NacksReceived = 16,
    /// Number of pauses of a message because its receiver was short of buffer space.
    FramesHeld = 17,
    /// Reports of a gap sent: an early frame showed that a header frame is missing.
    GapsSent = 18,
    /// Reports of a gap received and processed.
    GapsReceived = 19,
}

/// Number of counters.
pub const COUNTER_COUNT: u32 = 20;

const _: () = assert!(COUNTERS + (COUNTER_COUNT << 2) <= BASE + 0x100);
