//! Calls itself as deep as the stack allows.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

#[inline(never)] // Each round has a frame.
fn depth(rounds: u32) -> u32 {
    if rounds == 0 {
        0
    } else {
        1 + black_box(depth(black_box(rounds - 1)))
    }
}

fn main() -> ! {
    log!("depth {} and {}", depth(3), depth(7));
    rest()
}
