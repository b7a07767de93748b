//! Packets of FM: a header of [`HEADER_BYTES`], and up to [`MTU`] bytes of payload (docs/fm.md, section 4).

/// Most bytes of a payload (dissertation, 2.5: packets of 1,536 bytes).
pub const MTU: u32 = 1536;
/// Bytes of the header.
pub const HEADER_BYTES: u32 = 16;
/// Header: type and kind.
pub const WORD_TYPE: u32 = 0;
/// Header: target, sender, credits. The firmware writes it anew for each further destination of a multi-send.
pub const WORD_TARGET: u32 = 4;
/// Header: handler and number of the message.
pub const WORD_HANDLER: u32 = 8;
/// Header: bytes of the message.
pub const WORD_LENGTH: u32 = 12;

/// Myrinet packet type of FM, in the upper half of [`WORD_TYPE`].
const TYPE: u32 = 0x0010_0000;
/// First word of a packet with a part of a message.
pub const DATA: u32 = TYPE | 1;
/// First word of a packet that only returns credits.
pub const CREDIT: u32 = TYPE | 2;

/// Position of the target in [`WORD_TARGET`].
pub const TARGET_SHIFT: u32 = 24;
/// Position of the sender there.
pub const SENDER_SHIFT: u32 = 16;
/// Mask of a node number there, after the shift.
pub const NODE_MASK: u32 = 0xFF;
/// Mask of the credits there.
pub const CREDIT_MASK: u32 = 0xFFFF;
/// Position of the handler in [`WORD_HANDLER`]; the message's number is below it.
pub const HANDLER_SHIFT: u32 = 16;
/// Mask of the message's number there.
pub const MESSAGE_MASK: u32 = 0xFFFF;

/// Bytes of a payload on the wire.
#[inline(always)]
#[must_use]
pub const fn padded(length: u32) -> u32 {
    (length + 3) & !3
}

/// [`WORD_TARGET`] of a packet.
#[must_use]
pub const fn target_word(target: u8, sender: u8, credits: u16) -> u32 {
    (target as u32) << TARGET_SHIFT | (sender as u32) << SENDER_SHIFT | credits as u32
}
