//! [`Nic`]: the interface between FM's control program and the hardware.
//!
//! An implementation is a thin layer over a chip's blocks, or a fake in tests. Addresses are SRAM addresses in bytes, lengths are
//! in bytes. All methods should be inlined.

pub use defs::fm::probe::Event;

/// The hardware that FM runs on.
pub trait Nic {
    /// Whether packets can have further destinations. Without, the firmware never looks for them: for measurements of what that costs.
    const MULTI_SEND: bool = true;
    /// Bit of an event: there is a received packet. It stays until [`receive`](Self::receive) has taken the packet.
    const RECEIVED: u32;
    /// Bit of an event: the packet that was given to the sender has left.
    const SENT: u32;
    /// Bit of an event: a DMA is complete.
    const DMA: u32;

    /// Reads the word of SRAM at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word of SRAM at `address`.
    fn store(&mut self, address: u32, value: u32);
    /// Takes the events that have come up, a bit for each.
    fn events(&mut self) -> u32;

    /// Sends the bytes from `start` to `end`, a route and a packet. One packet at a time.
    fn send(&mut self, start: u32, end: u32);
    /// Whether the sender has read all bytes of its packet before `address`, a multiple of 4.
    fn has_read(&self, address: u32) -> bool;
    /// Takes the oldest received packet: its address, and its length without check sequence, 0 if it is damaged or too long. A
    /// word behind it can be written.
    fn receive(&mut self) -> Option<(u32, u32)>;
    /// Frees the memory of a packet that was taken.
    fn release(&mut self, packet: u32);

    /// Starts a DMA to the host. At most one for each received packet is under way; they complete in order.
    fn start_write(&mut self, host: u32, local: u32, length: u32, cookie: u32);
    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    fn write_done(&mut self) -> u32;

    /// Marks an event for observers. Takes no time.
    #[inline(always)]
    fn mark(&mut self, _event: Event, _first: u32, _second: u32) {}
}
