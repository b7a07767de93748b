//! Atomic addition, which no chip has.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::sync::atomic::{AtomicU32, Ordering};

use cases::{case, rest};

case!(main);
static COUNT: AtomicU32 = AtomicU32::new(1);
fn main() -> ! {
    COUNT.fetch_add(1, Ordering::SeqCst);
    rest()
}
