//! Queues between the two CPUs in SRAM, with event bits that signal entries.
//!
//! The queues are [`rings::Queue`]; this module connects them to the chip. An inbox's bit in its owner's
//! event register is set while the inbox is not empty. Both CPUs change that register, so they do it under
//! the semaphore, also when a CPU raises or clears another software event of its own ([`semaphore::locked`]
//! with [`event::raise`]).
//!
//! ```ignore
//! const INBOX_B: Queue = Queue::new(0x2_0000, 16, 4);
//! // CPU A:
//! let mut to_b = Producer::new(INBOX_B);
//! if to_b.room(&Sram) > 0 {
//!     to_b.put(&mut Inbox::<A, B>::new(5), [what, which]);
//! }
//! // CPU B, on event 5:
//! if let Some(at) = inbox.front(&Sram) {
//!     let (what, which) = (sram::read(at), sram::read(at + 4));
//!     inbox.remove(&mut Inbox::<B, B>::new(5));
//! }
//! ```

pub use rings::{Consumer, Memory, Producer, Queue};

use core::marker::PhantomData;

use crate::cpu::Cpu;
use crate::{event, semaphore, sram};

/// The chip's SRAM as queue memory.
pub struct Sram;

impl Memory for Sram {
    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        sram::read(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        sram::write(address, value);
    }
}

/// Event bit of CPU `Owner`'s inbox, as CPU `Me` accesses it.
pub struct Inbox<Me, Owner> {
    bit: u32,
    cpus: PhantomData<(Me, Owner)>,
}

impl<Me, Owner> Inbox<Me, Owner> {
    /// The inbox with event `bit`.
    #[inline(always)]
    #[must_use]
    pub const fn new(bit: u32) -> Self {
        Self {
            bit,
            cpus: PhantomData,
        }
    }
}

impl<Me, Owner> Memory for Inbox<Me, Owner> {
    #[inline(always)]
    fn load(&self, address: u32) -> u32 {
        sram::read(address)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) {
        sram::write(address, value);
    }
}

impl<Me: Cpu, Owner: Cpu> rings::Bell for Inbox<Me, Owner> {
    #[inline(always)]
    fn lock(&mut self) {
        semaphore::spin_lock::<Me>();
    }

    #[inline(always)]
    fn unlock(&mut self) {
        semaphore::spin_unlock::<Me>();
    }

    #[inline(always)]
    fn is_rung(&self) -> bool {
        event::is_raised::<Owner>(self.bit)
    }

    #[inline(always)]
    fn ring(&mut self) {
        event::raise::<Owner>(self.bit);
    }

    #[inline(always)]
    fn quieten(&mut self) {
        event::clear::<Owner>(self.bit);
    }
}
