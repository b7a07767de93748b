//! What the host and the firmware agree on.

/// Mailbox: the number of the host's own node, once.
pub const MAILBOX_NODE: u32 = 0;
/// Mailbox: a request's number; the request goes out.
pub const MAILBOX_REQUEST: u32 = 1;

/// Word of SRAM: the node that is asked.
pub const PEER: u32 = 0x200;
/// Word: the value to be echoed.
pub const VALUE: u32 = 0x204;
/// Word: the value that came back.
pub const ANSWER: u32 = 0x208;
/// Word: 0 while the request waits, then [`DONE`] or [`FAILED`].
pub const STATUS: u32 = 0x20C;
/// The answer is there.
pub const DONE: u32 = 1;
/// Nobody answered.
pub const FAILED: u32 = 2;
