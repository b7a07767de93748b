//! The fields of FM packets as a table: the description of the header that tools use.

use super::packet::{
    CREDIT, CREDIT_MASK, DATA, HANDLER_SHIFT, MESSAGE_MASK, NODE_MASK, SENDER_SHIFT, TARGET_SHIFT,
    WORD_HANDLER, WORD_LENGTH, WORD_TARGET, WORD_TYPE,
};

/// A field of a packet's header: bits of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Short name, without blanks.
    pub name: &'static str,
    /// Title for display.
    pub title: &'static str,
    /// Offset of the word in the header, in bytes.
    pub word: u32,
    /// Bit position in the word.
    pub shift: u32,
    /// Mask after the shift.
    pub mask: u32,
}

impl Field {
    const fn new(
        name: &'static str,
        title: &'static str,
        word: u32,
        shift: u32,
        mask: u32,
    ) -> Self {
        Self {
            name,
            title,
            word,
            shift,
            mask,
        }
    }

    /// Reads the field from a header whose words `word` returns, by their offsets.
    pub fn of(&self, word: impl Fn(u32) -> u32) -> u32 {
        (word(self.word) >> self.shift) & self.mask
    }
}

/// Kinds of packets, with their names.
pub const KINDS: [(u32, &str); 2] = [(DATA, "data"), (CREDIT, "credits")];

/// All fields, in the order of the header.
pub const FIELDS: [Field; 8] = [
    Field::new("type", "Type", WORD_TYPE, 16, 0xFFFF),
    Field::new("kind", "Kind", WORD_TYPE, 0, 0xFFFF),
    Field::new("target", "Target", WORD_TARGET, TARGET_SHIFT, NODE_MASK),
    Field::new("sender", "Sender", WORD_TARGET, SENDER_SHIFT, NODE_MASK),
    Field::new(
        "credits",
        "Packets of the target that were handled",
        WORD_TARGET,
        0,
        CREDIT_MASK,
    ),
    Field::new(
        "handler",
        "Handler",
        WORD_HANDLER,
        HANDLER_SHIFT,
        MESSAGE_MASK,
    ),
    Field::new("message", "Message", WORD_HANDLER, 0, MESSAGE_MASK),
    Field::new("length", "Bytes of the message", WORD_LENGTH, 0, u32::MAX),
];
