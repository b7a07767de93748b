//! Panics with a text that has a value.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case};

case!(main);

fn main() -> ! {
    let ring = black_box(7u32);
    panic!("ring {} has no end", ring);
}
