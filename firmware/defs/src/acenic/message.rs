//! Command and event words, which have one format (docs/tigon2-driver.md, section 8).

/// Bytes of a command in its ring in SRAM.
pub const COMMAND_BYTES: u32 = 4;
/// Bytes of an event in its ring in host memory: the event word and a reserved word.
pub const EVENT_BYTES: u32 = 8;

/// Builds a command or event word from its type, code and index.
#[must_use]
pub const fn word(what: u32, code: u32, index: u32) -> u32 {
    what << 24 | (code & 0xFFF) << 12 | index & 0xFFF
}

/// The command or event type of a word.
#[must_use]
pub const fn what(word: u32) -> u32 {
    word >> 24
}

/// The code of a word.
#[must_use]
pub const fn code(word: u32) -> u32 {
    word >> 12 & 0xFFF
}

/// The index of a word.
#[must_use]
pub const fn index(word: u32) -> u32 {
    word & 0xFFF
}

/// Command: the host's protocol stack is up (code 1) or down (code 2).
pub const HOST_STATE: u32 = 0x01;
/// Command: set the standard ring's producer to the index.
pub const SET_STANDARD_PRODUCER: u32 = 0x03;
/// Command: read the general communication words again.
pub const UPDATE_GENERAL: u32 = 0x04;
/// Command: discard the jumbo ring's buffers.
pub const RESET_JUMBO: u32 = 0x05;
/// Command: partial receive count.
pub const PARTIAL_RECEIVE: u32 = 0x06;
/// Command: add the multicast address in [`MULTICAST_HIGH`](super::MULTICAST_HIGH) and low.
pub const ADD_MULTICAST: u32 = 0x08;
/// Command: remove a multicast address.
pub const DELETE_MULTICAST: u32 = 0x09;
/// Command: promiscuous mode on (code 1) or off (code 2).
pub const SET_PROMISCUOUS: u32 = 0x0A;
/// Command: negotiate the link again.
pub const NEGOTIATE_LINK: u32 = 0x0B;
/// Command: read the MAC address from [`MAC_HIGH`](super::MAC_HIGH) and low again.
pub const SET_MAC_ADDRESS: u32 = 0x0C;
/// Command: accept all multicast frames (code 1), or those in the list only (code 2).
pub const SET_ALL_MULTICAST: u32 = 0x0E;
/// Command: clear the statistics. No event follows.
pub const CLEAR_STATISTICS: u32 = 0x0F;
/// Command: set the jumbo ring's producer to the index.
pub const SET_JUMBO_PRODUCER: u32 = 0x10;
/// Command: load the counters from the host's statistics block, by a DMA read. No event follows.
pub const LOAD_STATISTICS: u32 = 0x11;
/// Command of three entries: add the multicast address in the next two entries.
pub const EXTENDED_ADD_MULTICAST: u32 = 0x12;
/// Command of three entries: remove the multicast address in the next two entries.
pub const EXTENDED_DELETE_MULTICAST: u32 = 0x13;

/// Code of [`HOST_STATE`], [`SET_PROMISCUOUS`] and [`SET_ALL_MULTICAST`]: up or on.
pub const CODE_ON: u32 = 1;
/// Code of [`HOST_STATE`], [`SET_PROMISCUOUS`] and [`SET_ALL_MULTICAST`]: down or off.
pub const CODE_OFF: u32 = 2;

/// Event: the firmware runs.
pub const FIRMWARE_RUNNING: u32 = 0x01;
/// Event: the statistics are in host memory. It comes once in
/// [`STATISTICS_TICKS`](super::STATISTICS_TICKS); no command asks for it.
pub const STATISTICS_UPDATED: u32 = 0x04;
/// Event: the link changed; codes [`LINK_UP`], [`LINK_DOWN`], [`FAST_LINK_UP`].
pub const LINK_STATE: u32 = 0x06;
/// Event: an error; codes [`INVALID_COMMAND`], [`UNIMPLEMENTED_COMMAND`], [`BAD_CONFIGURATION`].
pub const ERROR: u32 = 0x07;
/// Event: the multicast list changed; code 1 added, 2 removed.
pub const MULTICAST_CHANGED: u32 = 0x08;
/// Event: the jumbo ring was reset.
pub const JUMBO_RESET: u32 = 0x09;

/// Code of [`LINK_STATE`]: gigabit link up.
pub const LINK_UP: u32 = 1;
/// Code of [`LINK_STATE`]: link down.
pub const LINK_DOWN: u32 = 2;
/// Code of [`LINK_STATE`]: 10/100 link up.
pub const FAST_LINK_UP: u32 = 3;
/// Code of [`ERROR`]: no such command; the index is its number.
pub const INVALID_COMMAND: u32 = 1;
/// Code of [`ERROR`]: a known command that this firmware does not implement.
pub const UNIMPLEMENTED_COMMAND: u32 = 2;
/// Code of [`ERROR`]: invalid configuration.
pub const BAD_CONFIGURATION: u32 = 3;
