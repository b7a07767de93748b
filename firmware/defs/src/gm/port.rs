//! Ports: send slots and receive tokens that the host writes into SRAM through the window, and the control
//! block of each port.

use super::map::{PORT_BYTES, PORTS, RECEIVE_QUEUE_BYTES, RECEIVE_QUEUES, SEND_QUEUES};

/// Number of ports.
pub const PORT_COUNT: u32 = 8;
/// Send tokens of a port.
#[doc(alias = "gm_num_send_tokens")]
pub const SEND_TOKENS: u32 = 61;
/// Receive tokens of a port.
#[doc(alias = "gm_num_receive_tokens")]
pub const RECEIVE_TOKENS: u32 = 254;

/// Number of send slots of a port.
pub const SEND_SLOTS: u32 = 64;
/// Bytes of a send slot.
pub const SEND_SLOT_BYTES: u32 = 32;
/// Word of a send slot: address at the target, upper half ([`PUT`] and [`GET`]).
pub const SEND_REMOTE_HIGH: u32 = 0;
/// Word of a send slot: address at the target, lower half.
pub const SEND_REMOTE_LOW: u32 = 4;
/// Word of a send slot: number of the send token, below [`SEND_SLOTS`], which the report names.
pub const SEND_TOKEN: u32 = 12;
/// Word of a send slot: address in the process's memory, upper half.
pub const SEND_ADDRESS_HIGH: u32 = 16;
/// Word of a send slot: address in the process's memory, lower half.
pub const SEND_ADDRESS_LOW: u32 = 20;
/// Word of a send slot: length in bytes; of [`ALARM`] the ticks until then, 0 to cancel.
pub const SEND_LENGTH: u32 = 24;
/// Word of a send slot, written last: node (16 bits), subport at the target, type. The firmware clears it.
pub const SEND_TYPE: u32 = 28;
/// Type of a send slot: a message of size 0; the size is added.
pub const SEND: u32 = 70;
/// Type of a send slot: an event after a time. A port has one alarm.
#[doc(alias = "gm_set_alarm")]
pub const ALARM: u32 = 1;
/// Type of a send slot: the process will sleep. The board answers with the event [`SLEEP`](super::event::SLEEP); the port's next event
/// interrupts the host.
pub const WAKE: u32 = 5;
/// Type of a send slot: from now on the board looks at [`PORT_SIGNALS`] of all ports.
pub const SIGNALS: u32 = 6;
/// Type of a send slot: write bytes into the target's memory.
#[doc(alias = "gm_put")]
pub const PUT: u32 = 102;
/// Type of a send slot: read bytes of the target's memory.
#[doc(alias = "gm_get")]
pub const GET: u32 = 103;
/// Type of a send slot: the stream to node and subport goes on after an error.
#[doc(alias = "gm_resume_sending")]
pub const RESUME: u32 = 104;
/// Type of a send slot: the sends that wait in the stream to node and subport are dropped; it goes on.
#[doc(alias = "gm_drop_sends")]
pub const DROP: u32 = 105;
/// Streams of a port that an error has stopped, at most; a further one goes on.
pub const STOPPED_STREAMS: u32 = 32;

/// Number of entries of a port's queue of receive tokens.
pub const RECEIVE_SLOTS: u32 = RECEIVE_TOKENS + 1;
/// Bytes of a receive token.
pub const RECEIVE_SLOT_BYTES: u32 = 16;
/// Word of a receive token: address in the process's memory, upper half.
pub const RECEIVE_ADDRESS_HIGH: u32 = 0;
/// Word of a receive token: address in the process's memory, lower half.
pub const RECEIVE_ADDRESS_LOW: u32 = 4;
/// Word of a receive token: tag (16 bits).
pub const RECEIVE_TAG: u32 = 8;
/// Word of a receive token, written last: priority (bits 15 to 8), size, and [`RECEIVE_READY`]. The firmware clears it.
pub const RECEIVE_READY_WORD: u32 = 12;
/// Bit of the last word: the token is there.
pub const RECEIVE_READY: u32 = 1 << 31;

/// Word of a port's control block: host address of the receive queue, upper half. Written by the host before it opens
/// the port.
pub const PORT_QUEUE_HIGH: u32 = 0;
/// Word of a port's control block: host address of the receive queue, lower half.
pub const PORT_QUEUE_LOW: u32 = 4;

/// Word of a port's control block: number of the process that the port belongs to. Written by the host before it opens
/// the port.
pub const PORT_PROCESS: u32 = 8;

/// Word of a port's control block: not 0 while messages of high priority for the port interrupt the host. Written by the process.
pub const PORT_SIGNALS: u32 = 12;

/// SRAM address of a port's control block.
#[must_use]
pub const fn control_block(port: u32) -> u32 {
    PORTS + port * PORT_BYTES
}

/// SRAM address of a send slot.
#[must_use]
pub const fn send_slot(port: u32, slot: u32) -> u32 {
    SEND_QUEUES + (port * SEND_SLOTS + slot) * SEND_SLOT_BYTES
}

/// SRAM address of an entry of the queue of receive tokens.
#[must_use]
pub const fn receive_slot(port: u32, slot: u32) -> u32 {
    RECEIVE_QUEUES + port * RECEIVE_QUEUE_BYTES + slot * RECEIVE_SLOT_BYTES
}
