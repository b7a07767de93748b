//! Executes a `break` of its own.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]
#![allow(unsafe_code, reason = "a `break` is what is tried")]

use cases::{case, log, rest};

case!(main);

fn main() -> ! {
    log!("before");
    // SAFETY: the CPU stops there.
    #[cfg(feature = "tigon2")]
    unsafe {
        core::arch::asm!("break 9");
    }
    rest()
}
