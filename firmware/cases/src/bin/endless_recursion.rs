//! Calls itself without an end: the stack overflows.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

#[inline(never)] // Each round has a frame.
#[allow(unconditional_recursion)]
fn descend(level: u32) -> u32 {
    1 + black_box(descend(black_box(level + 1)))
}

fn main() -> ! {
    log!("start");
    log!("end {}", descend(0));
    rest()
}
