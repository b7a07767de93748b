//! Single-precision floating point.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let (a, b) = (black_box(2.75f32), black_box(-0.5f32));
    log!(
        "f32 {x} less {}",
        (a * b + a / b - b).to_bits(),
        u32::from(a < b)
    );
    rest()
}
