//! [`Nic`]: the interface between the protocol and the hardware.
//!
//! An implementation is a thin layer over the chip's blocks, or a fake in tests. Addresses are NIC
//! addresses in bytes, lengths are in bytes, data words are as the chip's CPUs see them (big-endian in
//! frames). All methods should be inlined into the handlers.
//!
//! **Ring order.** Transmit space is reserved, and receive space freed, in the order of the calls. Hardware
//! that releases a range releases everything before it, so an implementation delays releases by the CPU
//! until every earlier frame's DMA is complete.

use crate::jobs::Queue;
use crate::roles::Roles;
use defs::emp::frame::Kind;

pub use defs::emp::probe::Event;

/// A host memory address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    /// Bits 63:32.
    pub high: u32,
    /// Bits 31:0.
    pub low: u32,
}

impl HostAddress {
    /// The address `bytes` further on.
    #[inline(always)]
    #[must_use]
    pub fn advanced(self, bytes: u32) -> Self {
        let low = self.low.wrapping_add(bytes);
        Self {
            high: self.high.wrapping_add(u32::from(low < bytes)),
            low,
        }
    }
}

/// A frame that the MAC has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RxFrame {
    /// NIC address of its first byte. The first 64 bytes are contiguous.
    pub start: u32,
    /// Bytes without the frame check sequence.
    pub length: u32,
    /// Whether the MAC found no CRC or other receive error.
    pub intact: bool,
}

/// A received frame that has not been taken from the MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// NIC address of its first byte.
    pub start: u32,
    /// The NIC's identifier of the frame.
    pub descriptor: u32,
}

/// A completed DMA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The value passed when the DMA was pushed.
    pub cookie: u32,
    /// No host memory answered.
    pub failed: bool,
}

/// The stages of Table 3.1 of the EMP thesis (emp-080 to emp-085). Receive bookkeeping has two parts, as in
/// the thesis's two-CPU tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Handle a posted transmit, set up its record.
    SendBookkeeping,
    /// The part of send bookkeeping that grows with the frames: cut a frame from its message.
    SendFrame,
    /// Queue one frame's DMA and MAC descriptor.
    Transmission,
    /// Take an ack from the MAC.
    TakeAck,
    /// Apply an ack to its message.
    ReceiveAck,
    /// Take a frame from the MAC and match it.
    ReceiveBookkeeping,
    /// Store the frame's data and start its DMA.
    ReceiveFrame,
    /// Finish a frame's DMA.
    Receiving,
    /// Build and queue an ack.
    SendAck,
}

/// The hardware that EMP runs on.
pub trait Nic {
    /// The roles of this CPU.
    type Roles: Roles;

    /// Number of entries that can be put into a queue to the other CPU.
    fn room(&self, queue: Queue) -> u32;
    /// Puts a job into a queue to the other CPU and rings its bell; there must be room. A job may have
    /// fewer words than an entry.
    fn put<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]);
    /// Like [`put`](Self::put), without the bell; [`ring`](Self::ring) must follow.
    fn leave<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]);
    /// Rings the bell of a queue for jobs put in by `leave`.
    fn ring(&mut self, queue: Queue);
    /// NIC address of the oldest job in a queue from the other CPU.
    fn front(&self, queue: Queue) -> Option<u32>;
    /// Removes the oldest job. The queue's event ends with the last one.
    fn remove(&mut self, queue: Queue);
    /// Ends a queue's event if the queue is empty.
    fn rest(&mut self, queue: Queue);
    /// Takes the chip's semaphore, before a read and write of a word that both CPUs change.
    fn lock(&mut self);
    /// Releases the semaphore.
    fn unlock(&mut self);

    /// Reads the SRAM word at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the SRAM word at `address`.
    fn store(&mut self, address: u32, value: u32);

    /// The own MAC address: high 16 bits (in the low half), low 32 bits.
    fn own_mac(&self) -> (u32, u32);
    /// The free-running timer, in us.
    fn now_us(&self) -> u32;
    /// Arms the timer event for the time `at_us`.
    fn arm_timer(&mut self, at_us: u32);
    /// Masks the timer event.
    fn disarm_timer(&mut self);
    /// The mailboxes written since the last call, one bit each.
    fn take_mailboxes(&mut self) -> u32;
    /// Raises the software event whose handler is [`Emp::on_send`](crate::Emp::on_send).
    fn raise_send(&mut self);
    /// Clears the software event of [`raise_send`](Self::raise_send).
    fn clear_send(&mut self);

    /// Number of read DMAs (host to NIC) that can be pushed now.
    fn read_slots(&self) -> u32;
    /// Queues a read DMA of 1 to 65535 bytes. `local` wraps at the transmit buffer's end. With `release_tx`
    /// its completion releases the frame that it ends to the MAC.
    fn push_read(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        release_tx: bool,
        cookie: u32,
    );
    /// The next completed read DMA, in the order of pushing.
    fn take_read(&mut self) -> Option<Completion>;
    /// The cookie of the read DMA at which the channel stopped with an error, if any.
    fn failed_read(&self) -> Option<u32>;
    /// Restarts the channel behind the failed read, which [`take_read`](Self::take_read) returns next:
    /// everything before it has been taken. The CPU releases its frame, in ring order.
    fn skip_failed_read(&mut self);

    /// Number of write DMAs (NIC to host) that can be pushed now.
    fn write_slots(&self) -> u32;
    /// Queues a write DMA of 1 to 65535 bytes. `local` wraps at the receive buffer's end. With
    /// `free_rx` its completion frees the receive buffer up to its end.
    fn push_write(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        free_rx: bool,
        cookie: u32,
    );
    /// The oldest completed write DMA that is not retired, in the order of pushing.
    fn next_write(&mut self) -> Option<Completion>;
    /// Retires the write DMA that [`next_write`](Self::next_write) returns: frees its slot in the ring.
    fn retire_write(&mut self);
    /// Whether the write channel has stopped with an error.
    fn write_failed(&self) -> bool;
    /// Restarts the channel behind the failed write, which [`next_write`](Self::next_write) returns next:
    /// everything before it has been retired. The CPU frees its receive space, in ring order.
    fn skip_failed_write(&mut self);

    /// End of the data that the MAC has sent, an argument of the next two methods.
    fn tx_consumer(&self) -> u32;
    /// Bytes reserved in the transmit buffer that the MAC has not sent yet.
    fn tx_backlog(&self, consumer: u32) -> u32;
    /// Reserves transmit buffer space and a MAC descriptor for a frame of `length` bytes. Returns the
    /// frame's address, a multiple of 8; its first 64 bytes are contiguous. `None` without buffer space or
    /// descriptor.
    fn reserve_tx(&mut self, length: u32, consumer: u32) -> Option<u32>;
    /// The address `bytes` behind `address` in the transmit buffer.
    fn tx_advance(&self, address: u32, bytes: u32) -> u32;
    /// Gives the frame that was reserved last to the MAC, which sends it once it is released.
    fn push_tx(&mut self, start: u32, length: u32);
    /// Releases a frame that needs no DMA and ends at `end`, in ring order.
    fn release_cpu_frame(&mut self, end: u32);

    /// The oldest received frame that has not been taken.
    fn next_rx(&self) -> Option<Arrival>;
    /// Takes the frame that [`next_rx`](Self::next_rx) returned: frees its MAC descriptor, but not its
    /// buffer.
    fn take_rx(&mut self, arrival: Arrival) -> RxFrame;
    /// The address `bytes` behind `address` in the receive buffer.
    fn rx_advance(&self, address: u32, bytes: u32) -> u32;
    /// Frees a taken frame that no DMA frees and that ends at `end`, in ring order.
    fn free_rx(&mut self, end: u32);

    /// Fill level of the receive buffer: [`pressure`] of the bytes in use.
    fn rx_pressure(&self) -> u32;

    /// Marks the start of a protocol stage.
    fn stage_enter(&self, stage: Stage);
    /// Marks the end of a protocol stage.
    fn stage_exit(&self, stage: Stage);
    /// Marks the end of a protocol stage that found nothing to do: [`SendFrame`](Stage::SendFrame) or
    /// [`Receiving`](Stage::Receiving).
    fn stage_idle(&self, stage: Stage);
    /// Marks the start of a wait for a DMA within a stage.
    fn wait_enter(&self);
    /// Marks the end of the wait.
    fn wait_exit(&self);
    /// Reports a mailbox value that is no descriptor or command that the NIC can take.
    fn bad_post(&self, address: u32);
    /// Marks an event for a trace, with the arguments that [`Event`] describes.
    fn event(&self, event: Event, node: u32, message: u32, third: u32);
}

/// Fill level of a buffer of `bytes` with `used` bytes in use: 0 = less than half, 1 = half, 2 = three
/// quarters or more.
#[must_use]
pub const fn pressure(used: u32, bytes: u32) -> u32 {
    let half = bytes >> 1;
    if used < half {
        0
    } else if used < half + (half >> 1) {
        1
    } else {
        2
    }
}

/// A kind shifted to its position in the frame's word, with the Ethertype above it.
#[inline(always)]
pub(crate) const fn type_kind(kind: Kind) -> u32 {
    ((defs::emp::frame::ETHERTYPE as u32) << 16) | ((kind as u32) << defs::emp::frame::KIND_SHIFT)
}
