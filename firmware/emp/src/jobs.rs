//! What a role on one CPU leaves for a role on the other one.
//!
//! Each queue has one CPU that puts jobs in and one that takes them out. Nobody waits for the other CPU:
//!
//! | queue | jobs | why there is room |
//! |-------|------|-------------------|
//! | [`Queue::Frames`] | sender to transmitter: a frame, the end of a message | the sender looks before it cuts a frame |
//! | [`Queue::Acks`] | matcher to transmitter: an ack; deliverer to transmitter: a fetch | the matcher takes no frame before there is; a fetch for each active receive is kept free |
//! | [`Queue::Reports`] | transmitter to sender: a message has failed, nothing of it is left; matcher to sender: an answer, a new life of a peer | two for each transmit record fit; the matcher looks before it takes a frame |
//! | [`Queue::Arrivals`] | matcher to deliverer: a frame, a drop, the end of a message | the matcher takes no frame before there is, and for the end of every message |
//! | [`Queue::Pages`] | transmitter to deliverer: page entries have come | one for each active receive fits |
//! | [`Queue::Closed`] | deliverer to matcher: a message is complete | one for each active receive fits |
//!
//! A job that cannot be done yet stays in its queue, and its event stands. So what is behind it waits
//! too: jobs that do not wait for each other have queues of their own. What a job waits for is always
//! hardware (DMA slots, space in the transmit buffer) or a DMA, never room in another queue.

use crate::tables::{ACTIVE_SLOTS, TRANSMIT_SLOTS};

/// A queue between the CPUs, by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// From the sender to the transmitter: frames.
    Frames,
    /// To the transmitter: acks, and fetches of page entries.
    Acks,
    /// To the sender: what became of messages.
    Reports,
    /// From the matcher to the deliverer: frames.
    Arrivals,
    /// From the transmitter to the deliverer: page entries.
    Pages,
    /// From the deliverer to the matcher: complete messages.
    Closed,
}

/// Frames that wait for the transmitter beside those in its buffer: so few that a frame that is sent again does
/// not stand behind many.
const FRAMES: u32 = 8;
/// Acks that wait for the transmitter.
const ACKS: u32 = 64;
/// Frames that wait for the deliverer.
const ARRIVALS: u32 = 64;

impl Queue {
    /// All of them, in the order of their numbers.
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

    /// Room that must be there for one more frame that arrives.
    pub(crate) const fn room_for_frame(self) -> u32 {
        match self {
            // A fetch for every active receive must fit as well,
            Self::Acks => ACTIVE_SLOTS as u32 + 1,
            // as must the end of every active receive, and the frame itself,
            Self::Arrivals => ACTIVE_SLOTS as u32 + 2,
            // and news of a peer with an ack from it.
            Self::Reports => 2,
            Self::Frames | Self::Pages | Self::Closed => 1,
        }
    }
}

/// Position of a job's kind in its first word.
pub(crate) const KIND_SHIFT: u32 = 28;
/// Position of a job's slot in its first word.
pub(crate) const SLOT_SHIFT: u32 = 16;

/// [`Queue::Frames`].
pub(crate) mod frames {
    /// Send a frame.
    pub const FRAME: u32 = 0;
    /// Report when nothing of a message is left.
    pub const CLOSE: u32 = 1;
    /// Flag: the first frame of a message.
    pub const OPENS: u32 = 1 << 27;
}

/// [`Queue::Acks`].
pub(crate) mod acks {
    /// Send an ack.
    pub const ACK: u32 = 0;
    /// Fetch page entries.
    pub const FETCH: u32 = 1;
}

/// [`Queue::Reports`].
pub(crate) mod reports {
    /// A message's memory could not be read.
    pub const FAILED: u32 = 0;
    /// Nothing of a message is left.
    pub const CLOSED: u32 = 1;
    /// A peer has answered.
    pub const ANSWER: u32 = 2;
    /// Position of an answer's pressure.
    pub const PRESSURE_SHIFT: u32 = 24;
    /// A peer has started anew.
    pub const NEW_LIFE: u32 = 3;
}

/// [`Queue::Arrivals`].
pub(crate) mod arrivals {
    /// Deliver a message's first frame.
    pub const OPEN: u32 = 0;
    /// Deliver another frame.
    pub const DELIVER: u32 = 1;
    /// Free a frame.
    pub const DROP: u32 = 2;
    /// No more frames of a message come.
    pub const BREAK_OFF: u32 = 3;
    /// Flag: no more frames of the message come after this one.
    pub const LAST: u32 = 1 << 27;
}

/// [`Queue::Pages`]: flag of a fetch that has failed; the slot is the rest.
pub(crate) const PAGES_FAILED: u32 = 1 << 8;
