//! Interface between the host and the firmware.

/// Mailbox: the number of the host's own node, once.
pub const MAILBOX_NODE: u32 = 0;
/// Mailbox: a request's number; starts the request.
pub const MAILBOX_REQUEST: u32 = 1;

/// SRAM word: the peer's node number.
pub const PEER: u32 = 0x200;
/// SRAM word: the value to be echoed.
pub const VALUE: u32 = 0x204;
/// SRAM word: the echoed value.
pub const ANSWER: u32 = 0x208;
/// SRAM word: 0 while the request is pending, then [`DONE`] or [`FAILED`].
pub const STATUS: u32 = 0x20C;
/// The answer has arrived.
pub const DONE: u32 = 1;
/// No answer arrived.
pub const FAILED: u32 = 2;
