//! Writes beyond a local array, over the return address.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a wild write is what is tried")]

use cases::{black_box, case, log, rest};

case!(main);

#[inline(never)] // The array must be in memory.
fn used(words: &mut [u32]) -> u32 {
    black_box(words).len() as u32
}

#[inline(never)] // A frame of its own, with the return address that is overwritten.
fn smash(count: usize) -> u32 {
    let mut words = [0; 4];
    let length = used(&mut words);
    for word in 0..black_box(count) {
        // SAFETY: none; the return address is overwritten.
        unsafe { words.as_mut_ptr().add(word).write_volatile(0x0123_4560) }
    }
    length
}

fn main() -> ! {
    log!("before");
    log!("after {}", smash(black_box(12)));
    rest()
}
