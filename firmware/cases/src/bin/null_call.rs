//! Calls address 0.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a wild call is what is tried")]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    log!("before");
    // SAFETY: none; the emulator must stop the CPU. A function pointer is never null, so the word is read as one.
    let wild: fn() = unsafe { core::mem::transmute_copy(&black_box(0usize)) };
    wild();
    log!("after");
    rest()
}
