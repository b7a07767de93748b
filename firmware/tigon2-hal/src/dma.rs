//! DMA between host memory and SRAM through the chip's two rings and its hardware assist
//! (docs/tigon2-io.md, section 5). DMA read = host to NIC, DMA write = NIC to host.
//!
//! The firmware pushes descriptors; the assist executes them in order and moves the reference. A ring's
//! `DONE` event is set while the ring holds completed descriptors that the firmware has not consumed. If no
//! host memory answers a transfer, the channel stops and raises the ring's `ATTENTION` event. CPU B can
//! replace the hardware assist: see [`SoftwareAssist`].
//!
//! ```ignore
//! ReadRing::push(&Transfer { host_high: 0, host_low, local, length, state: COPY_BYTES, kind: 1, index })?;
//! // later, on READ_DMA_DONE:
//! while let Some(done) = ReadRing::completed() {
//!     // done.index(), done.kind(), done.local()
//!     done.consume();
//! }
//! ```

pub use defs::tigon2::regs::DmaState;

use core::marker::PhantomData;
use core::mem::offset_of;

use defs::tigon2::rings::{DMA_DESCRIPTOR_BYTES, DMA_RING_BYTES, DmaDescriptor};

use crate::regs::{self, AssistState};
use crate::sram;

/// A transfer to be queued.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// Host address, high word.
    pub host_high: u32,
    /// Host address, low word.
    pub host_low: u32,
    /// SRAM address. Within a frame buffer the channel wraps at the buffer's end.
    pub local: u32,
    /// Bytes, below 64 KB.
    pub length: u32,
    /// The channel's state word: [`DmaState::START`] and options of the transfer.
    pub state: DmaState,
    /// For the firmware: type of the transfer.
    pub kind: u32,
    /// For the firmware: index of the transfer's object.
    pub index: u32,
}

/// State word that keeps byte order (frame data).
pub const COPY_BYTES: DmaState = DmaState::START;
/// State word that keeps the values of 32-bit words between a little-endian host and the NIC.
pub const COPY_WORDS: DmaState = DmaState::START.union(DmaState::NO_BYTE_SWAP);

/// The ring has no free descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingFull;

/// The registers of one DMA direction.
pub trait Direction {
    /// Producer index of the ring.
    const PRODUCER: u32;
    /// Reference: end of the descriptors that the assist has executed.
    const REFERENCE: u32;
    /// Consumer index of the ring.
    const CONSUMER: u32;
    /// Address of the free slot, or 0.
    const FREE: u32;
    /// State of the channel.
    const STATE: u32;
    /// Host address in the channel, high word; the low word follows.
    const HOST: u32;
    /// Local address in the channel.
    const LOCAL: u32;
    /// Bytes left in the channel.
    const LENGTH: u32;
    /// Checksum in the channel.
    const CHECKSUM: u32;
}

/// DMA read: host to NIC.
pub enum Read {}
/// DMA write: NIC to host.
pub enum Write {}

impl Direction for Read {
    const PRODUCER: u32 = regs::READ_RING_PRODUCER;
    const REFERENCE: u32 = regs::READ_RING_REFERENCE;
    const CONSUMER: u32 = regs::READ_RING_CONSUMER;
    const FREE: u32 = regs::READ_RING_FREE;
    const STATE: u32 = regs::READ_STATE;
    const HOST: u32 = regs::READ_HOST_HIGH;
    const LOCAL: u32 = regs::READ_LOCAL;
    const LENGTH: u32 = regs::READ_LENGTH;
    const CHECKSUM: u32 = regs::READ_CHECKSUM;
}

impl Direction for Write {
    const PRODUCER: u32 = regs::WRITE_RING_PRODUCER;
    const REFERENCE: u32 = regs::WRITE_RING_REFERENCE;
    const CONSUMER: u32 = regs::WRITE_RING_CONSUMER;
    const FREE: u32 = regs::WRITE_RING_FREE;
    const STATE: u32 = regs::WRITE_STATE;
    const HOST: u32 = regs::WRITE_HOST_HIGH;
    const LOCAL: u32 = regs::WRITE_LOCAL;
    const LENGTH: u32 = regs::WRITE_LENGTH;
    const CHECKSUM: u32 = regs::WRITE_CHECKSUM;
}

/// One of the chip's two DMA rings, 64 descriptors each.
pub struct Ring<D>(PhantomData<D>);
/// The ring of transfers from host memory to the NIC.
pub type ReadRing = Ring<Read>;
/// The ring of transfers from NIC memory to the host.
pub type WriteRing = Ring<Write>;

/// A descriptor in the ring whose transfer has ended.
pub struct Descriptor<D> {
    address: u32,
    direction: PhantomData<D>,
}

/// Lets the hardware assist execute both rings.
pub fn enable_assist() {
    regs::write(
        regs::ASSIST_STATE,
        (AssistState::ENABLE | AssistState::ALWAYS).bits(),
    );
}

impl<D: Direction> Ring<D> {
    /// Address of the free descriptor, if there is one.
    #[inline(always)]
    fn free() -> Result<u32, RingFull> {
        match regs::read(D::FREE) {
            0 => Err(RingFull),
            descriptor => Ok(descriptor),
        }
    }

    /// Number of descriptors that can be pushed now: 63 in an empty ring.
    #[inline(always)]
    #[must_use]
    pub fn room() -> u32 {
        let used = regs::read(D::PRODUCER).wrapping_sub(regs::read(D::CONSUMER));
        (DMA_RING_BYTES - DMA_DESCRIPTOR_BYTES - (used & (DMA_RING_BYTES - 1)))
            / DMA_DESCRIPTOR_BYTES
    }

    /// Queues a transfer.
    ///
    /// # Errors
    /// [`RingFull`]: nothing was queued; try again after a descriptor has been consumed.
    #[inline(always)]
    pub fn push(transfer: &Transfer) -> Result<(), RingFull> {
        let descriptor = Self::free()?;
        sram::write(
            descriptor + offset_of!(DmaDescriptor, host_high) as u32,
            transfer.host_high,
        );
        sram::write(
            descriptor + offset_of!(DmaDescriptor, host_low) as u32,
            transfer.host_low,
        );
        sram::write(
            descriptor + offset_of!(DmaDescriptor, local) as u32,
            transfer.local,
        );
        sram::write(
            descriptor + offset_of!(DmaDescriptor, length) as u32,
            transfer.length,
        );
        sram::write(
            descriptor + offset_of!(DmaDescriptor, state) as u32,
            transfer.state.bits(),
        );
        sram::write(
            descriptor + offset_of!(DmaDescriptor, kind) as u32,
            transfer.kind,
        );
        sram::write(
            descriptor + offset_of!(DmaDescriptor, index) as u32,
            transfer.index,
        );
        // The register wraps within the ring.
        regs::write(D::PRODUCER, descriptor + DMA_DESCRIPTOR_BYTES);
        Ok(())
    }

    /// Queues a transfer of the descriptor's own index word: the host gets `transfer.index`. Local address
    /// and length are ignored.
    ///
    /// # Errors
    /// [`RingFull`]: nothing was queued.
    #[inline(always)]
    pub fn push_index(transfer: &Transfer) -> Result<(), RingFull> {
        let descriptor = Self::free()?;
        Self::push(&Transfer {
            local: descriptor + offset_of!(DmaDescriptor, index) as u32,
            length: 4,
            ..*transfer
        })
    }

    /// The oldest descriptor that has ended and is not consumed.
    #[inline(always)]
    #[must_use]
    pub fn completed() -> Option<Descriptor<D>> {
        let address = regs::read(D::CONSUMER);
        (address != regs::read(D::REFERENCE)).then_some(Descriptor::at(address))
    }

    /// Whether every queued transfer has ended and was consumed.
    #[inline(always)]
    #[must_use]
    pub fn is_empty() -> bool {
        regs::read(D::PRODUCER) == regs::read(D::CONSUMER)
    }

    /// The channel's error bits: not empty while the `ATTENTION` event is set.
    #[inline(always)]
    #[must_use]
    pub fn errors() -> DmaState {
        DmaState::from_bits_truncate(regs::read(D::STATE)) & DmaState::ERRORS
    }

    /// The descriptor at which the channel stopped with an error. It ends only after
    /// [`skip_failed`](Self::skip_failed).
    #[must_use]
    pub fn failed() -> Option<Descriptor<D>> {
        (!Self::errors().is_empty()).then(|| Descriptor::at(regs::read(D::REFERENCE)))
    }

    /// Resets a channel that stopped with an error and lets the assist continue after the failed
    /// descriptor. [`completed`](Self::completed) returns the failed descriptor in its turn. The channel
    /// has moved no buffer pointer for it.
    pub fn skip_failed() {
        let assist = regs::read(regs::ASSIST_STATE);
        // Without the pause the assist would start the failed descriptor again.
        regs::write(regs::ASSIST_STATE, assist | AssistState::PAUSE.bits());
        regs::write(D::STATE, DmaState::RESET.bits());
        regs::write(
            D::REFERENCE,
            regs::read(D::REFERENCE) + DMA_DESCRIPTOR_BYTES,
        );
        regs::write(regs::ASSIST_STATE, assist & !AssistState::PAUSE.bits());
    }
}

/// Software DMA assist on CPU B: one channel and its current descriptor.
///
/// Its user calls `step` until `step` reports that no work is left. Nothing else may access channel and
/// reference.
#[derive(Debug)]
pub struct SoftwareAssist<D> {
    /// Address of the descriptor whose transfer is in progress.
    current: Option<u32>,
    direction: PhantomData<D>,
}

impl<D: Direction> Default for SoftwareAssist<D> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D: Direction> SoftwareAssist<D> {
    /// An assist without a transfer in progress.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            current: None,
            direction: PhantomData,
        }
    }

    /// Starts the ring's next transfer, or ends a finished one; a failed one gets `failed_mark` in its
    /// kind. Returns whether there may be more to do.
    #[inline(always)]
    pub fn step(&mut self, failed_mark: u32) -> bool {
        match self.current {
            None => self.start(),
            Some(descriptor) => {
                let state = DmaState::from_bits_retain(regs::read(D::STATE));
                if !state.contains(DmaState::START) {
                    self.current = None;
                    Self::finish(&Descriptor::at(descriptor), state, failed_mark);
                    self.start();
                }
                true
            }
        }
    }

    #[inline(always)]
    fn start(&mut self) -> bool {
        let descriptor = regs::read(D::REFERENCE);
        if descriptor == regs::read(D::PRODUCER) {
            return false;
        }
        self.current = Some(descriptor);
        let load = |register, offset: usize| {
            regs::write(register, sram::read(descriptor + offset as u32));
        };
        load(D::HOST, offset_of!(DmaDescriptor, host_high));
        load(D::HOST + 4, offset_of!(DmaDescriptor, host_low));
        load(D::LOCAL, offset_of!(DmaDescriptor, local));
        load(D::LENGTH, offset_of!(DmaDescriptor, length));
        load(D::STATE, offset_of!(DmaDescriptor, state));
        true
    }

    #[inline(always)]
    fn finish(descriptor: &Descriptor<D>, state: DmaState, failed_mark: u32) {
        if state.intersects(DmaState::ERRORS) {
            regs::write(D::STATE, DmaState::RESET.bits());
            descriptor.mark(failed_mark);
        } else {
            if state.contains(DmaState::CHECKSUM_DELIVER) {
                let at = descriptor.address + offset_of!(DmaDescriptor, checksum_pointer) as u32;
                sram::write(at, regs::read(D::CHECKSUM));
            }
            // For reads only: the bit has no meaning for a write.
            if D::STATE == Read::STATE && state.contains(DmaState::RELEASE_TX) {
                regs::write(regs::TX_BUFFER_PRODUCER, regs::read(D::LOCAL));
            }
        }
        regs::write(D::REFERENCE, descriptor.address + DMA_DESCRIPTOR_BYTES);
    }
}

impl<D: Direction> Descriptor<D> {
    #[inline(always)]
    const fn at(address: u32) -> Self {
        Self {
            address,
            direction: PhantomData,
        }
    }

    #[inline(always)]
    fn field(&self, offset: usize) -> u32 {
        sram::read(self.address + offset as u32)
    }

    /// Transfer type that the firmware queued.
    #[inline(always)]
    #[must_use]
    pub fn kind(&self) -> u32 {
        self.field(offset_of!(DmaDescriptor, kind))
    }

    /// Index that the firmware queued.
    #[inline(always)]
    #[must_use]
    pub fn index(&self) -> u32 {
        self.field(offset_of!(DmaDescriptor, index))
    }

    /// First SRAM address of the transfer.
    #[inline(always)]
    #[must_use]
    pub fn local(&self) -> u32 {
        self.field(offset_of!(DmaDescriptor, local))
    }

    /// Length of the transfer in bytes.
    #[inline(always)]
    #[must_use]
    pub fn length(&self) -> u32 {
        self.field(offset_of!(DmaDescriptor, length))
    }

    /// Checksum that the channel delivered.
    #[inline(always)]
    #[must_use]
    pub fn checksum(&self) -> u32 {
        self.field(offset_of!(DmaDescriptor, checksum_pointer)) & 0xFFFF
    }

    /// Sets bits in the kind, for later readers of the descriptor.
    #[inline(always)]
    pub fn mark(&self, bits: u32) {
        let at = self.address + offset_of!(DmaDescriptor, kind) as u32;
        sram::write(at, sram::read(at) | bits);
    }

    /// Returns the descriptor to the ring.
    #[inline(always)]
    pub fn consume(self) {
        regs::write(D::CONSUMER, self.address + DMA_DESCRIPTOR_BYTES);
    }
}
