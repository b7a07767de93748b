//! Decoded instructions in memory that threads may share.
//!
//! The content of a place follows from the bytes of the instruction, the pipeline and the firmware's probes, so boards for which these are
//! equal can share places (the modules `pages` and `mips::whole`): whichever decodes an instruction first, each of them finds the same one.

use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// A decoded instruction, which one number holds.
pub trait Decoded: Copy {
    /// The pipeline of the core, on which the decoding of a word depends.
    type Pipeline: Copy + PartialEq + Debug + Send + Sync;

    /// Content of a place where nothing was decoded yet.
    const UNDECODED: Self;

    /// The number.
    fn bits(self) -> u64;

    /// The instruction that a number holds, which came from [`bits`](Self::bits).
    fn from_bits(bits: u64) -> Self;
}

/// A place for a decoded instruction. Threads need no order among their accesses: a place that boards share holds nothing yet, or the one
/// instruction that it can hold.
#[derive(Debug)]
pub struct Place<O>(AtomicU64, PhantomData<O>);

impl<O: Decoded> Place<O> {
    /// A place that holds an instruction.
    #[must_use]
    pub fn new(op: O) -> Self {
        Self(AtomicU64::new(op.bits()), PhantomData)
    }

    /// The instruction.
    #[must_use]
    #[inline(always)]
    pub fn get(&self) -> O {
        O::from_bits(self.0.load(Ordering::Relaxed))
    }

    /// Replaces the instruction.
    #[inline(always)]
    pub fn set(&self, op: O) {
        self.0.store(op.bits(), Ordering::Relaxed);
    }

    /// Replaces the instruction if it is `from`; tells what stands there otherwise. Of threads that do so at once, one succeeds.
    pub fn replace(&self, from: O, to: O) -> Result<(), O> {
        let (from, to) = (from.bits(), to.bits());
        let replaced = self
            .0
            .compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        replaced.map(drop).map_err(O::from_bits)
    }
}

impl<O: Decoded> Default for Place<O> {
    fn default() -> Self {
        Self::new(O::UNDECODED)
    }
}
