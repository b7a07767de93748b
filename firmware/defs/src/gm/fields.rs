//! The fields of GM packets as a table: the description of the header that tools use.

use super::atomic::{ASK, VALUE};
use super::collective::{AGAIN, GATHER, PARTIAL, PARTIAL_AGAIN, RELEASE, RESULT, STEP};
use super::gossip::{EXCHANGED, MISSING, SPREAD};
use super::packet::{
    ACK, BODY, DATA, GET, GOT, HEAD, NACK, NACK_DOWN, NACK_OPEN, NACK_REJECT, NULL, PUT, PUT_BODY,
    SIZES, TAIL, WORD_CONNECTIONS, WORD_LENGTH, WORD_SENDER, WORD_SEQUENCE, WORD_TARGET, WORD_TYPE,
};

/// The packets that contain a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packets {
    /// All packets.
    All,
    /// Packets that take a sequence number: data and null.
    Sequenced,
    /// Acks and nacks.
    Answers,
}

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
    /// Packets that contain the field.
    pub packets: Packets,
}

impl Field {
    /// Reads the field from a header whose words `word` returns, by their offsets.
    pub fn of(&self, word: impl Fn(u32) -> u32) -> u32 {
        (word(self.word) >> self.shift) & self.mask
    }
}

const HALF: u32 = 0xFFFF;

/// A field of all packets.
const fn field(name: &'static str, title: &'static str, word: u32, shift: u32, mask: u32) -> Field {
    Field {
        name,
        title,
        word,
        shift,
        mask,
        packets: Packets::All,
    }
}

impl Field {
    const fn only(self, packets: Packets) -> Self {
        Self { packets, ..self }
    }
}

/// Type of the packet.
pub const TYPE: Field = field("type", "Type", WORD_TYPE, 16, HALF);
/// Subtype of the packet.
pub const SUBTYPE: Field = field("subtype", "Subtype", WORD_TYPE, 0, HALF);
/// The node that the packet is for.
pub const TARGET: Field = field("target", "Target node", WORD_TARGET, 0, u32::MAX);
/// The session of the connection.
pub const SESSION: Field = field("session", "Session", WORD_SEQUENCE, 16, HALF);
/// Sequence number of a message.
pub const SEQUENCE: Field =
    field("sequence", "Sequence number", WORD_SEQUENCE, 0, HALF).only(Packets::Sequenced);
/// The next sequence number that the receiver expects.
pub const NEXT: Field = field(
    "next",
    "Next expected sequence number",
    WORD_SEQUENCE,
    0,
    HALF,
)
.only(Packets::Answers);
/// Length of the payload.
pub const LENGTH: Field =
    field("length", "Length of the payload", WORD_LENGTH, 16, HALF).only(Packets::Sequenced);
/// The target's port.
pub const TARGET_PORT: Field =
    field("target_port", "Port at the target", WORD_LENGTH, 9, 0x7F).only(Packets::Sequenced);
/// Priority of the message.
pub const PRIORITY: Field =
    field("priority", "Priority", WORD_LENGTH, 8, 1).only(Packets::Sequenced);
/// The sender's port.
pub const SENDER_PORT: Field =
    field("sender_port", "Port of the sender", WORD_LENGTH, 1, 0x7F).only(Packets::Sequenced);
/// The node that sends the packet.
pub const SENDER: Field = field("sender", "Sending node", WORD_SENDER, 0, u32::MAX);
/// Number of the connection at the target.
pub const TARGET_CONNECTION: Field = field(
    "target_connection",
    "Connection at the target",
    WORD_CONNECTIONS,
    16,
    HALF,
);
/// Number of the connection at the sender.
pub const SENDER_CONNECTION: Field = field(
    "sender_connection",
    "Connection at the sender",
    WORD_CONNECTIONS,
    0,
    HALF,
);

/// All fields, in order.
pub const FIELDS: [Field; 13] = [
    TYPE,
    SUBTYPE,
    TARGET,
    SESSION,
    SEQUENCE,
    NEXT,
    LENGTH,
    TARGET_PORT,
    PRIORITY,
    SENDER_PORT,
    SENDER,
    TARGET_CONNECTION,
    SENDER_CONNECTION,
];

/// Names of the subtypes without a size.
pub const SUBTYPES: [(u32, &str); 24] = [
    (NULL, "NULL"),
    (GET, "GET"),
    (GOT, "GOT"),
    (BODY, "BODY"),
    (TAIL, "TAIL"),
    (PUT, "PUT"),
    (PUT_BODY, "PUT, more follow"),
    (STEP, "barrier: STEP"),
    (GATHER, "barrier: GATHER"),
    (RELEASE, "barrier: RELEASE"),
    (AGAIN, "barrier: AGAIN"),
    (PARTIAL, "reduction: PARTIAL"),
    (RESULT, "reduction: RESULT"),
    (PARTIAL_AGAIN, "reduction: AGAIN"),
    (SPREAD, "all-to-all: SPREAD"),
    (EXCHANGED, "all-to-all: EXCHANGED"),
    (ASK, "atomic: ASK"),
    (VALUE, "atomic: VALUE"),
    (MISSING, "all-to-all: MISSING"),
    (ACK, "ACK"),
    (NACK, "NACK"),
    (NACK_DOWN, "NACK, no token"),
    (NACK_REJECT, "NACK, refused"),
    (NACK_OPEN, "NACK, unknown session"),
];

/// First and last subtype of messages of one packet: one for each size.
pub const DATA_SUBTYPES: [u32; 2] = [DATA, DATA + SIZES - 1];
/// First and last subtype of the first packets of longer messages: one for each size.
pub const HEAD_SUBTYPES: [u32; 2] = [HEAD, HEAD + SIZES - 1];
/// First and last subtype of packets of messages.
pub const MESSAGE_SUBTYPES: [u32; 2] = [DATA, TAIL];

/// Whether no packet has two fields at one place.
const fn is_consistent(other: Packets) -> bool {
    let mut index = 0;
    let mut taken = [0; 6];
    while index < FIELDS.len() {
        let field = &FIELDS[index];
        let has = matches!(field.packets, Packets::All) || field.packets as u32 == other as u32;
        if has {
            let (word, bits) = (field.word as usize / 4, field.mask << field.shift);
            if taken[word] & bits != 0 {
                return false;
            }
            taken[word] |= bits;
        }
        index += 1;
    }
    true
}

const _: () = assert!(is_consistent(Packets::Sequenced));
const _: () = assert!(is_consistent(Packets::Answers));
