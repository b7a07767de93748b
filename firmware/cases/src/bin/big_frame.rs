//! A function whose frame is larger than the stack.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

#[inline(never)] // The frame is that of this function, which the message names.
fn sum_of_squares() -> u32 {
    let mut squares = [0u32; 8000];
    for (index, square) in (0u32..).zip(black_box(&mut squares)) {
        *square = index ^ 0x55;
    }
    black_box(&squares)
        .iter()
        .fold(0, |sum, square| sum ^ square)
}

fn main() -> ! {
    log!("sum {}", sum_of_squares());
    rest()
}
