//! Atomic loads and stores of 32 bits.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::sync::atomic::{AtomicU32, Ordering};

use cases::{case, log, rest};

case!(main);

static COUNT: AtomicU32 = AtomicU32::new(1);

fn main() -> ! {
    COUNT.store(2, Ordering::Relaxed);
    log!("count {}", COUNT.load(Ordering::SeqCst));
    rest()
}
