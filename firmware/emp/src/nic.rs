//! What EMP asks of a NIC: the one trait between the protocol and the hardware.
//!
//! An implementation is a thin layer over the chip's blocks, or a fake in tests. All addresses are
//! NIC addresses in bytes, all lengths are bytes, all data words are as the chip's CPUs see them
//! (big-endian in frames). Every method is expected to be inlined into the handlers.
//!
//! **Ring order.** Transmit space is reserved, and receive space freed, in the order of the calls.
//! Hardware that releases a range releases all that lies before it, so an implementation holds back
//! what the CPU releases or frees until every earlier frame's DMA is complete.

use crate::jobs::Queue;
use crate::roles::Roles;
use defs::emp::frame::Kind;

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
    /// The MAC found it whole: no CRC or other receive error.
    pub intact: bool,
}

/// A received frame that has not been taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// NIC address of its first byte.
    pub start: u32,
    /// What the NIC knows it by.
    pub descriptor: u32,
}

/// A DMA that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The value that was given when it was pushed.
    pub cookie: u32,
    /// Host memory did not answer.
    pub failed: bool,
}

/// The stages of Table 3.1 of the EMP thesis (emp-080 to emp-085), with receive bookkeeping in the two parts in
/// which its two-CPU tables have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Handle a posted transmit, set up its record.
    SendBookkeeping,
    /// The part of send bookkeeping that grows with the frames: cut one from its message.
    SendFrame,
    /// Queue one frame's DMA and MAC descriptor.
    Transmission,
    /// Take an ack from the MAC.
    TakeAck,
    /// What the ack means to its message.
    ReceiveAck,
    /// Take a frame from the MAC and match it.
    ReceiveBookkeeping,
    /// Store what the frame brings and start its DMA.
    ReceiveFrame,
    /// Finish a frame's DMA.
    Receiving,
    /// Build and queue an ack.
    SendAck,
}

/// What a trace can follow a message by. Arguments of [`Nic::event`]: peer node, message
/// identifier, and the third one named here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A transmit was posted; message length in bytes.
    PostTransmit,
    /// A receive was posted (node and tag as given); capacity in bytes.
    PostReceive,
    /// A frame is on its way to the MAC; frame number.
    FrameSent,
    /// A frame found its message; frame number.
    FrameMatched,
    /// A frame was dropped; frame number.
    FrameDropped,
    /// An ack is on its way; frame number.
    AckSent,
    /// An ack was taken; frame number.
    AckReceived,
    /// A timeout: unacknowledged groups are sent again; retry number.
    Retransmit,
    /// The status of a transmit was written; its code.
    TransmitComplete,
    /// The status of a receive was written; its code.
    ReceiveComplete,
    /// A mailbox named no descriptor that the NIC can take (both zero); the address.
    BadPost,
    /// A nack is on its way; frame number.
    NackSent,
    /// A nack was taken; frame number.
    NackReceived,
    /// The host took a receive back (node as given, 0); its tag.
    ReceiveCancelled,
}

/// The hardware that EMP runs on.
pub trait Nic {
    /// What this CPU does.
    type Roles: Roles;

    /// Entries that can be put into a queue to the other CPU.
    fn room(&self, queue: Queue) -> u32;
    /// Puts a job into a queue to the other CPU and lets it know; there must be room. Fewer words than an entry has
    /// are enough where the job needs no more.
    fn put<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]);
    /// As [`put`](Self::put), and lets the other CPU know only with the [`ring`](Self::ring) that must follow.
    fn leave<const WORDS: usize>(&mut self, queue: Queue, job: [u32; WORDS]);
    /// Lets the other CPU know of what was left.
    fn ring(&mut self, queue: Queue);
    /// NIC address of the oldest job in a queue from the other CPU.
    fn front(&self, queue: Queue) -> Option<u32>;
    /// Gives the place of that job back. The queue's event ends with the last one.
    fn remove(&mut self, queue: Queue);
    /// A queue's event stands and there is no job: ends the event.
    fn rest(&mut self, queue: Queue);
    /// Takes the chip's semaphore: a word that both CPUs change is to be read and written.
    fn lock(&mut self);
    /// Gives the semaphore back.
    fn unlock(&mut self);

    /// Reads the SRAM word at `address`.
    fn load(&self, address: u32) -> u32;
    /// Writes the SRAM word at `address`.
    fn store(&mut self, address: u32, value: u32);

    /// The own MAC address: high 16 bits (in the low half), low 32 bits.
    fn own_mac(&self) -> (u32, u32);
    /// The free-running timer, in us.
    fn now_us(&self) -> u32;
    /// Enables the timer event from the time `at_us` on.
    fn arm_timer(&mut self, at_us: u32);
    /// Masks the timer event.
    fn disarm_timer(&mut self);
    /// The mailboxes written since the last call, one bit each.
    fn take_mailboxes(&mut self) -> u32;
    /// Raises the software event whose handler is [`Emp::on_send`](crate::Emp::on_send).
    fn raise_send(&mut self);
    /// Clears that event.
    fn clear_send(&mut self);

    /// Read DMAs (host to NIC) that can be pushed now.
    fn read_slots(&self) -> u32;
    /// Queues a read DMA of 1 to 65535 bytes. `local` wraps at the transmit buffer's end. With
    /// `release_tx` its completion releases the frame that it ends to the MAC.
    fn push_read(
        &mut self,
        host: HostAddress,
        local: u32,
        length: u32,
        release_tx: bool,
        cookie: u32,
    );
    /// The next read DMA that is over, in the order of pushing.
    fn take_read(&mut self) -> Option<Completion>;
    /// The cookie of the read DMA at which the channel stopped with an error, if it did.
    fn failed_read(&self) -> Option<u32>;
    /// Restarts the channel behind the failed read, which is the next one that
    /// [`take_read`](Self::take_read) returns: everything before it has been taken. A frame that it should have released is released by
    /// the CPU, in ring order.
    fn skip_failed_read(&mut self);

    /// Write DMAs (NIC to host) that can be pushed now.
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
    /// The oldest write DMA that is over and not retired, in the order of pushing.
    fn next_write(&mut self) -> Option<Completion>;
    /// Gives the slot of what [`next_write`](Self::next_write) shows back to the ring.
    fn retire_write(&mut self);
    /// Whether the write channel has stopped with an error.
    fn write_failed(&self) -> bool;
    /// Restarts the channel behind the failed write, which is the next one that
    /// [`next_write`](Self::next_write) shows: everything before it has been retired. Receive space that it should have freed is freed by
    /// the CPU, in ring order.
    fn skip_failed_write(&mut self);

    /// How far the MAC has sent: what the next two methods measure from.
    fn tx_consumer(&self) -> u32;
    /// Bytes reserved in the transmit buffer that the MAC has not sent yet.
    fn tx_backlog(&self, consumer: u32) -> u32;
    /// Takes transmit buffer space and a MAC descriptor for a frame of `length` bytes: the frame's
    /// address, a multiple of 8, its first 64 bytes contiguous. `None` when either has run out.
    fn reserve_tx(&mut self, length: u32, consumer: u32) -> Option<u32>;
    /// The address `bytes` behind `address` in the transmit buffer.
    fn tx_advance(&self, address: u32, bytes: u32) -> u32;
    /// Gives the frame that was reserved last to the MAC, which sends it once it is released.
    fn push_tx(&mut self, start: u32, length: u32);
    /// Releases a frame that needs no DMA and ends at `end`, in ring order.
    fn release_cpu_frame(&mut self, end: u32);

    /// The oldest received frame that has not been taken.
    fn next_rx(&self) -> Option<Arrival>;
    /// Takes the frame that [`next_rx`](Self::next_rx) shows: its MAC descriptor is free then, its
    /// buffer is not.
    fn take_rx(&mut self, arrival: Arrival) -> RxFrame;
    /// The address `bytes` behind `address` in the receive buffer.
    fn rx_advance(&self, address: u32, bytes: u32) -> u32;
    /// Frees a taken frame that no DMA frees and that ends at `end`, in ring order.
    fn free_rx(&mut self, end: u32);

    /// How full the receive buffer is: [`pressure`] of the bytes in use.
    fn rx_pressure(&self) -> u32;

    /// A protocol stage begins.
    fn stage_enter(&self, stage: Stage);
    /// The stage ends.
    fn stage_exit(&self, stage: Stage);
    /// Within a stage, waiting for a DMA begins.
    fn wait_enter(&self);
    /// That wait ends.
    fn wait_exit(&self);
    /// Something that a trace shows: see [`Event`].
    fn event(&self, event: Event, node: u32, message: u32, number: u32);
}

/// How full a buffer of `bytes` is of which `used` are in use: 0 = less than half, 1 = half, 2 = three
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

/// The kind's place in the frame's word, with the Ethertype above it.
#[inline(always)]
pub(crate) const fn type_kind(kind: Kind) -> u32 {
    ((defs::emp::frame::ETHERTYPE as u32) << 16) | ((kind as u32) << defs::emp::frame::KIND_SHIFT)
}
