//! A constant table larger than the memory.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

static TABLE: [u32; 600_000] = [0x1234_5678; 600_000];

fn main() -> ! {
    log!("word {x}", TABLE[black_box(5)]);
    rest()
}
