//! A quotient of 128 bits.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let a = black_box(0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128);
    let b = black_box((77u128 << 64) | 5);
    let quotient = a / b;
    log!("quotient {x} {x}", (quotient >> 32) as u32, quotient as u32);
    rest()
}
