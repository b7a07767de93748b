//! Fails with a text that has a value, without a panic.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, fail};

case!(main);

fn main() -> ! {
    let ring = black_box(3u32);
    fail!("ring {} has no end", ring);
}
