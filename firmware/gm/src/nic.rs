//! [`Nic`]: the interface between the protocol and the hardware.
//!
//! An implementation is a thin layer over a chip's blocks, or a fake in tests. Addresses are SRAM addresses in
//! bytes, lengths are in bytes. All methods should be inlined.

pub use defs::gm::probe::Event;

/// A host memory address, as DMA sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    /// Bits 63 to 32.
    pub high: u32,
    /// Bits 31 to 0.
    pub low: u32,
}

/// The hardware that GM runs on.
pub trait Nic {
    /// Bit of an event: a packet was received, or ended the armed buffer.
    const RECEIVED: u32;
    /// Bit of an event: the packet that was given to the sender has left.
    const SENT: u32;
    /// Bit of an event: a DMA is complete.
    const DMA: u32;
    /// Bit of an event: a tick after [`set_timer`](Self::set_timer).
    const TICK: u32;
    /// How often [`read_done`](Self::read_done) is asked for a short DMA before that becomes an event: about as often as the
    /// hardware needs; 0 if only an event tells of the end.
    const SHORT_READ_POLLS: u32 = 0;

    /// Reads the word of SRAM at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word of SRAM at `address`.
    fn store(&mut self, address: u32, value: u32);
    /// Takes the events that have come up, a bit for each. Changes nothing when there are none.
    fn events(&mut self) -> u32;

    /// Starts a DMA from the host. At most two are under way; they complete in order.
    fn start_read(&mut self, host: HostAddress, local: u32, length: u32);
    /// Whether the oldest DMA from the host has completed since the last time that this was true.
    fn read_done(&mut self) -> bool;
    /// Starts a DMA to the host. At most six are under way; they complete in order. A cookie of 0 asks for no
    /// completion.
    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32);
    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    fn write_done(&mut self) -> u32;

    /// Sends the bytes from `start` to `end`, a whole packet, of which the route ends at `header`. One packet at
    /// a time.
    fn send(&mut self, start: u32, header: u32, end: u32);
    /// Lets the next packet come into the buffer at `buffer`, which holds the longest packet.
    fn arm(&mut self, buffer: u32);
    /// Length of the packet that was received into `buffer`, without check sequences; 0 if it is damaged or too long.
    fn received(&mut self, buffer: u32) -> u32;
    /// Asks for [`TICK`](Self::TICK) after [`TICK_HALF_US`](defs::gm::map::TICK_HALF_US).
    fn set_timer(&mut self);

    /// Marks an event for observers: a connection's number and a sequence number. Takes no time.
    #[inline(always)]
    fn mark(&mut self, _event: Event, _number: u32, _sequence: u32) {}
}
