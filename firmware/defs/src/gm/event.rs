//! Events in the receive queue of a port, which is in host memory, and status codes.
//!
//! A slot has 256 bytes. Its last byte is the type: the firmware writes it last and adds [`NEW`], the host
//! clears it. Words, counted from the slot's beginning:
//!
//! | word | received message | report of sends | notice |
//! |------|------------------|-----------------|--------|
//! | 59, 60 | address of the buffer | | |
//! | 61 | length in bytes | pairs, see below | upper half of an address |
//! | 62 | sending node (16 bits); 16 bits of tag | pairs | lower half of an address |
//! | 63 | size; sender's subport; target's subport; type | a pair; number of pairs; type | 0; type |
//!
//! A pair is the number of a send token and the status of its send, a byte each. The first pair is in the
//! upper half of word 63, the next ones lie before it, the later the lower: two in each word, the earlier
//! one in the lower half. A short message lies before its event in the slot and is padded to a
//! multiple of 4 bytes.

/// Bytes of a slot.
pub const SLOT_BYTES: u32 = 256;
/// Number of slots of a port's queue: more than sends, receive tokens, notices and collective operations.
pub const SLOTS: u32 = 336;
/// Bytes of a port's queue.
pub const QUEUE_BYTES: u32 = SLOT_BYTES * SLOTS;
/// Bytes of the event of a received message, at the end of a slot.
pub const EVENT_BYTES: u32 = 20;
/// Offset of the event of a received message in its slot.
pub const EVENT: u32 = SLOT_BYTES - EVENT_BYTES;
/// Offset of a slot's last word.
pub const LAST_WORD: u32 = SLOT_BYTES - 4;
/// Most bytes of a message that is placed in the slot.
pub const FAST_BYTES: u32 = 128;
/// Most pairs of a report.
pub const REPORT_PAIRS: u32 = 31;

/// Words of the event of a received message, in bytes from its beginning: address of the buffer.
pub const WORD_BUFFER: u32 = 0;
/// Length in bytes.
pub const WORD_LENGTH: u32 = 8;
/// Sending node and tag.
pub const WORD_NODE: u32 = 12;
/// Size, subports and type.
pub const WORD_TYPE: u32 = 16;

/// Added to the type of an event that the host has not seen.
pub const NEW: u32 = 0x80;
/// Type: no event.
pub const NO_RECEIVE: u32 = 0;
/// Type: a message of low priority.
#[doc(alias = "GM_RECV_EVENT")]
pub const RECEIVE: u32 = 11;
/// Added for a message of high priority.
pub const HIGH: u32 = 1;
/// Added for a message of the port with the receiver's own number.
pub const PEER: u32 = 2;
/// Added for a message that lies in the slot.
pub const FAST: u32 = 4;
/// Type: a report of sends.
#[doc(alias = "GM_SENT_TOKENS_EVENT")]
pub const SENT_TOKENS: u32 = 29;

/// Type: the time of the port's alarm has come.
#[doc(alias = "GM_ALARM_EVENT")]
pub const ALARM: u32 = 2;
/// Type: the board has taken the port's [`WAKE`](super::port::WAKE). All events before that stand before this one, and the next one
/// interrupts the host.
#[doc(alias = "_GM_SLEEP_EVENT")]
pub const SLEEP: u32 = 4;
/// Type: a send slot without a free send token.
pub const SEND_TOKEN_VIOLATION: u32 = 7;
/// Type: a receive token too many.
pub const RECEIVE_TOKEN_VIOLATION: u32 = 8;
/// Type: a send from memory that the process has not registered; with the address.
#[doc(alias = "GM_BAD_SEND_VMA_EVENT")]
pub const BAD_SEND_MEMORY: u32 = 26;
/// Type: a receive token for memory that the process has not registered; with the address.
#[doc(alias = "GM_BAD_RECV_VMA_EVENT")]
pub const BAD_RECEIVE_MEMORY: u32 = 27;
/// Type: a collective operation is complete. Words 59 and 60 are its result, word 62 its status, bits 15 to 8 of word 63 its number:
/// 0 for the port's barrier, else that of its descriptor and 1.
#[doc(alias = "GM_BARRIER_COMPLETED_EVENT")]
pub const COMPLETED: u32 = 31;
/// The types of notices. A port has one of each type waiting at most.
pub const NOTICES: [u32; 6] = [
    ALARM,
    SLEEP,
    SEND_TOKEN_VIOLATION,
    RECEIVE_TOKEN_VIOLATION,
    BAD_SEND_MEMORY,
    BAD_RECEIVE_MEMORY,
];

/// Result of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Status {
    /// The message is in the target's memory, or on its way there from the target's board.
    #[doc(alias = "GM_SUCCESS")]
    Success = 0,
    /// The board has no place for the send now.
    #[doc(alias = "GM_TRY_AGAIN")]
    TryAgain = 4,
    /// The send slot held no valid request.
    #[doc(alias = "GM_INVALID_PARAMETER")]
    InvalidParameter = 8,
    /// The memory is not the process's, or the target does not let others use it.
    #[doc(alias = "GM_PERMISSION_DENIED")]
    PermissionDenied = 11,
    /// No receive token fitted, or no answer came, for too long.
    #[doc(alias = "GM_SEND_TIMED_OUT")]
    TimedOut = 15,
    /// The target refused the message.
    #[doc(alias = "GM_SEND_REJECTED")]
    Rejected = 16,
    /// The target port is not open.
    #[doc(alias = "GM_SEND_TARGET_PORT_CLOSED")]
    TargetPortClosed = 17,
    /// There is no route to the target.
    #[doc(alias = "GM_SEND_TARGET_NODE_UNREACHABLE")]
    NodeUnreachable = 18,
    /// The send waited in a stream that an error had stopped, and the program dropped it.
    #[doc(alias = "GM_SEND_DROPPED")]
    Dropped = 19,
    /// The sending port was closed.
    #[doc(alias = "GM_SEND_PORT_CLOSED")]
    PortClosed = 20,
}

impl Status {
    /// All results.
    pub const ALL: [Self; 10] = [
        Self::Success,
        Self::TryAgain,
        Self::InvalidParameter,
        Self::PermissionDenied,
        Self::TimedOut,
        Self::Rejected,
        Self::TargetPortClosed,
        Self::NodeUnreachable,
        Self::Dropped,
        Self::PortClosed,
    ];

    /// The result in words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::TryAgain => "the board has no place for it now",
            Self::InvalidParameter => "invalid parameter",
            Self::PermissionDenied => "no permission for the memory",
            Self::TimedOut => "timed out",
            Self::Rejected => "rejected",
            Self::TargetPortClosed => "the target port is closed",
            Self::NodeUnreachable => "no route to the node",
            Self::Dropped => "dropped after an error",
            Self::PortClosed => "the sending port was closed",
        }
    }

    /// Decodes a status code; `None` for an unused one.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as u32 == code)
    }
}
