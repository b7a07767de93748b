//! The 20-byte EMP descriptor (emp-050) in its three forms (thesis 2.3.2).
//!
//! | word | head descriptor | chain continuation |
//! |------|-----------------|--------------------|
//! | 0, 1 | page entry      | page entry         |
//! | 2    | node, tag       | page entry         |
//! | 3    | message length  | page entry         |
//! | 4    | status          | status (next only) |
//!
//! A *page entry* is 8 bytes: word 0 = length (16 bits, high half) and host address bits 47:32,
//! word 1 = host address bits 31:0. A head with three continuations holds 1 + 3 x 2 = 7 entries
//! (emp-053, emp-054). In the indirect form the head's one entry names a host page that is full
//! of such entries (emp-055), most significant word first.
//!
//! The host fills words 0 to 3 and then flips the owner bit of word 4 to the NIC. The NIC flips it back,
//! with a [`Code`] and the message's length in the same word; a completed receive also has the peer's node
//! and tag in word 2.

/// Descriptors in NIC memory (emp-051): sends first, then receives.
pub const DESCRIPTOR_COUNT: u32 = SEND_DESCRIPTORS + RECEIVE_DESCRIPTORS;
/// Descriptors of the send pool (emp-031).
pub const SEND_DESCRIPTORS: u32 = 200;
/// Descriptors of the receive pool (emp-032).
pub const RECEIVE_DESCRIPTORS: u32 = 440;
/// Bytes of a descriptor (emp-050).
pub const DESCRIPTOR_BYTES: u32 = 20;
/// Words of a descriptor.
pub const DESCRIPTOR_WORDS: usize = 5;
/// Most descriptors in a chain (emp-053).
pub const CHAIN_DESCRIPTORS: usize = 4;
/// Most page entries in a chain (emp-054).
pub const CHAIN_PAGES: usize = 7;
/// Bytes of a host page.
pub const PAGE_BYTES: u32 = 4096;
/// Bytes of a page entry.
pub const PAGE_ENTRY_BYTES: u32 = 8;
/// Most page entries of the indirect form: one host page full of them.
pub const INDIRECT_PAGES: u32 = PAGE_BYTES / PAGE_ENTRY_BYTES;
/// Longest message: every entry of the indirect form is a whole page (2 MB).
pub const MESSAGE_LIMIT_BYTES: u32 = INDIRECT_PAGES * PAGE_BYTES;
/// Matches any source node (word 2).
pub const ANY_NODE: u16 = 0xFFFF;
/// Matches any tag (word 2).
pub const ANY_TAG: u16 = 0xFFFF;

/// Word index of the page entry's length and high address.
pub const WORD_PAGE_HIGH: usize = 0;
/// Word index of the page entry's low address.
pub const WORD_PAGE_LOW: usize = 1;
/// Word index of node (high half) and tag (low half).
pub const WORD_NODE_TAG: usize = 2;
/// Word index of the message length.
pub const WORD_LENGTH: usize = 3;
/// Word index of the status.
pub const WORD_STATUS: usize = 4;

/// Status bit: the NIC owns the descriptor.
pub const STATUS_NIC_OWNS: u32 = 1 << 31;
/// Status: position of the [`Code`].
pub const STATUS_CODE_SHIFT: u32 = 24;
/// Status: mask of the [`Code`] after the shift.
pub const STATUS_CODE_MASK: u32 = 0xF;
/// Status: position of the [`Form`].
pub const STATUS_FORM_SHIFT: u32 = 20;
/// Status: mask of the [`Form`] after the shift.
pub const STATUS_FORM_MASK: u32 = 0x3;
/// Status: mask of the index of the next descriptor of a chain.
pub const STATUS_NEXT_MASK: u32 = 0xFFFF;
/// Value of the next index at the end of a chain.
pub const STATUS_NEXT_NONE: u32 = 0xFFFF;

/// Form of a descriptor: its reference to the user's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Form {
    /// One page entry.
    Short = 0,
    /// Up to four linked descriptors with up to seven page entries.
    Chained = 1,
    /// One host page full of page entries.
    Indirect = 2,
}

impl Form {
    /// Decodes the form of a status word; `None` for the unused value.
    #[must_use]
    pub const fn from_status(status: u32) -> Option<Self> {
        match (status >> STATUS_FORM_SHIFT) & STATUS_FORM_MASK {
            0 => Some(Self::Short),
            1 => Some(Self::Chained),
            2 => Some(Self::Indirect),
            _ => None,
        }
    }
}

/// Result of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Not yet complete.
    Pending = 0,
    /// All bytes arrived (receive) or were acknowledged (send).
    Done = 1,
    /// The message was longer than the posted receive: the part that fits was delivered.
    Truncated = 2,
    /// Invalid descriptor: form, chain link, page entries or lengths.
    BadDescriptor = 3,
    /// A DMA to or from host memory failed: the buffer is not mapped.
    HostMemory = 4,
    /// The route table has no such node.
    UnknownNode = 5,
    /// The peer did not acknowledge within the retry limit.
    Timeout = 6,
    /// No NIC memory for the transfer's record.
    NoResources = 7,
    /// The host cancelled the posted receive.
    Cancelled = 8,
}

impl Code {
    /// Decodes the code of a status word; `None` for an unused value.
    #[must_use]
    pub const fn from_status(status: u32) -> Option<Self> {
        Some(match (status >> STATUS_CODE_SHIFT) & STATUS_CODE_MASK {
            0 => Self::Pending,
            1 => Self::Done,
            2 => Self::Truncated,
            3 => Self::BadDescriptor,
            4 => Self::HostMemory,
            5 => Self::UnknownNode,
            6 => Self::Timeout,
            7 => Self::NoResources,
            8 => Self::Cancelled,
            _ => return None,
        })
    }
}

/// Status word that gives a descriptor to the NIC.
#[must_use]
pub const fn status_posted(form: Form, next: u32) -> u32 {
    STATUS_NIC_OWNS | ((form as u32) << STATUS_FORM_SHIFT) | (next & STATUS_NEXT_MASK)
}

/// Mask of the message's length in bytes, in a status word that the NIC returns.
pub const STATUS_LENGTH_MASK: u32 = 0x003F_FFFF;

const _: () = assert!(MESSAGE_LIMIT_BYTES <= STATUS_LENGTH_MASK);

/// Status word that returns a descriptor to the host. Code and length share one word: one poll reads both.
#[must_use]
pub const fn status_complete(code: Code, length_bytes: u32) -> u32 {
    ((code as u32) << STATUS_CODE_SHIFT) | (length_bytes & STATUS_LENGTH_MASK)
}

/// Packs a page entry: `address` below 2^48, `length_bytes` below 2^16.
#[must_use]
pub const fn page_entry(address: u64, length_bytes: u16) -> [u32; 2] {
    [
        ((length_bytes as u32) << 16) | ((address >> 32) as u32 & 0xFFFF),
        address as u32,
    ]
}

/// Packs word 2: node and tag.
#[must_use]
pub const fn node_tag(node: u16, tag: u16) -> u32 {
    ((node as u32) << 16) | tag as u32
}
