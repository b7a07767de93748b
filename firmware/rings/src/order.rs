//! Who may move a buffer's pointer, and when.

/// Keeps a buffer's pointer in ring order: `TX_BUFFER_PRODUCER` with read DMAs that carry
/// `RELEASE_TX`, or `RX_BUFFER_CONSUMER` with write DMAs that carry `FREE_RX`.
///
/// A *releasing* DMA moves the pointer when it completes, to the end of what it moved. While one is
/// outstanding the CPU must not write the pointer: it would give away a frame that is not there yet,
/// or, a moment later, have its value overwritten by an older one. So a CPU's release waits; the next
/// releasing DMA covers it, or the CPU makes good for it when the last one is complete.
///
/// The owner calls each method in ring order: frames are queued, released and completed in the order
/// in which they lie in the buffer. Where a method returns an address, it is to be written to the
/// register at once.
#[derive(Debug, Clone, Default)]
pub struct ReleaseOrder {
    /// Releasing DMAs that were queued and not yet reported complete.
    outstanding: u32,
    /// End of what the CPU wants to release behind the last of them.
    wanted: Option<u32>,
}

impl ReleaseOrder {
    /// Nothing is outstanding.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            outstanding: 0,
            wanted: None,
        }
    }

    /// A releasing DMA is queued. It ends behind all that was released before, and so covers it.
    #[inline(always)]
    pub const fn dma_queued(&mut self) {
        self.outstanding += 1;
        self.wanted = None;
    }

    /// The CPU is done with a frame that ends at `end` and that no releasing DMA covers.
    #[inline(always)]
    #[must_use = "the address is to be written to the register"]
    pub const fn cpu_release(&mut self, end: u32) -> Option<u32> {
        if self.outstanding == 0 {
            return Some(end);
        }
        self.wanted = Some(end);
        None
    }

    /// The oldest outstanding releasing DMA has completed: the channel has moved the pointer.
    #[inline(always)]
    #[must_use = "the address is to be written to the register"]
    pub const fn dma_completed(&mut self) -> Option<u32> {
        self.settle(None)
    }

    /// The oldest outstanding releasing DMA, which was to release up to `end`, has failed: the channel
    /// has not moved the pointer, and the CPU gives the place up instead.
    #[inline(always)]
    #[must_use = "the address is to be written to the register"]
    pub const fn dma_failed(&mut self, end: u32) -> Option<u32> {
        self.settle(Some(end))
    }

    /// One releasing DMA fewer. `unreleased`: where its release is still owed.
    #[inline(always)]
    const fn settle(&mut self, unreleased: Option<u32>) -> Option<u32> {
        // A report without a transfer is the caller's mistake; it must not block the buffer for good.
        self.outstanding = self.outstanding.saturating_sub(1);
        if self.outstanding != 0 {
            // A later releasing DMA covers this frame.
            return None;
        }
        match self.wanted.take() {
            Some(end) => Some(end),
            None => unreleased,
        }
    }

    /// Whether the pointer stands at the end of all that was queued and released.
    #[inline(always)]
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.outstanding == 0
    }
}
