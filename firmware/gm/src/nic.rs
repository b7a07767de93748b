//! [`Nic`]: the interface between the protocol and the hardware.
//!
//! An implementation is a thin layer over a chip's blocks, or a fake in tests. Addresses are SRAM addresses in
//! bytes, lengths are in bytes. All methods should be inlined.

use defs::gm::layout::Layout;
pub use defs::gm::probe::Event;

pub use crate::receive::Packet;

/// A host memory address, as DMA sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    /// Bits 63 to 32.
    pub high: u32,
    /// Bits 31 to 0.
    pub low: u32,
}

/// A receive buffer in which a packet that reaches the end goes on at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveRing {
    /// First address.
    pub base: u32,
    /// Address after the last.
    pub limit: u32,
}

/// The machines that run on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// All four.
    All,
    /// SDMA and SEND, with posts of sends, timers, and all that waits for an acknowledgment.
    Sender,
    /// RECV and RDMA, with receive tokens, reports, and all DMA to the host.
    Receiver,
    /// On RECV's CPU, while it has the lock of SEND's half: all that a packet asks of SEND. RECV itself stays [`Receiver`](Self::Receiver).
    Borrower,
}

impl Role {
    /// Whether SDMA and SEND run here.
    #[must_use]
    pub const fn sends(self) -> bool {
        !matches!(self, Self::Receiver)
    }

    /// Whether RECV and RDMA run here.
    #[must_use]
    pub const fn receives(self) -> bool {
        !matches!(self, Self::Sender)
    }
}

/// The hardware that GM runs on.
pub trait Nic {
    /// The machines that run on this CPU.
    const ROLE: Role = Role::All;
    /// Bit of an event: there is a received packet. It stays until [`receive`](Self::receive) has taken the packet. While
    /// eight packets are taken and not released, it stays down.
    const RECEIVED: u32;
    /// Bit of an event: the packet that was given to the sender has left.
    const SENT: u32;
    /// Bit of an event: a DMA is complete.
    const DMA: u32;
    /// Bit of an event: a tick after [`set_timer`](Self::set_timer).
    const TICK: u32;
    /// Bit of an event: a tick after [`set_ack_timer`](Self::set_ack_timer); 0 if the hardware has no second timer, then acks
    /// wait for the next tick.
    const ACK_TICK: u32 = 0;
    /// Bit of an event: the other CPU has called [`wake`](Self::wake). 0 on one CPU.
    const JOB: u32 = 0;
    /// Whether a lock guards SEND's half, under which RECV's CPU carries out what collective operations ask of it: [`lend`](Self::lend).
    const LENDS: bool = false;
    /// Number of times that [`read_done`](Self::read_done) is asked for a short DMA before that becomes an event: about as often as the
    /// hardware needs; 0 if only an event tells of the end.
    const SHORT_READ_POLLS: u32 = 0;
    /// Whether words can be stored behind a received packet, so that a short message and its event are one DMA.
    const EVENT_BEHIND_PAYLOAD: bool = true;

    /// Whether packets can be sent from the memory into which they were received. Behind their route, 16 bytes before a packet are free then.
    const PASSES_RECEIVED: bool = false;
    /// Whether values of reductions have several elements, and hosts may compute (docs/fast-trap.md). For one CPU with all machines.
    const VECTORS: bool = false;

    /// Places of what grows with the number of nodes. Another one than the usual is for one CPU with all machines.
    const LAYOUT: Layout = Layout::USUAL;

    /// The receive buffer if a packet that reaches its end goes on at its start: its header never does, and DMA follows by itself.
    const RECEIVE_RING: Option<ReceiveRing> = None;

    /// Reads the word of SRAM at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the word of SRAM at `address`.
    fn store(&mut self, address: u32, value: u32);
    /// Takes the events that have come up, a bit for each. Changes nothing when there are none.
    fn events(&mut self) -> u32;

    /// Starts a DMA from the host. At most five are under way; they complete in order. A cookie of 0 asks for no
    /// completion.
    fn start_read(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32);
    /// The cookie of a completed DMA from the host, oldest first; 0 if there is none.
    fn read_done(&mut self) -> u32;
    /// Reads a few words from the host and waits for them. On SEND's CPU all earlier DMAs from the host are complete then.
    fn fetch(&mut self, host: HostAddress, local: u32, length: u32);
    /// Starts a DMA to the host. At most three for each received packet and
    /// [`MORE_WRITES`](defs::gm::map::MORE_WRITES) are under way; they complete in order. A cookie of 0 asks for no
    /// completion.
    fn start_write(&mut self, host: HostAddress, local: u32, length: u32, cookie: u32);
    /// The cookie of a completed DMA to the host, oldest first; 0 if there is none.
    fn write_done(&mut self) -> u32;
    /// Waits until all DMAs to the host that have been started are complete. Their cookies come from [`write_done`](Self::write_done).
    fn await_writes(&mut self);

    /// Sends the bytes from `start` to `end`, a whole packet, of which the route ends at `header`. One packet at
    /// a time.
    fn send(&mut self, start: u32, header: u32, end: u32);
    /// Takes the oldest received packet: its address, and its length without check sequences, 0 if it is damaged or too
    /// long.
    fn receive(&mut self) -> Option<(u32, u32)>;
    /// Frees the memory of a packet that was taken. Those that RDMA uses are freed in their order, others at once.
    fn release(&mut self, packet: u32);
    /// Asks for [`TICK`](Self::TICK) after [`TICK_HALF_US`](defs::gm::map::TICK_HALF_US).
    fn set_timer(&mut self);
    /// Asks for [`ACK_TICK`](Self::ACK_TICK) after [`ACK_HALF_US`](defs::gm::map::ACK_HALF_US).
    fn set_ack_timer(&mut self) {}
    /// Interrupts the host.
    fn interrupt(&mut self);
    /// Tells the other CPU that there is a job for it: [`JOB`](Self::JOB).
    fn wake(&mut self) {}

    /// RECV: takes the lock of SEND's half and has [`Gm::carry_out`](crate::Gm::carry_out) do on this CPU what a packet of a barrier or a
    /// reduction asks of it. Unless it `waits`, it takes the lock only if that is free. Returns whether it had it. Called only with
    /// [`LENDS`](Self::LENDS).
    #[inline(always)]
    fn lend(&mut self, _packet: &Packet, _waits: bool) -> bool {
        false
    }
    /// SEND, in the middle of a step: lets RECV's CPU have the lock if it waits for it. Called only with [`LENDS`](Self::LENDS).
    #[inline(always)]
    fn yield_lock(&mut self) {}
    /// Whether the packet has left that either CPU has given to the sender. Asked only with [`LENDS`](Self::LENDS).
    #[inline(always)]
    fn is_sent(&self) -> bool {
        true
    }
    /// [`SENT`](Self::SENT) is to come up after the packet that the other CPU has given to the sender.
    #[inline(always)]
    fn watch_sent(&mut self) {}

    /// Marks an event for observers: a connection's number and a sequence number. Takes no time.
    #[inline(always)]
    fn mark(&mut self, _event: Event, _number: u32, _sequence: u32) {}
}
