//! What the host's side of a node costs; a board's timing profile supplies the values.

use crate::sim::time::SimTime;

/// Costs of the PCI bus as the processor sees it, and of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCosts {
    /// Clock of the PCI bus.
    pub pci_clock_hz: u64,
    /// A programmed read, from the instruction to its result.
    pub pio_read: SimTime,
    /// The way of a read from the processor to the bus.
    pub pio_read_request: SimTime,
    /// Bus clocks of it.
    pub pio_read_bus_clocks: u32,
    /// The way back from the bus to the processor, at least.
    pub pio_read_return: SimTime,
    /// Processor time of each word of a programmed write.
    pub pio_write: SimTime,
    /// Bus clocks of a write transaction; each word adds one.
    pub pio_write_setup_clocks: u32,
    /// The system call that translates the pages of a buffer: the first page.
    pub translate: SimTime,
    /// Each further page of the same call.
    pub translate_page: SimTime,
    /// From the rise of the interrupt line to the first instruction of the program that waits for it.
    pub interrupt: SimTime,
    /// The host library's own instructions of one post.
    pub post: SimTime,
}

impl HostCosts {
    /// When a value that was sampled then is back at the processor.
    pub(super) fn back_at(&self, asked: SimTime, sampled: SimTime) -> SimTime {
        (asked + self.pio_read).max(sampled + self.pio_read_return)
    }
}
