//! Reads a word where no memory is.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a wild access is what is tried")]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    log!("before");
    let address = black_box(0xF000_0000usize) as *const u32;
    // SAFETY: none; the emulator must stop the CPU.
    log!("after {x}", unsafe { address.read_volatile() });
    rest()
}
