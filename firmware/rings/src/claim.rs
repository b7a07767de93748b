//! Claims: which of several CPUs has a value in shared SRAM. A CPU that finds it in use does something else.
//!
//! Words of the CPUs tell who has it: a CPU alone writes its own, and all are 0 at first. A CPU that wants the value writes its
//! word, then reads those of the others, CPU A first:
//!
//! | word of | 0 | [`WANTED`] | [`OWNED`] |
//! |---------|---|------------|-----------|
//! | a CPU before it | goes on | withdraws | withdraws |
//! | a CPU behind it | goes on | reads it again | withdraws |
//!
//! CPUs that withdraw write 0. A CPU that comes to the end writes [`OWNED`], and 0 when it is done with the value. CPU A, before which
//! there is none, writes [`OWNED`] at once.
//!
//! A CPU writes before it reads, so of two not both read 0. If both want the value, the one behind withdraws, and the one before it waits
//! for that: one of them gets it, unless a third one has it. A CPU waits only for one behind it, so none for ever. This needs a CPU's
//! accesses to SRAM in the order of its program, as the chip makes them.

use crate::Memory;

/// A CPU's word: it has not seen yet whether the value is free.
pub const WANTED: u32 = 1;
/// A CPU's word: it has the value, or (CPU A) has it unless another CPU does.
pub const OWNED: u32 = 2;

/// Address of a CPU's word, for words that begin at `words`.
#[inline(always)]
#[must_use]
pub const fn word_of(words: u32, cpu: u32) -> u32 {
    words + 4 * cpu
}

/// Takes the value for one of `cpus` CPUs; returns whether it was free.
#[inline(always)]
pub fn take(memory: &mut impl Memory, words: u32, cpu: u32, cpus: u32) -> bool {
    let own = word_of(words, cpu);
    if memory.load(own) != 0 {
        return false;
    }
    memory.store(own, if cpu == 0 { OWNED } else { WANTED });
    // Without a branch: CPU B has one word to look at.
    let looks = (0..cpu).map(|before| memory.load(word_of(words, before)) == 0);
    let mut free = looks.fold(true, |free, look| free & look);
    for behind in cpu + 1..cpus {
        free = free && is_free_of(memory, word_of(words, behind));
    }
    if cpu != 0 {
        memory.store(own, if free { OWNED } else { 0 });
    } else if !free {
        memory.store(own, 0);
    }
    free
}

/// Waits until the CPU with this word has decided; returns whether it has not taken the value.
#[inline(always)]
fn is_free_of(memory: &impl Memory, word: u32) -> bool {
    loop {
        match memory.load(word) {
            0 => return true,
            WANTED => {}
            _ => return false,
        }
    }
}

/// Frees the value that a CPU has.
#[inline(always)]
pub fn free(memory: &mut impl Memory, words: u32, cpu: u32) {
    memory.store(word_of(words, cpu), 0);
}
