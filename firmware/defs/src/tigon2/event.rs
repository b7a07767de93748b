//! Bits of the event registers A (0x60) and B (0x70) (docs/tigon2.md, section 3).
//!
//! The index into the dispatch table is the bit's number plus one; the highest bit has priority.

/// Entries of the dispatch table: idle, then one per bit.
pub const TABLE_ENTRIES: usize = 33;

/// Hardware: a received frame waits (receive descriptor producer is past the reference).
pub const RX_COMPLETE: u32 = 6;
/// Hardware: write-DMA ring completion rule holds.
pub const WRITE_DMA_DONE: u32 = 14;
/// Hardware: read-DMA ring completion rule holds.
pub const READ_DMA_DONE: u32 = 15;
/// Hardware: write DMA error.
pub const WRITE_DMA_ATTENTION: u32 = 19;
/// Hardware: read DMA error.
pub const READ_DMA_ATTENTION: u32 = 20;
/// Hardware: the CPU's mailbox event register is not zero.
pub const MAILBOX: u32 = 22;
/// Hardware: an attention bit of the MAC receive state is set.
pub const MAC_RX_ATTENTION: u32 = 25;
/// Hardware: an attention bit of the MAC transmit state is set.
pub const MAC_TX_ATTENTION: u32 = 26;
/// Hardware: the timer has reached this CPU's reference.
pub const TIMER: u32 = 28;

/// Bits that hardware derives: a CPU's write does not change them.
pub const HARDWARE_MASK: u32 = (1 << RX_COMPLETE)
    | (1 << WRITE_DMA_DONE)
    | (1 << READ_DMA_DONE)
    | (1 << WRITE_DMA_ATTENTION)
    | (1 << READ_DMA_ATTENTION)
    | (1 << MAILBOX)
    | (1 << MAC_RX_ATTENTION)
    | (1 << MAC_TX_ATTENTION)
    | (1 << TIMER);

/// Software bit that is always set: its handler, when enabled, runs when there is nothing else to do.
pub const SOFT_AGAIN: u32 = 0;
/// Software bit that our firmware uses for "messages wait to be cut into frames".
pub const SOFT_CUT: u32 = 1;
/// Software bit that our firmware uses for "a frame's page entries have arrived".
pub const SOFT_RESUME: u32 = 4;
/// Software bit that our firmware uses for "frames wait to be transmitted" (below `RX_COMPLETE`).
pub const SOFT_SEND: u32 = 3;
/// Software bit of CPU B that our firmware uses for "descriptors wait for the software assist".
pub const SOFT_ASSIST: u32 = 5;
/// Software bit that our firmware uses for "frames of the other CPU wait to be transmitted".
pub const SOFT_FRAMES: u32 = 2;
/// Software bit that our firmware uses for "received frames of the other CPU wait to be delivered".
pub const SOFT_ARRIVALS: u32 = 7;
/// Software bit that our firmware uses for "acks and fetches of the other CPU wait".
pub const SOFT_ACKS: u32 = 10;
/// Software bit that our firmware uses for "the other CPU reports on transmits".
pub const SOFT_REPORTS: u32 = 11;
/// Software bit that our firmware uses for "the other CPU has fetched page entries".
pub const SOFT_PAGES: u32 = 12;
/// Software bit that our firmware uses for "the other CPU has completed receives".
pub const SOFT_CLOSED: u32 = 13;

/// The name of a bit; `None` if it has no fixed meaning.
#[must_use]
pub const fn name(bit: u32) -> Option<&'static str> {
    Some(match bit {
        RX_COMPLETE => "rx_complete",
        WRITE_DMA_DONE => "write_dma_done",
        READ_DMA_DONE => "read_dma_done",
        WRITE_DMA_ATTENTION => "write_dma_attention",
        READ_DMA_ATTENTION => "read_dma_attention",
        MAILBOX => "mailbox",
        MAC_RX_ATTENTION => "mac_rx_attention",
        MAC_TX_ATTENTION => "mac_tx_attention",
        TIMER => "timer",
        SOFT_AGAIN => "soft_again",
        SOFT_CUT => "soft_cut",
        SOFT_RESUME => "soft_resume",
        SOFT_SEND => "soft_send",
        SOFT_ASSIST => "soft_assist",
        SOFT_FRAMES => "soft_frames",
        SOFT_ARRIVALS => "soft_arrivals",
        SOFT_ACKS => "soft_acks",
        SOFT_REPORTS => "soft_reports",
        SOFT_PAGES => "soft_pages",
        SOFT_CLOSED => "soft_closed",
        _ => return None,
    })
}
