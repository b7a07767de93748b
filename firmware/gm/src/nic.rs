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

/// The machines that run on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// All of them: the chip has one CPU, or uses one.
    All,
    /// SDMA, SEND, timers, posts of sends.
    Sender,
    /// RECV, RDMA, receive tokens, reports, all DMA to the host.
    Receiver,
}

/// The hardware that GM runs on.
pub trait Nic {
    /// The machines that run on this CPU. It is a constant, so that code of the others is not compiled.
    const ROLE: Role = Role::All;
    /// Bit of an event: there is a received packet.
    const RECEIVED: u32;
    /// Bit of an event: the packet that was given to the sender has left.
    const SENT: u32;
    /// Bit of an event: a DMA is complete.
    const DMA: u32;
    /// Bit of an event: a tick after [`set_timer`](Self::set_timer).
    const TICK: u32;
    /// Bit of an event: a tick after [`set_ack_timer`](Self::set_ack_timer); 0 if the hardware has no second timer.
    const ACK_TICK: u32 = 0;
    /// Bit of an event: the other CPU has put jobs in; 0 if there is none.
    const JOB: u32 = 0;
    /// How often [`read_done`](Self::read_done) is asked for a short DMA before that becomes an event: about as often as the
    /// hardware needs; 0 if only an event tells of the end.
    const SHORT_READ_POLLS: u32 = 0;
    /// Whether words can be stored behind the payload of a received packet: then one DMA carries message and event. In a
    /// ring of a MAC the next packet begins there.
    const EVENT_BEHIND_PAYLOAD: bool = true;

    /// Reads the word of SRAM at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word of SRAM at `address`.
    fn store(&mut self, address: u32, value: u32);
    /// Takes the events that have come up, a bit for each. Changes nothing when there are none. [`RECEIVED`](Self::RECEIVED)
    /// stays until [`receive`](Self::receive) has taken the packet.
    fn events(&mut self) -> u32;

    /// Starts a DMA from the host. At most four are under way; they complete in order. A cookie of 0 asks for no
    /// completion.
    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32);
    /// The cookie of a completed DMA from the host, oldest first; 0 if there is none.
    fn read_done(&mut self) -> u32;
    /// Reads a few words from the host and waits until they are there. Either CPU can call it.
    fn fetch(&mut self, host: HostAddress, local: u32, length: u32);
    /// Starts a DMA to the host. At most eight are under way; they complete in order. A cookie of 0 asks for no
    /// completion.
    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32);
    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    fn write_done(&mut self) -> u32;

    /// Sends the bytes from `start` to `end`, a whole packet, of which the route ends at `header`. One packet at
    /// a time.
    fn send(&mut self, start: u32, header: u32, end: u32);

    /// Takes the oldest received packet: its address, and its length without check sequences, which is 0 if it is damaged or
    /// too long. The header is contiguous.
    fn receive(&mut self) -> Option<(u32, u32)>;
    /// The buffer of a packet that [`receive`](Self::receive) gave is free. Packets that RDMA keeps are freed later, in the
    /// order in which they were received; dropped packets are freed at once.
    fn release(&mut self, packet: u32);

    /// Asks for [`TICK`](Self::TICK) after [`TICK_HALF_US`](defs::gm::map::TICK_HALF_US).
    fn set_timer(&mut self);
    /// Asks for [`ACK_TICK`](Self::ACK_TICK) after [`ACK_HALF_US`](defs::gm::map::ACK_HALF_US).
    fn set_ack_timer(&mut self) {}
    /// Interrupts the host.
    fn interrupt(&mut self);

    /// Marks an event for observers: a connection's number and a sequence number. Takes no time.
    #[inline(always)]
    fn mark(&mut self, _event: Event, _number: u32, _sequence: u32) {}
}
