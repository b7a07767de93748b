//! Release order of a frame buffer's pointer.

/// Keeps a buffer's pointer in ring order: `TX_BUFFER_PRODUCER` with read DMAs that carry
/// `RELEASE_TX`, or `RX_BUFFER_CONSUMER` with write DMAs that carry `FREE_RX`.
///
/// A *releasing* DMA moves the pointer, when it completes, to the end of the data that it moved. While one
/// is outstanding the CPU must not write the pointer: it would release a frame that is not complete, or the
/// DMA would then overwrite its value with an older one. So a release by the CPU waits: the next releasing
/// DMA covers it, or the CPU writes it after the last one has completed.
///
/// The owner calls each method in ring order: frames are queued, released and completed in the order in
/// which they lie in the buffer. A returned address must be written to the register at once.
#[derive(Debug, Clone, Default)]
pub struct ReleaseOrder {
    /// Releasing DMAs queued and not yet reported complete.
    outstanding: u32,
    /// End of the CPU's pending release behind the last outstanding DMA.
    wanted: Option<u32>,
}

impl ReleaseOrder {
    /// An order without outstanding DMAs.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            outstanding: 0,
            wanted: None,
        }
    }

    /// Records a queued releasing DMA. It ends behind all earlier releases, and so covers them.
    #[inline(always)]
    pub const fn dma_queued(&mut self) {
        self.outstanding += 1;
        self.wanted = None;
    }

    /// The CPU has finished with a frame that ends at `end` and that no releasing DMA covers.
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

    /// The oldest outstanding releasing DMA, which should have released up to `end`, has failed: the
    /// channel has not moved the pointer, and the CPU releases the space instead.
    #[inline(always)]
    #[must_use = "the address is to be written to the register"]
    pub const fn dma_failed(&mut self, end: u32) -> Option<u32> {
        self.settle(Some(end))
    }

    /// Counts one releasing DMA as finished. `unreleased`: end of a release that no DMA made.
    #[inline(always)]
    const fn settle(&mut self, unreleased: Option<u32>) -> Option<u32> {
        // A report without a transfer is the caller's mistake; it must not block the buffer permanently.
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

    /// Whether the pointer is at the end of everything queued and released.
    #[inline(always)]
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        self.outstanding == 0
    }
}
