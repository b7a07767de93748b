//! A sum that does not fit: a panic, as projects check sums.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let sum = black_box(u32::MAX) + black_box(1);
    log!("sum {}", sum);
    rest()
}
