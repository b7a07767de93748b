//! A division by zero that the compiler was told not to check: software that divides stops the CPU.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a check that is left out is what is tried")]

use core::hint::assert_unchecked;

use cases::{black_box, case, log, rest};

case!(main);

#[inline(never)] // A function of its own in the backtrace.
fn share(total: u32, parts: u32) -> u32 {
    // SAFETY: none, on purpose.
    unsafe { assert_unchecked(parts != 0) };
    let whole = black_box(total) / parts;
    black_box(whole) + 1
}

fn main() -> ! {
    let whole = share(black_box(7), black_box(0));
    log!("share {}", whole);
    rest()
}
