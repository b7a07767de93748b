//! Atomic addition of 64 bits: neither chip has it.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use core::sync::atomic::{AtomicU64, Ordering};

use cases::{case, log, rest};

case!(main);

static COUNT: AtomicU64 = AtomicU64::new(1);

fn main() -> ! {
    log!("count {}", COUNT.fetch_add(1, Ordering::SeqCst) as u32);
    rest()
}
