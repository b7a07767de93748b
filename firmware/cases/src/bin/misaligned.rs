//! Reads a word at an address that is not a multiple of four.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a wild access is what is tried")]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    log!("before");
    let address = black_box(0x4001usize) as *const u32;
    // SAFETY: none; the emulator must stop the CPU.
    log!("after {x}", unsafe { address.read_volatile() });
    rest()
}
