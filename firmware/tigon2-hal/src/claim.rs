//! Values in SRAM that either CPU uses, one at a time. A CPU that finds one in use does something else.
//!
//! Two words per value, each written by one CPU only, decide without the semaphore: see [`rings::claim`].
//!
//! The words are declared with [`published!`](crate::published): what an owner has done comes before what the next
//! owner does.

use core::cell::UnsafeCell;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::{A, B, Cpu};
use crate::queue::Sram;

/// Words by which the CPUs decide on a value: that of CPU A, then that of CPU B.
pub const WORDS: u32 = 2;

/// A CPU's side of a claim.
pub trait Claimant: Cpu {
    /// The CPU's index.
    #[doc(hidden)]
    const INDEX: u32;
}

impl Claimant for A {
    const INDEX: u32 = 0;
}

impl Claimant for B {
    const INDEX: u32 = 1;
}

/// A value that either CPU uses, one at a time. The [`WORDS`] words of SRAM at `WORDS_AT`, which are 0 before the
/// first use, serve nothing else.
pub struct Claimed<T, const WORDS_AT: u32>(UnsafeCell<T>);

// SAFETY: `with` gives the value to one CPU at a time, and not twice to that one.
unsafe impl<T, const WORDS_AT: u32> Sync for Claimed<T, WORDS_AT> {}

impl<T, const WORDS_AT: u32> Claimed<T, WORDS_AT> {
    /// Wraps the initial value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Frees the value for its first use, while only CPU A runs.
    pub fn reset(&self) {
        rings::claim::free(&mut Sram, WORDS_AT, A::INDEX);
        rings::claim::free(&mut Sram, WORDS_AT, B::INDEX);
    }

    /// Does `work` with the value, on CPU `C`, unless the value is in use; returns whether it was free.
    #[inline(always)]
    pub fn with<C: Claimant>(&self, work: impl FnOnce(&mut T)) -> bool {
        if !rings::claim::take(&mut Sram, WORDS_AT, C::INDEX, WORDS) {
            return false;
        }
        // The words are volatile, the value is not: the compiler must not move its accesses out of the claim.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this CPU's word says that it has the value, so the other CPU does not take it, nor does this one
        // again before the word is 0.
        work(unsafe { &mut *self.0.get() });
        compiler_fence(Ordering::SeqCst);
        rings::claim::free(&mut Sram, WORDS_AT, C::INDEX);
        true
    }
}
