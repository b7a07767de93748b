//! Product, quotient and remainder of 64 bits.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let (a, b) = (black_box(0x0123_4567_89ab_cdefu64), black_box(1_000_007u64));
    let (product, quotient) = (a.wrapping_mul(b), a / b);
    log!("product {x} {x}", (product >> 32) as u32, product as u32);
    log!(
        "quotient {x} {x} remainder {}",
        (quotient >> 32) as u32,
        quotient as u32,
        (a % b) as u32
    );
    rest()
}
