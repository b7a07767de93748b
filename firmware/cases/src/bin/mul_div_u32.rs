//! Product, quotient and remainder of 32 bits.
#![no_std]
#![no_main]
#![feature(asm_experimental_arch)]

use cases::{black_box, case, log, rest};

case!(main);

fn main() -> ! {
    let (a, b) = (black_box(1_000_003u32), black_box(37u32));
    log!("u32 {} {} {}", a.wrapping_mul(b), a / b, a % b);
    let (a, b) = (black_box(-1_000_003i32), black_box(37i32));
    log!(
        "i32 {x} {x} {x}",
        a.wrapping_mul(b) as u32,
        (a / b) as u32,
        (a % b) as u32
    );
    // The quotient and the remainder of one division that may overflow.
    let (a, b) = (black_box(i32::MIN), black_box(-1i32));
    log!(
        "least {x} {x}",
        a.wrapping_div(b) as u32,
        a.wrapping_rem(b) as u32
    );
    log!(
        "tens {} {}",
        black_box(123_456u32) / 10,
        black_box(123_456u32) % 10
    );
    rest()
}
