//! Values in SRAM that either CPU uses, one at a time. A CPU that finds one in use does something else.
//!
//! Two words per value, each written by one CPU only, decide without the semaphore:
//!
//! | CPU A | CPU B |
//! |-------|-------|
//! | writes `OWNED`, reads B's word until it is not `WANTED` | writes `WANTED`, reads A's word |
//! | read 0: has the value | read 0: writes `OWNED`, has the value |
//! | read `OWNED`: writes 0, has failed | read `OWNED`: writes 0, has failed |
//!
//! A CPU writes before it reads, so not both read 0. If both want the value, B withdraws and A waits for that: one of
//! them gets it. This needs a CPU's accesses to SRAM in the order of its program, as the chip makes them.
//!
//! The words are declared with [`published!`](crate::published): what an owner has done comes before what the next
//! owner does.

use core::cell::UnsafeCell;
use core::sync::atomic::{Ordering, compiler_fence};

use crate::cpu::{A, B, Cpu};
use crate::sram;

/// CPU B's word: it has not seen yet whether the value is free.
const WANTED: u32 = 1;
/// A CPU's word: it has the value, or (CPU A) has it unless CPU B does.
const OWNED: u32 = 2;
/// Words by which the CPUs decide on a value: that of CPU A, then that of CPU B.
pub const WORDS: u32 = 2;

/// A CPU's side of a claim.
pub trait Claimant: Cpu {
    /// Offset of the CPU's own word.
    #[doc(hidden)]
    const OWN: u32;
    /// Takes the value with its words at `words`; returns whether it was free.
    #[doc(hidden)]
    fn take(words: u32) -> bool;
}

impl Claimant for A {
    const OWN: u32 = 0;

    #[inline(always)]
    fn take(words: u32) -> bool {
        if sram::read(words + Self::OWN) != 0 {
            return false;
        }
        sram::write(words + Self::OWN, OWNED);
        loop {
            match sram::read(words + B::OWN) {
                0 => return true,
                WANTED => {}
                _ => break,
            }
        }
        sram::write(words + Self::OWN, 0);
        false
    }
}

impl Claimant for B {
    const OWN: u32 = 4;

    #[inline(always)]
    fn take(words: u32) -> bool {
        if sram::read(words + Self::OWN) != 0 {
            return false;
        }
        sram::write(words + Self::OWN, WANTED);
        let free = sram::read(words + A::OWN) == 0;
        sram::write(words + Self::OWN, if free { OWNED } else { 0 });
        free
    }
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
        sram::write(WORDS_AT + A::OWN, 0);
        sram::write(WORDS_AT + B::OWN, 0);
    }

    /// Does `work` with the value, on CPU `C`, unless the value is in use; returns whether it was free.
    #[inline(always)]
    pub fn with<C: Claimant>(&self, work: impl FnOnce(&mut T)) -> bool {
        if !C::take(WORDS_AT) {
            return false;
        }
        // The words are volatile, the value is not: the compiler must not move its accesses out of the claim.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: this CPU's word says that it has the value, so the other CPU does not take it, nor does this one
        // again before the word is 0.
        work(unsafe { &mut *self.0.get() });
        compiler_fence(Ordering::SeqCst);
        sram::write(WORDS_AT + C::OWN, 0);
        true
    }
}
