//! Arithmetic on random operands.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::operands::sums;
use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    for (kind, sum) in (1u32..).zip(sums(black_box(1), black_box(30))) {
        log!("sum {} {x}", kind, sum);
    }
    rest()
}
