//! Jobs that a role on one CPU queues for a role on the other CPU.
//!
//! Each queue has one CPU that puts jobs in and one that takes them out. No CPU waits for the other:
//!
//! | queue | jobs | reason that there is room |
//! |-------|------|-------------------|
//! | [`Queue::Frames`] | sender to transmitter: a frame, the end of a message | the sender checks before it cuts a frame |
//! | [`Queue::Acks`] | matcher to transmitter: an ack; deliverer to transmitter: a fetch | the matcher takes no frame without room; a fetch per active receive is kept free |
//! | [`Queue::Reports`] | transmitter to sender: a message has failed or is closed; matcher to sender: an answer, a peer's restart | two per transmit record fit; the matcher checks before it takes a frame |
//! | [`Queue::Arrivals`] | matcher to deliverer: a frame, a drop, the end of a message | the matcher takes no frame without room for it and for the end of every message |
//! | [`Queue::Pages`] | transmitter to deliverer: fetched page entries | one per active receive fits |
//! | [`Queue::Closed`] | deliverer to matcher: a message is complete | one per active receive fits |
//!
//! A job that cannot be executed yet stays in its queue, and its event stays set. It blocks the jobs behind
//! it, so jobs that do not depend on each other have separate queues. A job waits only for hardware (DMA
//! slots, space in the transmit buffer) or a DMA, never for room in another queue.

use crate::tables::{ACTIVE_SLOTS, TRANSMIT_SLOTS};

/// A queue between the CPUs, by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// From the sender to the transmitter: frames.
    Frames,
    /// To the transmitter: acks, and fetches of page entries.
    Acks,
    /// To the sender: results of messages.
    Reports,
    /// From the matcher to the deliverer: frames.
    Arrivals,
    /// From the transmitter to the deliverer: page entries.
    Pages,
    /// From the deliverer to the matcher: complete messages.
    Closed,
}

/// Capacity for frames that wait for the transmitter, in addition to its buffer. Small, so that a
/// retransmitted frame does not wait behind many.
const FRAMES: u32 = 8;
/// Capacity for acks that wait for the transmitter.
const ACKS: u32 = 64;
/// Capacity for frames that wait for the deliverer.
const ARRIVALS: u32 = 64;

impl Queue {
    /// All queues, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::Frames,
        Self::Acks,
        Self::Reports,
        Self::Arrivals,
        Self::Pages,
        Self::Closed,
    ];

    /// Entries of the queue: a power of two.
    #[must_use]
    pub const fn entries(self) -> u32 {
        match self {
            Self::Frames => FRAMES,
            Self::Acks => ACKS + ACTIVE_SLOTS as u32,
            Self::Reports => 2 * TRANSMIT_SLOTS as u32,
            Self::Arrivals => ARRIVALS + ACTIVE_SLOTS as u32,
            Self::Pages | Self::Closed => ACTIVE_SLOTS as u32,
        }
    }

    /// Words of an entry: a power of two.
    #[must_use]
    pub const fn words(self) -> u32 {
        match self {
            Self::Frames | Self::Arrivals => 8,
            Self::Acks => 4,
            Self::Reports => 2,
            Self::Pages | Self::Closed => 1,
        }
    }

    /// Room needed before one more frame is taken from the MAC.
    pub(crate) const fn room_for_frame(self) -> u32 {
        match self {
            // A fetch for every active receive must fit as well,
            Self::Acks => ACTIVE_SLOTS as u32 + 1,
            // as must the end of every active receive, and the frame itself,
            Self::Arrivals => ACTIVE_SLOTS as u32 + 2,
            // and the report of a peer's restart together with its ack.
            Self::Reports => 2,
            Self::Frames | Self::Pages | Self::Closed => 1,
        }
    }
}

/// Position of a job's kind in its first word.
pub(crate) const KIND_SHIFT: u32 = 28;
/// Position of a job's slot in its first word.
pub(crate) const SLOT_SHIFT: u32 = 16;

/// Jobs of [`Queue::Frames`].
pub(crate) mod frames {
    /// Send a frame.
    pub const FRAME: u32 = 0;
    /// Report when the transmitter has finished with a message.
    pub const CLOSE: u32 = 1;
    /// Flag: the first frame of a message.
    pub const OPENS: u32 = 1 << 27;
}

/// Jobs of [`Queue::Acks`].
pub(crate) mod acks {
    /// Send an ack.
    pub const ACK: u32 = 0;
    /// Fetch page entries.
    pub const FETCH: u32 = 1;
}

/// Jobs of [`Queue::Reports`].
pub(crate) mod reports {
    /// A message's memory could not be read.
    pub const FAILED: u32 = 0;
    /// The transmitter has finished with a message.
    pub const CLOSED: u32 = 1;
    /// A peer has answered.
    pub const ANSWER: u32 = 2;
    /// Position of an answer's pressure.
    pub const PRESSURE_SHIFT: u32 = 24;
    /// A peer has restarted.
    pub const NEW_LIFE: u32 = 3;
}

/// Jobs of [`Queue::Arrivals`].
pub(crate) mod arrivals {
    /// Deliver a message's first frame.
    pub const OPEN: u32 = 0;
    /// Deliver another frame.
    pub const DELIVER: u32 = 1;
    /// Free a frame.
    pub const DROP: u32 = 2;
    /// End a message: no more frames will come.
    pub const BREAK_OFF: u32 = 3;
    /// Flag: this is the last frame of the message.
    pub const LAST: u32 = 1 << 27;
}

/// [`Queue::Pages`]: flag of a fetch that has failed; the slot is the rest.
pub(crate) const PAGES_FAILED: u32 = 1 << 8;
