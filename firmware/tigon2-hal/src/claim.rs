//! Values in SRAM that several CPUs use, one at a time. A CPU that finds one in use does something else.
//!
//! A word per value and CPU, written by that CPU only, decides without the semaphore: see [`rings::claim`].
//!
//! The words are declared with [`published!`](crate::published): what an owner has done comes before what the next
//! owner does.

use core::cell::UnsafeCell;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::Executing;
use crate::queue::Sram;

/// A value that several CPUs use, one at a time. A word of SRAM for each CPU, the first at `WORDS_AT`, decides: all are 0 before the
/// first use, and serve nothing else.
pub struct Claimed<T, const WORDS_AT: u32>(UnsafeCell<T>);

// SAFETY: `with` gives the value to one CPU at a time, and not twice to that one.
unsafe impl<T, const WORDS_AT: u32> Sync for Claimed<T, WORDS_AT> {}

impl<T, const WORDS_AT: u32> Claimed<T, WORDS_AT> {
    /// Wraps the initial value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Frees the value for its first use, while only CPU `C` runs.
    pub fn reset<C: Executing>(&self) {
        for cpu in 0..C::cpus() {
            rings::claim::free(&mut Sram, WORDS_AT, cpu);
        }
    }

    /// Does `work` with the value, on CPU `C`, unless the value is in use; returns whether it was free.
    #[inline(always)]
    pub fn with<C: Executing>(&self, work: impl FnOnce(&mut T)) -> bool {
        if !C::take_claim(WORDS_AT) {
            return false;
        }
        // The words are volatile, the value is not: the compiler must not move its accesses out of the claim.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this CPU's word says that it has the value, so no other CPU takes it, nor does this one
        // again before the word is 0.
        work(unsafe { &mut *self.0.get() });
        compiler_fence(Ordering::SeqCst);
        rings::claim::free(&mut Sram, WORDS_AT, C::index());
        true
    }
}
