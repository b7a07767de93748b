//! The fields of EMP frames as a table: the only description of the layout that tools use.

use super::frame::{
    DATA_PAYLOAD, FLAG_GROUP_END, GROUP_BEFORE_SHIFT, GROUP_MASK, HEADER_PAYLOAD, KIND_MASK,
    KIND_SHIFT, Kind, PRESSURE_MASK, PRESSURE_SHIFT, WORD_FRAME_EPOCH, WORD_MESSAGE_LENGTH,
    WORD_OFFSET, WORD_SOURCE_MESSAGE, WORD_TAG_FRAMES, WORD_TYPE_KIND,
};

/// A field of a frame: bits of one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Short name, without blanks.
    pub name: &'static str,
    /// Title for display.
    pub title: &'static str,
    /// Index of the word in the frame.
    pub word: usize,
    /// Bit position in the word.
    pub shift: u32,
    /// Mask after the shift.
    pub mask: u32,
    /// Kinds of frames that contain the field.
    pub kinds: &'static [Kind],
    /// Names of values; empty if values are numbers.
    pub values: &'static [(u32, &'static str)],
}

impl Field {
    /// Reads the field from a frame whose words `word` returns.
    pub fn of(&self, word: impl Fn(usize) -> u32) -> u32 {
        (word(self.word) >> self.shift) & self.mask
    }

    /// Whether frames of `kind` contain the field.
    #[must_use]
    pub fn is_in(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Bits that the field occupies in its word.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.mask << self.shift
    }
}

const HALF: u32 = 0xFFFF;
const FRAGMENTS: &[Kind] = &[Kind::Header, Kind::Data];
const ANSWERS: &[Kind] = &[Kind::Ack, Kind::Nack, Kind::Gap];
const HEADER: &[Kind] = &[Kind::Header];

/// A numeric field that all frames contain.
const fn common(
    name: &'static str,
    title: &'static str,
    word: usize,
    shift: u32,
    mask: u32,
) -> Field {
    Field {
        name,
        title,
        word,
        shift,
        mask,
        kinds: &Kind::ALL,
        values: &[],
    }
}

impl Field {
    const fn only(self, kinds: &'static [Kind]) -> Self {
        Self { kinds, ..self }
    }

    const fn named(self, values: &'static [(u32, &'static str)]) -> Self {
        Self { values, ..self }
    }
}

/// Frame kind.
pub const KIND: Field = common("kind", "Kind", WORD_TYPE_KIND, KIND_SHIFT, KIND_MASK).named(&[
    (Kind::Void as u32, Kind::Void.name()),
    (Kind::Header as u32, Kind::Header.name()),
    (Kind::Data as u32, Kind::Data.name()),
    (Kind::Ack as u32, Kind::Ack.name()),
    (Kind::Nack as u32, Kind::Nack.name()),
    (Kind::Gap as u32, Kind::Gap.name()),
]);
/// Flag: the frame is the last of its ack group.
pub const GROUP_END: Field = common(
    "group_end",
    "Last of its ack group",
    WORD_TYPE_KIND,
    FLAG_GROUP_END.trailing_zeros(),
    1,
);
/// Number of frames of the ack group before this one.
pub const BEFORE: Field = common(
    "before",
    "Frames of the ack group before it",
    WORD_TYPE_KIND,
    GROUP_BEFORE_SHIFT,
    GROUP_MASK,
)
.only(FRAGMENTS);
/// Number of frames of the ack group after this one.
pub const AFTER: Field = common(
    "after",
    "Frames of the ack group after it",
    WORD_TYPE_KIND,
    0,
    GROUP_MASK,
)
.only(FRAGMENTS);
/// Fill level of the answering node's receive buffer.
pub const PRESSURE: Field = common(
    "pressure",
    "Receive buffer of the node that answers",
    WORD_TYPE_KIND,
    PRESSURE_SHIFT,
    PRESSURE_MASK,
)
.only(ANSWERS)
.named(&[(0, "room"), (1, "half full"), (2, "three quarters full")]);
/// The sending node.
pub const SOURCE: Field = common("source", "Source node", WORD_SOURCE_MESSAGE, 16, HALF);
/// Identifier of the message that the frame belongs to, or answers.
pub const MESSAGE: Field = common("message", "Message", WORD_SOURCE_MESSAGE, 0, HALF);
/// Number of the frame in its message, or of the last frame that it acknowledges.
pub const FRAME: Field = common(
    "frame",
    "Frame of the message, from 0",
    WORD_FRAME_EPOCH,
    16,
    HALF,
);
/// Epoch of the source.
pub const EPOCH: Field = common("epoch", "Epoch of the source", WORD_FRAME_EPOCH, 0, HALF);
/// Offset of a data frame's payload in the message.
pub const OFFSET: Field = common(
    "offset",
    "Offset of the payload in the message",
    WORD_OFFSET,
    0,
    u32::MAX,
)
.only(&[Kind::Data]);
/// The oldest message that the source has open to this destination.
pub const OLDEST: Field = common(
    "oldest",
    "Oldest message that the source has open",
    WORD_OFFSET,
    0,
    HALF,
)
.only(HEADER);
/// Epoch of the acknowledged frames.
pub const ANSWERED_EPOCH: Field = common(
    "answered_epoch",
    "Epoch of what is answered",
    WORD_OFFSET,
    0,
    HALF,
)
.only(ANSWERS);
/// Tag of the message.
pub const TAG: Field = common("tag", "Tag", WORD_TAG_FRAMES, 16, HALF).only(HEADER);
/// Number of frames of the message.
pub const FRAMES: Field =
    common("frames", "Frames of the message", WORD_TAG_FRAMES, 0, HALF).only(HEADER);
/// Length of the message in bytes.
pub const LENGTH: Field = common(
    "length",
    "Length of the message",
    WORD_MESSAGE_LENGTH,
    0,
    u32::MAX,
)
.only(HEADER);

/// All fields after the Ethertype, in order.
pub const FIELDS: [Field; 15] = [
    KIND,
    PRESSURE,
    GROUP_END,
    BEFORE,
    AFTER,
    SOURCE,
    MESSAGE,
    FRAME,
    EPOCH,
    OFFSET,
    OLDEST,
    ANSWERED_EPOCH,
    TAG,
    FRAMES,
    LENGTH,
];

/// Whether the fields of a frame kind lie before its payload and do not overlap.
const fn is_consistent(kind: Kind, payload: u32) -> bool {
    // The Ethertype occupies the high half of the first word.
    let mut taken = [0; HEADER_PAYLOAD as usize / 4];
    taken[WORD_TYPE_KIND] = HALF << 16;
    let mut index = 0;
    while index < FIELDS.len() {
        let field = &FIELDS[index];
        let mut has = false;
        let mut at = 0;
        while at < field.kinds.len() {
            has |= field.kinds[at] as u32 == kind as u32;
            at += 1;
        }
        if has {
            if field.word as u32 * 4 >= payload || taken[field.word] & field.bits() != 0 {
                return false;
            }
            taken[field.word] |= field.bits();
        }
        index += 1;
    }
    true
}

const _: () = assert!(is_consistent(Kind::Header, HEADER_PAYLOAD));
const _: () = assert!(is_consistent(Kind::Data, DATA_PAYLOAD));
const _: () = assert!(is_consistent(Kind::Ack, DATA_PAYLOAD));
const _: () = assert!(is_consistent(Kind::Nack, DATA_PAYLOAD));
const _: () = assert!(is_consistent(Kind::Gap, DATA_PAYLOAD));
const _: () = assert!(is_consistent(Kind::Void, DATA_PAYLOAD));
